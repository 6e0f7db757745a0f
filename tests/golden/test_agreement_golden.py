"""Published and textbook figures, recomputed.

The data lie beside the repository and are not part of it; where they are absent the tests are skipped and
say so.
"""

import csv
import json
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judging.agreement import (
    CrossTable,
    Histogram,
    Level,
    Match,
    Tournament,
    ac1,
    ac2,
    accuracy,
    alpha,
    bradley_terry,
    brennan_prediger,
    changed_with_order,
    cohen,
    conger,
    elo,
    fleiss,
    icc,
    macro_f1,
    majority_preference,
    matches_from_scores,
    paired_difference,
    pass_rates,
    percent_agreement,
    pld,
    pooled,
    selective_curve,
    supervision_weight,
    system_level,
    vote_credit,
    vote_inconsistency,
)
from judging.agreement.selective import PAIRWISE_THRESHOLDS

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def data_file(*parts: str) -> Path:
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"The published data ../shared/data/{'/'.join(parts)} is absent.")
    return path


def oracle(name: str) -> Any:
    return json.loads(data_file("oracles", name).read_text(encoding="utf-8"))


def by_name(name: str, title: str) -> Any:
    return next(entry for entry in oracle(name) if entry["name"].startswith(title))


def two_raters(table: list[list[int]]) -> Histogram:
    """The count patterns of a cross table."""
    histogram = Histogram(range(len(table)))
    for (row, column), units in np.ndenumerate(np.array(table)):
        pattern = np.bincount([row, column], minlength=len(table)).tolist()
        if units:
            histogram.add(pattern, int(units))
    return histogram


# -- Krippendorff's alpha ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "title",
    ["Krippendorff 2011 A", "Krippendorff 2011 B", "Krippendorff 2011 C/D", "Three raters, 15 units"],
)
def test_alpha_of_the_textbook_tables(title: str) -> None:
    entry = by_name("alpha.json", title)
    histogram = Histogram.from_reliability(np.array(entry["raters_by_units"], dtype=float))
    assert entry["alpha"]
    for level, expected in entry["alpha"].items():
        digits = len(str(expected).split(".")[1])
        assert alpha(histogram, level).value == pytest.approx(expected, abs=0.51 * 10**-digits)


def test_constant_ratings_have_no_alpha() -> None:
    entry = by_name("alpha.json", "Constant ratings")
    figure = alpha(Histogram.from_reliability(entry["raters_by_units"]), "nominal")
    assert figure.value is entry["alpha"]["nominal"] is None
    assert figure.reason == "Undefined: every rating is 3."


