"""A streamed matrix product on real processes: Cannon's algorithm over outer blocks, in little memory, counted.

`torchrun --nproc-per-node 4 -m sparsync.experiments.bulk.streaming --output result.json`. N² processes multiply two
matrices that lie in a file, as much at a time as their memories hold, while the next blocks are fetched; and once more
without that overlap. The words that pass are those of `theory/cost/streamed_products.py`, to the word, and the seconds
stand beside its formula with what operations, words and barriers take on this machine.
"""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

import torch
from torch import Tensor

from sparsync.experiments.bulk.cannon import Counts, Grid, Processor
from sparsync.experiments.bulk.command import main
from sparsync.experiments.bulk.memory import DTYPE, ExternalMemory, LocalMemory, Shape, byte_count
from sparsync.experiments.bulk.prices import Prices, measured_prices, predictions, require_words
from sparsync.experiments.parties.party import Party, System
from sparsync.experiments.parties.talk import Books, Talk, give, take
from sparsync.experiments.training.seeding import random_stream

_CHUNK_BYTES = 2**20
Entries = Literal["integers", "gaussian"]
LARGEST_ENTRY = 8
"""Of integers: sums of products stay below 2^53 up to 2^47 rows, so that they are exact."""


@dataclass(frozen=True)
class Settings:
    """What the product takes."""

    rows: int = 720
    """of the two square matrices; a multiple of outer blocks times processes a side"""
    outer: int = 3
    """outer blocks along a side of a matrix"""
    local_bytes: int = 1_000_000
    """memory of a process, for seven blocks of rows/(outer · processes a side) rows"""
    word_seconds: float = 1e-6
    """how long the external memory sleeps for a word, which stands for a slower one"""
    entries: Entries = "integers"
    """of the matrices: small integers, whose product is exact, or gaussian"""
    folder: Path | None = None
    """of the file that is the external memory, which all processes see; without it that of temporary files"""
    seed: int = 0
    """of the matrices"""

    def __post_init__(self) -> None:
        for name in ("rows", "outer", "local_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.word_seconds < float("inf"):
            raise ValueError(f"word_seconds must be at least 0 and finite, got {self.word_seconds}")
        if self.folder is not None and not self.folder.is_dir():
            raise ValueError(f"folder must name one, got {self.folder}")


def run(settings: Settings, party: Party) -> dict[str, Any] | None:
    """Multiply with and without overlap; the result as JSON, on rank 0.

    Raises:
        ValueError: processes that make no square, rows that they cannot share, or blocks too large for them.
        ExchangeError: another process is lost, or does not come in time.
        FloatingPointError: the product is not that of the matrices.
    """
    side = math.isqrt(party.size)
    if side**2 != party.size:
        raise ValueError(f"the processes of a square grid are 1, 4, 9, …, there are {party.size}")
    shape = Shape(settings.rows, settings.outer, side)
    shape.require_room(settings.local_bytes)
    grid = Grid(party.rank, side, party.timeout_seconds)
    external, matrices = opened(settings, shape, grid, party)
    prices = measured_prices(shape, grid, external)
    runs = []
    for overlaps in (True, False):
        runs.append(_timed(Processor(shape, grid, external, LocalMemory(settings.local_bytes), overlaps)))
        if matrices is not None:
            require_product(external.product(), *matrices, entries=settings.entries)
        grid.meet("checked")
        party.advance()
    reports = party.carry(_gathered(_report(prices, runs), party), Books())
    return None if party.rank else result(settings, shape, reports)


@dataclass(frozen=True)
class Timed:
    """A product as one process saw it.

    Args:
        seconds: from when all began to when all had ended.
        counts: what it did.
        read_words: from the external memory.
        written_words: to it.
        most_bytes: of its memory that it had in use.
    """

    seconds: float
    counts: Counts
    read_words: int
    written_words: int
    most_bytes: int


def _timed(processor: Processor) -> Timed:
    external, grid = processor.external, processor.grid
    external.count_anew()
    grid.meet("start")
    began = time.perf_counter()
    processor.multiply()
    grid.meet("end")
    seconds = time.perf_counter() - began
    read, written = external.read_words, external.written_words
    return Timed(seconds, processor.counts, read, written, processor.local.most_bytes)


def opened(
    settings: Settings, shape: Shape, grid: Grid, party: Party
) -> tuple[ExternalMemory, tuple[Tensor, Tensor] | None]:
    """The external memory with two matrices in it, and these themselves on rank 0. Nothing is left of its file.

    Raises:
        ValueError: a process does not see the file.
        OSError: there is no room for it.
    """
    if party.rank:
        said = party.carry(_told(), Books())
        path = Path(said.numpy().tobytes().decode())
        if not path.exists():
            raise ValueError(f"rank {party.rank} does not see {path}, which all processes have to (--folder)")
        external = ExternalMemory(path, shape, grid.place, settings.word_seconds)
        grid.meet("the file is open")
        grid.meet("the matrices are there")
        return external, None
    with tempfile.NamedTemporaryFile(dir=settings.folder, prefix="sparsync-external-") as file:
        _reserve(file, byte_count(shape))
        party.carry(_tell(torch.tensor(list(file.name.encode()), dtype=torch.uint8), party.size), Books())
        external = ExternalMemory(Path(file.name), shape, grid.place, settings.word_seconds)
        grid.meet("the file is open")
    matrices = make_matrices(settings)
    external.put_matrices(*matrices)
    grid.meet("the matrices are there")
    return external, matrices


def _reserve(file: IO[bytes], size: int) -> None:
    """Make it so long, and its place on the disk sure: a process that maps what has no place is killed.

    Raises:
        OSError: the disk is full.
    """
    while size:
        size -= file.write(bytes(min(size, _CHUNK_BYTES)))
    file.flush()


def _tell(name: Tensor, size: int) -> Talk[None]:
    for rank in range(1, size):
        yield from give(rank, "file", name)


def _told() -> Talk[Tensor]:
    return (yield from take(0, "file"))


def make_matrices(settings: Settings) -> tuple[Tensor, Tensor]:
    """Two matrices [n, n] float64."""
    size = (settings.rows, settings.rows)
    streams = [random_stream(settings.seed, "matrix", number) for number in (0, 1)]
    if settings.entries == "gaussian":
        left, right = (torch.randn(size, generator=stream, dtype=DTYPE) for stream in streams)
    else:
        bounds = (-LARGEST_ENTRY, LARGEST_ENTRY + 1)
        left, right = (torch.randint(*bounds, size, generator=stream).to(DTYPE) for stream in streams)
    return left, right


def require_product(product: Tensor, left: Tensor, right: Tensor, *, entries: Entries) -> None:
    """Compare with torch.matmul: integers exactly, others within what rounding explains.

    Whatever the order of its sum, an entry is within γ|A||B| of the exact one, γ = nu/(1 − nu) with u = 2^−53, and so
    are two of them within twice that; and |A||B| itself is at most 1/(1 − γ) times what is computed for it.

    Raises:
        FloatingPointError: an entry is farther off; the message says which.
    """
    expected = left @ right
    share = len(left) * 2.0**-53
    gamma = share / (1 - share)
    allowed = 2 * gamma / (1 - gamma) * (left.abs() @ right.abs())
    if entries == "integers":
        allowed = torch.zeros_like(allowed)
    # Written so that a NaN is off too.
    off = ~((product - expected).abs() <= allowed)
    if off.any():
        row, column = off.nonzero()[0].tolist()
        found, right_one = float(product[row, column]), float(expected[row, column])
        raise FloatingPointError(f"entry ({row}, {column}) of the product is {found}, not {right_one}")


def _report(prices: Prices, runs: list[Timed]) -> Tensor:
    """What rank 0 is told: numbers, all below 2^53."""
    numbers = list(asdict(prices).values())
    for timed in runs:
        numbers += [timed.seconds, timed.read_words, timed.written_words, timed.most_bytes]
        numbers += list(asdict(timed.counts).values())
    return torch.tensor(numbers, dtype=torch.float64)


def _heard(report: Tensor) -> tuple[Prices, list[Timed]]:
    """A report again."""
    numbers = report.tolist()
    prices, numbers = Prices(*numbers[: len(asdict(Prices()))]), numbers[len(asdict(Prices())) :]
    length = 4 + len(asdict(Counts()))
    runs = [numbers[begin : begin + length] for begin in range(0, len(numbers), length)]
    return prices, [
        Timed(one[0], Counts(*map(int, one[4:8]), *one[8:]), int(one[1]), int(one[2]), int(one[3])) for one in runs
    ]


def _gathered(report: Tensor, party: Party) -> Talk[list[Tensor]]:
    """All reports, on rank 0."""
    if party.rank:
        yield from give(0, "report", report)
        return []
    reports = [report]
    for rank in range(1, party.size):
        reports.append((yield from take(rank, "report")))
    return reports


def result(settings: Settings, shape: Shape, reports: list[Tensor]) -> dict[str, Any]:
    """The JSON: what passed, what it took, and what the formula says.

    Raises:
        RuntimeError: not as many operations or words as are stated.
    """
    heard = [_heard(report) for report in reports]
    prices = Prices.slowest([prices for prices, _ in heard])
    words = [require_words(shape, [runs[number] for _, runs in heard]) for number in (0, 1)]
    first = heard[0][1]
    return {
        "load": {
            "word_seconds": settings.word_seconds,
            "meaning": "the external memory sleeps so long a word: it is slower than this machine's",
        },
        "block_rows": shape.side,
        "local_bytes": settings.local_bytes,
        "most_local_bytes": max(timed.most_bytes for _, runs in heard for timed in runs),
        "external_bytes": byte_count(shape),
        "words": words[0],
        "prices": prices.as_json(),
        **predictions(shape, prices),
        "streamed": _as_json(first[0]),
        "unoverlapped": _as_json(first[1]),
    }


def _as_json(timed: Timed) -> dict[str, Any]:
    """Of rank 0, with which all began and ended."""
    return {
        "measured_seconds": timed.seconds,
        "working_seconds": timed.counts.working_seconds,
        "waiting_seconds": timed.counts.waiting_seconds,
        "hyperstep_count": timed.counts.hypersteps,
    }


def line(found: dict[str, Any]) -> str:
    """The result in a line."""
    streamed, alone = found["streamed"]["measured_seconds"], found["unoverlapped"]["measured_seconds"]
    predicted = found["streamed_seconds"]
    slowed = " of slowed memory" if found["load"]["word_seconds"] else ""
    return (
        f"the product is right, {found['words']['external_count']} external words{slowed} and "
        f"{found['words']['sent_count']} sent ones as stated; {streamed:.3g} s, predicted {predicted:.3g} s, bound by "
        f"{found['bound_by']}; without overlap {alone:.3g} s, predicted {found['unoverlapped_seconds']:.3g} s"
    )


SYSTEM = System(
    summary="a matrix product in little memory, blocks of which are streamed while others are multiplied",
    settings=Settings,
    run=run,
    line=line,
    step_count=lambda _settings: 2,
)
"""The program."""

if __name__ == "__main__":
    main("streaming", SYSTEM)
