"""The page about the kernel has a table for each machine, and says what was not measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.kernel_page import COLUMNS, timings_markdown, wire_markdown
from paper.studies.kernels import kernel_table
from tests.support.paper_data import kernels_record, write, write_results


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    return write_results(tmp_path / "data")


def page_rows(text: str) -> dict[str, list[str]]:
    """The cells of each line of a table, by the first one."""
    lines = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {name.strip(): [cell.strip() for cell in cells] for name, *cells in lines}


def test_every_case_has_a_row_of_its_time_and_of_multiples_of_it(data_folder: Path) -> None:
    found = page_rows(timings_markdown(data_folder))
    # Nothing of cub was measured on the processor, and a processor has no graphs.
    words = [word for word in COLUMNS.values() if "cub" not in word and "graph" not in word]
    assert found.pop("") == ["`e += g`, ms", *words]
    multiples = ["2.0 ×", "4.0 ×", "2.0 ×", "4.0 ×", "8.0 ×", "64 ×", "128 ×", "32 ×", "12 ×", "6.0 ×"]
    # The record's training run takes four times as long.
    slower = ["8.0 ×", "16 ×", "8.0 ×", "16 ×", "32 ×", "256 ×", "512 ×", "128 ×", "48 ×", "24 ×"]
    assert found == {
        "d = 1,000": ["0.001", *multiples],
        "d = 100,000": ["0.100", *multiples],
        "d = 10,000,000": ["10.0", *multiples],
        "a training run, d = 5,000": ["0.005", *slower],
        "VGG-16, 32 tensors, d = 1,000,000": ["1.0", *multiples],
    }


def test_a_case_that_a_contender_was_not_timed_on_is_left_empty(data_folder: Path) -> None:
    record = kernels_record("quick")
    record["rows"] = [
        row for row in record["rows"] if (row["contender"], row["dimension"]) != ("torch.topk, unsorted", 1000)
    ]
    write(data_folder / "kernels-test.json", record)
    assert page_rows(timings_markdown(data_folder))["d = 1,000"][6] == ""


def test_what_was_measured_is_said_above_the_table(data_folder: Path) -> None:
    text = timings_markdown(data_folder)
    assert text.startswith("\nTest & Sons 100%, 2 threads, density 0.001, profile `quick`, 2026-01-01:\n\n|")


def test_a_gpu_has_a_table_of_its_own_once_it_was_measured(data_folder: Path) -> None:
    assert timings_markdown(data_folder).endswith("\n\nGPU: not measured.\n")
    write(data_folder / "kernels-gpu.json", kernels_record("full", device="cuda") | {"hardware": "NVIDIA H200"})
    text = timings_markdown(data_folder)
    assert "not measured" not in text
    assert text.count("`e += g`, ms") == 2
    assert "\n\nNVIDIA H200, density 0.001, profile `full`, 2026-01-01:\n\n|" in text


def test_each_gpu_has_its_newest_table_the_newest_first(data_folder: Path) -> None:
    dates = {"a": ("NVIDIA H100", "2026-02-01"), "b": ("NVIDIA H200", "2026-03-01"), "c": ("NVIDIA H100", "2026-01-01")}
    for name, (hardware, date) in dates.items():
        record = kernels_record("full", device="cuda", date=date) | {"hardware": hardware}
        write(data_folder / f"kernels-{name}.json", record)
    titles = [line for line in timings_markdown(data_folder).splitlines() if line.startswith("NVIDIA")]
    assert titles == [
        f"NVIDIA {name}, density 0.001, profile `full`, {day}:"
        for name, day in (("H200", "2026-03-01"), ("H100", "2026-02-01"))
    ]


def test_replays_have_a_column_under_words_and_what_they_are_compared_with_has_none(data_folder: Path) -> None:
    record = kernels_record("full", device="cuda")
    adds = [row for row in record["rows"] if row["contender"] == "add"]
    replays = ["add, replayed", "gaussian_k, warm, replayed", "gaussian_k, cold, replayed"]
    others = [row | {"contender": name, "ratio_to_add": 1.5} for row in adds for name in replays]
    write(data_folder / "kernels-gpu.json", record | {"rows": record["rows"] + others})
    heads = timings_markdown(data_folder).split("`e += g`, ms")[2].splitlines()[0]
    assert "| `gaussian_k`, later calls, as a graph |" in heads
    assert "replayed" not in heads
    assert "replayed" not in kernel_table(data_folder)


def test_no_processor_is_an_error_that_says_what_to_do(data_folder: Path) -> None:
    (data_folder / "kernels-test.json").unlink()
    with pytest.raises(FileNotFoundError, match="`make bench` writes it"):
        timings_markdown(data_folder)


def test_a_contender_without_words_has_a_row_and_a_column_under_its_own_name(data_folder: Path) -> None:
    record = kernels_record("quick")
    others = [row | {"contender": "first_k, warm"} for row in record["rows"] if row["contender"] == "add"]
    write(data_folder / "kernels-test.json", record | {"rows": record["rows"] + others})
    assert "\nfirst\\_k, warm & " in kernel_table(data_folder)
    assert timings_markdown(data_folder).splitlines()[3].endswith("| `first_k, warm` |")


def test_a_line_has_sizes_by_entry_and_speeds_by_byte(tmp_path: Path) -> None:
    row = {
        "values": "int8",
        "entry_count": 1000,
        "dimension": 1_000_000,
        "message_bytes": 2500,
        "index_bits": 11.5,
        "fewest_index_bits": 11.25,
        "encode_seconds": 1e-6,
        "decode_seconds": 2e-6,
    }
    place = {"processor_name": "Test & Sons", "date_utc": "2026-01-01T00:00:00+00:00"}
    write(tmp_path / "wire.json", {"rows": [row], "provenance": place})
    text = wire_markdown(tmp_path)
    assert text.startswith("\nTest & Sons, 2026-01-01, one thread")
    assert text.endswith("|\n| int8 | 1,000 of 1,000,000 | 2.50 | 11.50 (11.25) | 2.50 | 1.25 |\n")


def test_messages_that_were_not_timed_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"wire\.json is missing; `make bench` writes it"):
        wire_markdown(tmp_path)
