"""Which share of the energy does Top-k capture at a density, in doubles and for many densities at once?

The formulas are those of the statements; only the normal quantile is that of scipy. Ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import cast

import numpy
import sympy
from numpy.typing import NDArray

from sparsync.theory.language.symbols import d, k, kappa
from sparsync.theory.statements import STATEMENTS

Floats = NDArray[numpy.float64]

CAPTURES = (
    "top_k",
    "square_convex",
    "bell_shaped",
    "uniform_law",
    "laplace_law",
    "gaussian_law",
    "steady_drift",
    "steady_noise",
)
"""Statements on Top-k whose ratio ε has a formula in the density: bounds, exact laws, steady states of feedback."""


@lru_cache
def captured_share(label: str) -> Callable[[Floats], Floats]:
    """δ(κ) = 1 − ε(κ) for densities in (0, 1], to a few roundings; terms of one sign are added.

    Args:
        label: one of `CAPTURES`.

    Raises:
        ValueError: another label.
    """
    if label not in CAPTURES:
        raise ValueError(f"the ratio must be one of {', '.join(CAPTURES)}, got {label!r}")
    share = 1 - STATEMENTS[label].bound.subs(k, kappa * d)
    # As a product there is no difference from 1 left; what is not rational has terms of one sign.
    share = sympy.factor(share) if share.is_rational_function() else sympy.expand(share)
    return cast(
        Callable[[Floats], Floats], sympy.lambdify(kappa, share, modules=[{"NormalQuantile": _quantile}, "numpy"])
    )


def _quantile(density: Floats) -> Floats:
    """Φ⁻¹(1 − κ/2)."""
    # scipy is imported where it is needed: it takes as long to load as everything else.
    from scipy.special import ndtri

    return cast(Floats, -ndtri(density / 2))
