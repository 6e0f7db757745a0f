"""The command `measure`: its figures on published data, its rules, and that it needs nothing but a file.

No test here may touch the database. The published data lie beside the repository; where they are absent the
tests that need them are skipped and say so.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from judging.agreement import Histogram, alpha_with_interval
from judging.measuring.kinds import KINDS
from tests.golden.test_agreement_golden import (
    CHECKLIST_PROMPTS,
    FLEISS_1971,
    LLMBAR,
    PLAIN_PROMPTS,
    by_name,
    data_file,
    judged,
    llmbar_votes,
    oracle,
    pandalm,
)

ROOT = Path(__file__).resolve().parents[2]
LABELS = ("unit", "rater", "value")
Row = Sequence[object]


@pytest.fixture
def sheet(tmp_path: Path) -> Callable[..., Path]:
    """Write rows under a header, as CSV or, by the suffix of the name, as JSONL."""

    def write(header: Sequence[str], rows: Iterable[Row], name: str = "data.csv") -> Path:
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as file:
            if path.suffix == ".csv":
                csv.writer(file).writerows([header, *(["" if cell is None else cell for cell in row] for row in rows)])
            else:
                file.writelines(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows)
        return path

    return write


def text_of(kind: str, path: Path, *options: object) -> str:
    out = io.StringIO()
    call_command("measure", kind, str(path), *map(str, options), stdout=out)
    return out.getvalue()


def measured(kind: str, path: Path, *options: object) -> dict[str, Any]:
    found = json.loads(text_of(kind, path, *options, "--json"))
    assert isinstance(found, dict)
    return found


def figure(found: dict[str, Any], key: str) -> dict[str, Any]:
    return next(one for one in found["figures"] if one["key"] == key)


def refused(kind: str, path: Path, *options: object) -> str:
    """The sentence of a refusal, after checking that nothing was printed and that the exit code is 2."""
    out = io.StringIO()
    with pytest.raises(CommandError) as problem:
        call_command("measure", kind, str(path), *map(str, options), stdout=out)
    assert out.getvalue() == ""
    assert problem.value.returncode == 2
    sentence = str(problem.value)
    assert "\n" not in sentence
    return sentence


def reliability_rows(raters_by_units: Sequence[Sequence[float | None]]) -> list[Row]:
    return [
        (unit, f"rater {rater}", value)
        for rater, row in enumerate(raters_by_units)
        for unit, value in enumerate(row)
        if value is not None
    ]


# -- alpha ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "title", ["Krippendorff 2011 A", "Krippendorff 2011 B", "Krippendorff 2011 C/D", "Three raters, 15 units"]
)
def test_alpha_of_the_textbook_tables(title: str, sheet: Callable[..., Path]) -> None:
    entry = by_name("alpha.json", title)
    path = sheet(LABELS, reliability_rows(entry["raters_by_units"]))
    for level, expected in entry["alpha"].items():
        digits = len(str(expected).split(".")[1])
        assert measured("alpha", path, "--level", level)["alpha"] == pytest.approx(expected, abs=0.51 * 10**-digits)


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_alpha_of_hayes_and_krippendorff(name: str, sheet: Callable[..., Path]) -> None:
    with data_file("oracles", "hk2007.csv").open(encoding="utf-8") as lines:
        rows = [
            (row["unit"], rater, None if value == "." else int(value))
            for row in csv.DictReader(lines)
            for rater, value in row.items()
            if rater != "unit"
        ]
    path = sheet(LABELS, rows, name)
    for level, expected in by_name("alpha.json", "Hayes & Krippendorff 2007")["alpha"].items():
        found = measured("alpha", path, "--level", level)
        assert found["alpha"] == pytest.approx(expected, abs=5e-5)
        assert found["ci"][0] < found["alpha"] < found["ci"][1]
        assert (found["n_units"], found["missing"], found["seed"]) == (40, 0, None)
    drawn = measured("alpha", path, "--level", "ordinal", "--interval", "percentile", "--seed", 7, "--replicates", 200)
    assert (drawn["method"], drawn["seed"], drawn["replicates"]) == ("percentile bootstrap over units", 7, 200)


def test_alpha_of_pandalm(sheet: Callable[..., Path]) -> None:
    people, _ = pandalm()
    rows = [(unit, rater, value) for unit, row in enumerate(people) for rater, value in row.items()]
    path = sheet(LABELS, rows)
    found = measured("alpha", path, "--level", "nominal", "--values", "loss,tie,win")
    assert found["alpha"] == pytest.approx(0.8642, abs=5e-5)
    assert (found["n_units"], found["n_labels"], found["missing"]) == (999, 2997, 0)
    assert found["lower_limit_reaches"] == 0.8


def test_alpha_of_the_crowd(sheet: Callable[..., Path]) -> None:
    path = data_file("evalica", "llmfao.csv")
    renamed = ["--column", "unit=id", "--column", "rater=worker", "--column", "value=winner"]
    assert measured("alpha", path, "--level", "nominal", *renamed)["alpha"] == pytest.approx(0.2906, abs=5e-5)


def test_alpha_equals_the_library_in_any_order_of_rows(sheet: Callable[..., Path]) -> None:
    draw = random.Random(3)
    rows: list[Row] = [
        (unit, rater, draw.randint(1, 5)) for unit in range(40) for rater in "abc" if draw.random() < 0.8
    ]
    shuffled = draw.sample(rows, len(rows))
    options = ["--level", "ordinal", "--scale", 1, 5, "--interval", "bca"]
    found = measured("alpha", sheet(LABELS, rows), *options)
    assert found == measured("alpha", sheet(LABELS, shuffled), *options)
    labels = [(unit, rater, float(str(value))) for unit, rater, value in rows]
    expected = alpha_with_interval(Histogram.from_labels(labels, (1, 2, 3, 4, 5)), "ordinal", "bca")
    assert (found["alpha"], found["ci"]) == (expected.value, [expected.low, expected.high])


def test_units_without_a_label_are_missing(sheet: Callable[..., Path]) -> None:
    rows = [(1, "a", 1), (1, "b", 2), (2, "a", 3), (2, "b", 3), (3, "a", 1), (3, "b", None), (4, "a", None)]
    found = measured("alpha", sheet(LABELS, rows), "--level", "interval")
    assert (found["n_units"], found["n_labels"], found["missing"]) == (2, 4, 2)
    assert found["prevalence"] == {"1": 0.4, "2": 0.2, "3": 0.4}


def test_raters_who_never_meet_have_no_alpha(sheet: Callable[..., Path]) -> None:
    path = sheet(LABELS, [(1, "a", 1), (2, "b", 2)])
    found = measured("alpha", path, "--level", "nominal")
    assert (found["alpha"], found["ci"]) == (None, None)
    assert found["reason"] == "Undefined: no unit has two labels, so there is nothing to compare."
    assert "undefined" in text_of("alpha", path, "--level", "nominal")


def test_numbers_are_compared_as_numbers(sheet: Callable[..., Path]) -> None:
    rows = [(1, "a", "1"), (1, "b", "1.0"), (2, "a", "2"), (2, "b", "2e0")]
    assert measured("alpha", sheet(LABELS, rows), "--level", "nominal")["alpha"] == 1.0


def test_declared_words_have_an_order(sheet: Callable[..., Path]) -> None:
    words = {1: "poor", 2: "fair", 3: "good"}
    rows = [(unit, rater, (unit * (2 + rater)) % 3 + 1) for unit in range(12) for rater in (0, 1)]
    numbers = measured("alpha", sheet(LABELS, rows), "--level", "ordinal")
    spoken = sheet(LABELS, [(unit, rater, words[value]) for unit, rater, value in rows])
    assert measured("alpha", spoken, "--level", "ordinal", "--values", "poor,fair,good")["alpha"] == numbers["alpha"]


# -- kappa ----------------------------------------------------------------------------------------------------


def test_kappa_of_every_two_people_of_pandalm(sheet: Callable[..., Path]) -> None:
    people, _ = pandalm()
    path = sheet(LABELS, [(unit, rater, value) for unit, row in enumerate(people) for rater, value in row.items()])
    found = measured("kappa", path)
    assert found["kappa"] == pytest.approx(0.8642, abs=5e-5)
    assert found["coefficient"] == "Fleiss' kappa"
    assert [pair["kappa"] for pair in found["pairs"]] == pytest.approx([0.852, 0.879, 0.862], abs=5e-4)
    assert found["pairs"][1]["raters"] == ["annotator1", "annotator3"]


def test_weighted_kappa_of_a_published_table(sheet: Callable[..., Path]) -> None:
    entry = by_name("kappa.json", "SAS 3x3")
    cells = [cell for cell, units in np.ndenumerate(np.array(entry["table"])) for _ in range(units)]
    path = sheet(LABELS, [(unit, rater, value) for unit, cell in enumerate(cells) for rater, value in enumerate(cell)])
    for weights, key in (("identity", "cohen"), ("linear", "linear"), ("quadratic", "quadratic")):
        assert measured("kappa", path, "--weights", weights)["kappa"] == pytest.approx(entry[key], abs=5e-5)


def test_fleiss_1971(sheet: Callable[..., Path]) -> None:
    rows = []
    for unit, pattern in enumerate(FLEISS_1971.split()):
        values = [value for value, count in enumerate(pattern) for _ in range(int(count))]
        rows += [(unit, rater, value) for rater, value in enumerate(values)]
    expected = by_name("kappa.json", "Fleiss 1971")["fleiss_kappa"]
    assert measured("kappa", sheet(LABELS, rows))["kappa"] == pytest.approx(expected, abs=5e-6)


# -- preferences ----------------------------------------------------------------------------------------------


def pandalm_with_judge(sheet: Callable[..., Path]) -> Path:
    people, _ = pandalm()
    answers = judged("gpt-3.5-turbo-testset-v1.json", "gpt_result", {"1": "win", "2": "loss", "Tie": "tie"})
    rows: list[Row] = [(unit, rater, value) for unit, row in enumerate(people) for rater, value in row.items()]
    return sheet(LABELS, [*rows, *((unit, "gpt", answer) for unit, answer in enumerate(answers))])


def test_missing_policies_on_pandalm(sheet: Callable[..., Path]) -> None:
    path = pandalm_with_judge(sheet)
    found = {
        policy: measured("pld", path, "--judge", "gpt", "--reference", "majority", "--missing", policy)
        for policy in ("exclude", "half", "no")
    }
    assert found["half"]["accuracy"] == pytest.approx(0.7107, abs=5e-5)
    assert found["no"]["accuracy"] == pytest.approx(0.6977, abs=5e-5)
    assert found["exclude"]["n_units"] == 974
    for one in found.values():
        assert one["missing"] == 25
        assert one["accuracy"] == pytest.approx(one["pld0"])
        assert one["wpld"] == pytest.approx(one["pld1"] + 2 * one["pld2"])
        assert one["ci"] == [figure(one, "wpld")["low"], figure(one, "wpld")["high"]]
    assert found["half"]["wpld"] < found["no"]["wpld"]
    assert "25 missing answers were counted as wrong." in found["no"]["warnings"]


@pytest.mark.parametrize("row", range(4))
def test_wpld_of_the_paper(row: int, sheet: Callable[..., Path]) -> None:
    """TICK, Table 4, rebuilt from 1,000 pairs at the three distances."""
    _, exact, near, inverted, expected = oracle("pld.json")["rows"][row]
    pairs = [("win", "win")] * round(1000 * exact) + [("win", "tie")] * round(1000 * near)
    pairs += [("win", "loss")] * round(1000 * inverted)
    rows = [(unit, rater, value) for unit, pair in enumerate(pairs) for rater, value in zip("pj", pair, strict=True)]
    found = measured("pld", sheet(LABELS, rows), "--judge", "j", "--reference", "p")
    assert found["pld0"] == pytest.approx(exact, abs=1.1e-3)
    assert found["wpld"] == pytest.approx(expected, abs=1.1e-3)


def test_the_judge_is_no_voter_and_no_majority_is_a_tie(sheet: Callable[..., Path]) -> None:
    said = {1: ("win", "win", "loss", "win"), 2: ("win", "loss", "tie", "win"), 3: ("loss", "win", None, "tie")}
    rows = [(unit, rater, value) for unit, row in said.items() for rater, value in zip("abcj", row, strict=True)]
    found = measured("pld", sheet(LABELS, rows), "--judge", "j")
    # Majorities win, tie, tie; the judge says win, win, tie.
    assert (found["pld0"], found["pld1"], found["pld2"]) == pytest.approx((2 / 3, 1 / 3, 0))
    alone = measured("pld", sheet(LABELS, rows), "--judge", "j", "--reference", "c")
    # c says loss, tie and nothing; the judge inverts the first and is one off on the second.
    assert (alone["pld1"], alone["pld2"], alone["n_units"]) == (0.5, 0.5, 2)
    assert any("1 unit has no label of the reference" in warning for warning in alone["warnings"])


def test_pld_among_people(sheet: Callable[..., Path]) -> None:
    rows = [(1, "a", "win"), (1, "b", "win"), (1, "c", "loss"), (2, "a", "tie"), (2, "b", "win")]
    found = measured("pld", sheet(LABELS, rows))
    assert (found["pld0"], found["pld1"], found["pld2"]) == pytest.approx((0.25, 0.25, 0.5))
    assert (found["n_units"], found["judge"]) == (2, None)


# -- correlation ----------------------------------------------------------------------------------------------

SCORED = ("group", "unit", "x", "y")


@pytest.mark.parametrize(
    ("dimension", "expected"),
    [("naturalness", 0.513986), ("coherence", 0.612942), ("engagingness", 0.604739), ("groundedness", 0.574954)],
)
def test_correlations_on_topical_chat(dimension: str, expected: float, sheet: Callable[..., Path]) -> None:
    data = json.loads(data_file("unieval", "topical_chat_result.json").read_text(encoding="utf-8"))
    rows = [(r["source"], r["system_id"], r["scores"][dimension], r["predict_scores"][dimension]) for r in data]
    found = measured("correlation", sheet(SCORED, rows), "--replicates", 50)
    assert found["pooled"]["spearman"] == pytest.approx(expected, abs=5e-7)
    assert found["ci_of"] == "pooled.spearman"
    assert (found["n_units"], found["n_labels"], found["missing"]) == (60, 720, 0)
    for level in ("pooled", "per_instruction", "system"):
        assert set(found[level]) == {"pearson", "spearman", "kendall"}
        assert all(-1 <= value <= 1 for value in found[level].values())
    assert figure(found, "system.kendall")["n_units"] == 6


def test_wildbench_ranks_the_systems_like_people(sheet: Callable[..., Path]) -> None:
    judge = json.loads(data_file("wildbench", "score.json").read_text(encoding="utf-8"))
    people = json.loads(data_file("rocketeval", "wildbench_test.json").read_text(encoding="utf-8"))
    rows = [("all", row["name"], row["rating"], judge[row["name"]]["score"]) for row in people if row["name"] in judge]
    found = measured("correlation", sheet(SCORED, rows), "--replicates", 50)
    assert found["pooled"]["kendall"] == pytest.approx(0.909, abs=5e-4)
    assert found["pooled"]["spearman"] == pytest.approx(0.979, abs=5e-4)
    assert found["system"]["spearman"] is None
    assert "add a column system" in figure(found, "system.spearman")["reason"]


def test_levels_of_correlation_differ(sheet: Callable[..., Path]) -> None:
    """Within every instruction the judge is upside down; over the means of the systems he is right."""
    rows: list[Row] = [("g1", "s1", 1, 2), ("g1", "s2", 2, 1), ("g2", "s2", 11, 12), ("g2", "s3", 12, 11)]
    found = measured("correlation", sheet(SCORED, [*rows, ("g2", "s4", 5, None)]), "--replicates", 10)
    assert found["per_instruction"]["kendall"] == -1
    assert found["pooled"]["kendall"] == pytest.approx(1 / 3)
    assert found["system"]["kendall"] == 1
    assert found["missing"] == 1
    other = sheet((*SCORED, "system"), [(*row, name) for row, name in zip(rows, "aabb", strict=True)])
    assert measured("correlation", other, "--coefficient", "pearson", "--replicates", 10)["system"] == {"pearson": 1.0}


def test_constant_scores_have_no_correlation(sheet: Callable[..., Path]) -> None:
    found = measured("correlation", sheet(SCORED, [("g", 1, 3, 1), ("g", 2, 3, 2)]))
    assert (found["pooled"]["spearman"], found["ci"]) == (None, None)
    assert found["reason"] == "Undefined: every first score is 3."


# -- ranking --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["simple", "food", "llmfao"])
def test_crowd_votes_give_the_published_ratings(name: str, sheet: Callable[..., Path]) -> None:
    with data_file("evalica", f"{name}.csv").open(encoding="utf-8") as lines:
        words = {"left": "a", "right": "b", "tie": "tie"}
        rows = [(row["left"], row["right"], words[row["winner"]]) for row in csv.DictReader(lines)]
    golden: dict[str, dict[str, float]] = {"elo": {}, "bradley_terry": {}}
    with data_file("evalica", f"{name}-golden.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["algorithm"] in golden:
                golden[row["algorithm"]][row["item"]] = float(row["score"])
    found = measured("ranking", sheet(("system_a", "system_b", "winner"), rows), "--replicates", 20)
    assert found["n_units"] == len(rows)
    ranking = found["ranking"]
    assert {line["system"]: line["elo"] for line in ranking} == pytest.approx(golden["elo"], abs=1e-9)
    strengths = {line["system"]: 10 ** (line["rating"] / 400) for line in ranking if line["rating"] is not None}
    among = sum(golden["bradley_terry"][system] for system in strengths)
    for system, strength in strengths.items():
        assert strength / sum(strengths.values()) == pytest.approx(golden["bradley_terry"][system] / among, abs=1e-6)
    ratings = [line["rating"] for line in ranking if line["rating"] is not None]
    assert ratings == sorted(ratings, reverse=True)
    assert np.mean(ratings) == pytest.approx(1000)


def test_baseball_season(sheet: Callable[..., Path]) -> None:
    entry = oracle("bradley_terry.json")
    names = ["Mil", "Det", "Tor", "NY", "Bos", "Cle", "Bal"]
    rows = [
        (names[one], names[other], "a")
        for (one, other), wins in np.ndenumerate(np.array(entry["wins"]))
        for _ in range(wins)
    ]
    found = measured("ranking", sheet(("system_a", "system_b", "winner"), rows), "--replicates", 50)
    rating = {line["system"]: line["rating"] for line in found["ranking"]}
    strengths = [(rating[name] - rating["Bal"]) * np.log(10) / 400 for name in names]
    assert strengths == pytest.approx(entry["log_strength_relative_to_last"], abs=5.1e-5)
    assert all(line["ci"][0] < line["rating"] < line["ci"][1] for line in found["ranking"])


def test_scores_become_matches(sheet: Callable[..., Path]) -> None:
    rows = [("i1", "s1", 3), ("i1", "s2", 3.05), ("i2", "s1", 5), ("i2", "s2", 1), ("i3", "s2", 4), ("i3", "s1", 2)]
    path = sheet(("item", "system", "score"), rows)
    first, second = measured("ranking", path)["ranking"]
    assert (first["system"], first["wins"], first["ties"], first["losses"]) == ("s1", 1, 1, 1)
    assert first["rating"] == pytest.approx(second["rating"])
    assert first["mean_score"] == pytest.approx(10 / 3)
    sharp = measured("ranking", path, "--margin", 0.01)["ranking"]
    assert (sharp[0]["system"], sharp[0]["wins"], sharp[0]["ties"]) == ("s2", 2, 0)


def test_a_system_that_never_loses_has_no_rating(sheet: Callable[..., Path]) -> None:
    rows = [("x", "y", "a"), ("x", "z", "a"), ("y", "z", "a"), ("y", "z", "b"), ("y", "z", None)]
    found = measured("ranking", sheet(("system_a", "system_b", "winner"), rows), "--replicates", 10)
    last = found["ranking"][-1]
    assert (last["system"], last["rating"]) == ("x", None)
    assert "never loses" in last["reason"]
    assert found["missing"] == 1


# -- the alternative annotator test ---------------------------------------------------------------------------


def panel_rows(units: int, seed: int = 5) -> list[Row]:
    draw = random.Random(seed)
    rows: list[Row] = []
    for unit in range(units):
        truth = draw.randint(1, 3)
        for person in "abc":
            rows.append((unit, person, truth if draw.random() < 0.7 else draw.randint(1, 3)))
        rows.append((unit, "judge", truth))
    return rows


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_a_judge_who_knows_the_truth_passes(level: str, sheet: Callable[..., Path]) -> None:
    path = sheet(LABELS, panel_rows(80))
    found = measured("alttest", path, "--judge", "judge", "--epsilon", 0.1, "--level", level)
    assert (found["winning_rate"], found["passed"]) == (1.0, True)
    assert 0.9 < found["advantage"] <= found["ci"][1] == 1
    assert (found["n_units"], found["n_labels"], len(found["people"])) == (80, 320, 3)
    # A person in the judge's seat does worse than the truth.
    swapped = measured("alttest", path, "--judge", "a", "--epsilon", 0.1, "--level", level)
    assert swapped["advantage"] < found["advantage"]


def test_advantage_by_hand(sheet: Callable[..., Path]) -> None:
    """Two people who differ on the second of two units, where the judge sides with a."""
    rows = [(1, "a", 1), (1, "b", 1), (1, "j", 1), (2, "a", 1), (2, "b", 2), (2, "j", 1)]
    found = measured("alttest", sheet(LABELS, rows), "--judge", "j")
    assert [person["advantage"] for person in found["people"]] == [1.0, 1.0]
    assert [person["person_advantage"] for person in found["people"]] == [1.0, 0.5]
    assert any("Only 2 people" in warning for warning in found["warnings"])


# -- selective checklists -------------------------------------------------------------------------------------


def test_selective_checklists_on_llmbar(sheet: Callable[..., Path]) -> None:
    gold = [
        str(row["label"])
        for name in LLMBAR
        for row in json.loads(data_file("llmbar", f"{name}.json").read_text(encoding="utf-8"))
    ]
    rows: list[Row] = []
    everything = zip(gold, llmbar_votes(PLAIN_PROMPTS), llmbar_votes(CHECKLIST_PROMPTS), strict=True)
    for place, (truth, plain, checked) in enumerate(everything):
        unit = f"{place:03}"
        rows += [(unit, "gold", truth), *((unit, "plain", vote) for vote in plain)]
        rows += [(unit, "checklist", vote) for vote in checked]
    found = measured("selective", sheet(("unit", "source", "value"), rows), "--missing", "half")
    values = [found["none"], *(point["value"] for point in found["curve"]), found["all"]]
    assert values == pytest.approx([0.8294, 0.8377, 0.8473, 0.8568, 0.8592, 0.8663, 0.8652], abs=5e-5)
    least = found["curve"][-1]
    assert (least["threshold"], least["applied"]) == (1, pytest.approx(0.282, abs=5e-4))
    assert least["against_none"]["ci"] == pytest.approx([0.0179, 0.0573], abs=5e-5)
    assert least["against_all"]["ci"] == pytest.approx([-0.0036, 0.0072], abs=5e-5)
    assert (found["n_units"], found["missing"], found["seed"]) == (419, 0, 42)
    assert found["gain"] == pytest.approx(0.8652 - 0.8294, abs=1e-4)


VOTED = [
    *((1, "plain", vote) for vote in ("a", "a", "b")),
    *((2, "plain", vote) for vote in ("b", "b", "b")),
    *((unit, "checklist", "a") for unit in (1, 2)),
    *((unit, "gold", "a") for unit in (1, 2)),
]


def test_votes_that_are_no_votes(sheet: Callable[..., Path]) -> None:
    third = [(3, "gold", "b"), (3, "plain", "tie"), (3, "plain", None), (3, "checklist", "b")]
    path = sheet(("unit", "source", "value"), [*VOTED, *third])
    options = ["--thresholds", "1", "--replicates", 20]
    found = {policy: measured("selective", path, *options, "--missing", policy) for policy in ("exclude", "half", "no")}
    assert [found[policy]["none"] for policy in ("exclude", "half", "no")] == pytest.approx([1 / 2, 1 / 2, 1 / 3])
    assert [found[policy]["all"] for policy in ("exclude", "half", "no")] == [1, 1, 1]
    assert (found["exclude"]["missing"], found["half"]["missing"]) == (1, 0)
    assert found["exclude"]["curve"][0]["applied"] == 0.5


def test_selective_scores(sheet: Callable[..., Path]) -> None:
    rows: list[Row] = []
    for unit, (gold, plain, checked) in enumerate(
        [(1, (1, 1), (1, 1)), (3, (1, 5), (3, 3)), (5, (2, 5), (5, 5)), (2, (2, 2), (4, 4))]
    ):
        rows += [(unit, "gold", gold), *((unit, "plain", score) for score in plain)]
        rows += [(unit, "checklist", score) for score in checked]
    path = sheet(("unit", "source", "value"), rows)
    found = measured("selective", path, "--judging", "direct", "--thresholds", "1", "--replicates", 20)
    # The checklist is right on the two units where the scores vary, and wrong on the last, where they do not.
    assert found["curve"][0] == {**found["curve"][0], "applied": 0.5, "value": 1.0}
    assert max(found["none"], found["all"]) < 1
    assert found["measure"] == "alpha (ordinal)"


# -- estimates beyond the labels ------------------------------------------------------------------------------


def test_prediction_powered_mean_by_hand(sheet: Callable[..., Path]) -> None:
    rows = [(1, 1, 2), (2, 3, 3), (3, 5, 4), (4, None, 1), (5, None, 2), (6, None, 3), (7, 4, None)]
    path = sheet(("unit", "human", "judge"), rows)
    plain = measured("ppi", path, "--weight", 1)
    assert plain["estimate"] == pytest.approx(3 + 2 - 3)
    assert (plain["people_only"], plain["judge_only"]) == (3, 2)
    assert (plain["n_units"], plain["n_labels"], plain["missing"]) == (6, 9, 1)
    assert measured("ppi", path, "--weight", 0)["estimate"] == 3
    tuned = measured("ppi", path)
    assert tuned["estimate"] == pytest.approx(3 - tuned["weight"])
    assert 0 < tuned["weight"] < 1


def test_yes_and_no_are_corrected_for_the_judges_errors(sheet: Callable[..., Path]) -> None:
    labelled = [("yes", "yes")] * 8 + [("yes", "no")] * 2 + [("no", "no")] * 9 + [("no", "yes")]
    rows = [*labelled, *([(None, "yes")] * 45), *([(None, "no")] * 55)]
    found = measured("ppi", sheet(("unit", "human", "judge"), [(unit, *row) for unit, row in enumerate(rows)]))
    # (0.45 + 0.9 - 1) / (0.8 + 0.9 - 1)
    assert found["corrected"] == pytest.approx(0.5)
    assert found["judge_only"] == pytest.approx(0.45)


def test_without_unlabelled_units_there_is_nothing_to_estimate(sheet: Callable[..., Path]) -> None:
    found = measured("ppi", sheet(("unit", "human", "judge"), [(1, 1, 2), (2, 3, 3)]))
    assert (found["estimate"], found["ci"]) == (None, None)
    assert found["reason"].startswith("Undefined: two units")


# -- what is refused ------------------------------------------------------------------------------------------

GOOD = "unit,rater,value\n1,a,1\n1,b,2\n2,a,2\n2,b,2\n"
NOMINAL = ("--level", "nominal")


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        (GOOD, ["--level", "rational"], "Argument --level: invalid choice: 'rational'"),
        (GOOD, [], "The following arguments are required: --level."),
        ("", NOMINAL, "is empty."),
        ("\n\n", NOMINAL, "is empty."),
        ("unit,rater,value\n", NOMINAL, "has a header and no rows."),
        ("unit,rater,value\n1,a,\n", NOMINAL, "No row has a value."),
        ("unit,rater,value\n1,a,1\n2,a,2\n", NOMINAL, "All labels are by one rater, a: agreement needs at least two."),
        ("unit,rater,value\n1,a,1\n2,a,2\n1,b,\n", NOMINAL, "All labels are by one rater, a"),
        ("unit,rater,value\n1,a,3\n1,b,3.0\n", NOMINAL, "Every label is 3: without a second category"),
        ("unit,rater\n1,a\n", NOMINAL, "There is no column value: the columns needed are unit, rater, value"),
        (GOOD + "3,a,good\n", ["--level", "interval"], "Line 6: good is not a number"),
        (GOOD + "3,a,good\n", ["--level", "ordinal"], "Line 6: good has no place on an ordered scale"),
        (GOOD + "3,a,-1\n", ["--level", "ratio"], "Line 6: the ratio level has no values below zero."),
        (GOOD + "3,a,9\n", [*NOMINAL, "--scale", 1, 5], "Line 6: the value 9 is off the scale from 1 to 5."),
        (GOOD + "3,a,1.5\n", [*NOMINAL, "--values", "1,2"], "Line 6: the value 1.5 is not one of 1, 2."),
        (GOOD + "3,a,maybe\n", [*NOMINAL, "--values", "1,2"], "Line 6: the value maybe is not one of 1, 2."),
        (GOOD, [*NOMINAL, "--values", "2"], "--values: name at least two different values"),
        (GOOD, ["--level", "ordinal", "--values", "2,1"], "The declared values 2, 1 are not in ascending order."),
        (
            GOOD,
            ["--level", "interval", "--values", "a,b"],
            "Numbers are needed here, and the declared values are a, b.",
        ),
        (GOOD, [*NOMINAL, "--scale", 5, 1], "--scale: 5 is not below 1."),
        (GOOD + "1,b,3\n", NOMINAL, "Line 6: the label of 1 and b stands on line 3 already; keep one"),
        (GOOD + "1,b,\n", NOMINAL, "Line 6: the label of 1 and b stands on line 3 already"),
        (GOOD + "3,a,nan\n", NOMINAL, "Line 6: nan is not a finite number; leave the cell value empty"),
        (GOOD + "3,a,-Infinity\n", NOMINAL, "Line 6: -Infinity is not a finite number"),
        (GOOD + "3,a,1e999\n", ["--level", "interval"], "Line 6: 1e999 is not a finite number"),
        (GOOD + ",a,1\n", NOMINAL, "Line 6: the cell unit is empty."),
        (GOOD + "3, ,1\n", NOMINAL, "Line 6: the cell rater is empty."),
        (GOOD + "3,a\n", NOMINAL, "Line 6: there are 2 cells, and the header has 3."),
        (GOOD + '3,a,"1\n', NOMINAL, "Line 6: this is not CSV"),
        ("unit,unit,rater,value\n", NOMINAL, "The header has two columns unit"),
        (GOOD, [*NOMINAL, "--confidence", 95], "Argument --confidence: 95 is not a number between 0 and 1."),
        (GOOD, [*NOMINAL, "--replicates", 1], "Argument --replicates: 1 is not a whole number from 2"),
        (GOOD, [*NOMINAL, "--seed", -1], "Argument --seed:"),
        (GOOD, [*NOMINAL, "--column", "value=score"], "There is no column score; the file has unit, rater, value."),
        (GOOD, [*NOMINAL, "--column", "score=value"], "--column: write NAME=HEADER"),
    ],
)
def test_alpha_refuses(content: str, options: Sequence[object], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    assert sentence in refused("alpha", path, *options)
    assert sentence in refused("alpha", path, *options, "--json")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("oops", "Line 3: this is not JSON (Expecting value); write one object on each line."),
        ("[1]", "Line 3: this is not a JSON object"),
        ('{"unit": 1, "rater": "a"}', "Line 3: there is no key value."),
        ('{"unit": 1, "rater": "a", "value": NaN}', "Line 3: this cannot be read as JSON (NaN is not a value"),
        ('{"unit": 1, "rater": "a", "value": 1e999}', "Line 3: inf is not a finite number"),
        ('{"unit": 1, "rater": "a", "value": [1]}', "Line 3: a list or an object stands where"),
        (
            '{"unit": 1, "unit": 2, "rater": "a", "value": 1}',
            "Line 3: this cannot be read as JSON (a key occurs twice)",
        ),
        ('{"unit": "\\ud800", "rater": "a", "value": 1}', "Line 3: a text holds half of a character"),
        ("[" * 100_000, "Line 3: this cannot be read as JSON"),
        ('{"unit": null, "rater": "a", "value": 1}', "Line 3: the cell unit is empty."),
    ],
)
def test_jsonl_refuses(line: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    good = '{"unit": 1, "rater": "a", "value": 1}\n{"unit": 1, "rater": "b", "value": 2}\n'
    path.write_text(good + line + "\n")
    assert sentence in refused("alpha", path, *NOMINAL)


def test_invalid_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes(GOOD.encode() + "3,Zoë,1\n".encode("latin-1"))
    assert refused("alpha", path, *NOMINAL) == "Line 6: this is not UTF-8 text; save the file as UTF-8."


def test_lines_are_physical_lines(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text('\nunit,rater,value\n"1\nx",a,1\n\n2,a,bad\n')
    assert refused("alpha", path, "--level", "interval").startswith("Line 6: bad is not a number")


def test_more_values_than_fit_into_memory(monkeypatch: pytest.MonkeyPatch, sheet: Callable[..., Path]) -> None:
    monkeypatch.setattr("judging.measuring.labels.MOST_CELLS", 100)
    path = sheet(LABELS, [(unit, rater, unit + 0.1 * rater) for unit in range(11) for rater in (0, 1)])
    assert refused("alpha", path, "--level", "interval").startswith("22 different values on 11 units")


def test_more_people_than_fit_into_memory(monkeypatch: pytest.MonkeyPatch, sheet: Callable[..., Path]) -> None:
    monkeypatch.setattr("judging.measuring.labels.MOST_CELLS", 5)
    path = sheet(LABELS, [(1, "a", 1), (1, "b", 2), (1, "c", 1), (2, "a", 2)])
    assert "2 people on 2 units are more than fits into memory" in refused("alttest", path, "--judge", "c")


def test_more_systems_than_a_ranking_takes(sheet: Callable[..., Path]) -> None:
    path = sheet(["system_a", "system_b", "winner"], [(f"s{row}", f"s{row + 1}", "a") for row in range(501)])
    assert refused("ranking", path) == "There are 502 systems, and a ranking takes at most 500."
    path = sheet(["item", "system", "score"], [("i", f"s{row}", row) for row in range(501)])
    assert refused("ranking", path) == "There are 501 systems, and a ranking takes at most 500."


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refused("alpha", tmp_path / "none.csv", *NOMINAL)


PREFERENCES = "unit,rater,value\n1,a,win\n1,j,loss\n2,a,tie\n2,j,tie\n"


@pytest.mark.parametrize(
    ("kind", "content", "options", "sentence"),
    [
        ("pld", PREFERENCES + "3,a,won\n", [], "Line 6: the value won is not one of loss, tie, win."),
        ("pld", PREFERENCES, ["--judge", "k"], "--judge: there is no rater k; the raters are a, j."),
        ("pld", PREFERENCES, ["--judge", "j", "--reference", "k"], "--reference: there is no rater k"),
        ("pld", PREFERENCES, ["--judge", "j", "--reference", "j"], "--reference: the judge cannot be compared"),
        ("pld", PREFERENCES, ["--reference", "a"], "--reference: name the rater to compare with it as --judge."),
        ("pld", PREFERENCES, ["--missing", "no"], "--missing: without --judge"),
        ("pld", PREFERENCES + "3,majority,win\n", ["--judge", "j"], "A rater is called majority"),
        ("pld", "unit,rater,value\n1,j,win\n", ["--judge", "j"], "All labels are by the judge j"),
        ("kappa", PREFERENCES, ["--weights", "linear"], "has no place on an ordered scale"),
        ("kappa", "unit,rater,value\n1,a,x\n1,b,x\n", [], "Every label is x"),
        ("alttest", GOOD, ["--judge", "z"], "--judge: there is no rater z; the raters are a, b."),
        ("alttest", GOOD, ["--judge", "b"], "Beside the judge only a has labels"),
        ("alttest", GOOD, [], "The following arguments are required: --judge."),
        ("alttest", GOOD + "1,c,1\n", ["--judge", "c", "--epsilon", 1], "--epsilon: 1 is not between 0 and 1."),
        ("alttest", PREFERENCES, ["--judge", "j", "--level", "interval"], "Line 2: win is not a number"),
        ("correlation", "group,unit,x,y\ng,1,2,three\n", [], "Line 2: three is not a number, and y needs one."),
        ("correlation", "group,unit,x,y\ng,1,2,inf\n", [], "Line 2: inf is not a finite number"),
        ("correlation", "group,unit,x,y\ng,1,2,3\ng,1,4,5\n", [], "Line 3: the unit of g and 1 stands on line 2"),
        (
            "correlation",
            "group,unit,x,y\ng,1,2,7\n",
            ["--scale", 1, 5],
            "Line 2: the y 7 is off the scale from 1 to 5.",
        ),
        ("ranking", "system_a,system_b,winner\nx,y,x\n", [], "Line 2: the winner x is not one of a, b, tie."),
        ("ranking", "system_a,system_b,winner\nx,x,a\n", [], "Line 2: the system x cannot play against itself."),
        ("ranking", "system_a,system_b,winner\nx,y,\n", [], "There is no match"),
        ("ranking", "item,system,score\ni,x,1\ni,x,2\n", [], "Line 3: the score of i and x stands on line 2 already"),
        ("ranking", "item,score\ni,1\n", [], "There is no column system"),
        ("selective", "unit,source,value\n1,silver,a\n", [], "Line 2: the source silver is not one of gold, plain, "),
        ("selective", "unit,source,value\n1,,a\n2,gold,b\n", [], "Line 2: the cell source is empty"),
        ("selective", "unit,source,value\n1,gold,a\n1,gold,b\n", [], "Line 3: the unit 1 has a gold value already"),
        ("selective", "unit,source,value\n1,gold,a\n2,gold,b\n", [], "No unit has a gold value and values of both"),
        ("selective", "unit,source,value\n1,gold,a\n1,plain,c\n1,plain,b\n", [], "Pairwise values name one of two"),
        ("selective", GOOD, ["--thresholds", "x"], "--thresholds: x is not a list of numbers above 0"),
        ("selective", GOOD, ["--judging", "direct", "--missing", "no"], "--missing: a unit without scores"),
        ("ppi", "unit,human,judge\n1,1,2\n1,2,2\n", [], "Line 3: the unit 1 stands on line 2 already"),
        ("ppi", "unit,human,judge\n1,yes,2\n", [], "Line 2: the judge 2 is not one of no, yes."),
        ("ppi", "unit,human,judge\n1,fine,2\n", [], "Line 2: fine is not a number, and human needs one."),
        ("ppi", "unit,human,judge\n1,1,2\n", ["--weight", 2], "Argument --weight: 2 is not a number between 0 and 1."),
    ],
)
def test_kinds_refuse(kind: str, content: str, options: Sequence[object], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    assert sentence in refused(kind, path, *options)


# -- reading --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("semicolon.csv", "unit;rater;value\n1;a;1\n1;b;2\n2;a;2\n2;b;2\n"),
        ("tab.tsv", "unit\trater\tvalue\n1\ta\t1\n1\tb\t2\n2\ta\t2\n2\tb\t2\n"),
        ("windows.csv", "\ufeff" + GOOD.replace("\n", "\r\n")),
        ("wider.csv", "note,value,rater,unit\n" + ",1,a,1\n,2,b,1\n,2,a,2\n,2,b,2\n"),
        ("noname", '{"unit":1,"rater":"a","value":1}\n{"unit":1,"rater":"b","value":"2"}\n\n'
                   '{"unit":"2","rater":"a","value":2.0}\n{"unit":2,"rater":"b","value":2}\n'),
    ],
)  # fmt: skip
def test_every_shape_of_a_file(name: str, content: str, tmp_path: Path) -> None:
    plain, other = tmp_path / "plain.csv", tmp_path / name
    plain.write_text(GOOD)
    other.write_bytes(content.encode())
    assert measured("alpha", other, "--level", "interval") == measured("alpha", plain, "--level", "interval")


def test_control_characters_do_not_reach_the_terminal(sheet: Callable[..., Path]) -> None:
    path = sheet(
        LABELS, [(1, "\x1b[2Ja", "x\x1b[31m"), (1, "b", "y"), (2, "b", "y"), (2, "\x1b[2Ja", "y"), (2, "c", "y")]
    )
    assert "\x1b" not in text_of("kappa", path)
    assert "\x1b" not in refused("alttest", path, "--judge", "\x1bz")


def test_the_table_for_people_says_what_the_json_says(sheet: Callable[..., Path]) -> None:
    rows = [*panel_rows(30), (99, "a", 1)]
    path = sheet(LABELS, rows)
    found = measured("alpha", path, "--level", "ordinal", "--scale", 1, 3)
    lines = text_of("alpha", path, "--level", "ordinal", "--scale", 1, 3).splitlines()
    alpha_line = next(line for line in lines if line.startswith("alpha"))
    low, high = found["ci"]
    assert alpha_line.split() == ["alpha", f"{found['alpha']:.4f}", f"{low:.4f}", "to", f"{high:.4f}", "30", "120", "1"]
    assert "Interval: 0.95 confidence, jackknife-t over units." in lines


COMMON = {"kind", "ci", "ci_of", "confidence", "method", "seed", "n_units", "n_labels", "missing", "reason", "warnings"}
EXAMPLES: dict[str, tuple[Sequence[str], list[Row], list[object]]] = {
    "alpha": (LABELS, panel_rows(10), ["--level", "nominal"]),
    "kappa": (LABELS, panel_rows(10), []),
    "pld": (LABELS, [(1, "a", "win"), (1, "j", "loss"), (2, "a", "tie"), (2, "j", "tie")], ["--judge", "j"]),
    "correlation": (SCORED, [("g", 1, 1, 2), ("g", 2, 2, 1), ("h", 1, 4, 5), ("h", 2, 5, 7)], ["--replicates", 10]),
    "ranking": (("system_a", "system_b", "winner"), [("x", "y", winner) for winner in "aabbab"], []),
    "alttest": (LABELS, panel_rows(10), ["--judge", "judge"]),
    "selective": (("unit", "source", "value"), list(VOTED), ["--replicates", 10]),
    "ppi": (("unit", "human", "judge"), [(1, 1, 2), (2, 2, 2), (3, None, 1), (4, None, 3)], []),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_the_common_keys_and_an_interval_of_its_confidence(
    kind: str, sheet: Callable[..., Path]
) -> None:
    header, rows, options = EXAMPLES[kind]
    found = measured(kind, sheet(header, rows), *options, "--confidence", 0.8)
    assert set(found) >= COMMON
    assert found["confidence"] == 0.8
    assert found["reason"] is None
    assert found["n_units"] > 0
    assert text_of(kind, sheet(header, rows), *options).startswith(KINDS[kind].title)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_order_of_rows_changes_nothing(kind: str, sheet: Callable[..., Path]) -> None:
    header, rows, options = EXAMPLES[kind]
    found = [measured(kind, sheet(header, random.Random(seed).sample(rows, len(rows))), *options) for seed in range(4)]
    for one in found:
        # Later matches weigh more in Elo's ratings.
        for line in one.get("ranking", ()):
            del line["elo"]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_help_names_columns_and_options(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        call_command("measure", kind, "--help")
    assert left.value.code == 0
    said = capsys.readouterr().out
    for column in KINDS[kind].columns:
        assert column.name in said
    for option in ("--confidence", "--json", "FILE"):
        assert option in said


# -- the page for people --------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "measure.md").read_text(encoding="utf-8")
EXAMPLE_RUNS = re.findall(r"^\$ \.venv/bin/python manage\.py measure (.+)\n((?:.|\n)*?)^```", PAGE, re.MULTILINE)


def test_the_page_has_an_example_of_every_kind() -> None:
    assert {command.split()[0] for command, _ in EXAMPLE_RUNS} == set(KINDS)


@pytest.mark.parametrize(("command", "output"), EXAMPLE_RUNS, ids=lambda text: text.split("\n")[0][:40])
def test_examples_of_the_page_print_what_it_says(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(r"^`([\w.]+)`:\n\n```csv\n((?:.|\n)*?)^```", PAGE, re.MULTILINE):
        Path(name).write_text(content, encoding="utf-8")
    kind, path, *options = command.split()
    if output.startswith("CommandError: "):
        assert f"CommandError: {refused(kind, Path(path), *options)}\n" == output
    else:
        assert text_of(kind, Path(path), *options) == output


def test_every_option_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in KINDS:
        with pytest.raises(SystemExit):
            call_command("measure", kind, "--help")
    options = set(re.findall(r"^  (--[a-z]+)", capsys.readouterr().out, re.MULTILINE))
    assert options > {"--level", "--judge", "--reference", "--weights", "--json"}
    assert {option for option in options if f"`{option}" not in PAGE} == set()


def test_every_command_of_the_golden_table_runs_a_test() -> None:
    table = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8").split("## Golden figures")[1]
    commands = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", table)
    assert len(commands) == len([line for line in table.splitlines() if line.startswith("| ")]) - 1
    for path, test in commands:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), test


# -- a fresh clone --------------------------------------------------------------------------------------------


def run_alone(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, without any setting, and with a database that is not there."""
    environment = {
        "PATH": os.environ["PATH"],
        "CONCORD_VAR_DIR": str(tmp_path / "var"),
        "DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_it_needs_no_setting_and_leaves_nothing_behind(sheet: Callable[..., Path], tmp_path: Path) -> None:
    path = sheet(LABELS, panel_rows(10))
    done = run_alone(tmp_path, "measure", "alpha", str(path), "--level", "nominal", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["kind"] == "alpha"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("options", [["--level", "rational"], ["--level", "ratio"]])
def test_a_refusal_ends_with_exit_code_2(options: list[str], sheet: Callable[..., Path], tmp_path: Path) -> None:
    path = sheet(LABELS, [(1, "a", "good"), (1, "b", "bad")])
    done = run_alone(tmp_path, "measure", "alpha", str(path), *options, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_its_help_needs_no_setting_either(tmp_path: Path) -> None:
    for arguments in (("help", "measure"), ("measure", "--help"), ("measure", "pld", "--help")):
        done = run_alone(tmp_path, *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert "usage: manage.py measure" in done.stdout
    assert not list(tmp_path.iterdir())


def test_other_commands_still_want_their_key(tmp_path: Path) -> None:
    done = run_alone(tmp_path, "migrate")
    assert done.returncode != 0
    assert "SECRET_KEY is not set" in done.stderr
