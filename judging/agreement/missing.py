"""What to do with an answer that could not be read, and how an answer can end."""

from typing import Literal, get_args

AnswerState = Literal["yes", "no", "na", "unparsed", "error"]
ANSWER_STATES: tuple[AnswerState, ...] = get_args(AnswerState)

MissingPolicy = Literal["exclude", "no", "half"]
"""exclude: leave it out (the default); no: as good as wrong; half: as good as a tie."""
MISSING_POLICIES: tuple[MissingPolicy, ...] = get_args(MissingPolicy)


def check_policy(policy: str) -> None:
    """Raise ValueError, with a sentence, for a policy that does not exist."""
    if policy not in MISSING_POLICIES:
        raise ValueError(f"There is no missing policy {policy!r}; choose one of {', '.join(MISSING_POLICIES)}.")


def policy_note(policy: MissingPolicy, concerned: int) -> str | None:
    """The sentence that goes with a figure in which answers were missing, or None."""
    if not concerned:
        return None
    done = {"exclude": "left out", "no": "counted as wrong", "half": "counted as half"}[policy]
    return f"{concerned} missing {'answer was' if concerned == 1 else 'answers were'} {done}."
