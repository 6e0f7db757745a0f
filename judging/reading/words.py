"""Words and marks that replies are read by."""

from __future__ import annotations

import unicodedata

# Every repetition has a bound: a hostile reply must not make the search slow.
SPACES = r"[ \t]{0,10}"
MARKUP = r"[\s*_`\"'“”‘’「」『』【】()\[\]{}<>]{0,30}"
MARKUP_INLINE = MARKUP.replace(r"\s", r" \t")

YES = ("yes", "はい")
NO = ("no", "いいえ")
NOT_APPLICABLE = ("n/a", "na", "not applicable", "該当なし", "該当しない", "非該当", "適用外", "対象外")
UNDECIDED = (
    *("unclear", "unknown", "undecided", "partly", "partial", "partially", "maybe", "neither", "both"),
    *("不明", "どちらとも"),
)

VERDICT_MARK = r"(?:verdict|answer|judge?ment|conclusion|decision|result|判定|答え|回答|結論|判断|結果)"
SCORE_MARK = r"(?:score|rating|grade|評価|点数|スコア|採点|得点|評点)"
# What introduces one's own conclusion.
THEREFORE = (
    r"(?:(?:so|thus|hence|therefore|overall|finally|in (?:summary|conclusion)),?[ \t]{1,3}"
    r"|(?:よって|したがって|以上より)[,、]?[ \t]{0,3})"
)


def fold(text: str) -> str:
    """One width and one case, so that YES, Ｙｅｓ and yes are the same word."""
    return unicodedata.normalize("NFKC", text).casefold()
