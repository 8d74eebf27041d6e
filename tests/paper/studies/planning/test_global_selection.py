"""What is said of Top-k over ranks is what was measured, and the record is within the statements' bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.results import result
from paper.studies.planning.global_selection import (
    MACROS,
    TITLES,
    excess,
    selection_figure,
    selections,
    shown_rows,
    used_share,
)
from sparsync.experiments.bulk.key_orders import ORDERS
from sparsync.experiments.bulk.shard_top_k import SAMPLE_COUNT
from sparsync.experiments.bulk.top_k_comparison import METHODS, OF_SHARDS
from sparsync.theory.statements import STATEMENTS
from tests.support.drawing import plain
from tests.support.paper_data import write
from tests.support.paths import ROOT

RECORD = ROOT / "paper" / "data"


def selection(method: str, ranks: int, **changes: Any) -> dict[str, Any]:
    row = {"method": method, "rank_count": ranks, "vectors": "gaussian", "dimension": 1000, "density": 0.01, "k": 10}
    row |= {"count": 10, "left_share": 0.5, "least_share": 0.5, "sent_bytes": 2000 * ranks, "bound_bytes": 2500 * ranks}
    return row | {"seconds": 0.25 / ranks} | changes


def sort(order: str, rule: int | None, ranks: int, largest: int) -> dict[str, Any]:
    row = {"order": order, "oversampling": rule, "rank_count": ranks, "key_count": 100 * ranks}
    return row | {"largest_bucket": largest, "bound": 120.0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [selection(method, ranks) for method in TITLES for ranks in (2, 4)]
    rows.append(selection("gtop_k", 2, vectors="opposed", left_share=0.75))
    rows.append(selection("gaussian", 4, vectors="skewed", count=35, least_share=0.25, left_share=0.25))
    rows.append(selection("exact", 4, dimension=500, sent_bytes=5000))
    sorts = [sort(order, rule, ranks, 110) for order in ORDERS for rule in (None, 1) for ranks in (2, 4)]
    sorts += [sort("crowding", None, 4, 120) | {"key_count": 404}, sort("random", 1, 2, 105)]
    fields = {"profile": "quick", "rank_counts": [2, 4], "densities": [0.01], "core_count": 2}
    write(tmp_path / "global_selection.json", fields | {"selections": rows, "sorts": sorts})
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("GlobalRanks", "2 and 4"),
        ("GlobalDimension", "1000"),
        ("GlobalWrong", "none of 5"),
        ("GlobalExactBytes", r"8.00\,kB"),
        ("GlobalExactBound", r"10.0\,kB"),
        ("GlobalBoundLeast", "50"),
        ("GlobalBoundMost", "80"),
        ("GlobalTreeExcess", "50.0"),
        ("GlobalGaussianLeast", "1.00"),
        ("GlobalGaussianMost", "3.50"),
        ("GlobalTreeTime", "62"),
        ("GlobalCrowdedFew", "100"),
        ("GlobalBucketFew", "1.188"),
        ("GlobalRandomCoarse", "50"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, folder: Path) -> None:
    assert plain(MACROS[name](folder)) == text


def test_an_exact_way_that_was_not_is_counted(folder: Path) -> None:
    fields = dict(result(folder, "global_selection").fields)
    fields["selections"] = [
        *fields["selections"],
        selection("exact", 2, count=9),
        selection("scattered", 2, left_share=0.6),
    ]
    write(folder / "global_selection.json", fields)
    assert plain(MACROS["GlobalWrong"](folder)) == "2 of 7"


def test_roundings_are_no_excess_and_what_should_be_nothing_is_named(folder: Path) -> None:
    (row, *_) = selections(folder, "exact")
    assert excess(row) == 0
    fields = {"left_share": 1e-3, "least_share": 0.0}
    write(folder / "global_selection.json", {"selections": [selection("exact", 2, **fields)], "sorts": []})
    with pytest.raises(ValueError, match=r"exact leaves 0\.001 where nothing need be left"):
        excess(selections(folder, "exact")[0])


def test_every_way_and_order_is_drawn_where_it_was_measured(folder: Path) -> None:
    assert [*TITLES][: len(OF_SHARDS)] == [*OF_SHARDS]
    assert set(TITLES) == set(METHODS)
    figure = selection_figure(folder)
    sent, missed, taken, buckets = figure.axes
    dots = [line for line in sent.get_lines() if line.get_marker() in ("o", "s")]
    places = sorted(float(np.asarray(line.get_xdata()).item()) for line in dots)
    assert (len(places), places[0], places[-1]) == (2 * len(TITLES), 4000.0, 8000.0)
    assert {text.get_text() for text in missed.texts} == {"1", "1 to 3.5", "entries$/k$"}
    assert [label.get_text() for label in buckets.get_yticklabels()] == [*ORDERS]
    assert taken.get_xlim()[0] == 0


def test_the_record_is_within_the_bounds_and_attains_that_of_buckets() -> None:
    study = result(RECORD, "global_selection")
    for row in study.records("selections"):
        assert row["bound_bytes"] is None or row["sent_bytes"] <= row["bound_bytes"]
        assert row["method"] != "gtop_k" or row["sent_bytes"] == row["bound_bytes"]
        assert row["method"] not in ("exact", "scattered") or (row["count"], excess(row)) == (row["k"], 0)
    for row in selections(RECORD, "sampled"):
        length = -(-row["k"] // SAMPLE_COUNT)
        stated = STATEMENTS["threshold_rank"].fraction(n=row["rank_count"], segment_length=length)
        assert abs(row["count"] - row["k"]) <= stated
    shares = [used_share(row) for row in study.records("sorts")]
    assert max(shares) == pytest.approx(1.0, abs=1e-12)
    assert {row["vectors"] for row in study.records("selections")} >= {
        "gaussian",
        "skewed",
        "tied",
        "opposed",
        "gradient",
    }
    assert all(len(shown_rows(RECORD, method)) == 2 for method in METHODS)
