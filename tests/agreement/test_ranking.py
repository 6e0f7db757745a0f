"""Bradley-Terry, Elo, matches and means."""

import random
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from judging.agreement import Match, Tournament, bradley_terry, elo, matches_from_scores, system_means
from judging.agreement.bradley_terry import strongly_connected

RING = [Match("a", "b", "win"), Match("b", "c", "win"), Match("c", "a", "win")]


def season(seed: int = 0, systems: int = 6, matches: int = 400) -> list[Match]:
    rng = np.random.default_rng(seed)
    strengths = rng.normal(0, 1, systems)
    played = []
    for _ in range(matches):
        a, b = rng.choice(systems, 2, replace=False)
        chance = 1 / (1 + np.exp(strengths[b] - strengths[a]))
        outcome = "tie" if rng.random() < 0.1 else ("win" if rng.random() < chance else "loss")
        played.append(Match(f"s{a}", f"s{b}", outcome))
    return played


def test_ratings_maximise_the_likelihood() -> None:
    tournament = Tournament.of(season())
    wins = tournament.wins(tournament.outcomes)

    def loss(free: np.ndarray) -> float:
        strengths = np.append(free, 0.0)
        return float((wins * np.log1p(np.exp(strengths[None, :] - strengths[:, None]))).sum())

    best = np.append(minimize(loss, np.zeros(5), tol=1e-12).x, 0.0)
    expected = 1000 + 400 / np.log(10) * (best - best.mean())
    found = bradley_terry(tournament, replicates=10)
    assert [figure.value for figure in found.values()] == pytest.approx(expected.tolist(), abs=1e-2)


def test_intervals_do_not_depend_on_the_order_of_matches() -> None:
    matches = season()
    first = bradley_terry(Tournament.of(matches))
    random.Random(1).shuffle(matches)
    turned = [Match(b, a, {"win": "loss", "loss": "win", "tie": "tie"}[outcome]) for a, b, outcome in matches]
    assert bradley_terry(Tournament.of(turned)) == first
    for figure in first.values():
        assert figure.low is not None
        assert figure.high is not None
        assert figure.value is not None
        assert figure.low < figure.value < figure.high
        assert figure.method == "percentile bootstrap over matches"
    assert bradley_terry(Tournament.of(matches), seed=7) != first


def test_the_winner_of_everything_has_no_rating() -> None:
    matches = [*season(systems=3), *[Match("best", f"s{i}", "win") for i in range(3)]]
    matches += [Match("s0", "worst", "win"), Match("worst", "s1", "loss")]
    found = bradley_terry(Tournament.of(matches), replicates=20)
    assert found["best"].reason == "Undefined: this system never loses, so its rating has no upper limit."
    assert found["worst"].reason == "Undefined: this system never wins, so its rating has no lower limit."
    alone = bradley_terry(Tournament.of(season(systems=3)), replicates=20)
    assert found["s1"].value == pytest.approx(alone["s1"].value)


def test_two_groups_that_never_met() -> None:
    small = [Match("x", "y", "tie")]
    found = bradley_terry(Tournament.of(RING + small), replicates=50)
    assert found["a"].value == pytest.approx(1000)
    assert found["x"].reason == "Undefined: nothing connects this system with the others."


def test_a_group_that_is_always_beaten() -> None:
    below = [Match("x", "y", "tie"), Match("a", "x", "win")]
    found = bradley_terry(Tournament.of(RING + below), replicates=50)
    assert "never beats them" in (found["x"].reason or "")


def test_resamples_that_fall_apart_are_counted() -> None:
    found = bradley_terry(Tournament.of(RING + RING), replicates=200)
    assert "resamples were undefined and left out" in (found["a"].warning or "")


def test_a_tie_is_half_a_win_for_each() -> None:
    tournament = Tournament.of([Match("b", "a", "win"), Match("a", "b", "tie"), Match("a", "b", "tie")])
    assert tournament.wins(tournament.outcomes).tolist() == [[0, 1], [2, 0]]
    of_wins = Tournament.of_wins(["b", "a"], np.array([[0, 2], [1, 0]]))
    assert of_wins.systems == ["a", "b"]
    assert of_wins.wins(of_wins.outcomes).tolist() == [[0, 1], [2, 0]]


def test_strong_connection() -> None:
    ring = np.zeros((2, 5, 5))
    for a, b in pairwise([0, 1, 2, 3, 4, 0]):
        ring[:, a, b] = 1
    ring[1, 4, 0] = 0
    assert strongly_connected(ring).tolist() == [True, False]


def test_lopsided_tables_converge() -> None:
    matches = [Match("a", "b", "win")] * 100_000 + [Match("a", "b", "loss")]
    found = bradley_terry(Tournament.of(matches), replicates=20)
    assert found["a"].value == pytest.approx(1000 + 200 * np.log10(100_000), abs=1e-6)


def test_bad_matches_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot play against itself"):
        Tournament.of([Match("a", "a", "win")])
    with pytest.raises(ValueError, match="win, tie or loss, not 'draw'"):
        Tournament.of([Match("a", "b", "draw")])
    with pytest.raises(ValueError, match="win, tie or loss, not 'draw'"):
        elo([Match("a", "b", "draw")])
    assert bradley_terry(Tournament.of([])) == {}


def test_elo_by_hand() -> None:
    found = elo([Match("a", "b", "win"), Match("b", "a", "tie")], k=32, start=1500)
    second = 1 / (1 + 10 ** ((1516 - 1484) / 400))
    assert found["b"] == pytest.approx(1484 + 32 * (0.5 - second))
    assert found["a"] + found["b"] == pytest.approx(3000)


def test_scores_become_matches() -> None:
    played = list(matches_from_scores({"i1": {"a": 1.0, "b": 1.05, "c": 0.2}, "i2": {"a": 3.0}}))
    assert played == [Match("a", "b", "tie"), Match("a", "c", "win"), Match("b", "c", "win")]


def test_system_means() -> None:
    found = system_means({"i1": {"a": 1.0, "b": 2.0}, "i2": {"a": 3.0}, "i3": {"a": 5.0, "b": 3.0}})
    assert (found["a"].value, found["a"].missing) == (3.0, 0)
    assert (found["b"].value, found["b"].missing) == (2.5, 1)
    width = 4.302652729911275 * 2 / np.sqrt(3)
    assert found["a"].low == pytest.approx(3 - width)
    single = system_means({"i1": {"a": 1.0}})["a"]
    assert single.warning == "No interval: there is only one unit."
