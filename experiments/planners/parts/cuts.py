"""Where is a row of numbers cut into so many pieces, so that the pieces cost least, in sum or at most?

One dynamic programme over the last cut, for any cost of a piece: O(pieces · numbers²). Sequences in order of length are
cut so into buckets, of least padding up to the longest of each, and into micro-batches, of least largest token count.
Ours; the two uses are those of FlexSP's released solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Cut(NamedTuple):
    """Pieces, none of them empty.

    Args:
        cost: of all pieces, or of the dearest.
        ends: of each piece, one behind its last number; the last end is the count of numbers.
    """

    cost: float
    ends: tuple[int, ...]


def padding_costs(lengths: Sequence[int]) -> NDArray[np.float64]:
    """[first, end]: what the numbers lack of the largest of their piece; they are in ascending order.

    Raises:
        ValueError: they are not.
    """
    if list(lengths) != sorted(lengths):
        raise ValueError(f"lengths must ascend, got {list(lengths)}")
    first, end = _places(lengths)
    largest = np.asarray([0, *lengths])[end]
    return _above_diagonal(largest * (end - first) - sum_costs(lengths))


def sum_costs(numbers: Sequence[int]) -> NDArray[np.float64]:
    """[first, end]: the sum of a piece."""
    first, end = _places(numbers)
    totals = np.concatenate([[0], np.cumsum(numbers)])
    return _above_diagonal(totals[end] - totals[first])


class Cuts:
    """The cheapest cuts of one row of numbers: into one piece more, one step of the dynamic programme more."""

    def __init__(self, costs: NDArray[np.float64], objective: Literal["sum", "most"]) -> None:
        """Nothing is cut yet.

        Args:
            costs: [first, end] of the piece between two places, infinite where it is empty.
            objective: what is to be least, the sum of the costs of all pieces or the largest of them.
        """
        self._costs = costs
        self._combined = np.add if objective == "sum" else np.maximum
        self._least, self._starts = [costs[0]], list[NDArray[np.int64]]()

    def cut(self, count: int) -> Cut:
        """The cut into so many pieces whose costs have the least sum, or the least maximum; the first of equals.

        Raises:
            ValueError: there are fewer numbers than pieces, or no piece is asked for.
        """
        last = len(self._costs) - 1
        if not 1 <= count <= last:
            raise ValueError(f"{last} numbers cannot be cut into {count} pieces")
        while len(self._least) < count:
            ways = self._combined(self._least[-1][:, np.newaxis], self._costs)
            self._starts.append(np.argmin(ways, axis=0))
            self._least.append(ways[self._starts[-1], np.arange(last + 1)])
        ends = [last]
        for starts in reversed(self._starts[: count - 1]):
            ends.append(int(starts[ends[-1]]))
        return Cut(float(self._least[count - 1][last]), tuple(reversed(ends)))


def _places(numbers: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    place = np.arange(len(numbers) + 1)
    return place[:, np.newaxis], place[np.newaxis]


def _above_diagonal(costs: NDArray[Any]) -> NDArray[np.float64]:
    upper: NDArray[np.float64] = np.where(np.triu(np.ones(costs.shape, dtype=bool), 1), costs, np.inf)
    return upper
