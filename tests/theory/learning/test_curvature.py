"""Kronecker-factored curvature and its bytes: by hand, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import coupling, damping, input_eigenvalue, kept_count, row_count
from sparsync.theory.learning import curvature, curvature_bytes
from sparsync.theory.statements import STATEMENTS


def test_an_entry_is_divided_by_the_damped_product() -> None:
    stated = STATEMENTS["kfac_eigenbasis"]
    assert stated.fraction(gradient_entry=6, input_eigenvalue=2, output_eigenvalue=1, damping=1) == 2
    assert stated.fraction(gradient_entry=6, input_eigenvalue=0, output_eigenvalue=9, damping=2) == 3


def test_damping_both_factors_leaves_half_of_equal_ones_and_little_of_flat_directions() -> None:
    stated = STATEMENTS["factored_damping"]
    assert stated.fraction(input_eigenvalue=3, output_eigenvalue=3, damping=9) == Fraction(1, 2)
    assert stated.fraction(input_eigenvalue=99, output_eigenvalue=0, damping=1) == Fraction(1, 100)
    assert stated.fraction(input_eigenvalue=0, output_eigenvalue=0, damping=1) == 1


def test_blocks_that_are_half_coupled_cost_the_inverse_all_of_itself_and_a_step_a_quarter() -> None:
    assert STATEMENTS["block_diagonal_error"].fraction(coupling=Fraction(1, 2)) == 1
    assert STATEMENTS["block_diagonal_step"].fraction(coupling=Fraction(1, 2)) == Fraction(3, 4)
    for label in ("block_diagonal_error", "block_diagonal_step"):
        with pytest.raises(ValueError, match="coupling < 1 is violated"):
            STATEMENTS[label].fraction(coupling=1)


def test_triangles_keep_less_than_vectors_of_as_many_entries() -> None:
    """Of a matrix of three rows the three diagonal entries may be 3/9, not 3/6; all six entries are all of it."""
    stated = STATEMENTS["triangle_selection"]
    assert stated.fraction(kept_count=3, row_count=3, entry_count=9) == Fraction(1, 3)
    assert stated.fraction(kept_count=4, row_count=3, entry_count=9) == Fraction(5, 9)
    assert stated.fraction(kept_count=6, row_count=3, entry_count=9) == 1
    with pytest.raises(ValueError, match="is violated"):
        stated.fraction(kept_count=7, row_count=3, entry_count=9)


def test_a_clamped_factor_is_nearer_by_what_was_clamped() -> None:
    assert STATEMENTS["clamped_factor"].fraction(selection_error=5, negative_energy=2) == 3


def test_a_small_layer_sends_as_counted_by_hand() -> None:
    """Three inputs and two outputs: 6 parameters, 6 + 3 in triangles, 12 + 6 in decompositions; two workers."""
    common = {"n": 2, "parameter_count": 6, "triangle_entries": 9, "factor_period": 3}
    everyone = STATEMENTS["kfac_everyone_bytes"].fraction(**common, basis_entries=12, decomposition_period=6)
    assert everyone == 4 * 2 * (6 + 3 + 2)
    assert STATEMENTS["kfac_owners_bytes"].fraction(**common, owned_entries=6) == 4 * 2 * (6 + 3 + 6)
    assert STATEMENTS["kfac_crossover"].fraction(input_size=3, output_size=2) == Fraction(18, 6)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (
            curvature,
            "kfac_eigenbasis",
            "_rotation",
            lambda cosine, sine: sympy.Matrix([[cosine, sine], [sine, cosine]]),
        ),
        (curvature, "kfac_eigenbasis", "_entry_equation", lambda entry: entry * input_eigenvalue + damping * entry - 1),
        (curvature, "factored_damping", "_factored_damped", lambda: input_eigenvalue + damping),
        (curvature, "block_diagonal_error", "_change", lambda eigenvalue: eigenvalue),
        (curvature, "block_diagonal_step", "_half_each", lambda power: (1 + coupling) ** power),
        (curvature, "triangle_selection", "_counted", lambda diagonal: kept_count - diagonal / row_count),
        (curvature, "clamped_factor", "_without", lambda whole, part: whole - 2 * part),
        (curvature_bytes, "kfac_everyone_bytes", "_basis", lambda size: size**2),
        (curvature_bytes, "kfac_crossover", "_basis", lambda size: size**2),
        (curvature_bytes, "kfac_owners_bytes", "NUMBER_BYTES", 8),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
