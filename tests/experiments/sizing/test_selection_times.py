"""Seconds of a selection are those measured, and between two lengths on the line through both."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparsync.experiments.sizing.selection_times import SelectionTimes, read_selection_times
from tests.support.paper_data import kernels_record, write

TIMES = SelectionTimes("some", ((100, 2.0), (200, 3.0), (400, 11.0)))


@pytest.mark.parametrize(
    ("length", "seconds"),
    [(0, 0.0), (1, 2.0), (100, 2.0), (150, 2.5), (200, 3.0), (300, 7.0), (400, 11.0), (800, 22.0)],
)
def test_a_time_is_on_the_line_between_those_measured(length: int, seconds: float) -> None:
    assert TIMES.seconds(length) == seconds


def test_what_was_measured_is_read_back(tmp_path: Path) -> None:
    record = kernels_record("quick")
    write(tmp_path / "kernels-some.json", record)
    found = read_selection_times(tmp_path / "kernels-some.json")
    rows = [row for row in record["rows"] if (row["contender"], row["granularity"]) == ("top_k, warm", "vector")]
    expected = {row["dimension"]: row["best_seconds"] for row in rows if row["name"] == "gaussian"}
    assert found.hardware == record["hardware"]
    assert dict(found.points) == expected
    assert {length: found.seconds(length) for length in expected} == expected


@pytest.mark.parametrize("text", ["", "{}", '{"rows": [{}]}', "[1]", '{"rows": [], "hardware": "none"}'])
def test_another_file_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"some\.json (is no record of kernels|has no times of 'top_k')"):
        read_selection_times(path)


def test_a_rule_that_was_not_timed_is_named(tmp_path: Path) -> None:
    write(tmp_path / "some.json", kernels_record("quick"))
    with pytest.raises(ValueError, match=r"has no times of 'random_k' on Gaussian vectors at density 0\.001"):
        read_selection_times(tmp_path / "some.json", "random_k")
