"""Which law do the entries of a vector follow? Six symmetric laws fitted by maximum likelihood, and judged on others.

Half of a sample without replacement is fitted, the other half says how well: the Kolmogorov–Smirnov distance, and the
mean log-likelihood, by which the best is named. All have the location 0. Exact zeros, such as the gradient at a pixel
that is always black, are left out: no density describes them. The fits are those of `scipy.stats`. Ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

Floats = NDArray[np.float64]

STARTS: Mapping[str, tuple[float, ...]] = {
    "norm": (),
    "laplace": (),
    "gennorm": (1.0,),
    "t": (3.0,),
    "dweibull": (0.8,),
    "dgamma": (0.8,),
}
"""The laws by their name in `scipy.stats`, each with the shape at which the search begins; the scale begins at 1."""
FITTED_COUNT = 20_000
LEAST_COUNT = 100
"""Entries other than zero that a fit needs at least."""


@dataclass(frozen=True)
class FittedLaw:
    """A law as fitted.

    Args:
        shape: its shape parameter, null for those without.
        scale: in units of the vector.
        distance: Kolmogorov–Smirnov, on entries that were not fitted.
        log_likelihood: the mean of their log-density, in units of the vector's mean magnitude: differences between laws
            do not depend on the unit.
    """

    shape: float | None
    scale: float
    distance: float
    log_likelihood: float


def sample_halves(vector: Tensor, stream: torch.Generator) -> tuple[Floats, Floats]:
    """Two samples of a vector [d] without replacement and without common entries, zeros left out; float64.

    Args:
        vector: finite.
        stream: draws them.
    """
    places = torch.randperm(vector.numel(), generator=stream)[: 2 * FITTED_COUNT]
    entries = vector[places].double()
    entries = entries[entries != 0]
    half = len(entries) // 2
    return entries[:half].numpy(), entries[half:].numpy()


def fit_laws(fitted: Floats, held_out: Floats) -> dict[str, FittedLaw]:
    """Each of the laws, fitted to one sample and judged on another; none if there are too few entries."""
    if min(len(fitted), len(held_out)) < LEAST_COUNT:
        return {}
    unit = float(np.abs(fitted).mean())
    return {name: _fit(name, fitted / unit, held_out / unit, unit) for name in STARTS}


def best_law(laws: Mapping[str, FittedLaw]) -> str | None:
    """The one under which the entries that were not fitted are likeliest."""
    return max(laws, key=lambda name: laws[name].log_likelihood, default=None)


def _fit(name: str, fitted: Floats, held_out: Floats, unit: float) -> FittedLaw:
    law, start = getattr(stats, name), STARTS[name]
    fit = law.fit(fitted, *start, floc=0, scale=1.0) if start else law.fit(fitted, floc=0)
    *shapes, _location, scale = (float(value) for value in fit)
    # The logarithm of the density that `laplace` has is minus infinity where the density is below the least double.
    frozen = stats.gennorm(1.0, loc=0, scale=scale) if name == "laplace" else law(*shapes, loc=0, scale=scale)
    return FittedLaw(
        shape=shapes[0] if shapes else None,
        scale=scale * unit,
        distance=float(stats.ks_1samp(held_out, frozen.cdf, method="asymp").statistic),
        log_likelihood=float(frozen.logpdf(held_out).mean()),
    )
