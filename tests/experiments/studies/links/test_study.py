"""The study of links measures what it says on every road, keeps what it has, and leaves itself out without root."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.averaging.header import HEADER_BYTES
from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.hosts import Traffic, absence
from sparsync.experiments.studies.links import study
from sparsync.experiments.studies.links.cells import RATES, SIZES, Cell, Method, Sizes, all_methods, batches, cells
from sparsync.experiments.studies.links.model import judged
from sparsync.experiments.studies.links.rank import measure, read_cells, written_cells
from sparsync.experiments.studies.links.study import case_count, cell_line, cell_name, cell_record, run_cells, run_links
from sparsync.experiments.studies.links.trainees import PHASES
from sparsync.experiments.studies.profiles import PROFILES
from sparsync.kernels.codec_values import VALUE_CODES
from sparsync.verify.tools.pool import Pool
from tests.support.workers import run_workers

FNN3 = 199_210
TOP_K, LOCAL = Method("loop", "top_k", 0.01), Method("local", "chunked_top_k", 0.02, values="int8", inner_steps=10)
MEASURED = {
    "dense loop": Method("loop", collective="dense"),
    "sparse loop": TOP_K,
    "coded loop": replace(TOP_K, values="int8"),
    "dense hook": Method("hook", exchange="dense"),
    "bfloat16 hook": Method("hook", exchange="dense_bfloat16"),
    "powersgd": Method("hook", exchange="powersgd", density=0.01),
    "feedback hook": Method("hook", "top_k", 0.01, values="int8"),
    "local": LOCAL,
}
STEPS = 3


def measured() -> dict[str, dict[str, Any]]:
    """Every method on this rank, at an interface that counts how often it was asked."""
    asked: Iterator[int] = iter(range(100))
    cell = Cell("fnn3", TOP_K, 100.0, host_count=2, steps=STEPS, bucket_mib=0.05)
    return {
        name: measure(replace(cell, method=method), lambda: Traffic(*[30 * next(asked)] * 4))
        for name, method in MEASURED.items()
    }


def test_every_road_says_how_long_its_parts_take_and_how_much_it_sends() -> None:
    for found in run_workers(measured, 2):
        for name, result in found.items():
            assert set(result["seconds"]) == {"step", *PHASES}, name
            assert all(len(seconds) == STEPS for seconds in result["seconds"].values())
            assert result["parameter_count"] == FNN3
            assert result["interface"] == dict.fromkeys(Traffic._fields, 10.0)
            assert min(result["seconds"]["compute"]) > 0
            assert bool(result["spans"]) == (MEASURED[name].road == "hook")
            parts = zip(*(result["seconds"][phase] for phase in PHASES[:4]), strict=True)
            # A hook's parts may overlap, and one of them is of another step.
            if MEASURED[name].road != "hook":
                assert list(map(sum, parts)) == pytest.approx(result["seconds"]["step"])
        # Of two ranks each sends all that it hands to an all-gather or an all-reduce; what is agreed on by
        # three numbers in a header is not handed over by anybody.
        counted = {
            name: (each["handed_bytes"], each["sent_bytes"], each["message_count"]) for name, each in found.items()
        }
        assert counted["dense loop"] == (
            ENVELOPE_BYTES + 4 * FNN3,
            ENVELOPE_BYTES + 4 * FNN3 + HEADER_BYTES,
            2 + 2 + 1,
        )
        assert counted["sparse loop"] == (
            ENVELOPE_BYTES + 8 * 1992,
            ENVELOPE_BYTES + 8 * 1992 + HEADER_BYTES,
            2 + 1 + 1,
        )
        handed, sent, messages = counted["coded loop"]
        assert (sent - handed, messages) == (HEADER_BYTES, 2 + 1 + 1)
        # A byte for each value, and positions of about eight bits.
        assert 1992 < handed < 3 * 1992
        buckets = found["dense hook"]["bucket_count"]
        assert buckets == 2
        assert counted["dense hook"] == (4 * FNN3, 4 * FNN3, 2 * buckets)
        assert counted["bfloat16 hook"] == (2 * FNN3, 2 * FNN3, 2 * buckets)
        # P and Q of rank r for matrices of 200 × 784, 200 × 200 and 10 × 200, and 410 biases; r = 2 sends no more than
        # Top-k of density 0.01.
        assert counted["powersgd"] == (4 * (2 * (984 + 400 + 210) + 410),) * 2 + (
            6 * found["powersgd"]["bucket_count"],
        )
        handed, sent, messages = counted["feedback hook"]
        assert handed == sent < 0.02 * 4 * FNN3
        assert messages == buckets
        handed, sent, messages = counted["local"]
        # A tenth of three gathers: headers, and int8 values and positions of about six bits for each of 3,984 entries.
        assert messages == pytest.approx(3 / 10)
        assert handed == pytest.approx(sent)
        assert 3984 < 10 * handed < 3 * 3984


def test_all_ways_of_sending_are_in_the_study_under_names_of_their_own() -> None:
    methods = all_methods()
    assert len({method.name for method in methods}) == len(methods)
    loops = {method.collective for method in methods if (method.road, method.selector) == ("loop", "gaussian_k")}
    assert loops == set(COLLECTIVES)
    codes = {method.values for method in methods if (method.road, method.selector) == ("hook", "gaussian_k")}
    assert codes == set(VALUE_CODES)
    codes = {method.values for method in methods if (method.road, method.selector) == ("loop", "gaussian_k")}
    assert codes == {"exact", "bf16", "int8", "int2"}
    assert {method.exchange for method in methods} == {"error_feedback", "dense", "dense_bfloat16", "powersgd"}
    assert {method.values for method in methods if method.road == "local"} == {"exact", "int8", "int2"}
    assert {method.road for method in methods if method.feedback == "dgc"} == {"loop", "hook"}
    for sizes in SIZES.values():
        names = [cell_name(cell) for cell in cells(sizes)]
        assert len(set(names)) == len(names) == len(sizes.models) * len(sizes.rates) * len(sizes.methods)
        together = batches(sizes)
        turns = [cell for batch in together for cell in batch]
        for index in range(sizes.rounds):
            of_round = [replace(cell, round_index=0) for cell in turns if cell.round_index == index]
            assert sorted(of_round, key=cell_name) == sorted(cells(sizes), key=cell_name)
        assert len(turns) == sizes.rounds * len(names)
        assert all(
            len({(cell.model, cell.mbit_per_second, cell.host_count) for cell in batch}) == 1 for batch in together
        )
    assert {cell.mbit_per_second for cell in cells(SIZES["record"])} == set(RATES)


@pytest.mark.parametrize("method", MEASURED.values(), ids=MEASURED)
def test_a_rank_is_told_the_whole_cell(method: Method) -> None:
    cell = Cell("gpt", method, 10.0, host_count=3, warm_up_steps=7, steps=9, bucket_mib=0.5)
    assert read_cells(written_cells([cell, replace(cell, steps=1)])) == [cell, replace(cell, steps=1)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "fnn9"}, "unknown model 'fnn9'; known: fnn3, resnet20, gpt"),
        ({"host_count": 1}, "host_count must be at least 2, got 1"),
        ({"warm_up_steps": 3}, "warm_up_steps must be at least 4, got 3"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Cell("fnn3", TOP_K, 10.0), **fields)


def rank_result(rank: int, steps: list[float]) -> dict[str, Any]:
    return {
        "rank": rank,
        "parameter_count": 5,
        "bucket_count": 2,
        "spans": [["forward", "", 0.0, 1.0]] if rank == 0 else [],
        "seconds": {"step": steps, **{phase: [0.25 * second for second in steps] for phase in PHASES}},
        "handed_bytes": 10.0,
        "sent_bytes": 20.0 + 2 * rank,
        "message_count": 6.0,
        "interface": {"sent_bytes": 300.0 + rank, "sent_packets": 3.0, "received_bytes": 0.0, "received_packets": 0.0},
    }


def test_a_record_has_medians_of_steps_and_bytes_of_a_step() -> None:
    ranks = [rank_result(0, [1.0, 2.0, 9.0]), rank_result(1, [3.0, 4.0, 8.0])]
    record = cell_record(Cell("fnn3", TOP_K, 10.0), ranks)
    assert record["step_seconds"] == [2.0, 4.0]
    assert record["spans"] == [["forward", "", 0.0, 1.0]]
    assert record["slowest_seconds"] == 4.0
    assert record["phase_seconds"] == dict.fromkeys(PHASES, 0.75)
    assert (record["handed_bytes"], record["sent_bytes"], record["message_count"]) == (10.0, 21.0, 6.0)
    assert record["interface_bytes"] == 300.5
    # Three packets, each with 66 bytes of headers.
    assert record["carried_bytes"] == 300.5 - 3 * 66
    assert record["name"] == "fnn3, loop top_k 0.01, sparse, 10 Mbit/s"
    assert "4000.0 ms a step, computing 750.0, selecting 750.0" in cell_line(record)
    found = study.point(record)
    assert (found.step_seconds, found.compute_seconds, found.sent_bytes, found.bucket_count) == (4.0, 0.75, 21.0, 2)
    local = cell_record(Cell("fnn3", LOCAL, 10.0), ranks)
    # Each goes on by itself: of medians of 2 and 4.
    assert (local["slowest_seconds"], study.point(local).road) == (3.0, "local")
    apart = [rank_result(0, [1.0, 9.0, 1.0]), rank_result(1, [9.0, 1.0, 1.0])]
    by_road = [cell_record(Cell("fnn3", method, 10.0), apart)["slowest_seconds"] for method in (TOP_K, LOCAL)]
    assert by_road == [9.0, 1.0]
    # Measured with an exchange in every step, of which ten have one.
    assert local["interface_bytes"] == pytest.approx(30.05)
    json.dumps(local, allow_nan=False)


def test_over_rounds_times_are_medians_and_bytes_means() -> None:
    rounds = [
        {**cell_record(Cell("fnn3", TOP_K, 10.0, round_index=place), [rank_result(rank, [time]) for rank in range(2)])}
        for place, time in enumerate((4.0, 1.0, 2.0))
    ]
    rounds[1] |= {"carried_bytes": rounds[0]["carried_bytes"] + 30.0, "computed_on": "another"}
    found = study.over_rounds(rounds)
    assert (found["slowest_seconds"], found["round_seconds"], found["step_seconds"]) == (
        2.0,
        [4.0, 1.0, 2.0],
        [2.0] * 2,
    )
    assert found["phase_seconds"] == dict.fromkeys(PHASES, 0.5)
    assert found["carried_bytes"] == pytest.approx(rounds[0]["carried_bytes"] + 10.0)
    assert found["spans"] == rounds[0]["spans"]
    assert len(found["computed_on"]) == 2
    assert "round_index" not in found


def stubbed(batch: tuple[Cell, ...]) -> list[dict[str, Any]]:
    """Cells on hosts whose steps take as long as they should; one method fails at 100 Mbit/s in the second round."""
    if any(cell.method.road == "local" and cell.mbit_per_second == 100.0 and cell.round_index for cell in batch):
        raise RuntimeError("no such luck")
    seconds = [(1 + cell.round_index) * (0.01 + 8e-6 / cell.mbit_per_second * 22) for cell in batch]
    return [
        cell_record(cell, [rank_result(rank, [time] * cell.steps) for rank in range(2)])
        for cell, time in zip(batch, seconds, strict=True)
    ]


@pytest.fixture
def _stubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = (*all_methods()[:12], LOCAL)
    monkeypatch.setitem(SIZES, "smoke", Sizes(("fnn3",), (10.0, 100.0), methods, steps=2, rounds=2))
    monkeypatch.setattr(study, "run_cells", stubbed)
    monkeypatch.setattr(study, "absence", str)


@pytest.mark.usefixtures("_stubbed")
def test_cells_that_fail_are_named_and_cost_no_others() -> None:
    advanced: list[None] = []
    found = run_links("smoke", Pool(advance=lambda: advanced.append(None)))
    assert len(advanced) == case_count("smoke") == 4
    (failure,) = found["failed"]
    lost = {*failure["cells"]}
    assert "fnn3, local chunked_top_k 0.02, int8, every 10, 100 Mbit/s" in lost
    assert failure["error"] == "RuntimeError: no such luck"
    # What is not measured in each round is not there.
    assert len(lost) == 13
    assert len(found["cells"]) == 26 - len(lost)
    assert not lost & {cell["name"] for cell in found["cells"]}
    for cell in found["cells"]:
        assert cell["round_seconds"][1] == 2 * cell["round_seconds"][0]
    assert found["model"] is not None
    assert len(found["model"]["errors"]) == (26 - len(lost)) // 2


@pytest.mark.usefixtures("_stubbed")
def test_the_command_writes_what_it_has_and_says_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        study.main(["--profile", "smoke", "--output", str(tmp_path / "links.json")])
    said = capsys.readouterr()
    written = json.loads((tmp_path / "links.json").read_text(encoding="utf-8"))["cells"]
    assert len(said.out.splitlines()) == len(written) > 12
    assert "no such luck" in said.err


def test_without_root_the_study_leaves_itself_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda tool: f"/usr/sbin/{tool}")
    study.main(["--profile", "smoke", "--output", str(tmp_path / "links.json")])
    assert capsys.readouterr().err == "slow links need root; left out\n"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="slow links need root"):
        run_links("smoke")


def test_a_model_is_fitted_anew_to_cells_of_an_earlier_result(tmp_path: Path) -> None:
    shapes = [{"fast": 0.1, "slow": 0.3}[name] for name in ("fast", "slow")] * 4
    cells = [
        {
            "name": f"cell {place}",
            "mbit_per_second": 10.0,
            "phase_seconds": {"compute": seconds, "select": 0.0},
            "message_count": 6.0,
            "sent_bytes": 1e4 * place,
            "slowest_seconds": seconds + 0.02 + 0.01 * place,
            "bucket_count": 1,
            "method": {"road": "loop"},
        }
        for place, seconds in enumerate(shapes)
    ]
    earlier = {"profile": "record", "cells": cells, "model": {"of": "another code"}, "provenance": {"of": "then"}}
    (tmp_path / "links.json").write_text(json.dumps(earlier))
    study.main(["--refit", str(tmp_path / "links.json"), "--output", str(tmp_path / "again.json")])
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["model"] == judged([study.point(cell) for cell in cells])
    assert {**again, "model": 0} == {**earlier, "model": 0}


@pytest.mark.parametrize("text", ["", "{}", '{"cells": [{}]}', "[]"])
def test_what_holds_no_cells_is_not_fitted_to(text: str, tmp_path: Path) -> None:
    (tmp_path / "links.json").write_text(text)
    with pytest.raises(ValueError, match=r"links\.json is no result of this study"):
        study.refitted(tmp_path / "links.json")


def test_a_profile_without_the_study_is_refused() -> None:
    assert [name for name in PROFILES if not case_count(name)] == ["full"]
    with pytest.raises(ValueError, match="profile 'full' leaves this study out"):
        run_links("full")


@pytest.mark.slow
@pytest.mark.skipif(bool(absence()), reason=absence())
def test_over_a_real_link_bytes_are_those_that_are_counted_and_take_their_time() -> None:
    cell = Cell("fnn3", Method("loop", collective="dense"), 100.0, steps=5)
    record, sparse = run_cells([cell, replace(cell, method=TOP_K)])
    assert sparse["interface_bytes"] < 0.1 * record["interface_bytes"]
    # What is not of the mean itself: acknowledgements, and what gloo writes before each message.
    assert record["sent_bytes"] < record["carried_bytes"] < 1.05 * record["sent_bytes"]
    # All but what the buckets let through at once, at 100 Mbit/s.
    assert min(record["step_seconds"]) > 0.95 * 8 * record["sent_bytes"] / 100e6
