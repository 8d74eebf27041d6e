"""README's timings are those of the newest study of each kind of machine, and say so where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.studies.timing_table import CONTENDERS, timings_markdown
from tests.support.paper_data import kernels_record, write, write_results


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    return write_results(tmp_path / "data")


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each line of a table, by the first one."""
    lines = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {name.strip(): [cell.strip() for cell in cells] for name, *cells in lines}


def test_every_case_has_a_row_of_its_time_and_of_multiples_of_it(data_folder: Path) -> None:
    found = rows(timings_markdown(data_folder))
    # Nothing of cub was measured on the processor.
    words = [word for word in CONTENDERS.values() if "cub" not in word]
    assert found.pop("") == ["`e += g`, ms", *words]
    multiples = ["2.0 ×", "4.0 ×", "2.0 ×", "4.0 ×", "64 ×", "32 ×", "12 ×", "6.0 ×"]
    # The record's training run takes four times as long.
    slower = ["8.0 ×", "16 ×", "8.0 ×", "16 ×", "256 ×", "128 ×", "48 ×", "24 ×"]
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
    assert rows(timings_markdown(data_folder))["d = 1,000"][5] == ""


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


def test_no_processor_is_an_error_that_says_what_to_do(data_folder: Path) -> None:
    (data_folder / "kernels-test.json").unlink()
    with pytest.raises(FileNotFoundError, match="`make bench` writes it"):
        timings_markdown(data_folder)
