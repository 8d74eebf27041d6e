"""Effective exponents say which rung a law keeps, and agree with what is known of each family."""

from __future__ import annotations

import pytest

from sparsync.experiments.studies.selection.phases import DENSITIES, FAMILIES, effective_exponent, law_count, run_phases
from sparsync.theory.statements import STATEMENTS


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 7.5])
@pytest.mark.parametrize("density", [0.001, 0.3, 0.79])
def test_a_power_has_its_own_exponent(exponent: float, density: float) -> None:
    # ε is rounded once; its logarithm, at least 0.001, moves by 2⁻⁵³/0.001 at most.
    assert effective_exponent((1 - density) ** exponent, density) == pytest.approx(exponent, rel=1e-12)


@pytest.mark.parametrize(("ratio", "density"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.0)])
def test_ends_have_no_exponent(ratio: float, density: float) -> None:
    with pytest.raises(ValueError, match=r"must lie in \(0, 1\)"):
        effective_exponent(ratio, density)


def test_the_study_holds_every_family_and_its_statement_s_ratios() -> None:
    advanced: list[None] = []
    study = run_phases("smoke", advance=lambda: advanced.append(None))
    assert study["density"] == list(DENSITIES[::4])
    assert list(study["families"]) == list(FAMILIES)
    assert len(advanced) == law_count("smoke") == sum(len(family["value"]) for family in study["families"].values())
    gamma = study["families"]["gamma"]
    ratio = STATEMENTS["gamma_law"].evaluate(kappa=DENSITIES[4], shape=gamma["value"][2])
    assert gamma["exponent"][2][1] == effective_exponent(ratio, DENSITIES[4])


def test_unimodal_magnitudes_keep_exponent_three_and_a_large_mean_loses_two() -> None:
    families = run_phases("smoke")["families"]
    falling = [
        row for value, row in zip(families["gamma"]["value"], families["gamma"]["exponent"], strict=True) if value <= 1
    ]
    assert falling
    assert min(min(row) for row in falling) >= 3
    shifted = families["shifted gaussian"]
    assert max(shifted["exponent"][-1]) < 2
    assert min(min(row) for row in shifted["exponent"]) > 1
