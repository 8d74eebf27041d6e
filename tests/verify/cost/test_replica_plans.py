"""Plans of a few operators a second time: by hand, and margins that see what is off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sparsync.verify.cost import replica_plans
from sparsync.verify.cost.replica_plans import Setting, plans_margin
from sparsync.verify.cost.simulated.shards import Choice, Network

TWO = Setting(Network(2, Fraction(0), Fraction(1), 2), (1, 2), 4, 16, 4, Fraction(180))
"""Of 6 parameters, with 30 bytes for each."""
SAMPLE = Choice(Fraction(6), Fraction(2))


def test_a_plan_by_hand() -> None:
    # 8 bytes a parameter, three passes of 2 and of 4 bytes.
    assert TWO.kept((False, False), Fraction(1)) == Choice(Fraction(48), Fraction(18))
    # 20 bytes for each of the second's four, of which a fourth travels with positions.
    assert TWO.kept((False, True), Fraction(1, 4)) == Choice(Fraction(16 + 80), Fraction(6 + 6))


def test_samples_per_second_by_hand() -> None:
    rates = TWO.rates(Fraction(1, 4), SAMPLE)
    # Memory for 22 samples of each of two devices, which take 44 s beside 18 s of exchange.
    assert rates[False, False] == Fraction(2 * 22, 18 + 44)
    assert len(rates) == 4
    assert set(replace(TWO, memory=Fraction(60)).rates(Fraction(1, 4), SAMPLE)) == {(False, False)}


def test_the_density_at_which_plans_move_by_hand() -> None:
    # Shards exchange 18 s over 132 bytes, replicas 36κ s over 60.
    assert TWO.moving_density() == Fraction(18 * 60, 132 * 36)
    assert len(set(TWO.rates(TWO.moving_density(), SAMPLE).values())) == 1


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plans_margin(TWO, SAMPLE) == 0
    assert plans_margin(replace(TWO, memory=Fraction(110)), SAMPLE) == 0
    with monkeypatch.context() as patch:
        patch.setattr(Setting, "moving_density", lambda _setting: Fraction(1, 3))
        assert plans_margin(TWO, SAMPLE) == -1
    monkeypatch.setattr(replica_plans, "pairs_seconds", lambda *_: Fraction(1))
    assert plans_margin(TWO, SAMPLE) < 0
