"""The study of streamed products: each once, in memories that just suffice, beside what medians of prices predict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.bulk.memory import Shape
from sparsync.experiments.bulk.streaming import Settings
from sparsync.experiments.studies.planning import streams
from sparsync.experiments.studies.planning.streams import GRID, SIZES, Cell, Sizes, row, run_streams

SHAPE = Shape(rows=12, outer=3, grid=2)


def measured(operation: float, streamed: float) -> dict[str, Any]:
    """A result of the program."""
    prices = {"operation": operation, "word": 2.5, "barrier": 3.5, "fetched": 0.5}
    return {
        "load": {"meaning": "sleeps"},
        "local_bytes": 7 * 4 * 8,
        "most_local_bytes": 200,
        "words": {"sent_count": 864, "external_count": 1008},
        "prices": {f"{name}_seconds": value for name, value in prices.items()},
        "streamed": {"measured_seconds": streamed},
        "unoverlapped": {"measured_seconds": 2 * streamed},
    }


ROUNDS = [measured(0.4, 1100.0), measured(0.5, 1200.0), measured(0.9, 1300.0)]


def test_a_row_predicts_from_the_medians_of_prices() -> None:
    found = row(Cell(3, 1e-6), SHAPE, ROUNDS)
    assert found["prices"]["operation_seconds"] == 0.5
    # A hyperstep takes 32 + 8 · 5 + 2 · 7 operations, its tokens 8; what is written 36.
    assert found["streamed_predicted_seconds"] == pytest.approx((27 * 86 + 8 + 36) / 2)
    assert found["unoverlapped_predicted_seconds"] == pytest.approx((27 * (86 + 8) + 36) / 2)
    assert found["hidden_word_seconds"] == pytest.approx(86 / 8 / 2)
    assert found["streamed_seconds"] == [1100.0, 1200.0, 1300.0]
    assert found["sent_counts"] == [found["stated_sent_count"]] * 3
    assert found["external_counts"] == [found["stated_external_count"]] * 3


def test_a_study_has_every_product_once_and_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    def rounds(program: str, each: list[dict[str, Any]], **how: Any) -> list[list[dict[str, Any]]]:
        assert program == "streaming"
        assert how["process_count"] == GRID**2
        return [[measured(0.5, 1.0)] * len(each) for _ in range(how["round_count"])]

    monkeypatch.setattr(streams, "measured_rounds", rounds)
    study = run_streams("smoke")
    products = [(cell["outer"], cell["word_seconds"]) for cell in study["cells"]]
    assert products == [(1, 1e-6), (2, 1e-6), (2, 0.0)]
    json.dumps(study, allow_nan=False)
    assert streams.summary(study).count("predicted") == 2 * 3


@pytest.mark.parametrize("profile", SIZES)
def test_every_size_is_one_that_the_program_takes_in_memories_that_just_suffice(profile: str) -> None:
    sizes: Sizes = SIZES[profile]  # type: ignore[index]  # the keys are the literals
    assert len(set(sizes.cells)) == len(sizes.cells)
    assert sizes.outer in sizes.outers
    for cell in sizes.cells:
        settings = Settings(**sizes.settings(cell))
        shape = sizes.shape(cell)
        shape.require_room(settings.local_bytes)
        with pytest.raises(ValueError, match="the local memory has"):
            shape.require_room(settings.local_bytes - 1)


def test_the_command_line_refuses_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    assert streams.STUDY.read(["--output", str(tmp_path / "s.json"), "--profile", "smoke"]).profile == "smoke"
    with pytest.raises(ValueError, match="nowhere"):
        streams.STUDY.read(["--output", str(tmp_path / "nowhere" / "s.json")])
