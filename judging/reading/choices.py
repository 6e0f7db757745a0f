"""Reading which of two responses a judge chose, and its answers to a checklist about both of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from judging.reading.answers import ALONE, ANSWER, VALUES
from judging.reading.structured import ANSWER_KEY, DEEPEST, NUMBER_KEY, as_text, held, is_plain, spelled_out
from judging.reading.words import MARKUP, MARKUP_INLINE, SPACES, THEREFORE, VERDICT_MARK, fold

T = TypeVar("T")
PairAnswers = list[tuple[str | None, str | None]]  # to each question, about the response shown first and second

MOST_OF_A_LINE = 2000  # characters; what stands further right is no short answer

# -- choices -------------------------------------------------------------------------------------------------------

_MARK = (
    rf"(?:{VERDICT_MARK}|choice|preference|prefer|preferred|chosen|ranking|rank|judge|winner|better|best|選択|選好|選好順位)"
    r"(?:[ _-](?:response|answer|choice|one|option|rank|ranking|number))?"
)
_NAMED = rf"(?:the{SPACES})?(?:(?:response|answer|option|number|choice|回答|応答|選択肢)[ _-]?)?#?"
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_NEITHER = ("both", "neither", "none", "either", "tie", "tied", "equal", "両方", "どちらも", "引き分け")
_OR = r"(?:/|\||&|,|、|or\b|and\b|または|と|か)"
# The word is the whole answer: "a tie" and "1st" are others, and so is "2-3". What follows explains it, or ends it.
_END = (
    rf"(?={MARKUP_INLINE}(?:$|[,;:!?(|。、．，]|\.(?!\d)|[-—–]{{1,2}}(?=\s)|(?:is|because|as|since|than|over|for|wins?)\b"
    r"|が|です|で|の方))"
)
_BETTER = r"(?:is|was)(?: (?:clearly|much|slightly|somewhat|overall|a bit))?(?: the)? (?:better|best|winner|preferred)"
_THE_TWO = r"(?:they|(?:both|the two)(?: responses)?|response \w and (?:response )?\w)"
_KEY = re.compile(rf"(?:(?:final|overall|my)[ _-])?{_MARK}")


def choice(reply: str, options: Mapping[str, T], *, listed: bool = False, cut_off: bool = False) -> T | None:
    """The choice of a reply; None where it names several options or none, or cannot be read.

    options  what may be chosen, by its names, folded: "1", "b", "near-identical"
    listed   the reply holds a numbered list, too: a number at its beginning is no choice

    A choice is a marked one that begins a line ("Choice: 1", or what a JSON object says under such a name); the last of
    them counts. Where there is none, it is the last line where that is the choice and nothing else ("2", "Response B is
    better."), or else the first line where that is a single name. Of a reply that was cut off only a marked choice with
    text after it counts: the rest may have lacked its end.
    """
    text = spelled_out(reply, lambda value: [f"choice: {said}" for said in held(value, _KEY)][-1:])
    words = _one_of(options)
    marked = re.compile(
        rf"^[#>\s-]{{0,10}}{MARKUP_INLINE}{THEREFORE}?(?:(?:my|the|final|overall)[ \t]{{1,3}}){{0,3}}{_MARK}"
        rf"{MARKUP_INLINE}(?:is|は|が|:|=|->|—|-){MARKUP}{_NAMED}{words}",
        re.M,
    )
    found = list(marked.finditer(text))
    if cut_off:
        found = [match for match in found if "\n" in text[match.end() :]]
        return _chosen(found[-1], options) if found else None
    if found:
        return _chosen(found[-1], options)
    lines = [line.strip() for line in text.splitlines() if line.strip(" \t`*_-")]
    if not lines:
        return None
    chosen = _whole_line(lines[-1][:MOST_OF_A_LINE], options)
    return chosen if chosen is not None or listed else options.get(lines[0].strip(" \t*_`\"'"))


def _one_of(options: Mapping[str, object]) -> str:
    """One name, and further ones that make it no choice."""
    names = "|".join(map(re.escape, sorted({*options, *_NEITHER}, key=len, reverse=True)))
    name = rf"(?:{_NUMBER}|{names})"
    ends = rf"(?:{_END}|(?=\s{{0,3}}{_OR}))"
    more = rf"(?P<more>{MARKUP_INLINE}{_OR}{MARKUP_INLINE}{_NAMED}{name}{ends})"
    return rf"(?P<word>{name}){ends}{more}?"


def _chosen(match: re.Match[str], options: Mapping[str, T]) -> T | None:
    return None if match["more"] else _of_word(match["word"], options)


def _of_word(word: str, options: Mapping[str, T]) -> T | None:
    return options.get(re.sub(r"\.0{1,9}$", "", word))


def _whole_line(line: str, options: Mapping[str, T]) -> T | None:
    """The choice where a line is nothing else: a name, or a number and the option that it stands for in words."""
    names = "|".join(map(re.escape, sorted(options, key=len, reverse=True)))
    sentence = re.compile(
        rf"{MARKUP_INLINE}(?:(?P<number>{_NUMBER})(?:{MARKUP_INLINE}[.:)—–-]{MARKUP_INLINE}|$))?"
        rf"(?:{THEREFORE}?(?:i (?:choose|prefer|pick) |{_THE_TWO} are )?{_NAMED}(?P<name>{names})"
        rf"(?:{MARKUP_INLINE} ?(?:{_BETTER}|wins)(?: (?:response|option|one))?(?: overall)?"
        rf"(?: than (?:the other(?: one)?|{_NAMED}(?:{names})))?)?)?"
        rf"{MARKUP_INLINE}[.!。]?{MARKUP_INLINE}"
    )
    match = sentence.fullmatch(line)
    said = {_of_word(word, options) for word in (match["number"], match["name"]) if word} if match else set()
    return said.pop() if len(said) == 1 else None


# -- answers about both --------------------------------------------------------------------------------------------

_SIDE = r"(?:response|回答|応答|r(?=\d))[ \t_#-]{0,3}(?P<side>[12])(?!\d)"
_BULLET = r"^[|*_#>`+•・ \t-]{0,20}"
_HEADING = re.compile(rf"{_BULLET}{_SIDE}{MARKUP_INLINE}:?{MARKUP_INLINE}$")
_ITEM = re.compile(
    rf"{_BULLET}(?:question|item|q|no\.|問|質問|項目)?[ \t#(]{{0,3}}(?P<number>\d{{1,3}})(?!\d)"
    rf"{MARKUP_INLINE}[.:)|。、—–-](?!\d)"
)
_AFTER = rf"(?={MARKUP_INLINE}(?:$|[,;:.!|/。、(—–-]|and\b|because\b|{_SIDE.replace('?P<side>', '?:')}))"
_LABELLED = re.compile(rf"{_SIDE}{MARKUP_INLINE}(?::|=|->|is\b|は|—|–|-){MARKUP_INLINE}{ALONE}{_AFTER}")
_SEPARATOR = r"[|/,;、\s*_-]{1,20}"
_BOTH = re.compile(rf"(?:^|\|)[|:\s*_-]{{0,20}}(?P<first>{ANSWER}){_SEPARATOR}(?P<second>{ANSWER})[|\s*_.]{{0,20}}$")
_ONE = re.compile(rf"^[|:\s*_-]{{0,20}}{ALONE}{_AFTER}")
_ENDING = re.compile(rf"[?.!。:]{MARKUP_INLINE}{ALONE}{MARKUP_INLINE}[.!。|]?{MARKUP_INLINE}$")
_SIDE_KEY = re.compile(_SIDE)
_ITEM_KEY = re.compile(r"(?:question|item|q|質問|項目)?[ _-]?(?P<number>\d{1,3})")


def pair_answers(reply: str, questions: int, *, cut_off: bool = False) -> PairAnswers:
    """The answers about both responses to each of so many questions, which were numbered from 1: "yes", "no", "na", or
    None where one is missing or cannot be read.

    They stand question by question ("1. Response 1: yes, Response 2: no"; "1. yes / no"), or response by response
    ("Response 1", and below it "1. yes"), or so in a JSON object. Of several for one question and response the last
    counts. Of a reply that was cut off the last line is left out: it may lack its end.
    """
    lines = spelled_out(reply, lambda value: list(_answers_in(value))).splitlines()
    said = {(number, side): VALUES.get(word) for number, side, word in _answers_of(lines[:-1] if cut_off else lines)}
    return [(said.get((number, 1)), said.get((number, 2))) for number in range(1, questions + 1)]


def _answers_of(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Question, response and word of all answers in these lines, in their order."""
    side = number = 0
    for whole in lines:
        line = whole[:MOST_OF_A_LINE]
        if heading := _HEADING.match(line):
            side, number = int(heading["side"]), 0
            continue
        item = _ITEM.match(line)
        if item:
            number, line = int(item["number"]), line[item.end() :]
        elif not number:
            continue
        labelled = list(_LABELLED.finditer(line))
        if labelled:
            for match in labelled:
                yield number, int(match["side"]), match["word"]
        elif item and (both := _BOTH.search(line)):
            yield number, 1, both["first"]
            yield number, 2, both["second"]
        elif item and side and (one := _ONE.match(line) or _ENDING.search(line)):
            yield number, side, one["word"]


def _answers_in(value: Any, side: int = 0, number: int = 0, depth: int = DEEPEST) -> Iterator[str]:
    """The answers in a JSON value, spelled out one per line."""
    if is_plain(value):
        if side and number:
            yield f"{number}. response {side}: {as_text(value)}"
    elif depth and isinstance(value, list):
        for place, part in enumerate(value, start=1):
            yield from _answers_in(part, side, number or place, depth - 1)
    elif depth:
        number = _number_in(value) or number
        for written, inner in value.items():
            key = fold(written).strip()
            if named := _SIDE_KEY.fullmatch(key):
                yield from _answers_in(inner, int(named["side"]), number, depth - 1)
            elif named := _ITEM_KEY.fullmatch(key):
                yield from _answers_in(inner, side, int(named["number"]), depth - 1)
            elif not is_plain(inner) or ANSWER_KEY.fullmatch(key):
                yield from _answers_in(inner, side, number, depth - 1)


def _number_in(value: Mapping[str, Any]) -> int:
    """The number that an object gives its question; 0 where it gives none."""
    for key, inner in value.items():
        if is_plain(inner) and NUMBER_KEY.fullmatch(fold(key).strip()):
            named = _ITEM_KEY.fullmatch(fold(as_text(inner)).strip())
            return int(named["number"]) if named else 0
    return 0
