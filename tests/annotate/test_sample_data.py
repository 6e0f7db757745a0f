"""The packaged sample data: complete, balanced, and with answers that are true of the texts.

The simulated annotators of the sample project add noise to these answers and qualities, so a wrong answer
here would show up as a false figure on every screen of a first visit. Whatever can be counted is therefore
counted again from the text.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from annotate.sample.load import load

SAMPLE = Path(__file__).resolve().parents[2] / "annotate" / "sample" / "items.jsonl"
SYSTEMS = ("Aster", "Briar", "Clover")
CATEGORIES = {"constrained writing", "extraction", "formatting", "reasoning", "code", "open advice"}
REQUIRED_KEYS = {"external_id", "instruction", "category", "language", "metadata", "responses"}
OPTIONAL_KEYS = {"reference", "history", "checklist"}
KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
SYSTEM_NAMES = re.compile(r"\b(aster|briar|clover)\b", re.IGNORECASE)


def load_items() -> list[dict[str, Any]]:
    """The items in file order; a line that is not a JSON object fails here."""
    lines = SAMPLE.read_bytes().decode("utf-8", errors="strict").splitlines()
    items = [json.loads(line) for line in lines]
    assert all(isinstance(item, dict) for item in items)
    return items


ITEMS = load_items()
BY_ID = {item["external_id"]: item for item in ITEMS}
WITH_CHECKLIST = [item for item in ITEMS if "checklist" in item]


def texts_of(item: dict[str, Any]) -> dict[str, str]:
    return {response["system"]: response["text"] for response in item["responses"]}


def all_strings(value: Any) -> list[str]:
    """Every string inside a nested JSON value, without the keys."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in all_strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in all_strings(part)]
    return []


def test_languages_and_kinds_are_all_represented() -> None:
    languages = Counter(item["language"] for item in ITEMS)
    assert set(languages) == {"en", "ja"}
    assert languages["en"] >= 26
    assert languages["ja"] >= 9
    kinds = Counter((item["language"], item["category"]) for item in ITEMS)
    assert {category for _, category in kinds} == CATEGORIES
    assert all(kinds["en", category] >= 4 for category in CATEGORIES)
    assert all(kinds["ja", category] >= 1 for category in CATEGORIES)


def test_about_two_thirds_of_the_items_have_a_checklist_and_the_rest_is_spread() -> None:
    assert 22 <= len(WITH_CHECKLIST) <= 26
    without = [item for item in ITEMS if "checklist" not in item]
    assert len(without) >= 9
    assert {item["language"] for item in without} == {"en", "ja"}
    assert {item["category"] for item in without} == CATEGORIES


def test_external_ids_are_unique_and_start_with_the_language() -> None:
    assert len(BY_ID) == len(ITEMS)
    assert all(re.fullmatch(rf"{item['language']}-[a-z]+-\d\d", item["external_id"]) for item in ITEMS)


def test_instructions_and_responses_are_never_repeated() -> None:
    instructions = [item["instruction"] for item in ITEMS]
    assert len(set(instructions)) == len(instructions)
    responses = [response["text"] for item in ITEMS for response in item["responses"]]
    assert len(set(responses)) == len(responses)


@pytest.mark.parametrize("item", ITEMS, ids=BY_ID)
def test_item_follows_the_native_format(item: dict[str, Any]) -> None:
    assert set(item) >= REQUIRED_KEYS
    assert set(item) <= REQUIRED_KEYS | OPTIONAL_KEYS
    assert [response["system"] for response in item["responses"]] == list(SYSTEMS)
    assert all(set(response) == {"system", "text"} for response in item["responses"])
    assert all(text.strip() for text in all_strings(item))
    quality = item["metadata"]["simulated_quality"]
    assert list(quality) == list(SYSTEMS)
    assert all(type(value) is int and 1 <= value <= 5 for value in quality.values())


@pytest.mark.parametrize("item", ITEMS, ids=BY_ID)
def test_response_texts_do_not_name_a_system(item: dict[str, Any]) -> None:
    for text in [item["instruction"], *texts_of(item).values()]:
        assert not SYSTEM_NAMES.search(text)


