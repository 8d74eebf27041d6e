"""Error feedback circles the minimiser of two workers that differ, and the checks notice a wrong radius."""

from dataclasses import replace
from fractions import Fraction
from itertools import islice

import pytest
import sympy

from sparsync.theory.language.symbols import L, eta
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.tight_rates import oscillation_steps
from sparsync.theory.tight_rates.oscillation_steps import PLACE, SLOPE
from sparsync.verify.tight_rates.oscillation import (
    LABEL,
    cycle_queries,
    distance_margin,
    iterates,
    stated_distance,
)
from sparsync.verify.tools.outcome import Profile
from sparsync.verify.tools.smt import decide

TINY = Profile(dimensions=(2,), examples_count=30)
ONE, HALF, NOTHING = Fraction(1), Fraction(1, 2), (Fraction(0), Fraction(0))


def test_three_steps_are_done_by_hand() -> None:
    # η = 1/2, L = α = 1, start (1/4, −1/4). Worker 1: v = (5/8, 3/8), sends 5/8 of coordinate 1; worker 2 its mirror.
    # x = (1/4 − 5/16, −1/4 + 5/16); worker 1 keeps (0, 3/8), and then v = (15/32, 29/32), and so on.
    run = iterates(HALF, ONE, ONE, start=(Fraction(1, 4), Fraction(-1, 4)), memory=NOTHING)
    first, second = islice(run, 2)
    assert first == (Fraction(-1, 16), Fraction(1, 16))
    assert second == (Fraction(-1, 16) + Fraction(29, 64), Fraction(1, 16) - Fraction(29, 64))


def test_the_distance_at_a_point_equals_the_hand_computed_one() -> None:
    assert stated_distance(HALF, ONE, ONE) == Fraction(1, 8)


def test_the_run_ends_on_the_cycle_and_not_at_the_minimiser() -> None:
    run = iterates(HALF, ONE, ONE, start=(Fraction(1, 4), Fraction(-1, 4)), memory=NOTHING)
    ends = [(float(x), float(y)) for x, y in islice(run, 80, 82)]
    # c = 1/4: the deviation has shrunk by 2⁻⁸⁰.
    assert ends[0] == pytest.approx((-0.25, 0.25) if ends[0][0] < 0 else (0.25, -0.25), abs=1e-15)
    assert ends[0][0] + ends[1][0] == pytest.approx(0.0, abs=1e-15)


def test_a_longer_step_than_the_domain_allows_is_refused() -> None:
    with pytest.raises(ValueError, match="ef_heterogeneous_distance"):
        STATEMENTS[LABEL].evaluate(smoothness=2, step_size=0.5, heterogeneity=1)
    with pytest.raises(ValueError, match="heterogeneity"):
        STATEMENTS[LABEL].evaluate(smoothness=1, step_size=0.5, heterogeneity=0)


def test_two_solvers_prove_each_claim_and_no_twin() -> None:
    assert all(decide(query) for query in cycle_queries())
    assert not any(decide(replace(query, conclusion=query.false_twin)) for query in cycle_queries())


@pytest.mark.parametrize("share", [Fraction(1, 16), HALF, ONE])
def test_every_start_on_the_stated_segment_leads_to_the_cycle(share: Fraction) -> None:
    assert distance_margin(Fraction(3, 4), Fraction(5, 4), Fraction(2), share) > 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("HALF_PRODUCT", eta * L),
        ("_swapped", lambda pair: pair),
        ("_mirror", lambda pair: (pair[1], pair[0])),
        ("_fixed_place", lambda: eta * SLOPE),
        ("_memory", lambda: (eta * SLOPE, sympy.Integer(0))),
        ("_following", lambda: eta * SLOPE - PLACE),
    ],
)
def test_a_wrong_part_breaks_the_derivation(name: str, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oscillation_steps, name, wrong)
    assert STATEMENTS[LABEL].unproved_claims()
