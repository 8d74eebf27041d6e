"""What a worker sends: the selected entries of its corrected gradient, with their positions.

A payload may hold any number m of entries, none included; nothing downstream may assume m = k.
It follows `SELECTORS[name](corrected, k)` or `feedback_select` and precedes the collective.

`feedback_select` fills buffers of a fixed capacity and counts on the device. Such a payload is *padded* until
someone asks for its values, indices or count: the first question copies the report of the call to the host, which on
a GPU waits for the selection, and is the only wait. `padded` never waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class ReportRow(NamedTuple):
    """What one selection found, in the order of the columns that the op writes.

    Args:
        returned_count: m, how many entries are in the buffers.
        selected_count: how many the rule selected, those beyond the capacity included.
        first_non_finite: the smallest index where g + e was not finite, or −1.
        streaming_pass_count: how often the entries were read; 0 where nobody counted.
    """

    returned_count: int
    selected_count: int
    first_non_finite: int
    streaming_pass_count: int


class Report:
    """The report of one call, [groups, 4] int32; it reaches the host once, for all payloads of the call.

    Args:
        table: one row per group, columns as in `ReportRow`, on any device.
    """

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self._rows: list[list[int]] | None = None

    def row(self, group: int) -> ReportRow:
        """What the selection of one group found; the first question waits for the device."""
        return ReportRow(*self._read()[group])

    def non_finite(self) -> list[tuple[int, int]]:
        """The groups with a sum that was not finite, each with its smallest index; the first question waits."""
        return [(group, row[2]) for group, row in enumerate(self._read()) if row[2] >= 0]

    def _read(self) -> list[list[int]]:
        if self._rows is None:
            self._rows = self.table.tolist()
        return self._rows


class SparsePayload:
    """The m entries that a selector kept of a vector of length d.

    Args:
        values: [m], the kept entries, in the dtype of the vector they came from.
        indices: [m] int32, their positions, unique and ascending.
        dimension: d, the length of that vector.

    Raises:
        ValueError: the two tensors are not vectors of one length, `indices` is not int32, the devices
            differ, or m > d. The order and range of `indices` are the selector's promise; reading them here
            would stall a GPU on every step.
    """

    # Of a model's hundreds of tensors each gets one at every step.
    __slots__ = ("_count", "_dimension", "_indices", "_places", "_report", "_row", "_values")

    def __init__(self, values: Tensor, indices: Tensor, dimension: int) -> None:
        if values.ndim != 1 or values.shape != indices.shape:
            raise ValueError(
                "values and indices must be vectors of one length, got shapes "
                f"{tuple(values.shape)} and {tuple(indices.shape)}"
            )
        if indices.dtype != torch.int32:
            raise ValueError(f"indices must be int32, got {indices.dtype}")
        if values.device != indices.device:
            raise ValueError(f"values are on {values.device}, indices on {indices.device}")
        if values.numel() > dimension:
            raise ValueError(f"{values.numel()} entries do not fit a vector of length {dimension}")
        self._values, self._indices = values, indices
        self._dimension = dimension
        self._count: int | None = values.numel()
        self._report: Report | None = None
        self._row = 0
        # None once the buffers hold the m entries and nothing else.
        self._places: tuple[int, int] | None = None

    @classmethod
    def from_report(
        cls,
        values: Tensor,
        indices: Tensor,
        dimension: int,
        report: Report,
        row: int,
        places: tuple[int, int],
        *,
        count: int | None = None,
    ) -> SparsePayload:
        """A padded payload; nothing is read from the device.

        Args:
            values: what a call returned for all its groups; in the places of this one, its entries and then zeros.
            indices: int32, as `values`: the entries' positions and then −1.
            dimension: d.
            report: of that call.
            row: which of its groups this is.
            places: where the group's places begin and end in `values` and `indices`.
            count: m where the rule fixes it, so that nobody has to wait for it.
        """
        payload = cls.__new__(cls)
        payload._values, payload._indices = values, indices
        payload._dimension, payload._count = dimension, count
        payload._report, payload._row, payload._places = report, row, places
        return payload

    def __repr__(self) -> str:
        """Says how many entries of how many, or that nobody has asked yet; waits for nothing."""
        count = "not read yet" if self._count is None else self._count
        return f"SparsePayload(count={count}, dimension={self._dimension}, dtype={self._values.dtype})"

    @property
    def values(self) -> Tensor:
        """The kept entries [m]; the first access may wait for the device."""
        self._trim()
        return self._values

    @property
    def indices(self) -> Tensor:
        """Their positions [m] int32, unique and ascending; the first access may wait for the device."""
        self._trim()
        return self._indices

    @property
    def dimension(self) -> int:
        """The length d of the vector that the entries came from."""
        return self._dimension

    @property
    def count(self) -> int:
        """The number m of entries; the first access may wait for the device."""
        if self._count is None:
            self._count = self._found().returned_count
        return self._count

    @property
    def selected_count(self) -> int:
        """How many entries the rule selected: m, and those beyond the capacity, which the residual keeps."""
        return self.count if self._report is None else self._found().selected_count

    @property
    def first_non_finite(self) -> int | None:
        """The smallest index where the sum of gradient and residual was not finite, if there was one."""
        if self._report is None or self._found().first_non_finite < 0:
            return None
        return self._found().first_non_finite

    @property
    def streaming_pass_count(self) -> int | None:
        """How often the selection read the vector, the addition included; None where nobody counted."""
        if self._report is None:
            return None
        return self._found().streaming_pass_count or None

    @property
    def size_bytes(self) -> int:
        """Bytes of the values and indices together; headers and padding are the collective's."""
        return self.count * (self._values.element_size() + self._indices.element_size())

    def padded(self) -> tuple[Tensor, Tensor, Tensor]:
        """Values [c], indices [c] and the number m ≤ c of entries as an int32 scalar tensor; never waits.

        The places from m on hold 0 and −1. c is the capacity, until `values` or `indices` is read and m afterwards.
        Where a captured CUDA graph made the payload, these are the tensors that each replay fills anew; the other
        properties keep what they found first, so ask them of a `reread`.
        """
        values, indices = self._values, self._indices
        if self._places is not None:
            first, end = self._places
            values, indices = values[first:end], indices[first:end]
        if self._report is not None:
            return values, indices, self._report.table[self._row, 0]
        return values, indices, torch.full((), values.numel(), dtype=torch.int32, device=values.device)

    def reread(self) -> SparsePayload:
        """The payload that is in the same buffers now; waits for nothing, as long as it is not asked.

        After each replay of a captured CUDA graph that is what was selected of the new gradient, until the next one.

        Raises:
            ValueError: somebody read the values or indices of this payload itself, which cut them from the buffers.
        """
        if self._report is None or self._places is None:
            raise ValueError("a payload whose values or indices were read, or that no call filled, cannot be reread")
        report = Report(self._report.table)
        return SparsePayload.from_report(self._values, self._indices, self._dimension, report, self._row, self._places)

    def dense(self) -> Tensor:
        """The vector [d] that is zero except at the kept positions."""
        vector = torch.zeros(self.dimension, dtype=self.values.dtype, device=self.values.device)
        vector[self.indices.long()] = self.values
        return vector

    def remainder(self, corrected: Tensor) -> Tensor:
        """What stays behind, [d]: `corrected` with the kept positions zeroed, so sent + kept = `corrected`.

        Raises:
            ValueError: `corrected` is not a vector of length d.
        """
        if corrected.shape != (self.dimension,):
            raise ValueError(f"expected a vector of length {self.dimension}, got shape {tuple(corrected.shape)}")
        rest = corrected.clone()
        rest[self.indices.long()] = 0
        return rest

    def _found(self) -> ReportRow:
        assert self._report is not None
        return self._report.row(self._row)

    def _trim(self) -> None:
        """Cut the buffers to the m entries; where they are mostly padding, copy, so that their memory is freed."""
        if self._places is None:
            return
        first, end = self._places
        values, indices = (buffer[first : first + self.count] for buffer in (self._values, self._indices))
        # A compiled step cannot choose by what it counts.
        if not torch.compiler.is_compiling() and end - first > 2 * self.count:
            values, indices = values.clone(), indices.clone()
        self._values, self._indices, self._places = values, indices, None


