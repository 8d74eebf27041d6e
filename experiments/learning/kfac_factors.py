"""What is done with Kronecker factors: packed, decomposed, applied to gradients, and shared out among workers.

With A = Q_A diag(a) Q_Aᵀ and G = Q_G diag(g) Q_Gᵀ, and a gradient W [outputs, inputs], the solution V of
G V A + γ V = W is Q_G ((Q_Gᵀ W Q_A) / (g aᵀ + γ)) Q_Aᵀ: the statement `kfac_eigenbasis` of
`theory/learning/curvature.py`. Nothing here communicates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

Shares: TypeAlias = Sequence[Sequence[int]]
"""Which things each worker owns, ascending, by rank."""


def triangle_count(size: int) -> int:
    """Entries of an upper triangle with its diagonal."""
    return size * (size + 1) // 2


def packed_triangles(matrices: Sequence[Tensor]) -> Tensor:
    """The upper triangles of symmetric matrices, row by row, one after another: [Σ size(size + 1)/2]."""
    return torch.cat([matrix[torch.triu_indices(*matrix.shape).unbind()] for matrix in matrices])


def unpacked_triangles(packed: Tensor, sizes: Sequence[int]) -> list[Tensor]:
    """The matrices of `packed_triangles`, symmetric to the bit.

    Args:
        packed: the triangles.
        sizes: rows of each.
    """
    found = []
    for part, size in zip(packed.split([triangle_count(size) for size in sizes]), sizes, strict=True):
        rows, columns = torch.triu_indices(size, size, device=packed.device).unbind()
        matrix = packed.new_empty(size, size)
        matrix[rows, columns] = part
        matrix[columns, rows] = part
        found.append(matrix)
    return found


@dataclass(frozen=True, eq=False)
class Eigenbasis:
    """A symmetric matrix as vectors [n, n], in columns, and values [n]; those below zero are set to zero.

    That makes it the nearest matrix without negative eigenvalues: what Top-k leaves of a factor may have some.
    """

    vectors: Tensor
    values: Tensor

    def packed(self) -> Tensor:
        """[n² + n]: vectors and then values."""
        return torch.cat([self.vectors.flatten(), self.values])


def eigenbasis(matrix: Tensor) -> Eigenbasis:
    """Decompose a symmetric matrix [n, n].

    LAPACK's divide and conquer gives up on some matrices that are mostly zero, such as what a selection leaves of a
    factor. They are decomposed by QR iteration then, in float64 and on the CPU.

    Raises:
        FloatingPointError: an entry is not finite.
    """
    try:
        values, vectors = torch.linalg.eigh(matrix)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]  # the stubs do not name it
        values, vectors = _by_iteration(matrix)
    return Eigenbasis(vectors.contiguous(), values.clamp_(min=0.0))


def _by_iteration(matrix: Tensor) -> tuple[Tensor, Tensor]:
    # Rarely needed, and slow to import.
    from scipy.linalg import eigh

    if not bool(matrix.isfinite().all()):
        raise FloatingPointError("a factor is not finite; try a smaller step size or more damping")
    values, vectors = (torch.from_numpy(found).to(matrix) for found in eigh(matrix.double().cpu().numpy(), driver="ev"))
    return values, vectors


def basis_count(size: int) -> int:
    """Numbers of `Eigenbasis.packed`."""
    return size * size + size


def unpacked_basis(packed: Tensor, size: int) -> Eigenbasis:
    """The basis of `Eigenbasis.packed`."""
    return Eigenbasis(packed[: size * size].view(size, size), packed[size * size :])


def preconditioned(gradient: Tensor, inputs: Eigenbasis, outputs: Eigenbasis, damping: float) -> Tensor:
    """(A ⊗ G + γI)⁻¹ applied to a gradient [outputs, inputs].

    Args:
        gradient: W.
        inputs: of A.
        outputs: of G.
        damping: γ > 0.
    """
    turned = outputs.vectors.T @ gradient.to(inputs.vectors.dtype) @ inputs.vectors
    turned /= torch.outer(outputs.values, inputs.values) + damping
    return outputs.vectors @ turned @ inputs.vectors.T


def clipping(pairs: Sequence[tuple[Tensor, Tensor]], step_size: float, limit: float | None) -> float:
    """ν = min(1, √(κ / |Σ η² ⟨V, W⟩|)), by which all preconditioned gradients are multiplied.

    ⟨V, W⟩ is what the model of the loss has for V's own length: ν keeps η²ν² Σ ⟨V, W⟩ at most κ. Source: Ba, Grosse
    and Martens 2017, as described in the code released with Pauloski et al. 2020.

    Args:
        pairs: preconditioned gradient V and gradient W of each layer.
        step_size: η.
        limit: κ; None clips nothing.
    """
    if limit is None:
        return 1.0
    total = math.fsum(float((new.double() * old.double()).sum()) for new, old in pairs) * step_size**2
    return min(1.0, math.sqrt(limit / abs(total))) if total else 1.0


def shares_of(costs: Sequence[int], worker_count: int) -> list[list[int]]:
    """Which things each worker owns, ascending: dealt from the dearest on, to who has least, the lowest rank of equals.

    Nobody's costs exceed an even share by more than the dearest thing; Graham 1969 has more of this rule.

    Args:
        costs: of each thing; of equal ones the first is dealt first.
        worker_count: at least 1.
    """
    loads = [0] * worker_count
    shares: list[list[int]] = [[] for _ in loads]
    for thing in sorted(range(len(costs)), key=lambda place: -costs[place]):
        worker = loads.index(min(loads))
        loads[worker] += costs[thing]
        shares[worker].append(thing)
    return [sorted(share) for share in shares]


def factor_shares(sizes: Sequence[int], worker_count: int) -> list[list[int]]:
    """Which factors each worker decomposes: one of n rows costs n³."""
    return shares_of([size**3 for size in sizes], worker_count)


def layer_shares(sizes: Sequence[Sequence[int]], worker_count: int) -> list[list[int]]:
    """Which layers each worker owns, of these rows of A and G: it decomposes both."""
    return shares_of([sum(size**3 for size in layer) for layer in sizes], worker_count)


def largest_share(counts: Sequence[int], shares: Shares) -> int:
    """Numbers that the worker with the most has, of things of these numbers."""
    return max(sum(counts[thing] for thing in share) for share in shares)


def share_vector(parts: Sequence[Tensor], length: int, like: Tensor) -> Tensor:
    """A worker's parts one after another, [length], with zeros behind them.

    Args:
        parts: of any shapes.
        length: of the largest share.
        like: says dtype and device.
    """
    joined = torch.cat([like.new_empty(0), *(part.flatten() for part in parts)])
    return torch.nn.functional.pad(joined, (0, length - len(joined)))


def from_shares(vectors: Sequence[Tensor], counts: Sequence[int], shares: Shares) -> list[Tensor]:
    """All things in order, each as a flat part, out of every worker's `share_vector` in rank order.

    Args:
        vectors: one for each share.
        counts: numbers of each thing.
        shares: which things each worker owns.
    """
    parts = {}
    for share, vector in zip(shares, vectors, strict=True):
        place = 0
        for thing in share:
            parts[thing] = vector[place : place + counts[thing]]
            place += counts[thing]
    return [parts[thing] for thing in range(len(counts))]


class Curvature:
    """Running means of factors, those that were last decomposed, and the decompositions that this process has.

    Args:
        sizes: rows of each factor, A and G of each layer in turn.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = list(sizes)
        self.means: list[Tensor | None] = [None] * len(sizes)
        self.decomposed: list[Tensor | None] = [None] * len(sizes)
        self.bases: dict[int, Eigenbasis] = {}

    @property
    def is_lacking(self) -> bool:
        """A factor has a mean and was never decomposed."""
        pairs = zip(self.means, self.decomposed, strict=True)
        return any(mean is not None and old is None for mean, old in pairs)

    def average(self, packed: Tensor, places: Sequence[int], decay: float) -> None:
        """mean ← decay · mean + (1 − decay) · new; the first is the new one.

        Args:
            packed: the triangles of the new factors.
            places: which they are.
            decay: share of the old.
        """
        matrices = unpacked_triangles(packed, [self.sizes[place] for place in places])
        for place, new in zip(places, matrices, strict=True):
            old = self.means[place]
            self.means[place] = new if old is None else decay * old + (1 - decay) * new

    def bases_of(self, places: Sequence[int]) -> dict[int, Eigenbasis]:
        """Those of these factors that are known, decomposed."""
        return {place: eigenbasis(found) for place in places if (found := self.decomposed[place]) is not None}

    def solved(self, layer: int, gradient: Tensor, damping: float) -> Tensor:
        """The preconditioned gradient of a layer whose decompositions this process has."""
        return preconditioned(gradient, self.bases[2 * layer], self.bases[2 * layer + 1], damping)
