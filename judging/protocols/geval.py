"""G-Eval: every response is scored on every dimension of the project, by its definition and on its scale.

Source: CheckEval (paper 001), section 4.2, whose baseline it is; after Liu et al. (2023), equation 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _

from judging import reading
from judging.models import Call, Verdict
from judging.protocols.base import Outcome, Protocol, Setup, Unit, scale_text, was_cut_off, whole_values
from judging.reading.probabilities import weighted_score, word_of


class GEval(Protocol):
    """The score is the mean of the scale's scores weighted by their probabilities, where the endpoint gives them and
    every score is a single digit; else the whole number that the judge wrote."""

    name = "geval"
    title = _("G-Eval: a score on each dimension")
    description = _(
        "Asks for one whole number on the scale of each dimension of the project. Where the judge gives token "
        "probabilities, the score is their weighted mean."
    )
    by_dimension = True
    yields = frozenset({"score"})

    def plan(self, unit: Unit, repeats: int) -> Iterator[Call]:
        for repeat in range(1, repeats + 1):
            yield Call(item=unit.item, response=unit.response, dimension=unit.dimension, repeat=repeat)

    def values(self, call: Call, setup: Setup) -> dict[str, str]:
        assert call.dimension is not None  # noqa: S101 - units of this protocol carry one
        dimension = call.dimension
        return {
            **whole_values(call, setup),
            "dimension": f"{dimension.name}\n\n{dimension.definition}",
            "scale": scale_text(dimension.anchored_scores),
            "lowest": str(dimension.scale_low),
            "highest": str(dimension.scale_high),
        }

    def parameters(self, call: Call, setup: Setup) -> dict[str, Any]:
        return {"logprobs": True, "top_logprobs": setup.alternatives} if setup.alternatives else {}

    def read(self, call: Call, setup: Setup) -> list[Outcome]:
        assert call.dimension is not None  # noqa: S101
        scores = call.dimension.scores
        written = reading.score(call.reply, scores, cut_off=was_cut_off(call))
        if written is None:
            return [Outcome(Verdict.State.UNPARSED, dimension=call.dimension)]
        weighted = weighted_score(call.alternatives[0], scores) if _opens_with(written, call) else None
        return [
            Outcome(
                Verdict.State.SCORE,
                score=weighted.mean if weighted else written,
                dimension=call.dimension,
                captured=weighted.captured if weighted else None,
            )
        ]


def _opens_with(score: int, call: Call) -> bool:
    """Whether the first token of the reply is the score, so that its alternatives are the other scores."""
    first = call.alternatives[0] if call.alternatives else []
    return word_of(call.reply).startswith(str(score)) and str(score) in {word_of(token) for token, _ in first}
