"""A hypothesis of the ladder is found met by vectors that meet it, by draws of laws that do, and by no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sparsync.experiments.studies.selection.rank_hypotheses import (
    RUNGS,
    Finding,
    Floats,
    examined,
    hypotheses,
    sampled_ranks,
)
from sparsync.theory.contraction.ladder import STATEMENTS

DIMENSION = 20_000
MET = Finding(is_met=True, is_met_within_chance=True, rise=1.0)


def found(entries: Floats) -> dict[str, Finding]:
    magnitudes = np.sort(np.abs(entries))[::-1][sampled_ranks(len(entries)) - 1]
    return {hypothesis.label: examined(hypothesis, magnitudes) for hypothesis in hypotheses(len(entries))}


def remaining(dimension: int) -> Floats:
    """d + 1 − i for every rank i."""
    return np.arange(dimension, 0, -1).astype(np.float64)


def test_ranks_ascend_from_the_first_and_lie_close_together_at_the_top() -> None:
    ranks = sampled_ranks(DIMENSION)
    assert (ranks[0], len(ranks) <= 200) == (1, True)
    assert (np.diff(ranks) > 0).all()
    assert (ranks[1] - ranks[0], ranks[-1] - ranks[-2]) == (1, DIMENSION // 160)
    assert sampled_ranks(3).tolist() == [1, 2, 3]


@pytest.mark.parametrize("label", RUNGS)
def test_the_vector_that_attains_a_bound_meets_its_hypothesis_exactly(label: str) -> None:
    power = float(STATEMENTS[label].given("power"))
    left = remaining(DIMENSION)
    finding = found(np.sqrt(left**power - (left - 1) ** power))[label]
    assert (finding.is_met, finding.is_met_within_chance) == (True, True)
    assert finding.rise == pytest.approx(1, abs=2.0**-44)


def test_squares_on_a_line_are_no_bell() -> None:
    left = remaining(DIMENSION)
    assert not found(np.sqrt(2 * left - 1))["bell_shaped"].is_met_within_chance


def test_constant_squares_break_both_and_are_named_with_the_rise() -> None:
    findings = found(np.ones(DIMENSION))
    last = int(sampled_ranks(DIMENSION)[-1])
    for label, rise in (
        ("square_convex", (2 * DIMENSION - 1) / (2 * (DIMENSION - last) + 1)),
        ("bell_shaped", (3 * DIMENSION * (DIMENSION - 1) + 1) / (3 * (DIMENSION - last) * (DIMENSION - last + 1) + 1)),
    ):
        assert not findings[label].is_met
        assert not findings[label].is_met_within_chance
        assert findings[label].rise == pytest.approx(rise)


DRAWS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "uniform": lambda stream: stream.uniform(-1, 1, DIMENSION),
    "normal": lambda stream: stream.normal(size=DIMENSION),
    "laplace": lambda stream: stream.laplace(size=DIMENSION),
    "cauchy": lambda stream: stream.standard_cauchy(DIMENSION),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("seed", range(5))
def test_draws_of_unimodal_laws_meet_both_within_chance(name: str, seed: int) -> None:
    findings = found(DRAWS[name](np.random.default_rng(seed)))
    assert all(finding.is_met_within_chance for finding in findings.values())


def test_draws_of_the_uniform_law_break_the_third_rung_strictly_but_by_little() -> None:
    finding = found(DRAWS["uniform"](np.random.default_rng(0)))["bell_shaped"]
    assert not finding.is_met
    # Of 125 entries behind the last rank: six deviations of the square, twice 1/√125 each.
    assert 1 < finding.rise < 1 + 6 * 2 / np.sqrt(125)


def test_draws_with_a_hole_around_zero_break_the_third_rung() -> None:
    stream = np.random.default_rng(0)
    shifted = 3 + stream.normal(size=DIMENSION)
    assert not found(shifted)["bell_shaped"].is_met_within_chance
    assert not found(shifted)["square_convex"].is_met_within_chance


def test_zeros_behind_the_others_break_nothing() -> None:
    entries = np.concatenate([remaining(DIMENSION // 2), np.zeros(DIMENSION // 2)])
    assert all(finding == MET for finding in found(entries).values())
    assert all(finding == MET for finding in found(np.zeros(DIMENSION)).values())


@pytest.mark.parametrize("order", [[1.0, 2.0, 0.5], [1.0, 0.5, -0.5], [1.0, 0.5]])
def test_magnitudes_that_are_none_are_refused(order: list[float]) -> None:
    with pytest.raises(ValueError, match="square_convex: magnitudes must be descending"):
        examined(hypotheses(3)[0], np.array(order))
