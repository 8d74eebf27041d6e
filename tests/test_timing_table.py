"""README's timings are those of the newest study of each kind of machine, and say so where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.timing_table import CONTENDERS, timings_markdown
from tests.paper_data import kernels_record, rewrite, write, write_results


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    return write_results(tmp_path / "data")


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def row(text: str, words: str) -> list[str]:
    """The cells behind the first that begins with some words, of the first such row."""
    return next(cells_of(line)[1:] for line in text.splitlines() if line.startswith(f"| {words}"))


def test_times_are_multiples_of_the_addition(data_folder: Path) -> None:
    text = timings_markdown(data_folder)
    assert row(text, "Test & Sons") == ["d = 1,000", "d = 100,000", "d = 10,000,000", "VGG-16"]
    assert row(text, "`e += g`, in ms") == ["0.001", "0.100", "10.0", "1.0"]
    assert row(text, "`gaussian_k`, later calls") == ["2.00 ×"] * 4
    assert row(text, "`torch.topk`") == ["64.00 ×"] * 4


def test_every_line_has_as_many_cells(data_folder: Path) -> None:
    lines = [line for line in timings_markdown(data_folder).splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {6}
    # Nothing of cub was measured on the processor.
    assert len(lines) == 2 + 1 + len(CONTENDERS) - 1


def test_a_bar_in_a_name_ends_no_cell(data_folder: Path) -> None:
    rewrite(data_folder / "kernels-test.json", hardware="a|b")
    assert r"| a\|b, 2 threads, density 0.001, profile `quick` |" in timings_markdown(data_folder)


def test_a_gpu_has_a_table_of_its_own_once_it_was_measured(data_folder: Path) -> None:
    assert timings_markdown(data_folder).endswith("\nOn a GPU: not measured.\n")
    write(data_folder / "kernels-gpu.json", kernels_record("full", device="cuda") | {"hardware": "NVIDIA H200"})
    text = timings_markdown(data_folder)
    assert "not measured" not in text
    assert text.count("| `e += g`, in ms |") == 2
    assert "| NVIDIA H200, GPU, density 0.001, profile `full` |" in text


def test_no_processor_is_an_error_that_says_what_to_do(data_folder: Path) -> None:
    (data_folder / "kernels-test.json").unlink()
    with pytest.raises(FileNotFoundError, match="`make bench` writes it"):
        timings_markdown(data_folder)
