"""How a judge's reply is read: the last verdict counts, and a reply that says none is None, never a guess.

Readers are tolerant of form (case, full-width characters, Markdown, Japanese words, prose around) and strict in
substance: a verdict other than the ones asked for, a score off the scale, or a reply cut off in its verdict is None.
JSON counts like the words it stands for, wherever it comes in a reply and however it is fenced.
"""

from judging.reading.answers import yes_or_no
from judging.reading.checklists import bracketed, is_question
from judging.reading.choices import PairAnswers, choice, pair_answers
from judging.reading.numbered import numbered
from judging.reading.scores import score
from judging.reading.words import fold

__all__ = [
    "PairAnswers",
    "bracketed",
    "choice",
    "fold",
    "is_question",
    "numbered",
    "pair_answers",
    "score",
    "yes_or_no",
]
