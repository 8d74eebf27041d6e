"""Maps are covered whole, and what selection and the codec take moves a crossover by as much as it should."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from paper.results import Result, result
from paper.studies.planning.crossover_maps import (
    LOWEST_DENSITY,
    crossover_maps,
    label_place,
    map_of,
    merged_range,
    pieces,
    row_of,
)
from paper.studies.planning.crossovers import (
    MACROS,
    coded_entry_seconds,
    compared,
    moved_crossover,
    never_quickest,
    priced,
    rows_with,
    selection_seconds,
)
from tests.support.drawing import plain
from tests.support.paper_data import kernels_record, write
from tests.support.paths import ROOT

DATA = ROOT / "paper" / "data"
NETWORK = {"bits_per_second": 8e9, "latency_seconds": 1e-5, "node_size": 1}


def row(workers: int, **changes: Any) -> dict[str, Any]:
    """An all-gather up to a density of 1/n, and an all-reduce beyond."""
    stretches = [["doubling_all_gather", 1 / workers], ["doubling_all_reduce", 1.0]]
    return {
        "workers": workers,
        "stretches": stretches,
        "with_global_top_k": stretches,
        "crossovers": {"doubling_crossover": 1 / workers, "gather_crossover": 2 / workers},
        "compared": {"doubling_crossover": True, "gather_crossover": workers == 4},
        **changes,
    }


MERGED = [["doubling_all_gather", 0.01], ["global_top_k", 0.5], ["doubling_all_reduce", 1.0]]
RECORD = {
    "profile": "quick",
    "dimension": 1000,
    "exact_collectives": ["doubling_all_gather", "doubling_all_reduce", "tree_all_reduce"],
    "networks": {"fast": NETWORK},
    "maps": [
        {"network": "fast", "fresh_share": 1.0, "rows": [row(4), row(16, with_global_top_k=MERGED)]},
        {"network": "fast", "fresh_share": 0.1, "rows": [row(4), row(16)]},
    ],
    "limits": {"fast": 0.001},
    # An entry of each of three others travels in 8 ns and is added in 1 ns.
    "priced": [
        {
            "network": "fast",
            "workers": 4,
            "dense_seconds": 1e-5,
            "empty_seconds": 1e-6,
            "entry_seconds": 27e-9,
        }
    ],
}


@pytest.fixture
def study(tmp_path: Path) -> Result:
    write(tmp_path / "crossovers.json", RECORD)
    return result(tmp_path, "crossovers")


def test_pieces_cover_the_map_once(study: Result) -> None:
    found = pieces(map_of(study, "fast", 1.0))
    assert sum(piece.area for piece in found) == pytest.approx(-math.log10(LOWEST_DENSITY) * math.log10(4))
    assert {piece.collective for piece in found} == {"doubling_all_gather", "doubling_all_reduce"}


def test_a_name_stands_within_its_region_if_that_is_large_enough(study: Result) -> None:
    found = pieces(map_of(study, "fast", 1.0))
    place = label_place(found, "doubling_all_gather")
    assert place is not None
    assert any(piece.start < place[0] < piece.end and piece.low < place[1] < piece.high for piece in found)
    assert label_place(found, "tree_all_reduce") is None


def test_who_is_on_no_map_is_never_quickest(study: Result) -> None:
    assert never_quickest(study) == ["tree_all_reduce"]


def test_comparisons_are_counted_with_those_that_fail(study: Result) -> None:
    assert compared(study) == (6, 8)
    assert rows_with(study, "doubling_all_gather", 1.0, ["fast"]) == (2, 2)
    assert rows_with(study, "balanced_all_reduce", 1.0, ["fast"]) == (0, 2)


def test_merging_is_quicker_between_two_densities_or_nowhere(study: Result) -> None:
    assert merged_range(row_of(study, "fast", 16, fresh_share=1.0)) == (0.01, 0.5)
    assert merged_range(row_of(study, "fast", 4, fresh_share=1.0)) is None


def test_missing_rows_are_named(study: Result) -> None:
    with pytest.raises(ValueError, match="5 workers"):
        row_of(study, "fast", 5, fresh_share=1.0)
    with pytest.raises(ValueError, match="'slow'"):
        map_of(study, "slow", 1.0)
    with pytest.raises(ValueError, match="16 workers"):
        priced(study, "fast", 16)


def test_selecting_moves_the_crossover_by_what_entries_would_take_as_long(study: Result) -> None:
    one = priced(study, "fast", 4)
    without, with_selection = (moved_crossover(study, one, extra_seconds=seconds) for seconds in (0.0, 2.7e-6))
    assert without == pytest.approx(9e-6 / 27e-6)
    assert without - with_selection == pytest.approx(0.1)


def test_selection_is_that_of_the_nearest_length_in_proportion(tmp_path: Path) -> None:
    write(tmp_path / "kernels-test.json", kernels_record("quick"))
    # Two nanoseconds an entry, whatever the length.
    assert selection_seconds(result(tmp_path, "kernels-test"), 2_000_000) == pytest.approx(4e-3)


def test_a_codec_that_takes_no_time_and_saves_nothing_changes_nothing(study: Result, tmp_path: Path) -> None:
    coded = {
        "values": "exact",
        "entry_count": 10,
        "message_bytes": 80,
        "encode_seconds": 0.0,
        "decode_seconds": 0.0,
    }
    one = priced(study, "fast", 4)
    write(tmp_path / "wire.json", {"rows": [coded]})
    assert coded_entry_seconds(study, result(tmp_path, "wire"), one) == pytest.approx(one["entry_seconds"])
    # Half the bytes take half of 24 ns; three others are decoded in 1 ns each, and one is encoded in 2 ns.
    write(
        tmp_path / "wire.json",
        {"rows": [{**coded, "message_bytes": 40, "encode_seconds": 2e-8, "decode_seconds": 1e-8}]},
    )
    assert coded_entry_seconds(study, result(tmp_path, "wire"), one) == pytest.approx((27 - 12 + 3 + 2) * 1e-9)


@pytest.mark.parametrize(("is_alike", "share"), [(False, "1"), (True, "0.1")])
def test_a_figure_has_a_map_for_each_network(is_alike: bool, share: str) -> None:
    figure = crossover_maps(DATA, is_alike=is_alike)
    study = result(DATA, "crossovers")
    assert 2 * len(figure.axes) == len(study["maps"])
    assert f"={share}$" in figure.axes[0].get_ylabel()
    for axes in figure.axes:
        assert {text.get_text().split("-")[0] for text in axes.texts} & {"all", "owners"}


def test_macros_of_the_record_say_what_is_in_it() -> None:
    study = result(DATA, "crossovers")
    equal, count = compared(study)
    assert equal == count > 0
    assert plain(MACROS["CrossoverEqual"](DATA)).replace("\\,", "") == str(equal)
    assert plain(MACROS["CrossoverOwnersApart"](DATA)).startswith("0 of ")
    assert MACROS["CrossoverNever"](DATA).endswith("and \\statement{ring_all_gather}")


@pytest.mark.parametrize("name", MACROS)
def test_every_macro_can_be_made(name: str) -> None:
    assert MACROS[name](DATA)
