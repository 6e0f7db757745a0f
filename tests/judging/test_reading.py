"""Reading replies: tolerant of form, strict in substance; what says no verdict is None."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging import reading

SCALE = [1, 2, 3, 4, 5]
LONG = 60_000
QUESTIONS = ["Is it short?", "Is it true?"]


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Verdict: YES", True),
        ("Verdict: NO", False),
        ("verdict: no.", False),
        ("**Verdict:** yes", True),
        ("Verdict: **NO**", False),
        ("The word is missing.\n\n### Verdict\nNO", False),
        ("It fits.\nFinal answer: Yes, it does.", True),
        ("My verdict is no because of the title.", False),
        ("Answer: [[YES]]", True),
        ('```json\n{"analysis": "No fault in it.", "verdict": "yes"}\n```', True),
        ('{"answer": "NO",}', False),
        ("Ｖｅｒｄｉｃｔ：ＮＯ", False),
        ("判定：はい", True),
        ("色は一つしかありません。\n判定: いいえ", False),
        ("答えは「はい」です。", True),
        ("回答は二つの色を挙げている。\nはい。", True),
        ("YES", True),
        ("no", False),
        ("It is short enough.\n\nYES.", True),
        ("Yes, the response has three paragraphs.", True),
        ("No. The second sentence is missing.", False),
        ("Verdict: YES\nOn reflection that is wrong.\nVerdict: NO", False),
        ("Verdict: NO\nWait, I had not seen the last line.\nYES", True),
        ("Yes\nNo", False),
    ],
)
def test_verdicts_are_read_in_many_forms_and_the_last_one_counts(reply: str, verdict: bool) -> None:
    assert reading.yes_or_no(reply) is verdict


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "The response is good.",
        "Verdict: YES or NO",
        "Verdict: YES/NO",
        "Answer with yes or no:",
        "Verdict: maybe",
        "Verdict: N/A",
        "Verdict: YES\nVerdict: unclear",
        "判定：不明",
        "No mention of the year is made in the response",
        "Verdict: Notable in every way",
        "Verdict: yesterday",
        "There is no answer to this.",
        "Yes, it is short.\nNo, it is not true.",
        "I cannot help with that request.",
        "Nothing noteworthy here; yes and no.",
        "はいけいさまへ",
    ],
)
def test_what_says_no_verdict_is_none(reply: str) -> None:
    assert reading.yes_or_no(reply) is None


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Verdict: NO", None),  # may have gone on: NOT APPLICABLE
        ("The answer is YES", None),
        ("No. The first", None),
        ("Verdict: NO\nAs I said, the", False),
    ],
)
def test_of_a_cut_off_reply_only_a_finished_verdict_counts(reply: str, verdict: bool | None) -> None:
    assert reading.yes_or_no(reply, cut_off=True) is verdict


@given(st.text(), st.sampled_from(["Verdict: {}", "**Verdict: {}**", "Final answer: {}", "判定：{}"]), st.booleans())
def test_a_verdict_in_the_last_line_is_read_whatever_stands_before(before: str, form: str, verdict: bool) -> None:
    reply = f"{before}\n\n{form.format('YES' if verdict else 'NO')}"
    assert reading.yes_or_no(reply) is verdict


@given(st.text(alphabet="abcdfghijklmpqrtuvwxz .,:;\n0123456789あかさ"))
def test_text_without_a_verdict_word_is_never_a_verdict(reply: str) -> None:
    assert reading.yes_or_no(reply) is None


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Score: 4", 4),
        ("**Score:** 4", 4),
        ("Reasons: fine.\nScore: **2**.", 2),
        ("Score: 4/5", 4),
        ("Score: 4 out of 5", 4),
        ("Final score: 3", 3),
        ("Overall rating - 5", 5),
        ("Score: 4.0", 4),
        ("Ｓｃｏｒｅ：３", 3),
        ("評価：４", 4),
        ("点数: 5点", 5),
        ("採点：5点中2点", 2),
        ("[[3]]", 3),
        ("It is short.\n\n4", 4),
        ("4/5", 4),
        ("I give this a score of 2 because nothing is explained.", 2),
        ('{"reason": "short", "score": 3}', 3),
        ("Score: 2\nLooking again, it is better.\nScore: 3", 3),
        ("A score of 5 would need examples.\nScore: 3", 3),
    ],
)
def test_scores_are_read_in_many_forms_and_the_last_one_counts(reply: str, score: int) -> None:
    assert reading.score(reply, SCALE) == score


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "A good response.",
        "Score: 6",
        "Score: 0",
        "Score: -3",
        "Score: 4.5",
        "Score: 1-5",
        "Score: 4 or 5",
        "Score: 3~4",
        "Score: 2 + 3",
        "Score: 2 x 2 = 4",
        "Score: 4/10",
        "採点：10点中4点",
        "Score: 45",
        "Score: four",
        "Score: 3\nScore: 7",
        "There are 3 mistakes in 2 lines.",
        "A score of 2 is too low and a score of 4 is too high.",
    ],
)
def test_what_is_no_score_on_the_scale_is_none(reply: str) -> None:
    assert reading.score(reply, SCALE) is None


def test_a_cut_off_score_may_lack_digits() -> None:
    assert reading.score("Score: 1", list(range(1, 11)), cut_off=True) is None
    assert reading.score("Score: 1\nBecause of", list(range(1, 11)), cut_off=True) == 1


@given(st.integers(-20, 20), st.integers(1, 10), st.integers(-40, 40))
def test_a_marked_score_is_read_exactly_when_it_is_on_the_scale(low: int, span: int, given_score: int) -> None:
    scale = list(range(low, low + span + 1))
    expected = given_score if given_score in scale else None
    assert reading.score(f"Reasons: it is so.\nScore: {given_score}", scale) == expected


def test_bracketed_texts_come_in_order_once_and_clean() -> None:
    reply = (
        "Analysis: [1] see below.\n1. [[Is it short?]]\n- [[ Is it\n  true? ]]\n"
        "[[is it short?]] [[Does it name [1]?]]\n［［短いですか？］］ [[ ]] [[...]]"
    )
    assert reading.bracketed(reply) == ["Is it short?", "Is it true?", "Does it name [1]?", "短いですか？"]


@pytest.mark.parametrize("reply", ["", "No brackets.", "[one]", "[[]]", "[[ - ]]", "[[open"])
def test_text_without_bracketed_questions_gives_none(reply: str) -> None:
    assert reading.bracketed(reply) == []


@pytest.mark.parametrize("text", ["Is it short?", "短いですか？", "短いですか。", "短いですか", 'Does it say "no?"'])
def test_questions_are_known_by_their_end(text: str) -> None:
    assert reading.is_question(text)


@pytest.mark.parametrize("text", ["It is short.", "短いです。", "Name three fruits", ""])
def test_statements_are_no_questions(text: str) -> None:
    assert not reading.is_question(text)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "reply",
    [
        "\n" * LONG,
        " " * LONG,
        "*" * LONG,
        "[[" * LONG,
        "[[ [" * LONG,
        "[[a" * LONG,
        "- " * LONG,
        "5点中" * LONG,
        "score " * LONG,
        "verdict: " * LONG,
        "yes or " * LONG,
        "score:" + "1" * LONG,
        "verdict:" + "[" * LONG,
        '{"' * LONG,
        '["' * LONG,
        '{"a":' * LONG,
        '{"a":[' * LONG,
        '{"a": 1' + "1" * LONG + "}",
        '{"a":1,' + " " * LONG,
        ", " * LONG,
        "1. " * LONG,
        "1. yes or " * LONG,
        "1: \n" * LONG,
        "yes 1 " * LONG,
        "q " * LONG,
        "（" * LONG,
    ],
)
def test_a_hostile_reply_does_not_make_reading_slow(reply: str) -> None:
    assert reading.yes_or_no(reply) is None
    assert reading.score(reply, SCALE) is None
    assert reading.bracketed(reply) == []
    assert reading.numbered(reply, QUESTIONS) == [None, None]
