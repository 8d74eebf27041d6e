"""Figure, tables and numbers of the fused kernel are what its result files say, and name what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import latex
from paper.studies.kernels import LIMIT, LOOKS, MACROS, kernel_table, kernels
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import kernels_record, rewrite, write, write_results


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    return write_results(tmp_path / "data")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("KernelProcessor", r"Test \& Sons 100\%"),
        ("KernelThreads", "2"),
        ("KernelGpu", "not measured"),
        ("KernelLargestDimension", r"10\,000\,000"),
        # 12 bytes in a nanosecond.
        ("KernelRate", "12"),
        ("KernelColdRatio", "4.00"),
        ("KernelWarmRatio", "2.00"),
        ("KernelWarmTopkRatio", "2.00"),
        ("KernelColdTopkRatio", "4.00"),
        ("KernelThresholdRatio", "1.00"),
        # The faster of 48/2 and 64/2, and 32/2.
        ("KernelTopkAdvantage", "24"),
        ("KernelReleasedAdvantage", "16"),
        ("KernelLawsSmallest", "2.00"),
        ("KernelLawsLargest", "4.00"),
        ("KernelShortLawsSmallest", "2.00"),
        ("KernelShortLawsLargest", "16.00"),
        ("KernelLawsDimension", r"100\,000"),
        ("KernelShortLawsDimension", "1000"),
        ("KernelRecordedRatio", "8.00"),
        ("KernelOnePassShare", "75.0"),
        ("KernelSmallestRecall", "0.75"),
        ("KernelExtraMemory", "2.0"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("KernelGpu", "NVIDIA H200"),
        ("KernelGpuDimension", plain(latex.scientific(10**7))),
        ("KernelGpuRate", "12"),
        ("KernelGpuColdRatio", "4.00"),
        ("KernelGpuWarmRatio", "2.00"),
        ("KernelGpuWarmTopkRatio", "2.00"),
        ("KernelGpuTopkByLength", f"2.00 at {plain(latex.scientific(10**7))}"),
        # 64/2 and 32/2.
        ("KernelGpuTopkAdvantage", "32.00"),
        ("KernelGpuReleasedAdvantage", "16.00"),
    ],
)
def test_a_number_of_a_gpu_is_there_once_one_was_measured(name: str, text: str, data_folder: Path) -> None:
    assert MACROS[name](data_folder) == "not measured"
    write(data_folder / "kernels-gpu.json", kernels_record("full", device="cuda") | {"hardware": "NVIDIA H200"})
    assert plain(MACROS[name](data_folder)) == text


def test_the_newest_result_of_a_kind_of_machine_counts(data_folder: Path) -> None:
    write(data_folder / "kernels-a.json", kernels_record("quick", slowness=2, date="2026-03-01"))
    write(data_folder / "kernels-z.json", kernels_record("quick", slowness=4, date="2026-02-01"))
    assert plain(MACROS["KernelRate"](data_folder)) == "6"


def test_a_gpu_without_a_result_is_said_to_be_not_measured(data_folder: Path) -> None:
    table = kernel_table(data_folder)
    assert r"\emph{GPU}: not measured" in table
    write(data_folder / "kernels-gpu.json", kernels_record("full", device="cuda"))
    assert "not measured" not in kernel_table(data_folder)


def test_the_table_gives_milliseconds_of_the_addition_and_multiples_of_it(data_folder: Path) -> None:
    rows = [row.split(" & ") for row in kernel_table(data_folder).splitlines() if " & " in row]
    assert rows[0][1:] == [*(f"$d={latex.scientific(10**power)}$" for power in (3, 5, 7)), r"VGG-16 \\"]
    assert plain(rows[1][3]) == "10.0"
    by_name = {row[0]: [plain(cell).removesuffix(r" \\") for cell in row[1:]] for row in rows[1:]}
    assert by_name[r"Gaussian-$k$, first call"] == ["4.00"] * 4
    assert by_name[r"\texttt{torch.topk}"] == ["64.00"] * 4
    assert r"\texttt{cub::DeviceTopK}" not in by_name


def test_the_figure_draws_times_in_milliseconds_and_shares_of_the_floor(data_folder: Path) -> None:
    left, right = kernels(data_folder).axes
    dimensions, milliseconds = drawn_line(left, LOOKS["gaussian_k, cold"].title)
    assert dimensions == [1e3, 1e5, 1e7]
    assert milliseconds == pytest.approx([0.004, 0.4, 40])
    assert drawn_line(left, LIMIT)[1] == pytest.approx([0.001, 0.1, 10])
    assert drawn_line(right, LOOKS["torch.topk, unsorted"].title)[1] == [1 / 64] * 3


def test_a_gpu_has_panels_of_its_own_and_its_limit_is_the_copy(data_folder: Path) -> None:
    write(data_folder / "kernels-gpu.json", kernels_record("full", device="cuda"))
    panels = kernels(data_folder).axes
    assert len(panels) == 4
    # A copy of 8 bytes takes the time of the addition here, so 12 bytes take half as long again.
    assert drawn_line(panels[2], LIMIT)[1] == pytest.approx([0.0015, 0.15, 15])


def test_missing_results_are_named_with_the_command_that_writes_them(data_folder: Path) -> None:
    (data_folder / "kernels-test.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"kernels-\*\.json is missing; `make bench` writes it"):
        kernels(data_folder)
    write(data_folder / "kernels-gpu.json", kernels_record("full", device="cuda"))
    with pytest.raises(FileNotFoundError, match="of a processor is missing"):
        kernels(data_folder)


def test_a_contender_that_was_not_measured_is_named(data_folder: Path) -> None:
    rewrite(data_folder / "kernels-test.json", rows=[])
    with pytest.raises(ValueError, match=r"kernels-test\.json: no row of 'gaussian_k, warm' on a Gaussian vector"):
        MACROS["KernelWarmRatio"](data_folder)
