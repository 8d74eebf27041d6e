"""A payload says what it holds, gives it back densely, and knows what was left behind."""

from __future__ import annotations

import pytest
import torch

from sparsync.kernels.native import feedback_select_many
from sparsync.kernels.payload import Report, ReportRow, SparsePayload, padded_together


def payload(values: list[float], indices: list[int], dimension: int) -> SparsePayload:
    return SparsePayload(torch.tensor(values), torch.tensor(indices, dtype=torch.int32), dimension)


def test_dense_is_zero_except_at_the_kept_positions() -> None:
    assert payload([2.0, -3.0], [1, 4], 5).dense().tolist() == [0.0, 2.0, 0.0, 0.0, -3.0]


def test_a_payload_prints_what_is_known_of_it_and_waits_for_nothing() -> None:
    table, places = torch.zeros((1, 4), dtype=torch.int32, device="meta"), torch.zeros(3)
    unread = SparsePayload.from_report(places, torch.zeros(3, dtype=torch.int32), 9, Report(table), 0, (0, 3))
    assert repr(unread) == "SparsePayload(count=not read yet, dimension=9, dtype=torch.float32)"
    assert repr(payload([2.0], [1], 3)) == "SparsePayload(count=1, dimension=3, dtype=torch.float32)"


def test_an_empty_payload_is_a_zero_vector_of_zero_bytes() -> None:
    empty = payload([], [], 3)
    assert (empty.count, empty.size_bytes, empty.dense().tolist()) == (0, 0, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(("dtype", "expected"), [(torch.bfloat16, 12), (torch.float32, 16), (torch.float64, 24)])
def test_size_counts_a_value_and_an_int32_index_per_entry(dtype: torch.dtype, expected: int) -> None:
    two = SparsePayload(torch.ones(2, dtype=dtype), torch.tensor([0, 1], dtype=torch.int32), 9)
    assert two.size_bytes == expected


def test_remainder_zeroes_what_is_sent_and_leaves_its_argument_alone() -> None:
    corrected = torch.tensor([1.0, 2.0, 3.0])
    assert payload([2.0], [1], 3).remainder(corrected).tolist() == [1.0, 0.0, 3.0]
    assert corrected.tolist() == [1.0, 2.0, 3.0]


def test_remainder_refuses_a_vector_of_another_length() -> None:
    with pytest.raises(ValueError, match=r"length 3, got shape \(4,\)"):
        payload([2.0], [1], 3).remainder(torch.zeros(4))


@pytest.mark.parametrize(
    ("values", "indices", "dimension", "message"),
    [
        (torch.zeros(2), torch.zeros(3, dtype=torch.int32), 9, r"\(2,\) and \(3,\)"),
        (torch.zeros(2, 1), torch.zeros(2, 1, dtype=torch.int32), 9, r"\(2, 1\)"),
        (torch.zeros(2), torch.zeros(2, dtype=torch.int64), 9, "int64"),
        (torch.zeros(2), torch.zeros(2, dtype=torch.int32), 1, "2 entries do not fit a vector of length 1"),
        (torch.zeros(2, device="meta"), torch.zeros(2, dtype=torch.int32), 9, "on meta, indices on cpu"),
    ],
)
def test_a_malformed_payload_is_refused(
    values: torch.Tensor, indices: torch.Tensor, dimension: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SparsePayload(values, indices, dimension)


def padded(returned: int, capacity: int, *, selected: int | None = None, known: int | None = None) -> SparsePayload:
    """As an op leaves it: `returned` entries 1, 2, … at 0, 1, …, then zeros and −1; the second row of a report."""
    filled = torch.arange(capacity) < returned
    values = torch.where(filled, torch.arange(1.0, capacity + 1), 0.0)
    indices = torch.where(filled, torch.arange(capacity), -1).to(torch.int32)
    row = [returned, returned if selected is None else selected, -1, 2]
    report = Report(torch.tensor([[9, 9, 4, 0], row], dtype=torch.int32))
    return SparsePayload.from_report(values, indices, 100, report, 1, (0, capacity), count=known)


def test_a_padded_payload_is_cut_to_its_entries() -> None:
    three = padded(3, 5)
    assert (three.values.tolist(), three.indices.tolist(), three.count) == ([1.0, 2.0, 3.0], [0, 1, 2], 3)
    assert (three.dimension, three.size_bytes, int(three.dense().count_nonzero())) == (100, 24, 3)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_padded_payload_gives_its_buffers_and_its_count_as_tensors(count: int) -> None:
    values, indices, entries = padded(count, 4).padded()
    assert (values.numel(), indices.numel(), entries.ndim, int(entries)) == (4, 4, 0, count)
    assert indices.tolist() == [*range(count), *[-1] * (4 - count)]


@pytest.mark.parametrize("known", [None, 3])
def test_what_comes_into_the_buffers_later_is_seen_by_who_reads_them_again(known: int | None) -> None:
    recorded = padded(3, 5, known=known)
    first = recorded.reread()
    assert (first.count, first.values.tolist()) == (3, [1.0, 2.0, 3.0])
    values, indices, count = recorded.padded()
    values[:2], indices[:2], indices[2:] = torch.tensor([7.0, 8.0]), torch.tensor([20, 30], dtype=torch.int32), -1
    count.fill_(2)
    second = recorded.reread()
    assert (second.count, second.values.tolist(), second.indices.tolist()) == (2, [7.0, 8.0], [20, 30])
    assert (second.dimension, second.streaming_pass_count, first.count) == (100, 2, 3)
    assert second.values.tolist() == second.padded()[0].tolist()


def test_a_payload_that_was_cut_or_that_no_call_filled_cannot_be_read_again() -> None:
    cut = padded(3, 5)
    assert cut.indices.numel() == 3
    for spent in (cut, payload([2.0, -3.0], [1, 4], 5)):
        with pytest.raises(ValueError, match="cannot be reread"):
            spent.reread()


def test_payloads_of_one_call_share_its_buffers() -> None:
    values = torch.tensor([1.0, 0.0, 2.0, 3.0, 0.0])
    indices = torch.tensor([4, -1, 0, 1, -1], dtype=torch.int32)
    report = Report(torch.tensor([[1, 1, -1, 1], [2, 2, -1, 1]], dtype=torch.int32))
    first = SparsePayload.from_report(values, indices, 5, report, 0, (0, 2))
    second = SparsePayload.from_report(values, indices, 9, report, 1, (2, 5))
    assert [tensor.tolist() for tensor in second.padded()] == [[2.0, 3.0, 0.0], [0, 1, -1], 2]
    assert (first.values.tolist(), first.indices.tolist()) == ([1.0], [4])
    assert (second.values.tolist(), second.indices.tolist()) == ([2.0, 3.0], [0, 1])
    assert [tensor.tolist() for tensor in second.padded()] == [[2.0, 3.0], [0, 1], 2]


def test_a_payload_without_padding_is_padded_by_nothing() -> None:
    values, indices, entries = payload([2.0, -3.0], [1, 4], 5).padded()
    assert (values.tolist(), indices.tolist(), int(entries)) == ([2.0, -3.0], [1, 4], 2)
    assert entries.dtype == torch.int32


@pytest.mark.parametrize(("capacity", "held"), [(1000, 10), (21, 10), (20, 20), (10, 10)])
def test_large_buffers_are_freed_when_they_are_cut(capacity: int, held: int) -> None:
    ten = padded(10, capacity)
    sizes = {tensor.untyped_storage().nbytes() for tensor in (ten.values, ten.indices)}
    assert sizes == {4 * held}


def test_a_payload_is_read_in_one_graph_with_the_selection() -> None:
    def read(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        indices, table = torch.tensor([1, 4, -1], dtype=torch.int32), torch.tensor([[2, 2, -1, 1]])
        found = SparsePayload.from_report(values, indices, 5, Report(table), 0, (0, 3))
        return found.values, found.dense()

    values, dense = torch.compile(read, fullgraph=True, backend="aot_eager")(torch.tensor([2.0, -3.0, 0.0]))
    assert (values.tolist(), dense.tolist()) == ([2.0, -3.0], [0.0, 2.0, 0.0, 0.0, -3.0])


def test_a_payload_says_what_its_selection_found() -> None:
    cut = padded(3, 3, selected=7)
    assert (cut.count, cut.selected_count, cut.first_non_finite, cut.streaming_pass_count) == (3, 7, None, 2)


def test_a_payload_that_no_op_reported_on_selected_what_it_holds() -> None:
    two = payload([2.0, -3.0], [1, 4], 5)
    assert (two.selected_count, two.first_non_finite, two.streaming_pass_count) == (2, None, None)


def test_a_non_finite_entry_is_named_and_passes_that_nobody_counted_are_not() -> None:
    report = Report(torch.tensor([[0, 0, 0, 0]], dtype=torch.int32))
    bad = SparsePayload.from_report(torch.zeros(1), torch.zeros(1, dtype=torch.int32), 5, report, 0, (0, 1))
    assert (bad.first_non_finite, bad.streaming_pass_count) == (0, None)


class Counted(torch.Tensor):
    """Counts how often it is copied to the host."""

    copy_count = 0

    def tolist(self) -> list[list[int]]:
        self.copy_count += 1
        return super().tolist()


def test_a_report_reaches_the_host_once_and_only_when_asked() -> None:
    table = torch.tensor([[0, 0, -1, 1], [2, 2, -1, 1]], dtype=torch.int32).as_subclass(Counted)
    report = Report(table)
    values, indices = torch.zeros(6), torch.zeros(6, dtype=torch.int32)
    fixed = SparsePayload.from_report(values, indices, 100, report, 1, (0, 2), count=2)
    found = SparsePayload.from_report(values, indices, 100, report, 1, (2, 6))
    assert (fixed.count, fixed.values.numel(), fixed.dense().numel(), found.padded()[2].item()) == (2, 2, 100, 2)
    assert table.copy_count == 0
    assert (found.values.numel(), found.indices.numel(), found.count) == (2, 2, 2)
    assert report.non_finite() == []
    assert table.copy_count == 1


def test_a_report_says_what_each_selection_found_and_which_met_what_is_not_finite() -> None:
    report = Report(torch.tensor([[1, 2, -1, 4], [5, 6, 0, 8], [9, 10, 11, 12]], dtype=torch.int32))
    assert report.row(1) == ReportRow(5, 6, 0, 8)
    report.table.zero_()
    assert report.row(2) == ReportRow(9, 10, 11, 12)
    assert report.non_finite() == [(1, 0), (2, 11)]


@pytest.mark.parametrize("name", ["values", "indices", "dimension", "count"])
def test_a_payload_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(payload([2.0], [1], 5), name, 3)


@pytest.mark.parametrize("chosen", [(0, 1, 2), (0, 2), (1, 0), (2,)])
def test_payloads_stand_together_as_one_after_another(chosen: tuple[int, ...]) -> None:
    stream = torch.Generator().manual_seed(0)
    gradients = [torch.randn(size, generator=stream) for size in (50, 7, 200)]
    residuals = [torch.zeros_like(gradient) for gradient in gradients]
    made = feedback_select_many(gradients, residuals, [5, 3, 20], rule="gaussian_k")
    payloads = [made[place] for place in chosen]
    expected = [payload.padded() for payload in payloads]
    values, indices, counts = padded_together(payloads)
    assert torch.equal(values, torch.cat([part for part, _, _ in expected]))
    assert torch.equal(indices, torch.cat([part for _, part, _ in expected]))
    assert counts.tolist() == [int(count) for _, _, count in expected]
    # All of one call are in its buffers already.
    assert (values.data_ptr() == expected[0][0].data_ptr()) == (chosen == (0, 1, 2))


def test_no_payloads_do_not_stand_together() -> None:
    with pytest.raises(ValueError, match="at least one payload"):
        padded_together([])
