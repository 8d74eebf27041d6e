"""The study of Top-k over ranks: what it counts is within the statements' bounds, on real ranks as in one process."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.bulk.drawn_vectors import GRADIENT, LAWS, OPPOSED
from sparsync.experiments.bulk.key_orders import ORDERS
from sparsync.experiments.bulk.supersteps import GroupRanks, LocalRanks
from sparsync.experiments.bulk.top_k_comparison import METHODS, OF_SHARDS, Comparison
from sparsync.experiments.studies.planning import global_selection
from sparsync.experiments.studies.planning.global_selection import SIZES, job, on_ranks, run_global_selection
from sparsync.experiments.studies.planning.selection_ranks import (
    COARSE,
    Job,
    bound_bytes,
    job_of,
    measured,
    sort_sizes,
)
from sparsync.experiments.studies.profiles import PROFILES
from tests.support.workers import run_workers

TINY = Job((Comparison(dimension=3000, density=0.01, vectors=("gaussian", "skewed"), repeats=1),), (2000,), 1)


def in_one_process(wanted: Job, rank_count: int) -> dict[str, Any]:
    return measured(wanted, LocalRanks(rank_count))


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return in_one_process(TINY, 3)


def test_bytes_are_within_the_bounds_and_the_exact_ways_find_k(rows: dict[str, Any]) -> None:
    assert [row["method"] for row in rows["selections"]] == [*METHODS] * 2
    for row in rows["selections"]:
        assert row["bound_bytes"] is None or row["sent_bytes"] <= row["bound_bytes"]
        assert (row["bound_bytes"] is None) == (row["method"] not in ("exact", "scattered", "gtop_k"))
        assert row["method"] not in ("exact", "scattered", "own") or row["count"] == row["k"] == 30
        if row["method"] == "gtop_k":
            assert row["sent_bytes"] == row["bound_bytes"]
    assert set(OF_SHARDS) == {*METHODS} - {"scattered", "gtop_k", "gathered"}


def test_no_bucket_exceeds_its_bound_and_the_crowding_order_attains_it(rows: dict[str, Any]) -> None:
    found = {(row["order"], row["oversampling"]): row for row in rows["sorts"]}
    assert set(found) == {(order, rule) for order in ORDERS for rule in (None, COARSE)}
    assert all(row["largest_bucket"] <= row["bound"] for row in found.values())
    assert all(row["superstep_count"] == 4 for row in found.values())
    assert found["crowding", None]["largest_bucket"] == found["crowding", None]["bound"]
    assert found["crowding", COARSE]["largest_bucket"] > 1.4 * found["random", COARSE]["largest_bucket"]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("aim", [2000, 100_000, 10**6])
def test_numbers_of_keys_are_near_the_aim_and_of_the_length_that_a_sort_chooses(ranks: int, aim: int) -> None:
    for rule in (None, COARSE):
        sizes, length = sort_sizes(aim, ranks, rule)
        assert len(sizes) == ranks
        assert 0.8 * aim < sum(sizes) < 1.2 * aim
        assert all(size % length == 0 for size in sizes)


def test_other_numbers_of_rounds_have_no_bound_here() -> None:
    row = {"rank_count": 3, "dimension": 3000, "k": 30, "method": "exact"}
    assert bound_bytes(row, Comparison(rounds=2)) is not None
    assert bound_bytes(row, Comparison(rounds=3)) is None


def on_a_rank() -> dict[str, Any]:
    return measured(TINY, GroupRanks())


def require_alike(real: dict[str, Any], simulated: dict[str, Any]) -> None:
    for part in ("selections", "sorts"):
        for one, other in zip(real[part], simulated[part], strict=True):
            assert {name for name in one if one[name] != other[name]} <= {"seconds"}


def test_real_ranks_count_what_one_process_counts() -> None:
    for real in run_workers(on_a_rank, 2):
        require_alike(real, in_one_process(TINY, 2))


@pytest.mark.slow
def test_ranks_of_torchrun_leave_what_one_process_counts() -> None:
    require_alike(on_ranks(TINY, 2), in_one_process(TINY, 2))


def test_a_job_is_read_as_it_was_written() -> None:
    assert job_of(json.loads(json.dumps(asdict(TINY)))) == TINY


def test_ranks_that_fail_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "no such luck")
    monkeypatch.setattr(global_selection, "run_to_end", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match="2 ranks ended with an error:\nno such luck"):
        on_ranks(TINY, 2)


def test_every_profile_has_its_sizes_and_the_record_has_all_kinds() -> None:
    assert set(SIZES) == set(PROFILES)
    kinds = {kind for comparison in job(SIZES["record"]).comparisons for kind in comparison.vectors}
    assert kinds == {*LAWS, OPPOSED, GRADIENT}
    assert {comparison.density for comparison in job(SIZES["record"]).comparisons} == {0.001, 0.01}


def test_the_command_writes_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted: list[tuple[Job, int]] = []

    def measure(job: Job, rank_count: int) -> dict[str, Any]:
        wanted.append((job, rank_count))
        return {"selections": [{"rank_count": rank_count}], "sorts": []}

    study = run_global_selection("quick", measure=measure)
    assert [count for _, count in wanted] == study["rank_counts"] == [2, 4]
    assert study["selections"] == [{"rank_count": 2}, {"rank_count": 4}]
    assert study["provenance"]["process_count"] == 4
    command = replace(global_selection.STUDY, measure=lambda profile_name, **_: {**study, "profile": profile_name})
    output = tmp_path / "out.json"
    command.main(["--output", str(output), "--profile", "smoke"])
    assert json.loads(output.read_text(encoding="utf-8"))["profile"] == "smoke"
    assert f"2 rows\n→ {output}" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        command.main(["--output", str(tmp_path / "nowhere" / "out.json")])
