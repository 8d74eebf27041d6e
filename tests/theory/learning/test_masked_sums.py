"""Masked sums and fixed point: by hand, and with a protocol that is broken."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sparsync.theory.learning import masked_sums
from sparsync.theory.statements import STATEMENTS


def test_sums_by_hand() -> None:
    assert STATEMENTS["masks_cancel"].fraction(input_sum=5, unknown_masks=0) == 5
    assert STATEMENTS["masks_cancel"].fraction(input_sum=5, unknown_masks=-9) == -4
    assert STATEMENTS["fixed_point_error"].fraction(n=3, fixed_scale=4) == Fraction(3, 8)
    assert STATEMENTS["fixed_point_room"].fraction(n=3, fixed_scale=4, magnitude_bound=Fraction(5, 4)) == 15


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("_sign", lambda _client, _other: 1),
        ("_sign", lambda client, other: 2 if client < other else -1),
        ("masks_taken_off", lambda survivors: {own: own for own in map(masked_sums._own, survivors)}),
        ("_message", lambda client: masked_sums._own(client)),
    ],
)
def test_a_broken_protocol_leaves_a_claim_unproved(
    name: str, replacement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = STATEMENTS["masks_cancel"]
    assert statement.unproved_claims() == ()
    monkeypatch.setattr(masked_sums, name, replacement)
    assert not all(step.holds() for step in statement.derivation)
