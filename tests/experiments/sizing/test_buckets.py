"""Buckets hold neighbours, everything once, and no more than they should; a model is a name or a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.sizing.buckets import bucketed, named_operators
from sparsync.experiments.sizing.networks import NETWORKS
from sparsync.experiments.sizing.operators import Operator

counts = st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(any)


def operators(sizes: list[int]) -> list[Operator]:
    return [Operator(str(place), size, float(1 + place), float(2**place)) for place, size in enumerate(sizes)]


@given(counts, st.integers(1, 20))
def test_buckets_hold_everything_once_in_order_and_are_as_full_as_can_be(sizes: list[int], most: int) -> None:
    some = operators(sizes)
    found = bucketed(some, most)
    for field in ("parameter_count", "forward_flops", "activation_bytes"):
        assert sum(getattr(one, field) for one in found) == sum(getattr(one, field) for one in some)
    # Sums of powers of two name their terms: each bucket is a run of neighbours, one after the other.
    places = [[p for p in range(len(sizes)) if int(one.activation_bytes) >> p & 1] for one in found]
    assert [place for run in places for place in run] == list(range(len(sizes)))
    for one, run in zip(found, places, strict=True):
        assert one.parameter_count > 0
        assert one.parameter_count <= most or sum(sizes[place] > 0 for place in run) == 1
    for before, after in zip(places, found[1:], strict=False):
        # The operator before a bucket would not have fitted into it.
        nearest = next(sizes[place] for place in reversed(before) if sizes[place])
        assert nearest + after.parameter_count > most


def test_a_bucket_is_named_by_its_first_and_last_owner() -> None:
    assert [one.name for one in bucketed(operators([0, 3, 0, 2, 9, 0]), 5)] == ["1 … 3", "4"]


def test_what_cannot_be_a_bucket_is_refused() -> None:
    with pytest.raises(ValueError, match="a bucket must hold at least 1 parameter, got 0"):
        bucketed(operators([1]), 0)
    with pytest.raises(ValueError, match="none of 2 operators has parameters"):
        bucketed(operators([0, 0]), 5)


OWN = """
import torch
from torch import nn

def small():
    return nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 1)), torch.zeros(2, 6)

def pair():
    return nn.Bilinear(3, 4, 5), (torch.zeros(2, 3), torch.zeros(2, 4))

def nothing():
    return nn.Linear(2, 2)

number = 3
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def test_a_model_may_be_the_users_own(own: Path) -> None:
    assert [one.parameter_count for one in named_operators(f"{own}:small")] == [21, 4]
    assert [one.parameter_count for one in named_operators(f"{own}:pair")] == [65]


def test_what_is_no_model_is_named(own: Path) -> None:
    known = ", ".join(NETWORKS)
    for name, words in {
        "resnet51": f"unknown model 'resnet51'; known: {known}; or name your own: file.py:factory",
        f"{own}:small2": "has no function 'small2'",
        f"{own}:number": "has no function 'number'",
        f"{own}:nothing": "must return a torch.nn.Module and a tensor or tensors of examples, got Linear",
        f"{own.with_name('absent.py')}:small": "there is no file",
    }.items():
        with pytest.raises(ValueError, match=words.replace("(", r"\(")):
            named_operators(name)
