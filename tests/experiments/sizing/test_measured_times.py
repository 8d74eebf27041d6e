"""Seconds of selecting and coding are those measured, and between two lengths on the line through both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparsync.experiments.sizing.measured_times import MeasuredTimes, read_codec_times, read_selection_times
from tests.support.paper_data import kernels_record, write

TIMES = MeasuredTimes("some", ((100, 2.0), (200, 3.0), (400, 11.0)))


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
    with pytest.raises(ValueError, match=r"some\.json (is no record of kernels|has no times of 'top_k, warm')"):
        read_selection_times(path)


def test_a_rule_that_was_not_timed_is_named(tmp_path: Path) -> None:
    write(tmp_path / "some.json", kernels_record("quick"))
    with pytest.raises(ValueError, match=r"has no times of 'random_k' on Gaussian vectors at density 0\.001"):
        read_selection_times(tmp_path / "some.json", "random_k")


def test_a_worker_makes_one_message_and_reads_those_of_the_others() -> None:
    path = Path("paper/data/wire.json")
    rows = {row["entry_count"]: row for row in json.loads(path.read_text())["rows"] if row["values"] == "bf16"}
    found = read_codec_times(path, "bf16")
    for count, row in rows.items():
        assert found.seconds(count, 3) == row["encode_seconds"] + 3 * row["decode_seconds"]


@pytest.mark.parametrize("text", ["", "{}", '{"rows": [{}], "provenance": {"processor_name": "some"}}'])
def test_what_is_no_record_of_messages_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"some\.json is no record of messages, as `make bench` writes it"):
        read_codec_times(path)


def test_a_code_that_was_not_timed_is_named() -> None:
    with pytest.raises(ValueError, match="has no times of messages with 'int4' values"):
        read_codec_times(Path("paper/data/wire.json"), "int4")