def test_alpha_of_hayes_and_krippendorff() -> None:
    entry = by_name("alpha.json", "Hayes & Krippendorff 2007")
    with data_file("oracles", entry["file"]).open(encoding="utf-8") as lines:
        labels = [
            (row["unit"], rater, float(value))
            for row in csv.DictReader(lines)
            for rater, value in row.items()
            if rater != "unit" and value != "."
        ]
    histogram = Histogram.from_labels(labels)
    for level, expected in entry["alpha"].items():
        assert alpha(histogram, level).value == pytest.approx(expected, abs=5e-5)
    sizes = histogram.pairable()
    assert int(sizes.units @ (sizes.sizes * (sizes.sizes - 1) // 2)) == entry["pairable_pairs"]


def test_alpha_of_the_coding_example_and_the_crowd() -> None:
    with data_file("evalica", "codings.csv").open(encoding="utf-8") as lines:
        rows = [[float(cell) if cell else np.nan for cell in row] for row in csv.reader(lines)]
    assert alpha(Histogram.from_reliability(rows), "nominal").value == pytest.approx(0.7434, abs=5e-5)
    with data_file("evalica", "llmfao.csv").open(encoding="utf-8") as lines:
        labels = [(row["id"], row["worker"], row["winner"]) for row in csv.DictReader(lines)]
    figure = alpha(Histogram.from_labels(labels, ("left", "tie", "right")), "nominal")
    assert figure.value == pytest.approx(0.2906, abs=5e-5)


# -- kappas and their family ------------------------------------------------------------------------------

# Fleiss (1971), Table 1: 30 patients, 6 psychiatrists; depression, personality disorder, schizophrenia,
# neurosis, other.
FLEISS_1971 = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
FOURTEEN_RATERS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def test_fleiss_1971() -> None:
    histogram = Histogram.from_counts([[int(count) for count in row] for row in FLEISS_1971.split()])
    expected = by_name("kappa.json", "Fleiss 1971")
    assert fleiss(histogram).value == pytest.approx(expected["fleiss_kappa"], abs=5e-6)
    assert alpha(histogram, "nominal").value == pytest.approx(0.43341, abs=5e-6)


def test_fleiss_fourteen_raters() -> None:
    expected = by_name("kappa.json", "Fleiss, Wikipedia")["fleiss_kappa"]
    assert fleiss(Histogram.from_counts(FOURTEEN_RATERS)).value == pytest.approx(expected, abs=5e-6)


def test_gwet_four_raters() -> None:
    expected = by_name("kappa.json", "Gwet, 4 raters")
    data = np.array(by_name("alpha.json", "Krippendorff 2011 C/D")["raters_by_units"], dtype=float)
    histogram = Histogram.from_reliability(data)
    assert ac1(histogram).value == pytest.approx(expected["AC1"], abs=5e-6)
    assert fleiss(histogram).value == pytest.approx(expected["fleiss"], abs=5e-6)
    assert brennan_prediger(histogram).value == pytest.approx(expected["brennan_prediger"], abs=5e-6)
    assert alpha(histogram, "nominal").value == pytest.approx(expected["alpha_nominal"], abs=5e-6)
    assert percent_agreement(histogram).value == pytest.approx(expected["percent"], abs=5e-6)
    for weights, value in expected["AC2"].items():
        assert ac2(histogram, weights).value == pytest.approx(value, abs=5e-6)
    # Alone of all these, Conger's kappa knows who gave a label; Gwet's table has the only label of the
    # last unit with the third rater, Krippendorff's with the second.
    data[[1, 2], -1] = data[[2, 1], -1]
    assert conger(data, (1, 2, 3, 4, 5)).value == pytest.approx(expected["conger"], abs=5e-6)


@pytest.mark.parametrize("title", ["Gwet 3x3", "Feinstein & Cicchetti, balanced", "Feinstein & Cicchetti, skewed"])
def test_two_raters_in_a_table(title: str) -> None:
    entry = by_name("kappa.json", title)
    histogram = two_raters(entry["table"])
    found = {
        "cohen": cohen(CrossTable(histogram.domain, entry["table"])),
        "AC1": ac1(histogram),
        "scott": fleiss(histogram),
        "brennan_prediger": brennan_prediger(histogram),
        "PABAK": brennan_prediger(histogram),
        "alpha": alpha(histogram, "nominal"),
        "percent": percent_agreement(histogram),
    }
    named = [key for key in entry if key not in ("name", "table")]
    assert len(named) >= 4
    for key in named:
        digits = max(3, len(str(entry[key]).split(".")[1]))
        assert found[key].value == pytest.approx(entry[key], abs=0.51 * 10**-digits)


def test_weighted_kappa_and_its_interval() -> None:
    entry = by_name("kappa.json", "SAS 3x3")
    table = CrossTable(range(3), entry["table"])
    plain, linear = cohen(table, method="asymptotic"), cohen(table, "linear", method="asymptotic")
    assert plain.value == pytest.approx(entry["cohen"], abs=5e-5)
    assert [plain.low, plain.high] == pytest.approx(entry["cohen_ci"], abs=5e-5)
    assert linear.value == pytest.approx(entry["linear"], abs=5e-5)
    assert [linear.low, linear.high] == pytest.approx(entry["linear_ci"], abs=5e-5)
    assert cohen(table, "quadratic").value == pytest.approx(entry["quadratic"], abs=5e-5)


# Shrout & Fleiss (1979), Table 2: six targets, four judges, and the six coefficients of Table 4.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


@pytest.mark.parametrize(
    ("model", "average", "value", "limits"),
    [
        (1, False, 0.17, (-0.13, 0.72)),
        (2, False, 0.29, (0.02, 0.76)),
        (3, False, 0.71, (0.34, 0.95)),
        (1, True, 0.44, (-0.88, 0.91)),
        (2, True, 0.62, (0.07, 0.93)),
        (3, True, 0.91, (0.68, 0.99)),
    ],
)
def test_intraclass_correlations(model: Any, average: bool, value: float, limits: tuple[float, float]) -> None:
    figure = icc(SHROUT_FLEISS, model, average)
    assert figure.value == pytest.approx(value, abs=5e-3)
    assert (figure.low, figure.high) == pytest.approx(limits, abs=5.1e-3)


# -- preferences ------------------------------------------------------------------------------------------


def test_wpld_follows_from_its_shares() -> None:
    """TICK, Table 4: rebuild each row from 1,000 pairs at the three distances."""
    for _, exact, near, inverted, expected in oracle("pld.json")["rows"]:
        cells = np.zeros((3, 3), dtype=int)
        cells[0, 0], cells[1, 2], cells[2, 0] = (round(1000 * share) for share in (exact, near, inverted))
        distance = pld(CrossTable(("loss", "tie", "win"), cells))
        assert distance.pld0.value == pytest.approx(exact, abs=1.1e-3)
        assert distance.wpld.value == pytest.approx(expected, abs=1.1e-3)


def pandalm() -> tuple[list[dict[str, Any]], list[str]]:
    rows = json.loads(data_file("pandalm", "testset-v1.json").read_text(encoding="utf-8"))
    words = {0: "tie", 1: "win", 2: "loss"}
    people = [{f"annotator{n}": words[int(row[f"annotator{n}"])] for n in (1, 2, 3)} for row in rows]
    return people, [majority_preference(list(row.values())) for row in people]


def judged(name: str, key: str, words: dict[str, str]) -> list[str | None]:
    rows = json.loads(data_file("pandalm", name).read_text(encoding="utf-8"))
    return [words.get(str(row[key])) for row in rows]


def test_pandalm_people() -> None:
    people, majority = pandalm()
    assert Counter(majority) == {"tie": 105, "win": 422, "loss": 472}
    kappas = []
    for first, second in ((1, 2), (1, 3), (2, 3)):
        pairs = [(row[f"annotator{first}"], row[f"annotator{second}"]) for row in people]
        kappas.append(cohen(CrossTable.from_pairs(pairs, ("loss", "tie", "win"))).value)
    assert kappas == pytest.approx([0.852, 0.879, 0.862], abs=5e-4)
    labels = [(unit, rater, value) for unit, row in enumerate(people) for rater, value in row.items()]
    histogram = Histogram.from_labels(labels, ("loss", "tie", "win"))
    assert alpha(histogram, "nominal").value == pytest.approx(0.8642, abs=5e-5)
    assert fleiss(histogram).value == pytest.approx(0.8642, abs=5e-5)


def test_pandalm_judges_and_the_missing_policy() -> None:
    _, majority = pandalm()
    domain = ("loss", "tie", "win")
    answers = judged("gpt-3.5-turbo-testset-v1.json", "gpt_result", {"1": "win", "2": "loss", "Tie": "tie"})
    table = CrossTable.from_pairs(zip(majority, answers, strict=True), domain)
    as_tie, as_wrong = accuracy(table, "half", tie_credit=0), accuracy(table, "no", tie_credit=0)
    assert as_tie.value == pytest.approx(0.7107, abs=5e-5)
    assert as_wrong.value == pytest.approx(0.6977, abs=5e-5)
    assert as_tie.missing == as_wrong.missing == 25
    assert as_wrong.warning == "25 missing answers were counted as wrong."
    trained = judged("pandalm-7b-testset-v1.json", "pandalm_result", {"0": "tie", "1": "win", "2": "loss"})
    table = CrossTable.from_pairs(zip(majority, trained, strict=True), domain)
    assert accuracy(table, "no", tie_credit=0).value == pytest.approx(0.6677, abs=5e-5)
    assert macro_f1(table).value == pytest.approx(0.5743, abs=5e-5)


# -- selective checklists ---------------------------------------------------------------------------------

PLAIN_PROMPTS = ("Vanilla_NoRules", "Vanilla", "Vanilla_1shot", "Vanilla_2shot", "CoT")
CHECKLIST_PROMPTS = ("Metrics", "Metrics_Reference")


def llmbar_votes(prompts: tuple[str, ...]) -> list[list[str]]:
    """Votes for the output "1" or "2" of GPT-4 with several prompts in both orders, for the 419 pairs."""
    judge = json.loads(data_file("llmbar", "judge_votes.json").read_text(encoding="utf-8"))
    columns = []
    for prompt in prompts:
        subsets = judge[f"GPT-4/{prompt}"]
        for order in ("first_order", "swapped_order"):
            columns.append([vote for name in LLMBAR for vote in subsets[name.replace("__", "/")][order]])
    return [[vote for vote in votes if vote in ("1", "2")] for votes in zip(*columns, strict=True)]


LLMBAR = (
    "LLMBar__Natural",
    "LLMBar__Adversarial__Neighbor",
    "LLMBar__Adversarial__GPTInst",
    "LLMBar__Adversarial__GPTOut",
    "LLMBar__Adversarial__Manual",
)


def test_selective_checklists_on_llmbar() -> None:
    gold = [
        str(row["label"])
        for name in LLMBAR
        for row in json.loads(data_file("llmbar", f"{name}.json").read_text(encoding="utf-8"))
    ]
    plain, checked = llmbar_votes(PLAIN_PROMPTS), llmbar_votes(CHECKLIST_PROMPTS)
    assert len(gold) == len(plain) == 419
    without = [vote_credit(votes, truth) for votes, truth in zip(plain, gold, strict=True)]
    with_it = [vote_credit(votes, truth) for votes, truth in zip(checked, gold, strict=True)]
    doubt = [vote_inconsistency(votes) for votes in plain]
    curve = selective_curve(doubt, without, with_it, PAIRWISE_THRESHOLDS)
    found = [point.figure.value for point in curve]
    assert found == pytest.approx([0.8294, 0.8377, 0.8473, 0.8568, 0.8592, 0.8663, 0.8652], abs=5e-5)
    least = curve[-2]
    assert least.threshold == 1
    assert least.applied == pytest.approx(0.282, abs=5e-4)
    assert (least.against_none.low, least.against_none.high) == pytest.approx((0.0179, 0.0573), abs=5e-5)
    assert (least.against_all.low, least.against_all.high) == pytest.approx((-0.0036, 0.0072), abs=5e-5)
    assert paired_difference(with_it, with_it).value == 0


def test_position_consistency_of_every_llmbar_judge() -> None:
    """The published share of equal verdicts in both orders, for every judge, prompt and subset without a gap."""
    judges = json.loads(data_file("llmbar", "judge_votes.json").read_text(encoding="utf-8"))
    compared = 0
    for subsets in judges.values():
        for votes in subsets.values():
            pairs = list(zip(votes["first_order"], votes["swapped_order"], strict=True))
            published = votes["published"].get("equal")
            if published is None or any(vote not in ("1", "2") for pair in pairs for vote in pair):
                continue
            changed = changed_with_order(pairs).value
            assert changed is not None
            assert 100 * (1 - changed) == pytest.approx(float(published.split("= ")[1].rstrip("%")))
            compared += 1
    assert compared > 200


# -- checklists and scores --------------------------------------------------------------------------------


def test_infobench_drfr() -> None:
    lines = data_file("infobench", "gpt4_output_gpt4_judge.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    answers: dict[str, list[list[Any]]] = {"Easy_set": [], "Hard_set": []}
    for row in rows:
        answers[row["subset"]].append(["yes" if passed else "no" for passed in row["eval"]])
    everything = pass_rates(answers["Easy_set"] + answers["Hard_set"])
    assert (everything.micro.n_units, everything.micro.n_labels) == (500, 2250)
    assert everything.micro.value == pytest.approx(0.8760, abs=5e-5)
    assert everything.macro.value == pytest.approx(0.8798, abs=5e-5)
    assert pass_rates(answers["Easy_set"]).micro.value == pytest.approx(0.8841, abs=5e-5)
    assert pass_rates(answers["Hard_set"]).micro.value == pytest.approx(0.8724, abs=5e-5)


def test_rocketeval_weights() -> None:
    cases = oracle("rocketeval_weight.json")["cases"]
    assert cases
    for labels, expected in cases:
        assert supervision_weight(labels, 1, 10) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(
    ("dimension", "expected"),
    [
        ("naturalness", 0.513986),
        ("coherence", 0.612942),
        ("engagingness", 0.604739),
        ("groundedness", 0.574954),
    ],
)
def test_unieval_topical_chat(dimension: str, expected: float) -> None:
    rows = json.loads(data_file("unieval", "topical_chat_result.json").read_text(encoding="utf-8"))
    people = [row["scores"][dimension] for row in rows]
    metric = [row["predict_scores"][dimension] for row in rows]
    figure = pooled(people, metric, clusters=[row["source"] for row in rows], replicates=100)
    assert figure.value == pytest.approx(expected, abs=5e-7)
    assert figure.n_labels == 720
    assert figure.n_units == 60


def test_wildbench_ranks_the_systems_like_people() -> None:
    judge = json.loads(data_file("wildbench", "score.json").read_text(encoding="utf-8"))
    people = json.loads(data_file("rocketeval", "wildbench_test.json").read_text(encoding="utf-8"))
    ratings = {row["name"]: row["rating"] for row in people}
    systems = sorted(ratings.keys() & judge.keys())
    assert len(systems) == 12
    x = [judge[name]["score"] for name in systems]
    y = [ratings[name] for name in systems]
    assert system_level(x, y, systems, "kendall").value == pytest.approx(0.909, abs=5e-4)
    assert system_level(x, y, systems, "spearman").value == pytest.approx(0.979, abs=5e-4)


def test_two_judges_on_wildbench_with_a_margin_for_ties() -> None:
    """How often two judges draw the same conclusion from their scores of two systems on one instruction."""
    scores: dict[str, dict[Hashable, dict[Hashable, float]]] = {}
    with data_file("wildbench", "judge_scores.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["release"] == "v2.0522"]
    judges = sorted({row["judge"] for row in rows})
    common = set.intersection(*({row["model"] for row in rows if row["judge"] == name} for name in judges))
    for row in rows:
        if row["model"] in common:
            session = scores.setdefault(row["judge"], {}).setdefault(row["session_id"], {})
            session[row["model"]] = float(row["score"])
    # One judge's conclusions, by instruction and pair; the other's are looked up among them.
    first, second = (
        {
            (session, match.first, match.second): match.outcome
            for session, systems in scores[name].items()
            for match in matches_from_scores({session: systems}, margin=0.1)
        }
        for name in judges
    )
    pairs = [(first[key], second[key]) for key in sorted(first.keys() & second.keys(), key=str)]
    figure = accuracy(CrossTable.from_pairs(pairs, ("loss", "tie", "win")), tie_credit=0)
    assert figure.n_units == 15_306
    assert figure.value == pytest.approx(0.6754, abs=5e-5)


# -- ranking ----------------------------------------------------------------------------------------------


def test_bradley_terry_of_the_baseball_season() -> None:
    entry = oracle("bradley_terry.json")
    names = ["Mil", "Det", "Tor", "NY", "Bos", "Cle", "Bal"]
    ratings = bradley_terry(Tournament.of_wins(names, np.array(entry["wins"])), replicates=50)
    values = np.array([ratings[name].value for name in names], dtype=float)
    strengths = (values - values[-1]) * np.log(10) / 400
    assert strengths == pytest.approx(entry["log_strength_relative_to_last"], abs=5.1e-5)
    assert values.mean() == pytest.approx(1000)


@pytest.mark.parametrize("name", ["simple", "food", "llmfao"])
def test_crowd_votes_give_the_published_ratings(name: str) -> None:
    with data_file("evalica", f"{name}.csv").open(encoding="utf-8") as lines:
        words = {"left": "win", "right": "loss", "tie": "tie"}
        matches = [Match(row["left"], row["right"], words[row["winner"]]) for row in csv.DictReader(lines)]
    golden: dict[str, dict[str, float]] = {"elo": {}, "bradley_terry": {}}
    with data_file("evalica", f"{name}-golden.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["algorithm"] in golden:
                golden[row["algorithm"]][row["item"]] = float(row["score"])
    assert elo(matches) == pytest.approx(golden["elo"], abs=1e-9)
    figures = bradley_terry(Tournament.of(matches), replicates=20)
    rated = {str(key): figure.value for key, figure in figures.items() if figure.value is not None}
    strengths = {key: 10 ** (value / 400) for key, value in rated.items()}
    total = sum(strengths.values())
    expected = golden["bradley_terry"]
    assert rated
    among = sum(expected[key] for key in strengths)
    for key, strength in strengths.items():
        assert strength / total == pytest.approx(expected[key] / among, abs=1e-6)


def test_every_level_is_exercised() -> None:
    levels: set[Level] = {level for entry in oracle("alpha.json") for level in entry["alpha"]}
    assert levels == {"nominal", "ordinal", "interval", "ratio"}
