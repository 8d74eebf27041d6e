"""The figure has a dot for each batch and a stripe for each sequence; the words are those of the file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from matplotlib.patches import Rectangle

from paper.studies.planning.sequence_groups import (
    MACROS,
    PUBLISHED_STATIC,
    SETS,
    gain,
    homogeneous_over_static,
    sequence_groups,
)
from sparsync.experiments.studies.planning import sequence_groups as study
from tests.support.drawing import plain
from tests.support.paper_data import PROVENANCE, write


def batches(seed_count: int = 2) -> dict[str, Any]:
    """With one group twice and four times as slow as planned, with the best size as slow and twice as slow."""
    fields: dict[str, list[float]] = {
        "planned_seconds": [1.0, 2.0],
        "static_seconds": [2.0, 8.0],
        "homogeneous_seconds": [1.0, 4.0],
        "homogeneous_size": [8, 16],
        "gap": [0.1, 0.2],
        "micro_batch_count": [2, 2],
        "sequence_count": [3, 3],
        "plan_seconds": [0.5, 0.25],
    }
    summary = {"count": 6, "mean": 300.0, "median": 256.0, "rare": 500.0, "longest": 512}
    return {name: values[:seed_count] for name, values in fields.items()} | {"summary": summary}


def record(profile: str = "quick", *, seed_count: int = 2) -> dict[str, Any]:
    planned = [{"device_count": 4, "tokens": [512], "seconds": [3.0]}]
    planned += [{"device_count": size, "tokens": [256, 128], "seconds": [2.0, 0.5]} for size in (1, 2)]
    return {
        "profile": profile,
        "seed_count": seed_count,
        "device_count": 8,
        "token_bytes": 4,
        "token_capacity": 1000,
        "sets": {name: batches(seed_count) for name in SETS},
        "example": {
            "fixed_seconds": 0.5,
            "planned": [planned],
            "static": [[{"device_count": 8, "tokens": [512], "seconds": [4.0]}]] * 2,
        },
        "provenance": PROVENANCE,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "sequence_groups.json", record())
    return tmp_path


def test_the_sets_are_those_of_the_study() -> None:
    assert list(SETS) == list(study.SETS)


def test_gains_are_geometric_means_over_batches(folder: Path) -> None:
    assert math.exp(gain(folder, "books", "static").value) == pytest.approx(math.sqrt(8))
    assert math.exp(gain(folder, "books", "homogeneous").value) == pytest.approx(math.sqrt(2))
    assert math.exp(homogeneous_over_static(folder, "books").value) == pytest.approx(2)


def test_every_batch_is_a_dot_of_both_comparisons(folder: Path) -> None:
    axes = sequence_groups(folder).axes[0]
    dots = [list(line.get_xdata()) for line in axes.get_lines() if line.get_marker() == "o"]  # type: ignore[arg-type]  # matplotlib knows no type
    assert dots == [[2.0, 4.0], [1.0, 2.0]] * len(SETS)
    assert [label.get_text() for label in axes.get_yticklabels()] == [words for words, _ in SETS.values()]
    (published,) = axes.collections
    assert [path.vertices[0][0] for path in published.get_paths()] == [*PUBLISHED_STATIC.values()]  # type: ignore[index]


def test_of_a_plan_every_sequence_is_as_long_as_it_takes(folder: Path) -> None:
    _, planned, static, *_ = sequence_groups(folder).axes
    boxes = [
        (box.get_x(), box.get_y(), box.get_width(), box.get_height())
        for box in planned.patches
        if isinstance(box, Rectangle) and box.get_fill()
    ]
    wanted = [(0.5, 0, 3.0, 4), (0.5, 4, 2.0, 2), (2.5, 4, 0.5, 2), (0.5, 6, 2.0, 1), (2.5, 6, 0.5, 1)]
    assert boxes == wanted
    begins = [box.get_x() for box in static.patches if isinstance(box, Rectangle) and box.get_fill()]
    assert begins == [0.5, 5.0]


def test_smoke_with_one_batch_has_no_interval_and_says_so(tmp_path: Path) -> None:
    write(tmp_path / "sequence_groups.json", record("smoke", seed_count=1))
    assert "smoke" in sequence_groups(tmp_path).get_suptitle()
    assert plain(MACROS["SequenceBooksOverStatic"](tmp_path)) == "2.00 (one seed)"


def test_the_words_are_those_of_the_file(folder: Path) -> None:
    said = {name.removeprefix("Sequence"): plain(macro(folder)) for name, macro in MACROS.items()}
    assert said["WikipediaOverStatic"].startswith("2.83 (")
    assert "inconclusive" in said["WikipediaOverSame"]
    assert (said["Count"], said["Devices"], said["TokenBytes"], said["Capacity"]) == ("3", "8", "4", "1000")
    assert (said["FilesMedian"], said["FilesLongest"]) == ("256", "512")
    assert (said["Gap"], said["LargestGap"], said["Seconds"]) == ("20", "20", "0.5")
    assert said["ExampleSizes"] == "1, 2, 4"
    assert (said["PublishedDeepSpeed"], said["PublishedMegatron"]) == ("1.72", "1.98")
    assert all(said.values())
