"""The saturated run: by hand, within its contraction, and what it refuses."""

from fractions import Fraction

import pytest

from sparsync.verify.feedback.runs import adversarial_runs

ONE, ZERO = Fraction(1), Fraction(0)


def test_the_saturated_run_of_weak_compression_by_hand() -> None:
    # a = 0: nothing is built, x alternates between ±ησ/2 = ±1 with L = 2/η, and f(x_0) − f* = σx_0 − σ²/(2L) = 1.
    run = adversarial_runs.SaturatedRun(root=ZERO, step=ONE, slope=Fraction(2), cycle_count=3)
    assert (run.building, run.start, run.smoothness, run.gap) == ((ZERO,), ONE, Fraction(2), ONE)
    assert run.slopes == (Fraction(2), Fraction(2))
    assert run.parameters(bounded="second moment")["T"] == 6


def test_the_residual_of_the_saturated_run_is_built_within_the_contraction() -> None:
    run = adversarial_runs.SaturatedRun(root=Fraction(7, 8), step=ONE, slope=ONE, cycle_count=2)
    shares = run.kept_shares(cycle_count=2)
    assert max(map(abs, shares)) <= Fraction(7, 8)
    # a/(1 − a) = 7, less what is rounded down: at most 1/(256(1 − a)) = 1/32.
    assert 7 - Fraction(1, 32) <= run.building[-1] < 7
    assert set(run.slopes) == {1}


def test_the_saturated_run_says_nothing_where_the_variance_is_bounded() -> None:
    run = adversarial_runs.SaturatedRun(root=Fraction(1, 2), step=ONE, slope=ONE, cycle_count=1)
    with pytest.raises(ValueError, match="asked for variance"):
        run.parameters(bounded="variance")


def test_a_cycle_that_is_not_closed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversarial_runs.SaturatedRun, "smoothness", Fraction(1, 8))
    with pytest.raises(ValueError, match="two updates lead from"):
        adversarial_runs.SaturatedRun(root=Fraction(1, 2), step=ONE, slope=ONE, cycle_count=1).smallest_energy()
