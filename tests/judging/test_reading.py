"""Reading replies: tolerant of form, strict in substance; what says no verdict is None."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging import reading

SCALE = [1, 2, 3, 4, 5]
YES, NO, NA = "yes", "no", "na"
LONG = 60_000


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
        ("判定：はいです。", True),
        ('{"verdict": "ＹＥＳ"}', True),
        ('{"analysis": "The text says: Verdict: YES", "verdict": "NO"}', False),
        ('{"verdict": "NO", "analysis": "It claims\\nVerdict: YES"}', False),
        ('The text holds {"verdict": "yes"}.\nVerdict: NO', False),
        ('{"verdict": "yes"}\nLooking again:\n{"verdict": "no"}', False),
        ('{"verdict": "yes"}\n{"note": "done"}', True),
        ('{"verdict": "yes", "verdict": "no"}', False),
        ('```json\n{\n  "analysis": "two\nlines",\n  "verdict": "yes",\n}\n```\nThat is all.', True),
        ('{"final_answer": true}', True),
        ('{"Verdict": false}', False),
        ('{"判定": "いいえ"}', False),
        ('{"result": {"analysis": "It is.", "verdict": "yes"}}', True),
        ('[{"verdict": "no"}, {"verdict": "yes"}]', True),
        ("｛＂ｖｅｒｄｉｃｔ＂：＂ｎｏ＂｝", False),
        ('Set {a, b} and map {"a": 1}: fine.\n{"verdict": "yes"}', True),
        ('Verdict: NO\n{"analysis": "I stay with it."}', False),
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
        "No-one is named.",
        "No. 3 is missing.",
        "Verdict: no-brainer",
        '{"analysis": "It is. Verdict: YES"}',
        '{"verdict": null}',
        '{"verdict": "maybe"}',
        '{"verdict": 1}',
        '{"verdict": ["yes"]}',
        '{"first": {"verdict": "yes"}, "second": {"verdict": "no"}}',
        '{"error": "I cannot help with that."}',
        '["yes", "no"]',
        "{}",
        "null",
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
        ('{"analysis": "short", "verdict": "no"}', False),  # a whole object lacks nothing
        ('{"analysis": "short", "verdict": "no', None),
        ('{"analysis": "It says Verdict: YES", "verd', None),
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
        ("Score (1-5): 4", 4),
        ("Score: 3\nMaximum score: 5", 3),
        ("4\n\nIt lacks one fruit.", 4),
        ('{"score": "4/5", "max_score": 5}', 4),
        ('{"reasons": "Score: 5 would be too much.\\nScore: 5", "score": 3.0}', 3),
        ('{"Overall rating": 2,}', 2),
        ('{"score": 2, "score": 3}', 3),
        ('```\n{"score": 2}\n```\nOn reflection:\n```\n{"score": 4}\n```', 4),
        ('{"score": 2}\nScore: 4', 4),
        ('{"evaluation": {"reasons": "fine", "score": 5}}', 5),
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
        "Score: 4,5",
        "Score: 4½",
        "Score: 3e1",
        "Score: 5 %",
        "1.\n2.\n3.",
        "Point 3 is met.",
        "Highest possible score: 5",
        '{"score": true}',
        '{"score": null}',
        '{"score": "high"}',
        '{"score": 4.5}',
        '{"score": [4]}',
        '{"style": {"score": 2}, "truth": {"score": 4}}',
        '{"reasons": "I give it Score: 4"}',
        '{"score": 1e400}',
        '{"score": ' + "9" * 5000 + "}",
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


@pytest.mark.parametrize("reply", ["4", "1. YES\n2. NO", "Point 1: YES\nPoint 2: NO", "a score of 3 is right", "2.\n"])
def test_among_other_numbers_only_a_marked_score_counts(reply: str) -> None:
    assert reading.score(reply, SCALE, marked=True) is None
    assert reading.score(f"{reply}\nScore: 5", SCALE, marked=True) == 5
    assert reading.score(f'{reply}\n{{"score": 5}}', SCALE, marked=True) == 5


# --- numbered answers -------------------------------------------------------------------------------------------------

ASKED = ["Is it short?", "Is it true?", "Does it say that the answer is no?"]


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("1. YES\n2. NO\n3. YES", [YES, NO, YES]),
        ("1) yes\n2) no\n3) N/A", [YES, NO, NA]),
        ("1: Yes.\n2: No.\n3: not applicable", [YES, NO, NA]),
        ("Q1: Yes\nQ2 - No\nQuestion 3: Yes", [YES, NO, YES]),
        ("- **1.** YES\n- **2.** NO\n- **3.** YES", [YES, NO, YES]),
        ("3. NO\n1. YES\n2. NO", [YES, NO, NO]),
        ("[1] YES\n[2] NO\n[3] YES", [YES, NO, YES]),
        ("1 YES\n2 NO\n3 YES", [YES, NO, YES]),
        ("1. YES 2. NO 3. YES", [YES, NO, YES]),
        ("Answers: 1: yes, 2: no, 3: yes.", [YES, NO, YES]),
        ("（１）はい\n（２）いいえ\n（３）該当なし", [YES, NO, NA]),
        ("問１：ＹＥＳ\n問２：ＮＯ\n問３：はい", [YES, NO, YES]),
        ("① はい\n② いいえ\n③ はい", [YES, NO, YES]),
        ("| 1 | Is it short? | YES |\n|---|---|---|\n| 2 | Is it true? | NO |\n| 3 | It. | YES |", [YES, NO, YES]),
        ("1. Is it short? YES\n2. Is it true? - No\n3. Does it say that the answer is no? YES", [YES, NO, YES]),
        ("1. YES - it is short\n2. NO (it is false)\n3. YES because it does", [YES, NO, YES]),
        ("1. It is short. YES\n2. It names no source; NO\n3. The answer is yes.", [YES, NO, YES]),
        ("1. Is it short?\nYES\n\n2. Is it true?\nNO\n\n3. Does it say that the answer is no?\nNO", [YES, NO, NO]),
        ("1. Is it short?\nAnalysis: it is.\nVerdict: YES\n2. Hm.\nVerdict: YES\nWait.\nVerdict: NO", [YES, NO, None]),
        ("Analysis:\n1. It has two words.\n2. Nobody knows.\n\n1. YES\n2. NO\n3. NO", [YES, NO, NO]),
        ("### 1. Is it short?\n**YES**\n### 2. Is it true?\n**NO**\n### 3.\nNO", [YES, NO, NO]),
        ("1: ✅ YES\n2: ❌ NO\n3. ✔️ Yes, it does.", [YES, NO, YES]),
        ("YES\nNO\nYES", [YES, NO, YES]),
        ("- Yes\n- No\n\n- Yes.", [YES, NO, YES]),
        # what is missing, beyond the list or said twice
        ("1. YES\n3. NO", [YES, None, NO]),
        ("0. YES\n1. NO\n4. YES\n17. NO", [NO, None, None]),
        ("1. YES\n2. NO\n1. NO", [NO, NO, None]),
        ("1. YES\n2. NO\n3. YES\n\nI was wrong about the second:\n2. YES", [YES, YES, YES]),
        ("1. YES\n1. maybe", [None, None, None]),
        ("1. YES or NO\n2. unclear\n3. YES, it is. Is it true? No", [None, None, None]),
        ("1. No mention of a source. YES\n2. Nothing wrong", [YES, None, None]),
        ("1. YES\n2. NO\n3. Hm.\n\nOverall verdict: YES", [YES, NO, None]),
        ("1. YES\n2. NO\n3.\nScore: 4\nYES", [YES, NO, None]),
        # lists without numbers
        ("YES\nNO", [None, None, None]),
        ("YES\nNO\nYES\nNO", [None, None, None]),
        ("YES\nIt is.\nNO\nIt is not.\nYES", [None, None, None]),
        ("YES, NO, YES", [None, None, None]),
        ("YES", [None, None, None]),
        ("I cannot judge this.", [None, None, None]),
        ("", [None, None, None]),
        # JSON
        ('{"answers": {"1": "YES", "2": "NO", "3": "N/A"}}', [YES, NO, NA]),
        ('```json\n{"checklist": {"1": "yes", "2": "no", "3": "n/a"}, "rating": 3,}\n```', [YES, NO, NA]),
        ('Here it is: {"1": true, "2": false, "3": null}', [YES, NO, None]),
        ('{"q1": "yes", "Question 2": "no"}', [YES, NO, None]),
        ('{"answers": {"1": {"analysis": "Verdict: no", "answer": "yes"}, "2": {"analysis": "?"}}}', [YES, None, None]),
        ('[{"question": 1, "answer": "yes"}, {"question": 3, "answer": "no"}]', [YES, None, NO]),
        (
            '{"answers": [{"question": "Is it short?", "answer": "yes"}, {"answer": "no"}, {"answer": "no"}]}',
            [YES, NO, NO],
        ),
        ('{"answers": ["YES", "NO", "はい"]}', [YES, NO, YES]),
        ('["YES", "NO", "maybe"]', [YES, NO, None]),
        ('["YES", "NO"]', [None, None, None]),
        ('{"answers": {"1": "YES", "1": "NO"}}', [NO, None, None]),
        ('{"answers": {"1": "YES"}}\nOn reflection:\n{"answers": {"1": "NO", "2": "NO", "9": "YES"}}', [NO, NO, None]),
        ('{"answers": {"1": "YES", "2": "NO"}}\n2. YES', [YES, YES, None]),
        ('{"analysis": "1. YES\\n2. YES", "answers": {"1": "NO"}}', [NO, None, None]),
        ('{"answers": {"1": "YES", "2": "N', [YES, None, None]),
        ('{"verdicts": {"1": 1, "2": "", "3": "yes and no"}}', [None, None, None]),
        ('{1: "yes", 2: "no", 3: "yes"}', [YES, NO, YES]),
    ],
)
def test_answers_belong_to_their_numbers(reply: str, answers: list[str | None]) -> None:
    assert reading.numbered(reply, ASKED, na=True) == answers


def test_not_applicable_counts_only_where_it_was_asked_for() -> None:
    assert reading.numbered("1. YES\n2. N/A\n3. NO", ASKED) == [YES, None, NO]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [("1. YES", YES), ("YES", YES), ("Verdict: NO", NO), ('{"verdict": "no"}', NO), ("It is short.", None)],
)
def test_one_question_needs_no_number(reply: str, answer: str | None) -> None:
    assert reading.numbered(reply, ["Is it short?"]) == [answer]


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("1. YES\n2. NO\n3. N", [YES, NO, None]),
        ("1. YES\n2. NO", [YES, None, None]),  # may have gone on: NOT APPLICABLE
        ("1. YES\n2. NO \t", [YES, None, None]),
        ("1. YES\n2. NO\n", [YES, NO, None]),
        ("YES\nNO\nYES\nN", [None, None, None]),  # there were more than three
        ('{"answers": {"1": "YES", "2": "NO", "3": "YES"}}', [YES, NO, YES]),
        ('{"answers": {\n"1": "YES",\n"2": "NO",\n"3": "Y', [YES, NO, None]),
    ],
)
def test_of_a_cut_off_list_the_last_line_is_lost(reply: str, answers: list[str | None]) -> None:
    assert reading.numbered(reply, ASKED, na=True, cut_off=True) == answers


LINES = [
    "{n}. {a}",
    "{n}) {a}",
    "Q{n}: {a}",
    "**{n}.** {a}",
    "| {n} | {a} |",
    "問{n}：{a}",
    "{n}. It is so. {a}",
    "{n}:\n{a}",
]
SAYINGS = {YES: ["YES", "yes", "Ｙｅｓ", "はい"], NO: ["NO", "no", "ＮＯ", "いいえ"], NA: ["N/A", "n/a", "該当なし"]}
WHOLE = st.lists(st.sampled_from([YES, NO, NA]), min_size=1, max_size=50)


@given(WHOLE, st.sampled_from(LINES), st.data())
def test_lines_of_any_form_are_read_as_what_they_say(answers: list[str], line: str, data: st.DataObject) -> None:
    said = [data.draw(st.sampled_from(SAYINGS[answer])) for answer in answers]
    order = data.draw(st.permutations(range(len(answers))))
    reply = "\n".join(line.format(n=place + 1, a=said[place]) for place in order)
    assert reading.numbered(reply, ["Is it so?"] * len(answers), na=True) == answers


@given(WHOLE, st.text(), st.text(alphabet="abc .\n"))
def test_json_is_read_whatever_stands_around_it(answers: list[str], analysis: str, after: str) -> None:
    said = {str(number): SAYINGS[answer][0] for number, answer in enumerate(answers, start=1)}
    reply = json.dumps({"analysis": analysis, "answers": said, "score": 3})
    for form in (f"{reply}\n{after}", f"```json\n{reply}\n```\n{after}", f"Here: {reply[:-1]},\n}}\n{after}"):
        assert reading.numbered(form, ["Is it so?"] * len(answers), na=True) == answers
        assert reading.score(form, SCALE, marked=True) == 3


MARKS = [*'{}[]":,.\n*|()-_1234/', " ", " or ", "2.", "Q1", '{"answers": {"1": "', '"verdict": ', "Score: "]
WORDS = [
    "yes",
    "NO",
    "n/a",
    "maybe",
    "はい",
    "いいえ",
    "該当なし",
    "ｙｅｓ",
    "true",
    "false",
    "null",
    "verdict",
    "answer",
    "answers",
    "score",
]
PIECES = st.lists(st.sampled_from([*MARKS, *WORDS]), max_size=40).map("".join)


@given(st.one_of(st.text(), PIECES), st.booleans())
def test_nothing_is_read_that_a_text_does_not_state(reply: str, cut_off: bool) -> None:
    text = reading.fold(reply)
    stated = {
        YES: any(word in text for word in ("yes", "はい", "true")),
        NO: any(word in text for word in ("no", "いいえ", "false")),
        NA: any(word in text for word in ("n/a", "na", "該当なし", "not applicable", "該当しない", "適用外", "対象外")),
    }
    verdict = reading.yes_or_no(reply, cut_off=cut_off)
    assert verdict is None or stated[YES if verdict else NO]
    for count in (1, 3):
        for number, answer in enumerate(reading.numbered(reply, ASKED[:count], na=True, cut_off=cut_off), start=1):
            assert answer is None or stated[answer]
            # A number of its own, or a list that is complete.
            assert answer is None or count == 1 or str(number) in text or sum(map(text.count, SIGNS)) >= count
    for marked in (False, True):
        score = reading.score(reply, SCALE, cut_off=cut_off, marked=marked)
        assert score is None or (score in SCALE and str(score) in text)


SIGNS = ("yes", "no", "na", "n/a", "はい", "いいえ", "該当なし", "true", "false", "maybe", "null")

# --- tricky replies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        # "no" that belongs to a noun
        ("Result: no errors found, it passes.", None),
        ("Result: no errors found, it passes.\nVerdict: YES", True),
        ("Verdict: YES. The result is no worse than others", True),
        ("Verdict: YES\nResult: no faults.", True),
        ("Verdict:\nNo errors were found.", None),
        ("Result: no (serious) errors were found", None),
        ("Verdict: NO (it is false)", False),
        ("Result: No. 3 is missing.", None),
        ("My verdict is no longer the same.", None),
        ("The result is no surprise: it passes.", None),
        ('{"result": "no errors", "verdict": "yes"}', True),
        ('{"result": "no errors"}', None),
        # the end of the word
        ("Verdict: YES because all is there", True),
        ("Verdict: YES with small flaws", True),
        ("Verdict: NO the title is missing", False),
        ("Verdict: NO as the title is missing", False),
        ("Verdict: YES, no errors were found.", True),
        ("Verdict: YES, NO", None),
        ("Verdict: NO - 3 lines are missing", False),
        ("Verdict: YES. 3 lines are there", True),
        ("Verdict: **NO**, although it is short", False),
        ("Verdict: yes to the first part, no to the second", None),
        ("Verdict: YES\nVerdict: partly met", None),
        # whose verdict it is
        ("Verdict: NO. The expected answer is yes, but it is not given.", False),
        ("The expected answer is yes.", None),
        ("It claims that the answer is yes.", None),
        ("The user's answer: yes.", None),
        ("The answer is no.", False),
        ("It names the year, so the answer is YES.", True),
        ("The answer is no. That is right. Verdict: YES", True),
        ("The answer is no in the text.\nVerdict: YES", True),
        ("Verdict: YES\nOn reflection, my verdict is NO.", None),
        ("Verdict: YES\nSo my final verdict is NO.", False),
        ("It is short. Verdict: YES", True),
        ("Verdict: NO, it is not. Verdict: YES, I mean.", None),
        ("No. The answer is yes.", None),
        ("Final answer: no, wait, yes", None),
        ("1. Verdict: YES", True),
        ("> **Final verdict** -> NO", False),
        ("Overall, the judgement is: no", False),
        # Japanese
        ("判定：はい。誤りはありません。", True),
        ("最終判定：いいえ", False),
        ("したがって、判定は「いいえ」とします。", False),
        ("判定：はいと判断します", True),
        ("答えは「はい」ではありません。", None),
        ("期待される答えは「はい」ですが、回答は違います。\n判定：いいえ", False),
        ("期待される答えは「はい」です。", None),
        ("回答は「はい」と書かれている。", None),
        ("判定：はい、または、いいえ", None),
        ("Verdict: YES, or NO", None),
        ("判定は「はい」でしょうか。", None),
        ("結果：いいえ（二文目がない）", False),
    ],
)
def test_tricky_verdicts_are_read_as_a_careful_person_would(reply: str, verdict: bool | None) -> None:
    assert reading.yes_or_no(reply) is verdict


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Score 5: perfect\nScore 3: fair\nScore 1: bad\nI would say 5.", None),
        ("Score 5: perfect\nScore 3: fair\nScore 1: bad\nScore: 4", 4),
        ("Score 5: perfect ... Score 1: bad ... I would say 5.", None),
        ("Score: 5 - perfect\nScore: 4 - good\nScore: 3 - fair\nI would say 5.", None),
        ("Score: 1 - bad\n\nScore: 2 - fair\n\nScore: 3 - good\n\nScore: 2\nbecause", 2),
        ("Score: 1 - bad\nScore: 2 - fair\nScore: 3 - good\nIt is fair.\nScore: 2", 2),
        ("Style score: 2\nTruth score: 3\nOverall score: 4", 4),
        ("Score 1 would mean useless.", None),
        ("Score: 1 would mean useless.", None),
        ("Score: 1 = useless", None),
        ("Score 5\nperfect\nScore 1\nbad", None),
        ("Score 4", 4),
        ("**Score 4/5**", 4),
        ("Score 4.", 4),
        ("Score: 2\nOn reflection:\nScore 3", 3),
        ("Score: 4 because it is short", 4),
        ("Score: 4: good", 4),
        ("A score of 5 would need examples.", None),
        ("A score of 5 out of 5 would need examples.", None),
        ("A score of 4 is too high.", None),
        ("I cannot give it a score of 5.", None),
        ("It deserves more than a score of 2.", None),
        ("It is short, and I give it a score of 2.", 2),
        ("Not bad, so a score of 4.", 4),
        ("評価５点", 5),
        ("評価は４です。", 4),
        ("評価は5点ではありません。", None),
        ("スコア5：完璧\nスコア1：悪い", None),
        ("スコア5なら完璧です。", None),
        ("スコア：3\nスコアは5とは言えません。", 3),
    ],
)
def test_tricky_scores_are_read_as_a_careful_person_would(reply: str, score: int | None) -> None:
    assert reading.score(reply, SCALE) == score


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("1. Result: no spelling mistakes. YES it is a poem.\n2. Result: no", [None, NO, None]),
        ("1. Result: no spelling mistakes. YES\n2. NO - 3 lines", [YES, NO, None]),
        ("1. The answer is yes, as it says.\nVerdict: NO\n2. The answer is yes.", [NO, YES, None]),
        ("1. YES. The expected answer is no.\n2. Yes, no.\n3. Options: yes, no", [YES, None, None]),
        ("1. NO (3 errors)\n2. YES, no errors\n3. No errors", [NO, YES, None]),
        ("1. Verdict: NO. Wait. YES\n2. Is it so? Answer: YES\n3. It has a piano, yes", [YES, YES, YES]),
        ("１．結果：いいえ\n２．誤りなし。はい\n３．答えは「はい」ではない。", [NO, YES, None]),
        ('{"answers": {"1": "no errors", "2": "no", "3": "yes, it is"}}', [None, NO, YES]),
    ],
)
def test_tricky_lists_are_read_as_a_careful_person_would(reply: str, answers: list[str | None]) -> None:
    assert reading.numbered(reply, ASKED) == answers


@given(st.sampled_from(["Result", "Verdict", "The answer is", "So my answer is", "判定", "1. Result"]), st.data())
def test_no_before_a_noun_is_no_verdict(mark: str, data: st.DataObject) -> None:
    noun = data.draw(st.sampled_from(["errors", "mistakes", "fault", "title", "clear sign", "problems", "more lines"]))
    end = data.draw(st.sampled_from(["", ".", " found, it passes.", " were seen\nAll is fine."]))
    reply = f"{mark}{'' if mark.endswith(' is') else ':'} no {noun}{end}"
    assert reading.yes_or_no(reply) is None
    assert reading.numbered(reply, ["Is it short?"]) == [None]


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
        ")" * LONG,
        ". so the " * LONG,
        "so my " * LONG,
        "** [[ ((" * LONG,
        "verdict: no (" * LONG,
        "score: 9 (" * LONG,
        "a score of 9 " * LONG,
        "score: 9\n" * LONG,
    ],
)
def test_a_hostile_reply_does_not_make_reading_slow(reply: str) -> None:
    assert reading.yes_or_no(reply) is None
    assert reading.score(reply, SCALE) is None
    assert reading.bracketed(reply) == []
    assert reading.numbered(reply, ASKED) == [None, None, None]
