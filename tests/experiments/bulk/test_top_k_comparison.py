"""Rows say what each way costs and how far off it is, of vectors that any process can draw."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest
import torch

from sparsync.experiments.bulk.drawn_vectors import GRADIENT, KINDS, LAWS, OPPOSED, worker_vectors
from sparsync.experiments.bulk.supersteps import LocalRanks
from sparsync.experiments.bulk.top_k_comparison import METHODS, Comparison, compare
from sparsync.theory.statements import STATEMENTS

SETTINGS = Comparison(dimension=4096, density=0.01, vectors=tuple(LAWS), repeats=1)


def test_only_exact_selection_is_right_on_all_laws() -> None:
    advanced: list[None] = []
    rows = compare(SETTINGS, LocalRanks(3), advance=lambda: advanced.append(None))
    assert [(row["vectors"], row["method"]) for row in rows] == [(kind, name) for kind in LAWS for name in METHODS]
    assert len(advanced) == len(rows)
    of = {(row["vectors"], row["method"]): row for row in rows}
    for kind in LAWS:
        exact, tree = of[kind, "exact"], of[kind, "gtop_k"]
        assert (exact["k"], exact["count"], exact["count_error"]) == (41, 41, 0.0)
        # Of energies added in another order: a rounding for each of d terms in float64.
        assert abs(exact["excess_share"]) <= 4096 * 2.0**-52
        assert tree["sent_bytes"] == STATEMENTS["tree_bytes"].fraction(n=3, k=41, value_bytes=4, index_bytes=4)
        assert exact["left_share"] < tree["left_share"] < 1
        assert of[kind, "scattered"]["count"] == 41
        assert of[kind, "scattered"]["left_share"] == pytest.approx(exact["left_share"], rel=1e-6)
        assert all(row["left_share"] >= row["least_share"] * (1 - 1e-9) for row in rows)
        assert abs(of[kind, "sampled"]["count"] - 41) <= 2
    assert of["gaussian", "gaussian"]["count_error"] < 0.5
    assert of["skewed", "gaussian"]["count_error"] > 2
    assert of["skewed", "own"]["excess_share"] > 0.02
    assert all(row["relation_bytes"] <= row["sent_bytes"] and row["seconds"] > 0 for row in rows)


def test_vectors_are_functions_of_seed_kind_and_rank() -> None:
    for kind in LAWS:
        two = worker_vectors(kind, dimension=500, rank_count=2, seed=3)
        three = worker_vectors(kind, dimension=500, rank_count=3, seed=3)
        assert torch.equal(two, three[:2])
        assert three.isfinite().all()
        assert not torch.equal(three, worker_vectors(kind, dimension=500, rank_count=3, seed=4))


def test_a_gradient_has_the_dimension_of_its_model_and_differs_by_batch() -> None:
    gradients = worker_vectors(GRADIENT, dimension=1, rank_count=2, seed=0)
    assert gradients.shape == (2, 199_210)
    assert gradients.isfinite().all()
    assert not torch.equal(gradients[0], gradients[1])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dimension": 0}, "dimension must be at least 1, got 0"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"repeats": 1.5}, "repeats must be an int, got 1.5"),
        ({"density": 0.0}, "density must be above 0 and at most 1, got 0.0"),
        ({"density": 1.5}, "density must be above 0 and at most 1, got 1.5"),
        ({"vectors": ("gaussian", "cauchy")}, f"vectors must be some of {', '.join(KINDS)}, got ['cauchy']"),
        ({"vectors": ()}, "got none"),
    ],
)
def test_what_cannot_be_compared_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        Comparison(**settings)  # type: ignore[arg-type]  # wrong on purpose


def test_vectors_of_no_kind_or_size_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown vectors 'cauchy'"):
        worker_vectors("cauchy", dimension=3, rank_count=1, seed=0)
    with pytest.raises(ValueError, match="rank_count must be at least 1, got 0"):
        worker_vectors("gaussian", dimension=3, rank_count=0, seed=0)


def test_opposed_parts_cancel_between_neighbours_and_are_what_each_alone_selects() -> None:
    even, odd = (worker_vectors(OPPOSED, dimension=4096, rank_count=count, seed=1) for count in (4, 3))
    assert torch.allclose(even[0] + even[1], even[2] + even[3], atol=1e-4)
    assert torch.equal(odd[:2], even[:2])
    assert odd[2].std() < 1.1 < 3 < even[2].std()
    settings = replace(SETTINGS, vectors=(OPPOSED,))
    of = {row["method"]: row for row in compare(settings, LocalRanks(2))}
    assert of["gtop_k"]["left_share"] > 1.1 * of["gtop_k"]["least_share"]
    assert of["gathered"]["left_share"] > 1.1 * of["gathered"]["least_share"]


def test_of_a_mean_of_zeros_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAWS, "layered", lambda dimension, _: torch.zeros(dimension))
    rows = compare(replace(SETTINGS, dimension=50, vectors=("layered",)), LocalRanks(2))
    assert {(row["left_share"], row["least_share"], row["excess_share"]) for row in rows} == {(0.0, 0.0, 0.0)}


def test_of_fewer_entries_than_ranks_they_are_found_too() -> None:
    for dimension, density in product((1, 2, 3), (0.1, 1.0)):
        settings = replace(SETTINGS, dimension=dimension, density=density, vectors=("gaussian", "tied"))
        rows = [row for row in compare(settings, LocalRanks(5)) if row["method"] in ("exact", "scattered")]
        assert all(row["count"] == row["k"] == max(1, round(density * dimension)) for row in rows)
