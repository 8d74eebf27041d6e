"""Distance correlations by the package dcor, which on import gives torch more threads: sums have other bits then.

It would also compile itself and keep what it compiled beside its sources. Test processes that did so at once left a
cache there that made every later import abort, so it is interpreted; the naive method hardly needs more.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

os.environ["NUMBA_DISABLE_JIT"] = "1"
_COUNT = torch.get_num_threads()
import dcor  # noqa: E402

torch.set_num_threads(_COUNT)

SQUARED_COVARIANCES = {"biased": dcor.distance_covariance_sqr, "corrected": dcor.u_distance_covariance_sqr}
CORRELATIONS = {"biased": dcor.distance_correlation, "corrected": dcor.u_distance_correlation_sqr}


def squared_covariance(x: Tensor, y: Tensor, bias: str) -> float:
    """V or U of samples [n, p] and [n, q] float64."""
    return float(SQUARED_COVARIANCES[bias](x.numpy(), y.numpy(), method="naive"))


def correlation(x: Tensor, y: Tensor, bias: str) -> float:
    """The biased form, or the square of the corrected one."""
    return float(CORRELATIONS[bias](x.numpy(), y.numpy(), method="naive"))
