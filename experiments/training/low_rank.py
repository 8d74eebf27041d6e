"""PowerSGD, to compare with: the mean of all workers' gradients through matrices of low rank, with error feedback.

Vectors [d] of all workers → mean [d] and the bytes sent, as another `Averager` of the simulation. One iteration of the
power method finds each matrix's approximation, beginning where the last ended. Source: Vogels, Karimireddy, Jaggi 2019,
arXiv 1905.13727, algorithms 1 and 2, re-derived. All of it is linear in the gradients, so that the mean of the workers'
residuals is all that is ever used of them, and all that is kept here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import Average
from sparsync.experiments.training.averager import Averager
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.kernels.payload import SparsePayload

Shape = tuple[int, ...]


class LowRankAverager(Averager):
    """All workers in this process; every matrix M becomes PQᵀ, and what that lacks is added to the next M.

    P is an orthonormal basis of the columns of MQ, with the last Q, and then Q ← MᵀP. A parameter with more than two
    axes is a matrix whose rows belong to its first. Vectors, and matrices for which P and Q are no smaller, go as they
    are.

    Args:
        shapes: of the parameters, in the order of the vector; their entries sum to d.
        rank: columns of P and Q; as many as the matrix has, where that is less.
        generator: where the first Q come from, standard normal.

    Raises:
        ValueError: `rank` is below 1.
    """

    def __init__(self, shapes: Sequence[Shape], *, rank: int, generator: torch.Generator) -> None:
        if rank < 1:
            raise ValueError(f"rank must be at least 1, got {rank}")
        self._sizes = [math.prod(shape) for shape in shapes]
        self._matrices = [_matrix(shape, rank) for shape in shapes]
        self._sent_count = sent_count(shapes, rank)
        self._inner = LocalAverager("dense")
        self.residual = torch.zeros(sum(self._sizes))
        """[d], mean over the workers of what was not sent"""
        self.factors = [
            torch.empty(0) if fit is None else torch.randn(fit[1], fit[2], generator=generator)
            for fit in self._matrices
        ]
        """Q [columns, rank] of each parameter; empty where it goes as it is"""

    knows_count = False

    def gather_rows(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        """The rows themselves."""
        return self._inner.gather_rows(rows)

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """The mean of the given vectors, in their order."""
        return self._inner.mean(vectors)

    def state(self) -> dict[str, Tensor]:
        """What is not sent yet, and the factors of the parameters that have some."""
        factors = {f"factor {place}": factor for place, factor in enumerate(self.factors) if factor.numel()}
        return {"residual": self.residual, **factors}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on with those."""
        self.residual = state["residual"].clone()
        self.factors = [state.get(f"factor {place}", factor) for place, factor in enumerate(self.factors)]

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """The approximate mean of whole gradients, as `keep_all` has them.

        Raises:
            ValueError: see `LocalAverager`; or the dimension is not that of the parameters.
        """
        exact = self._inner.average(payloads).mean
        if exact.shape != self.residual.shape:
            raise ValueError(f"expected payloads of dimension {self.residual.numel()}, got {exact.numel()}")
        corrected = self.residual.to(exact).add_(exact)
        approximate = corrected.clone()
        for place, (part, fit) in enumerate(zip(approximate.split(self._sizes), self._matrices, strict=True)):
            if fit is not None:
                matrix = part.view(fit[0], fit[1])
                columns = _orthonormal(matrix @ self.factors[place].to(exact))
                self.factors[place] = matrix.T @ columns
                matrix.copy_(columns @ self.factors[place].T)
        self.residual = corrected.sub_(approximate)
        return Average(approximate, len(payloads) * self._sent_count * exact.element_size())


def sent_count(shapes: Sequence[Shape], rank: int) -> int:
    """How many numbers a worker sends in a step: P, Q and what goes as it is."""
    fits = [_matrix(shape, rank) for shape in shapes]
    return sum(
        math.prod(shape) if fit is None else (fit[0] + fit[1]) * fit[2] for shape, fit in zip(shapes, fits, strict=True)
    )


def largest_rank(shapes: Sequence[Shape], count: int) -> int:
    """The largest rank with which a worker sends at most so many numbers; 1 if none does.

    From the rank on with which everything goes as it is, nothing changes: it is the largest that is looked at.
    """
    whole = sum(map(math.prod, shapes))
    rank = 1
    while sent_count(shapes, rank) < whole and sent_count(shapes, rank + 1) <= count:
        rank += 1
    return rank


def _matrix(shape: Shape, rank: int) -> tuple[int, int, int] | None:
    """Rows, columns and rank of a parameter; None where it goes as it is."""
    if len(shape) < 2:
        return None
    rows, columns = shape[0], math.prod(shape[1:])
    rank = min(rows, columns, rank)
    return (rows, columns, rank) if (rows + columns) * rank < rows * columns else None


def _orthonormal(columns: Tensor) -> Tensor:
    """Columns [rows, rank] that span the same, each of length one and at right angles to the others."""
    basis: Tensor = torch.linalg.qr(columns).Q
    return basis
