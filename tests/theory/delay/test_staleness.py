import math
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.delay import staleness
from sparsync.theory.language.symbols import staleness as slack
from sparsync.theory.statements import STATEMENTS


@pytest.mark.parametrize(("allowed", "expected"), [(0, 1), (3, 4)])
def test_a_lead_is_at_most_one_more_than_the_staleness(allowed: int, expected: int) -> None:
    assert STATEMENTS["ssp_gap"].evaluate(staleness=allowed) == expected


@pytest.mark.parametrize(
    ("workers", "allowed", "expected"), [(1, 0, 1), (1, 9, 1), (8, 0, 1), (8, 2, 3), (3, 2, 3), (3, 7, 3)]
)
def test_staleness_saves_at_most_the_smaller_of_workers_and_staleness_plus_one(
    workers: int, allowed: int, expected: int
) -> None:
    assert STATEMENTS["ssp_recursion"].evaluate(n=workers, staleness=allowed) == expected


def test_a_head_start_fades_with_time() -> None:
    statement = STATEMENTS["persistent_straggler"]
    rates = [statement.evaluate(longest_duration=2, gap_bound=16, horizon=horizon) for horizon in (16, 1600, 1.6e9)]
    assert rates == [1.5, 0.51, 0.50000001]


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [(0, Fraction(4, 3)), (1, Fraction(8, 5)), (2, Fraction(12, 7)), (4, Fraction(20, 11)), (8, Fraction(36, 19))],
)
def test_throughputs_equal_hand_computed_values(allowed: int, expected: Fraction) -> None:
    assert STATEMENTS["ssp_throughput"].exact(staleness=allowed) == sympy.Rational(expected)


def test_a_barrier_takes_the_mean_of_the_longer_of_two_exponential_times() -> None:
    time = sympy.Symbol("time", positive=True)
    longer = sympy.integrate(1 - (1 - sympy.exp(-time)) ** 2, (time, 0, sympy.oo))
    assert STATEMENTS["ssp_throughput"].exact(staleness=0) == 2 / longer


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("ssp_gap", {"staleness": -1}),
        ("ssp_recursion", {"n": 0, "staleness": 1}),
        ("ssp_throughput", {"staleness": 0.5}),
        ("persistent_straggler", {"longest_duration": 0, "gap_bound": 1, "horizon": 1}),
        ("persistent_straggler", {"longest_duration": 1, "gap_bound": 1, "horizon": math.inf}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("ssp_gap", "_needed_count", lambda iteration: iteration - slack),
        ("ssp_gap", "_needed_count", lambda iteration: iteration - 2 - slack),
        ("ssp_recursion", "_makespan", lambda trace, **_slack: len(trace)),
        ("ssp_recursion", "DURATION", sympy.IndexedBase("duration", real=True)),
        ("ssp_throughput", "_rates", lambda *_state: (sympy.Integer(1), sympy.Integer(1))),
        ("ssp_throughput", "_rates", lambda *_state: (sympy.Integer(2), sympy.Integer(1))),
        ("ssp_throughput", "_mean_rate", lambda: 2 - 1 / (2 * slack + 3)),
        ("persistent_straggler", "staleness", -slack - 1),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staleness, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
