"""The first whole number with K(K + 1) at least a product: by hand, and with a broken root."""

from __future__ import annotations

import pytest
import sympy

from sparsync.theory.cost import whole_roots
from sparsync.theory.cost.whole_roots import beside_root, no_longer_falls, whole_root


@pytest.mark.parametrize(("product", "first"), [(1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (12, 3)])
def test_the_first_whole_number_is_the_root_rounded_up(product: int, first: int) -> None:
    assert sympy.ceiling(whole_root(sympy.Integer(product))) == first
    assert (first - 1) * first < product <= first * (first + 1)


def test_a_broken_root_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert no_longer_falls() == beside_root() == sympy.true
    monkeypatch.setattr(whole_roots, "whole_root", sympy.sqrt)
    assert no_longer_falls() == beside_root() == sympy.false
