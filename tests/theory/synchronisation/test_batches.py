"""Weights of reports on unequal batches, and splits of examples: by hand, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import fixed_examples, n, total_batch, total_rate
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import batches


def test_equal_weights_lose_as_computed_by_hand() -> None:
    """Batches of 1 and 3 whose mean gradients are 1 and −1, noise of variance 2."""
    weighted = STATEMENTS["batch_weighted_error"].fraction(total_batch=4, variance=2)
    lost = STATEMENTS["equal_weight_error"].fraction(
        n=2, variance=2, dissimilarity=1, harmonic_batch=Fraction(3, 2), batch_spread=Fraction(1, 4)
    )
    assert (weighted, lost) == (Fraction(1, 2), Fraction(1, 4) + Fraction(2, 3))


def test_equal_batches_need_no_weights() -> None:
    equal = STATEMENTS["equal_weight_error"].fraction(
        n=5, variance=2, dissimilarity=7, harmonic_batch=3, batch_spread=0
    )
    assert equal == STATEMENTS["batch_weighted_error"].fraction(total_batch=15, variance=2)


def test_the_greedy_split_takes_as_long_as_computed_by_hand() -> None:
    """Lines 1 + b and b/2 share 5 examples: R = 3 and A = 1, or none without the first one's fixed time."""
    stated = STATEMENTS["greedy_split_time"]
    assert stated.fraction(n=2, total_batch=5, total_rate=3, fixed_examples=1) == Fraction(7, 3)
    assert stated.fraction(n=2, total_batch=5, total_rate=3, fixed_examples=0) == 2
    assert STATEMENTS["greedy_split"].fraction(least_time=Fraction(5, 2)) == Fraction(5, 2)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (batches, "batch_weighted_error", "_share", lambda: 1 / n),
        (batches, "batch_weighted_error", "_weight", lambda of_report: of_report),
        (batches, "equal_weight_error", "_weight", lambda of_report: of_report),
        (batches, "equal_weight_error", "_share", lambda: 1 / total_batch),
        (batches, "greedy_split", "_least_of", lambda attained, excess: sympy.Min(attained, attained - excess)),
        (
            batches,
            "greedy_split_time",
            "_examples_by",
            lambda time, missing: time * total_rate - fixed_examples + missing,
        ),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
