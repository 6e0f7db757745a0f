"""What the annotation screen of one task shows, and nothing that could unblind: texts, the form, the own progress."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import gold
from annotate.assignment import participation
from annotate.contents import (
    CHECKLIST,
    LETTERS,
    WHOLE,
    Content,
    answer_values,
    fields_of,
    letters_of,
    preference_labels,
    questions_of,
    sides,
)
from annotate.keys import Keys
from annotate.models import Annotation, Answer, Round, Task, User

LONG_TEXT, LONG_LINES = 1_500, 24  # an instruction or a conversation beyond either is folded
PACE_FROM = 3  # annotations, before a pace is told


def screen_of(task: Task, user: User, content: Content) -> dict[str, Any]:
    """The context of the screen's partial, with the form filled by `content`.

    It asks the database for nothing but the checklist's questions, so it also serves a task that is not saved, as a
    preview. The round is the one that the annotator works in: a gold unit must look like one of its tasks.
    """
    round, item, keys = task.round, task.item, Keys.of(user)
    said = fields_of(task, content)
    letters = letters_of(task)
    return {
        "round": round,
        "title": round.title,
        "task": task,
        "item": item,
        "language": item.language,
        "long_instruction": _is_long(item.instruction),
        "long_history": _is_long("\n".join(str(turn.get("content", "")) for turn in item.history)),
        "responses": [
            {"letter": letter, "text": response.text} for letter, response in zip(letters, task.shown, strict=False)
        ],
        "reference": item.reference if round.show_reference else "",
        "parts": [f"annotate/labels/parts/{part}.html" for part in round.shape.parts],
        "questions": [
            {
                "key": str(question.pk),
                "text": question.text,
                "sides": [
                    {
                        "letter": letter,
                        "ending": ending,
                        "said": said.get(f"answer-{question.pk}{ending}", ""),
                        "quote": said.get(f"quote-{question.pk}{ending}", ""),
                    }
                    for letter, (ending, _other) in zip(letters, sides(task), strict=True)
                ],
                "flagged": f"flag-{question.pk}" in said,
                "note": said.get(f"note-{question.pk}", ""),
            }
            for question in questions_of(task)
        ],
        "whole": {"quote": said.get(f"quote-{WHOLE}", "")},
        "checklist": {"flagged": f"flag-{CHECKLIST}" in said, "note": said.get(f"note-{CHECKLIST}", "")},
        "answer_values": [(value.value, value.label, keys[value.value]) for value in answer_values(round)],
        "yes_no": [(value.value, value.label, keys[value.value]) for value in (Answer.Value.YES, Answer.Value.NO)],
        "scores": [(str(score), anchor, keys.of_score(score, round.scores)) for score, anchor in round.anchored_scores],
        "has_anchors": any(anchor for _score, anchor in round.anchored_scores),
        "preferences": [
            (str(number), label, keys.of_score(number, range(1, 6)))
            for number, label in preference_labels(*LETTERS).items()
        ],
        "effects": [(effect.value, effect.label, keys[effect.value]) for effect in Annotation.Effect],
        "comment_for": [(reason.value, reason.label) for reason in round.comment_reasons],
        "said": said,
        "seconds": content.active_seconds,
        "keys": keys,
    }


def around(keys: Keys, round: Round) -> dict[str, Any]:
    """The context of what stands around the screen and stays from task to task: keys and words, for the script too."""
    return {"key_rows": keys.rows(round.shape.parts), "by_key": json.dumps(keys.by_key), "words": words()}


def progress_of(round: Round, user: User, submitted: int | None = None) -> dict[str, int]:
    """Tasks submitted by this annotator, unless that is given, and tasks of the round in all; gold units are counted
    like any other. One query, or four where gold units are mixed in."""
    if submitted is None:
        submitted = participation(round, user).submitted
    return {"submitted": submitted, "total": round.size + gold.planned(round, user)}


def pace_of(seconds: Sequence[int]) -> str:
    """In words, how long the last tasks took by their median, given in active seconds; "" for too few to tell."""
    if len(seconds) < PACE_FROM:
        return ""
    typical = median(seconds)
    if typical < 90:
        whole = max(1, round(typical))
        return ngettext("about %(n)d second each", "about %(n)d seconds each", whole) % {"n": whole}
    minutes = round(typical / 60)
    return ngettext("about %(n)d minute each", "about %(n)d minutes each", minutes) % {"n": minutes}


def words() -> str:
    """What the screen's script says, as JSON: texts with named placeholders, and pairs of singular and plural."""

    return json.dumps(
        {
            "saved": _("saved %(time)s"),
            "saving": _("saving"),
            "offline": [
                ngettext("offline, %(n)s change kept here", "offline, %(n)s changes kept here", n) for n in (1, 2)
            ],
            "unreachable": [
                ngettext(
                    "the server is silent, %(n)s change kept here", "the server is silent, %(n)s changes kept here", n
                )
                for n in (1, 2)
            ],
            "written": [ngettext("%(n)s question", "%(n)s questions", n) for n in (1, 2)],
            "offlineSubmit": _("offline: your submission is kept here, and sent once the connection is back"),
            "unreachableSubmit": _("the server is silent: your submission is kept here, and sent once it answers"),
            "changedSince": _("You changed something after you pressed Submit: nothing was submitted, press it again."),
            "incomplete": _("Not submitted: something is still to answer."),
            "online": _("The connection is back: everything is saved."),
            "loggedOut": _("You are logged out. Log in again in another tab; what you wrote is kept here."),
            "refused": _("not saved: %(why)s"),
            "rejected": _("The server did not take this form: shorten your texts, or reload the page."),
            "here": _("changes are kept in this browser until you save the correction"),
            "conflict": _("not saved: changed elsewhere, choose which text to keep"),
            "first": _("First answer what comes before."),
            "select": _("Select a passage of the text first."),
            "attached": _("Passage attached."),
            "removed": _("Passage removed."),
            "task": _("Next task."),
            "restored": _("What you had written here is back."),
            "copied": _("Copied."),
            "selected": _("The text is selected: copy it as you copy any other."),
            "gone": _("The kept text is removed."),
        }
    )


def _is_long(text: str) -> bool:
    return len(text) > LONG_TEXT or text.count("\n") > LONG_LINES
