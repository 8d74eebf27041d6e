"""Which rung of the ladder holds for which law? The exponent that a law's exact ratio reaches at each density.

The effective exponent is q = ln ε / ln(1 − κ): the bound (1 − κ)^r holds at this density iff q ≥ r. Computed from the
exact laws of `theory/laws/formulas.py`; nothing is drawn. Read by the phase diagram.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, log1p
from typing import Any

from sparsync.experiments.studies.profiles import ProfileName
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.provenance import provenance

DENSITIES = tuple(10 ** (-3 + 2.9 * index / 14) for index in range(15))
"""From 0.001 to 0.79."""


@dataclass(frozen=True)
class Family:
    """Laws that differ in one parameter.

    Args:
        label: the statement that gives their ratio.
        parameter: its argument.
        values: what it takes.
    """

    label: str
    parameter: str
    values: tuple[float, ...]


FAMILIES: dict[str, Family] = {
    "shifted gaussian": Family("shifted_gaussian_law", "mean", tuple(index / 2 for index in range(1, 18))),
    "gamma": Family("gamma_law", "shape", tuple(2 ** (index / 2) for index in range(-4, 9))),
    "weibull": Family("weibull_law", "shape", tuple(2 ** (index / 2) for index in range(-4, 9))),
}
"""Every family by name."""


def run_phases(profile_name: ProfileName, *, advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """The effective exponent of every law at every density; the study's JSON.

    Args:
        profile_name: key of `PROFILES`; "smoke" takes every fourth density and law.
        advance: called after each of the `law_count(profile_name)` laws.
    """
    densities = _thinned(DENSITIES, profile_name)
    families = {}
    for name, family in FAMILIES.items():
        values = _thinned(family.values, profile_name)
        exponents = []
        for value in values:
            ratios = [STATEMENTS[family.label].evaluate(kappa=c, **{family.parameter: value}) for c in densities]
            exponents.append([effective_exponent(*pair) for pair in zip(ratios, densities, strict=True)])
            advance()
        families[name] = {"parameter": family.parameter, "value": list(values), "exponent": exponents}
    return {
        "profile": profile_name,
        "density": list(densities),
        "families": families,
        "provenance": provenance(process_count=1),
    }


def effective_exponent(ratio: float, density: float) -> float:
    """q with (1 − κ)^q = ε.

    Raises:
        ValueError: the ratio or the density lies outside (0, 1).
    """
    if not (0 < ratio < 1 and 0 < density < 1):
        raise ValueError(f"ratio and density must lie in (0, 1), got {ratio} and {density}")
    return log(ratio) / log1p(-density)


def law_count(profile_name: ProfileName) -> int:
    """How many laws the study computes."""
    return sum(len(_thinned(family.values, profile_name)) for family in FAMILIES.values())


def _thinned(values: tuple[float, ...], profile_name: ProfileName) -> tuple[float, ...]:
    return values[::4] if profile_name == "smoke" else values