def test_history_alternates_and_ends_with_the_assistant() -> None:
    histories = [item["history"] for item in ITEMS if "history" in item]
    assert 2 <= len(histories) <= 4
    for history in histories:
        assert all(set(turn) == {"role", "content"} for turn in history)
        roles = [turn["role"] for turn in history]
        assert len(roles) % 2 == 0
        assert roles == ["user", "assistant"] * (len(roles) // 2)


@pytest.mark.parametrize("item", WITH_CHECKLIST, ids=lambda item: item["external_id"])
def test_checklist_questions_are_questions_and_every_one_is_answered(item: dict[str, Any]) -> None:
    assert set(item["checklist"]) == {"questions"}
    questions = item["checklist"]["questions"]
    assert 3 <= len(questions) <= 7
    assert len(set(questions)) == len(questions)
    assert all(question.endswith(("?", "？")) for question in questions)
    answers = item["metadata"]["simulated_answers"]
    assert list(answers) == list(SYSTEMS)
    for system in SYSTEMS:
        assert len(answers[system]) == len(questions)
        assert set(answers[system]) <= {"yes", "no"}


def test_items_without_a_checklist_carry_no_answers() -> None:
    assert not any("simulated_answers" in item["metadata"] for item in ITEMS if "checklist" not in item)


def test_japanese_items_are_japanese_and_english_ones_are_not() -> None:
    for item in ITEMS:
        questions = item.get("checklist", {}).get("questions", [])
        if item["language"] == "ja":
            assert all(KANA.search(text) for text in [item["instruction"], *questions]), item["external_id"]
            assert KANA.search(texts_of(item)["Aster"]), item["external_id"]
        else:
            assert not any(KANA.search(text) for text in all_strings(item)), item["external_id"]


def test_one_japanese_item_is_answered_in_the_wrong_language() -> None:
    foreign = [
        (item["external_id"], system)
        for item in ITEMS
        if item["language"] == "ja"
        for system, text in texts_of(item).items()
        if not KANA.search(text)
    ]
    assert ("ja-constrained-01", "Clover") in foreign
    assert {system for _, system in foreign} <= {"Briar", "Clover"}


def test_systems_differ_clearly_in_quality_but_not_on_every_item() -> None:
    qualities = [item["metadata"]["simulated_quality"] for item in ITEMS]
    aster, briar, clover = (mean(quality[system] for quality in qualities) for system in SYSTEMS)
    assert aster - briar >= 0.8
    assert briar - clover >= 0.8
    assert sum(quality["Briar"] > quality["Aster"] for quality in qualities) >= 3
    assert 2 <= sum(quality["Clover"] > quality["Aster"] for quality in qualities) <= 4


def test_pass_rates_follow_the_quality_of_the_systems() -> None:
    def pass_rate(system: str) -> float:
        answers = [item["metadata"]["simulated_answers"][system] for item in WITH_CHECKLIST]
        return float(mean(answer == "yes" for row in answers for answer in row))

    assert pass_rate("Aster") > pass_rate("Briar") + 0.15
    assert pass_rate("Briar") > pass_rate("Clover") + 0.15
    assert pass_rate("Clover") > 0.1


def test_hostile_looking_texts_are_there_for_the_renderer() -> None:
    responses = [text for item in ITEMS for text in texts_of(item).values()]
    outside_fences = [re.sub(r"```.*?```", "", text, flags=re.DOTALL) for text in responses]
    assert any("<script>" in text and "onerror=" in text for text in outside_fences)
    assert any("ignore all previous instructions" in text.lower() for text in responses)
    assert any(text.count("|") > 20 for text in responses)
    assert any(text.count("```") == 2 for text in responses)
    assert max(len(text.split()) for text in responses) >= 250


# What can be counted is counted again: the stored answer must be what the text says.


def word_count(text: str) -> int:
    return len(text.split())


def sentence_count(text: str) -> int:
    """English sentences: a full stop, exclamation or question mark before a space or the end."""
    return len(re.findall(r"[.!?](?=\s|$)", text))


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def unfenced(text: str) -> str:
    """The inside of a code fence that spans the whole text, or the text itself."""
    match = re.fullmatch(r"```\w*\n(.*)\n```", text, flags=re.DOTALL)
    return match[1] if match else text


def is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(unfenced(text)), dict)
    except json.JSONDecodeError:
        return False


