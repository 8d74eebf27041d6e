"""Distance covariances and correlations from their definitions, with all n × n distances held.

The squared form V and its unbiased estimate U: Székely, Rizzo and Bakirov (2007), Definition 4; Székely and Rizzo
(2014), Equation 2.1 and Proposition 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from torch import Tensor

Matrix = NDArray[np.float64]


def squared_covariance(x: Tensor, y: Tensor, bias: str) -> float:
    """V or U of samples [n, p] and [n, q] float64."""
    if bias == "biased":
        return float((_doubly_centred(x) * _doubly_centred(y)).mean())
    count = len(x)
    return float((_u_centred(x) * _u_centred(y)).sum() / (count * (count - 3)))


def correlation(x: Tensor, y: Tensor, bias: str) -> float:
    """The biased form, or the square of the corrected one."""
    squared = squared_covariance(x, y, bias) / math.sqrt(
        squared_covariance(x, x, bias) * squared_covariance(y, y, bias)
    )
    return math.sqrt(squared) if bias == "biased" else squared


def _distances(points: Tensor) -> Matrix:
    return np.asarray(cdist(points.numpy(), points.numpy()), dtype=np.float64)


def _doubly_centred(points: Tensor) -> Matrix:
    distances = _distances(points)
    rows = distances.mean(axis=1)
    centred: Matrix = distances - rows[:, None] - rows[None, :] + distances.mean()
    return centred


def _u_centred(points: Tensor) -> Matrix:
    distances = _distances(points)
    count = len(distances)
    rows = distances.sum(axis=1) / (count - 2)
    centred: Matrix = distances - rows[:, None] - rows[None, :] + distances.sum() / ((count - 1) * (count - 2))
    np.fill_diagonal(centred, 0)
    return centred