def padded_together(payloads: Sequence[SparsePayload]) -> tuple[Tensor, Tensor, Tensor]:
    """`padded` of several, one after another: values and indices [sum of capacities], counts [payloads] int32.

    All payloads of one call, in its order, are in its buffers already; others are copied. Never waits.

    Raises:
        ValueError: there are none.
    """
    if not payloads:
        raise ValueError("expected at least one payload")
    first = payloads[0]
    ends = [None if payload._places is None else payload._places[1] for payload in payloads]
    together = first._report is not None and all(
        payload._report is first._report and payload._row == row for row, payload in enumerate(payloads)
    )
    if together and None not in ends and ends[-1] == len(first._values) and first._report is not None:
        table = first._report.table
        if len(table) == len(payloads):
            return first._values, first._indices, table[:, 0]
    values, indices, counts = zip(*(payload.padded() for payload in payloads), strict=True)
    return torch.cat(values), torch.cat(indices), torch.stack(counts)


def any_non_finite(payloads: Sequence[SparsePayload]) -> Tensor | None:
    """Whether a sum of gradient and residual was not finite in any of the calls, [] bool on the device; never waits.

    None where nobody looked, as for payloads of selectors, which refuse to select from such a vector.
    """
    tables = {id(payload._report): payload._report.table for payload in payloads if payload._report is not None}
    if not tables:
        return None
    column = ReportRow._fields.index("first_non_finite")
    return torch.cat([table[:, column] for table in tables.values()]).ge(0).any()