def is_only_csv_of_four_columns(text: str) -> bool:
    return all(len(row) >= 4 for row in csv.reader(io.StringIO(unfenced(text))))


def has_only_two_decimal_totals(text: str) -> bool:
    orders = [line for line in text.splitlines() if re.match(r"\d{3},", line)]
    return len(orders) == 3 and all(re.search(r",\d+\.\d\d$", line) for line in orders)


def is_only_a_table(text: str) -> bool:
    return all(line.startswith("|") for line in lines_of(text))


def departure_cells(text: str) -> list[str]:
    return [line.split("|")[1].strip() for line in lines_of(text) if re.match(r"\|\s*\d", line)]


COUNTABLE: list[tuple[str, int, Callable[[str], bool]]] = [
    ("en-constrained-01", 0, lambda text: sentence_count(text) == 4),
    ("en-constrained-01", 2, lambda text: "Friday" in text),
    ("en-constrained-01", 3, lambda text: not re.search(r"\bplease\b", text, re.IGNORECASE)),
    ("en-constrained-01", 4, lambda text: re.split(r"[.!?]\s+", text)[-1].startswith("Thank you")),
    ("en-constrained-02", 0, lambda text: len(lines_of(text)) == 6),
    ("en-constrained-02", 1, lambda text: "".join(line[0] for line in lines_of(text)) == "BEACON"),
    ("en-constrained-02", 2, lambda text: all(word_count(line) <= 9 for line in lines_of(text))),
    ("en-constrained-03", 0, lambda text: 60 <= word_count(text) <= 80),
    ("en-constrained-03", 1, lambda text: bool(re.search(r"\byou\b", text, re.IGNORECASE))),
    ("en-constrained-03", 2, lambda text: "120 kg" in text),
    ("en-constrained-03", 3, lambda text: "42 cm" in text),
    ("en-constrained-03", 4, lambda text: "!" not in text),
    ("en-constrained-03", 5, lambda text: not re.search(r"\b(best|most|\w+gest)\b", text, re.IGNORECASE)),
    ("en-constrained-04", 0, lambda text: word_count(text) <= 45),
    ("en-constrained-04", 1, lambda text: "14 March" in text),
    ("en-constrained-04", 2, lambda text: "Harrow Lane" in text),
    ("en-extraction-01", 0, lambda text: len(re.findall(r"^[-*] ", text, re.MULTILINE)) == 4),
    ("en-extraction-01", 3, lambda text: bool(re.search(r"painters.* - none$", text, re.MULTILINE))),
    ("en-extraction-02", 0, is_json_object),
    ("en-extraction-02", 2, lambda text: bool(re.search(r'"price": 34\.50?\b', text))),
    ("en-extraction-03", 3, lambda text: bool(re.search(r"\| egg \| 1 \| - \|", text, re.IGNORECASE))),
    (
        "en-formatting-01",
        2,
        lambda text: sorted(departure_cells(text), key=lambda time: time.zfill(5)) == departure_cells(text) != [],
    ),
    (
        "en-formatting-01",
        3,
        lambda text: (
            departure_cells(text) != [] and all(re.fullmatch(r"\d\d:\d\d", time) for time in departure_cells(text))
        ),
    ),
    ("en-formatting-01", 4, is_only_a_table),
    ("en-formatting-02", 0, lambda text: len(re.findall(r"^## ", text, re.MULTILINE)) == 3),
    ("en-formatting-02", 3, lambda text: "52" in text),
    ("en-formatting-02", 4, lambda text: bool(re.fullmatch(r"\*\*Total.*\*\*", lines_of(text)[-1]))),
    ("en-formatting-03", 0, lambda text: "order_id,customer,date,total" in text.splitlines()),
    ("en-formatting-03", 2, has_only_two_decimal_totals),
    ("en-formatting-03", 3, lambda text: '"Mills, Anna"' in text and '"Becker & Sons, Ltd."' in text),
    ("en-formatting-03", 4, is_only_csv_of_four_columns),
    ("en-reasoning-01", 4, lambda text: lines_of(text)[-1].startswith("Answer:")),
    ("en-reasoning-02", 0, lambda text: "Eve, Ben, Cleo, Ada, Dan" in text),
    ("en-reasoning-02", 2, lambda text: sentence_count(text.split("\n", 1)[1]) <= 4),
    ("en-reasoning-03", 3, lambda text: "by 2.50" in text),
    ("en-code-01", 2, lambda text: "raise ValueError(" in text),
    ("en-code-01", 5, lambda text: '"""' in text),
    (
        "en-code-02",
        1,
        lambda text: all(part in text for part in ("&amp;", "&lt;", "&gt;", "&quot;", "&#39;")),
    ),
    ("en-code-03", 0, lambda text: text.count("SELECT ") == 1),
    ("en-advice-02", 0, lambda text: len(re.findall(r"^(?:\d\.|-) ?.*", text, re.MULTILINE)) == 5),
    ("ja-constrained-01", 0, lambda text: bool(KANA.search(text))),
    ("ja-constrained-01", 1, lambda text: text.count("。") == 3),
    ("ja-constrained-01", 2, lambda text: "禁止" not in text),
    ("ja-constrained-01", 3, lambda text: bool(re.search("ふた(の)?付", text))),
    ("ja-constrained-01", 4, lambda text: "19時" in text or "19:00" in text),
    ("ja-extraction-01", 0, lambda text: text.count("：") == 6),
    ("ja-extraction-01", 1, lambda text: "6月19日" in text),
    ("ja-extraction-01", 2, lambda text: "18:30" in text),
    ("ja-extraction-01", 3, lambda text: "14名" in text),
    ("ja-extraction-01", 4, lambda text: "一人4,000円" in text),
    ("ja-extraction-01", 5, lambda text: "2名" in text and "卵" in text),
    ("ja-formatting-01", 1, lambda text: all(club in text for club in ("合唱", "卓球", "美術", "将棋"))),
    ("ja-formatting-01", 3, lambda text: bool(re.search(r"\d\d:\d\d〜\d\d:\d\d", text))),
    ("ja-formatting-01", 4, is_only_a_table),
    ("ja-reasoning-01", 0, lambda text: bool(re.search("りんご[は]?7個、みかん[は]?8個", text))),
    ("ja-code-01", 0, lambda text: "def to_halfwidth(text: str) -> str:" in text),
    ("ja-code-01", 4, lambda text: '"""全角' in text),
    ("ja-advice-01", 2, lambda text: len(re.findall(r"^(?:\d\.|-) ", text, re.MULTILINE)) == 3),
]


@pytest.mark.parametrize(
    ("external_id", "index", "is_met"),
    COUNTABLE,
    ids=[f"{name}-q{index + 1}" for name, index, _ in COUNTABLE],
)
def test_countable_answers_are_true_of_the_texts(external_id: str, index: int, is_met: Callable[[str], bool]) -> None:
    item = BY_ID[external_id]
    stored = {system: item["metadata"]["simulated_answers"][system][index] for system in SYSTEMS}
    counted = {system: "yes" if is_met(text) else "no" for system, text in texts_of(item).items()}
    assert stored == counted, item["checklist"]["questions"][index]


@pytest.mark.django_db
def test_the_rounds_of_the_sample_are_the_arms_of_one_experiment() -> None:
    project = load("correct horse battery")
    assert project is not None
    arms = project.experiments.get().arms.values_list("arm", flat=True)
    assert set(arms) == {"with checklist", "without checklist"}
    assert {round.experiment for round in project.rounds.all()} == {project.experiments.get()}
