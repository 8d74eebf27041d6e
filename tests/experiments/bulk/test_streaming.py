"""The streamed product as a program: real processes on a grid, words as stated, who is lost, and what is refused."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.bulk import streaming
from sparsync.experiments.bulk.cannon import Processor
from sparsync.experiments.bulk.command import read_arguments
from sparsync.experiments.bulk.streaming import SYSTEM, Settings, make_matrices, require_product
from sparsync.experiments.parties.party import Party
from sparsync.experiments.planners.plan import InfeasibleError
from tests.support.workers import run_program, run_workers

SMALL = Settings(rows=24, outer=2, local_bytes=7 * 36 * 8, word_seconds=0.0)


def ran(settings: Settings) -> dict[str, Any] | None:
    return streaming.run(settings, Party(dist.get_rank(), dist.get_world_size(), timeout_seconds=20))


def test_a_product_on_four_processes_is_right_in_their_memories_and_to_the_word(tmp_path: Path) -> None:
    settings = Settings(**{**vars(SMALL), "folder": tmp_path})
    found, *others = run_workers(partial(ran, settings), 4)
    assert others == [None] * 3
    assert found["words"] == {"operation_count": 2 * 24**3, "sent_count": 2 * 2 * 24**2, "external_count": 5 * 24**2}
    assert found["most_local_bytes"] == found["local_bytes"] == 7 * 36 * 8
    assert found["streamed"]["hyperstep_count"] == found["unoverlapped"]["hyperstep_count"] == 8
    assert min(found[name]["measured_seconds"] for name in ("streamed", "unoverlapped")) > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_product_on_nine_processes_is_right_within_what_rounding_explains() -> None:
    settings = Settings(rows=36, outer=2, word_seconds=0.0, entries="gaussian")
    found, *_ = run_workers(partial(ran, settings), 9)
    assert found["words"]["sent_count"] == 2 * 2 * 2 * 36**2


def test_a_process_alone_streams_too(tmp_path: Path) -> None:
    settings = Settings(rows=12, outer=3, word_seconds=0.0, folder=tmp_path)
    found = streaming.run(settings, Party())
    assert found is not None
    assert found["words"]["sent_count"] == 0
    assert found["prices"]["word_cost"] == 0


def lose_a_processor() -> str:
    """Rank 3 is killed in its second hyperstep."""
    right = Processor._hyperstep

    def dying(self: Processor, *arguments: Any) -> None:
        if dist.get_rank() == 3 and self.counts.hypersteps == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        right(self, *arguments)

    pytest.MonkeyPatch().setattr(Processor, "_hyperstep", dying)
    try:
        ran(SMALL)
    except ExchangeError as error:
        return str(error)
    return "no error"


def test_a_lost_process_ends_the_product_with_where_it_was() -> None:
    said = run_workers(lose_a_processor, 4, killed=[3])
    assert all(f"rank {rank}, outer blocks" in said[rank] for rank in (1, 2))
    assert all("a connection was lost" in said[rank] or "not all ranks came" in said[rank] for rank in (0, 1, 2))


def hide_the_file() -> str:
    """Rank 1 looks for it on another disk."""
    if dist.get_rank() == 1:
        pytest.MonkeyPatch().setattr(Path, "exists", lambda _: False)
    try:
        ran(SMALL)
    except ValueError as error:
        return str(error)
    return "no error"


def test_a_process_that_does_not_see_the_file_says_so() -> None:
    said = run_workers(hide_the_file, 4)
    assert "rank 1 does not see" in said[1]
    assert "which all processes have to (--folder)" in said[1]
    assert all("was lost" in said[rank] or "not all ranks" in said[rank] for rank in (0, 2, 3))


PROGRAM = """
import sys
sys.argv = ["streaming", *{words}]
from sparsync.experiments.bulk import command, streaming
command.main("streaming", streaming.SYSTEM)
"""


def test_the_command_prints_a_line_and_leaves_a_result(tmp_path: Path) -> None:
    output, program = tmp_path / "result.json", tmp_path / "program.py"
    words = ["--output", str(output), "--rows", "24", "--outer", "2"]
    program.write_text(PROGRAM.format(words=words), encoding="utf-8")
    ended = run_program(program, 4)
    assert ended.returncode == 0, ended.stderr
    assert "streaming: the product is right, 2880 external words of slowed memory and 2304 sent ones" in ended.stdout
    found = json.loads(output.read_text())
    assert found["load"]["word_seconds"] == found["settings"]["word_seconds"] == 1e-6
    assert found["provenance"]["process_count"] == 4


def test_blocks_that_do_not_fit_end_the_command_with_their_bytes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    words = ["--output", str(tmp_path / "result.json"), "--rows", "24", "--outer", "2", "--local-bytes", "2000"]
    program.write_text(PROGRAM.format(words=words), encoding="utf-8")
    ended = run_program(program, 4)
    assert ended.returncode == 2
    assert "7 blocks of 6 rows take 2016 bytes, the local memory has 2000; 3 outer blocks a side would" in ended.stderr
    assert not (tmp_path / "result.json").exists()


def test_processes_that_make_no_square_are_refused() -> None:
    with pytest.raises(ValueError, match="the processes of a square grid are 1, 4, 9, …, there are 3"):
        streaming.run(SMALL, Party(0, 3))


def test_memories_that_are_too_small_are_refused_before_anything_begins() -> None:
    with pytest.raises(InfeasibleError, match="take 2016 bytes, the local memory has 2015"):
        streaming.run(Settings(**{**vars(SMALL), "local_bytes": 2015}), Party(0, 4))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rows", "0"], "rows must be at least 1, got 0"),
        (["--outer", "0"], "outer must be at least 1, got 0"),
        (["--word-seconds", "inf"], "word_seconds must be at least 0 and finite, got inf"),
        (["--folder", "nowhere"], "folder must name one, got nowhere"),
        (["--join-seconds", "-1"], "join_seconds must be positive"),
    ],
)
def test_bad_words_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        read_arguments("streaming", SYSTEM, ["--output", str(tmp_path / "result.json"), *words])


def gaussian() -> tuple[Tensor, Tensor, Tensor]:
    left, right = make_matrices(Settings(rows=24, entries="gaussian"))
    return left @ right, left, right


def test_rounding_explains_another_order_of_a_sum_and_no_more() -> None:
    product, left, right = gaussian()
    backwards = left.flip(1) @ right.flip(0)
    assert not torch.equal(product, backwards)
    require_product(backwards, left, right, entries="gaussian")
    off = product.clone()
    # More than 2γ|A||B|, which is below 2 · 25 · 2^−53 times it.
    off[3, 5] += 50 * 2.0**-53 * float((left.abs() @ right.abs())[3, 5])
    with pytest.raises(FloatingPointError, match=r"entry \(3, 5\)"):
        require_product(off, left, right, entries="gaussian")


@pytest.mark.parametrize("value", [1.0, float("nan")])
def test_a_product_of_integers_that_is_off_by_anything_is_refused(value: float) -> None:
    left, right = make_matrices(Settings(rows=24))
    assert torch.equal(left, left.round())
    product = left @ right
    require_product(product, left, right, entries="integers")
    product[0, 1] += value
    with pytest.raises(FloatingPointError, match=r"entry \(0, 1\)"):
        require_product(product, left, right, entries="integers")


def test_a_full_disk_is_an_error_before_anything_is_mapped() -> None:
    with Path("/dev/full").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        streaming._reserve(file, 8)


def test_a_file_is_as_long_as_it_has_to_be(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        streaming._reserve(file, 3 * 2**20 + 5)
        assert (tmp_path / "file").stat().st_size == 3 * 2**20 + 5
