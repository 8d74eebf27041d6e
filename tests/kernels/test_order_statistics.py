"""The order statistics that decide a selection on the CPU are those of sorting, whatever the magnitudes range over."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.paths import ROOT

SOURCE = Path(__file__).parent / "order_statistics.cpp"
INCLUDED = ROOT / "kernels" / "csrc"
SANITISED = ["-O1", "-g1", "-fsanitize=undefined", "-fno-sanitize-recover=all"]

Found = tuple[int, int, int]
# Up to 256 are sorted; beyond, they are counted in up to 2^11 parts of what they range over.
COUNTS = (1, 2, 255, 256, 257, 300, 512, 2047, 2048, 5000)
LARGEST = 2**31 - 1
MAGNITUDES: dict[str, Callable[[int, torch.Generator], Tensor]] = {
    "all": lambda count, stream: torch.randint(0, LARGEST, (count,), generator=stream),
    "few values": lambda count, stream: torch.randint(0, 5, (count,), generator=stream),
    "one value": lambda count, _: torch.full((count,), 0x40490FDB),
    "one octave": lambda count, stream: torch.randint(0x40000000, 0x40800000, (count,), generator=stream),
    "neighbours": lambda count, stream: 0x40000000 + torch.randint(0, 700, (count,), generator=stream),
    "powers of two": lambda count, stream: 1 << torch.randint(0, 31, (count,), generator=stream),
    "ties and outliers": lambda count, stream: torch.where(
        torch.rand(count, generator=stream) < 0.02,
        torch.randint(0, LARGEST, (count,), generator=stream),
        torch.tensor(0x3F800000),
    ),
    "two clusters": lambda count, stream: (
        torch.randint(0, 400, (count,), generator=stream)
        + torch.randint(0, 2, (count,), generator=stream) * (LARGEST - 400)
    ),
    "zeros and the largest": lambda count, stream: torch.randint(0, 2, (count,), generator=stream) * 0x7F7FFFFF,
}


Count = Callable[[Tensor, int, int], Found]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    target = tmp_path_factory.mktemp("order") / "order_statistics.so"
    command = ["g++", "-std=c++20", "-fPIC", "-shared", *SANITISED, f"-I{INCLUDED}", str(SOURCE), "-o", str(target)]
    subprocess.run(command, check=True, timeout=120)
    return ctypes.CDLL(str(target))


@pytest.fixture(scope="module", params=["order_statistics", "shared_order_statistics"])
def counted(request: pytest.FixtureRequest, compiled: ctypes.CDLL) -> Count:
    function = compiled[request.param]

    def call(magnitudes: Tensor, upper: int, lower: int) -> Found:
        entries, found = magnitudes.to(torch.int32), torch.zeros(3, dtype=torch.int64)
        sizes = [ctypes.c_int64(number) for number in (len(entries), upper, lower)]
        function(ctypes.c_void_p(entries.data_ptr()), *sizes, ctypes.c_void_p(found.data_ptr()))
        first, second, above = (int(number) for number in found)
        return first, second, above

    return call


def sorted_out(magnitudes: Tensor, upper: int, lower: int) -> Found:
    """The same by sorting: the two order statistics, 0 beyond the last, and how many exceed the second."""
    ordered = magnitudes.sort(descending=True).values.tolist()
    first, second = ([*ordered, *[-1] * lower][rank - 1] for rank in (upper, lower))
    return max(first, 0), max(second, 0), sum(one > second for one in ordered)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", MAGNITUDES)
def test_two_ranks_are_found_as_by_sorting(counted: Count, kind: str, count: int) -> None:
    magnitudes = MAGNITUDES[kind](count, torch.Generator().manual_seed(count))
    for upper in sorted({1, 2, max(1, count // 3), max(1, count // 2), max(1, count - 1), count, count + 3}):
        for lower in (upper, upper + 1, upper + count // 5, 2 * upper):
            assert counted(magnitudes, upper, lower) == sorted_out(magnitudes, upper, lower), (upper, lower)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(0, LARGEST), min_size=1, max_size=40),
    repeats=st.integers(1, 40),
    upper=st.integers(1, 1700),
    distance=st.integers(0, 1700),
)
def test_so_they_are_of_any_magnitudes(
    counted: Count, values: list[int], repeats: int, upper: int, distance: int
) -> None:
    magnitudes = torch.tensor(values).repeat(repeats)
    assert counted(magnitudes, upper, upper + distance) == sorted_out(magnitudes, upper, upper + distance)
