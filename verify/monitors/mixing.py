"""Do workers that mix keep what they have together? Weights are doubly stochastic, and models follow the formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sparsync.verify.monitors.books import Book, BrokenPromiseError, Handlers
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.trace import Header, Joined, Mass, Mixed, Released

WEIGHT_ROUNDOFF = 2.0**-52
"""A sum of m weights, each rounded, or one of them computed as the rest to 1, is off by at most m times this."""


class MixingWeights:
    """Rows are non-negative and sum to 1, columns too if the mean is promised to be kept.

    Args:
        guarantee: whether the mean is kept.
    """

    def __init__(self, guarantee: Guarantee) -> None:
        self._preserves_mean = guarantee.preserves_mean

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {Mixed: self._mixed}

    def _mixed(self, event: Mixed) -> None:
        members, weights, count = event.members, event.weights, len(event.members)
        if not members or len(set(members)) < count:
            raise BrokenPromiseError(f"members {members} mix: none, or one twice")
        if len(weights) != count or any(len(row) != count for row in weights):
            raise BrokenPromiseError(f"{count} members {members} mix with weights {weights}")
        if not 0 < event.step <= 1:
            raise BrokenPromiseError(f"members {members} mix with step {event.step}, not in (0, 1]")
        for member, row in zip(members, weights, strict=True):
            # Not for a NaN either.
            if not all(weight >= 0 for weight in row):
                raise BrokenPromiseError(f"worker {member} mixes with a negative weight: {row}")
            self._require_one(f"the weights with which worker {member} mixes", row)
        if self._preserves_mean:
            for member, column in zip(members, zip(*weights, strict=True), strict=True):
                self._require_one(f"the weights with which {members} mix worker {member} in", column)

    def _require_one(self, what: str, weights: Sequence[float]) -> None:
        # The sum of the exact differences, rounded once.
        excess = math.fsum((*weights, -1.0))
        if not abs(excess) <= len(weights) * WEIGHT_ROUNDOFF:
            raise BrokenPromiseError(f"{what}, {tuple(weights)}, sum to 1 {excess:+.3g}")


class OwnModels:
    """Each worker's own model: what it read last, or mixed, and in a mixing its change since.

    Args:
        header: of the run.
        guarantee: whether the mean is kept, and how large messages may become.
    """

    def __init__(self, header: Header, guarantee: Guarantee) -> None:
        self._header, self._preserves_mean = header, guarantee.preserves_mean
        self._amplification = guarantee.amplification
        self._base = [header.initial] * header.worker_count
        self._copy_sizes = [header.initial.size] * header.worker_count

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {Joined: self._joined, Released: self._released, Mixed: self._mixed}

    def _joined(self, event: Joined) -> None:
        worker = event.worker
        if event.version == -1:
            self._book(self._base[worker]).settle(event.model, f"the own model with which worker {worker} joins")
        self._base[worker] = event.model

    def _released(self, event: Released) -> None:
        worker = event.worker
        if event.version == -1:
            self._book(self._base[worker]).settle(event.base, f"the own model with which worker {worker} goes on")
        self._base[worker] = event.base

    def _mixed(self, event: Mixed) -> None:
        members, copies, models = event.members, event.copies, event.models
        if not len(members) == len(copies) == len(models) == len(event.changes):
            raise BrokenPromiseError(
                f"{len(members)} members {members} mix with {len(copies)} copies, {len(event.changes)} changes and "
                f"{len(models)} models"
            )
        together, tolerance = Book(self._header), 0.0
        for place, member in enumerate(members):
            book = self._book(self._base[member], event.changes[place])
            self._require_copy(member, copies[place], book)
            together.add_book(book)
            for weight, copy in zip(event.weights[place], copies, strict=True):
                if weight and copy is not copies[place]:
                    factor = Fraction(event.step) * Fraction(weight)
                    book.add(copy, factor)
                    book.add(copies[place], -factor)
            tolerance += book.tolerance(models[place])
            book.settle(models[place], f"the model that worker {member} has mixed")
            self._base[member] = models[place]
        if self._preserves_mean:
            self._require_sum(event, together, tolerance)

    def _require_copy(self, member: int, copy: Mass, model: Book) -> None:
        """A copy moves towards the model by a message C(model − copy), so it is no larger than both together.

        It is the old copy and the message, and the model without what stays behind: at most the mean of both bounds.
        """
        self._book(copy)
        before = self._copy_sizes[member] + model.size
        most = (1 + self._amplification) / 2 * before + model.room(before)
        if copy.size > most:
            raise BrokenPromiseError(
                f"the copy of the model of worker {member} has a size of {copy.size}, with the model it had {before}"
            )
        self._copy_sizes[member] = copy.size

    def _require_sum(self, event: Mixed, together: Book, tolerance: float) -> None:
        """The sum changes by step · Σ_j (column sum − row sum) copy_j, which is rounding; on a grid by nothing."""
        if self._header.unit_roundoff:
            excess_of_weights = 2 * len(event.members) * WEIGHT_ROUNDOFF
            tolerance += event.step * excess_of_weights * sum(copy.size for copy in event.copies)
        after = self._book(*event.models)
        excess = after.distance(together)
        if excess > tolerance:
            raise BrokenPromiseError(
                f"the models of {event.members} sum to {together.as_mass().sums} before and {after.as_mass().sums} "
                f"after mixing: off by {float(excess):.6g}, rounding explains {tolerance:.3g}"
            )

    def _book(self, *parts: Mass) -> Book:
        book = Book(self._header)
        for part in parts:
            book.add(part)
        return book
