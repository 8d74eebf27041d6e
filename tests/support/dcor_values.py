"""Distance correlations by the package dcor, which takes seconds to import: what does not ask for them does not wait.

On import it gives torch more threads, and sums have other bits then; they are taken away again.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

import torch
from torch import Tensor


def squared_covariance(x: Tensor, y: Tensor, bias: str) -> float:
    """V or U of samples [n, p] and [n, q] float64."""
    forms = {"biased": _dcor().distance_covariance_sqr, "corrected": _dcor().u_distance_covariance_sqr}
    return float(forms[bias](x.numpy(), y.numpy(), method="naive"))


def correlation(x: Tensor, y: Tensor, bias: str) -> float:
    """The biased form, or the square of the corrected one."""
    forms = {"biased": _dcor().distance_correlation, "corrected": _dcor().u_distance_correlation_sqr}
    return float(forms[bias](x.numpy(), y.numpy(), method="naive"))


@cache
def _dcor() -> ModuleType:
    count = torch.get_num_threads()
    import dcor

    torch.set_num_threads(count)
    return dcor
