"""A tree of merges loses nothing, costs what is stated, and guarantees nothing about what it selects."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.averaging.messages import Place, _answers
from sparsync.experiments.bulk.gtop_k import Merged, gtop_k
from sparsync.experiments.bulk.supersteps import LocalRanks, Traffic, total_bytes
from sparsync.theory.statements import STATEMENTS


def merged(vectors: Tensor, k: int) -> tuple[list[Merged], list[Traffic]]:
    ended = LocalRanks(len(vectors)).run("tree", lambda place: gtop_k(vectors[place.rank], k, place))
    return [one.found for one in ended], [one.traffic for one in ended]


def top(entries: dict[int, float], k: int) -> dict[int, float]:
    return dict(sorted(entries.items(), key=lambda entry: (-abs(entry[1]), entry[0]))[:k])


def by_tree(vectors: Tensor, k: int) -> dict[int, float]:
    """Neighbours in what is left merge theirs, until one has all."""
    held = [top(dict(enumerate(vector.tolist())), k) for vector in vectors]
    while len(held) > 1:
        pairs = [held[first : first + 2] for first in range(0, len(held), 2)]
        sums = [{place: sum(one.get(place, 0.0) for one in pair) for one in pair for place in one} for pair in pairs]
        held = [top(total, k) for total in sums]
    return held[0]


@st.composite
def vectors_of_ranks(draw: st.DrawFn) -> tuple[Tensor, int]:
    """Whole numbers, so that sums are exact in any order."""
    size, dimension = draw(st.integers(1, 7)), draw(st.integers(1, 12))
    entries = draw(st.lists(st.integers(-4, 4), min_size=size * dimension, max_size=size * dimension))
    return torch.tensor(entries, dtype=torch.float32).view(size, dimension), draw(st.integers(1, dimension))


@given(vectors_of_ranks())
def test_all_ranks_have_the_same_sums_and_what_was_dropped_is_in_residuals(drawn: tuple[Tensor, int]) -> None:
    vectors, k = drawn
    found, traffics = merged(vectors, k)
    expected = by_tree(vectors, k)
    for one in found:
        assert dict(zip(one.total.indices.tolist(), one.total.values.tolist(), strict=True)) == expected
    assert torch.equal(vectors.sum(dim=0), found[0].total.dense() + sum(one.residual for one in found))
    stated = STATEMENTS["tree_bytes"].fraction(n=len(vectors), k=k, value_bytes=4, index_bytes=4)
    assert total_bytes(traffics) == stated
    turns = (len(vectors) - 1).bit_length()
    assert {len(one.sent_bytes) for one in traffics} == {1 + 2 * turns}


def test_with_all_entries_it_is_the_sum() -> None:
    vectors = torch.arange(12.0).view(3, 4)
    found, _ = merged(vectors, 4)
    assert torch.equal(found[2].total.dense(), vectors.sum(dim=0))
    assert not any(one.residual.any() for one in found)


def test_it_may_select_nothing_of_a_mean_that_one_entry_holds() -> None:
    found, _ = merged(torch.tensor([[10.0, 1.0], [-10.0, 1.0]]), 1)
    assert found[0].total.indices.tolist() == [0]
    assert found[0].total.values.tolist() == [0.0]


def test_entries_of_one_half_of_the_tree_are_kept_by_who_dropped_them() -> None:
    # Rank 0 drops what rank 1 sent of place 1, which the other half then brings to the top.
    vectors = torch.tensor([[5.0, 0, 0], [0, 4.0, 0], [0, 7.0, 0], [0, 0, 1.0]])
    found, _ = merged(vectors, 1)
    assert found[0].total.indices.tolist() == [1]
    assert [one.residual.tolist() for one in found] == [[5.0, 4.0, 0], [0, 0, 0], [0, 0, 1.0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("vectors", "k", "words"),
    [
        ([torch.ones(2), torch.tensor([1.0, torch.nan])], 1, "entry 1 of rank 1 cannot be ordered"),
        ([torch.ones(2)], 3, "k must be an int with 1 <= k <= d = 2, got 3"),
        ([torch.ones(2, 2)], 1, "expected a vector, got shape (2, 2)"),
        ([torch.ones(2), torch.ones(3)], 1, "ranks [1] have other settings than rank 0"),
        ([[1.0]], 1, "expected a vector, got list"),
        ([torch.ones(2).to_sparse()], 1, "expected a dense vector, got torch.sparse_coo"),
    ],
)
def test_what_cannot_be_merged_is_refused(vectors: list[Tensor], k: int, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        LocalRanks(len(vectors)).run("tree", lambda place: gtop_k(vectors[place.rank], k, place))


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_sum_that_overflows_is_named_on_all_ranks_at_the_same_time(ranks: int) -> None:
    """Only rank 0 adds up: were it to refuse at once, the others would wait for it."""
    vectors = torch.tensor([[1.0, 60_000.0]] * ranks, dtype=torch.float16)
    places = [Place(rank, ranks) for rank in range(ranks)]
    talks = [gtop_k(vector, 1, place) for vector, place in zip(vectors, places, strict=True)]
    messages = [next(talk) for talk in talks]
    for _ in range(2 * (ranks - 1).bit_length()):
        messages = [talk.send(answer) for talk, answer in zip(talks, _answers(messages), strict=True)]
    for talk, answer in zip(talks, _answers(messages), strict=True):
        with pytest.raises(ValueError, match=r"the sum of entry 1 over the ranks is more than torch\.float16 holds"):
            talk.send(answer)


def test_what_is_kept_has_no_history_that_would_grow_from_step_to_step() -> None:
    found, _ = merged(torch.arange(6.0).view(2, 3).requires_grad_(), 1)
    assert not any(tensor.requires_grad for one in found for tensor in (one.total.values, one.residual))
