"""A run that loses nodes is followed by the clock, and workers that take turns have the bits of those that do not."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from sparsync.experiments.studies.links import elastic, slices
from sparsync.experiments.studies.links.elastic import SIZES, Diary, Nodes, run_elastic
from sparsync.experiments.studies.links.slices import PROCESS_COUNTS, SlicesCommand, run_slices


class Pretended:
    """Nodes whose run is as far as it is told to be."""

    found: tuple[int, int] | None = None

    def reached(self) -> tuple[int, int] | None:
        return self.found


def test_a_diary_notes_what_changes() -> None:
    nodes = Pretended()
    diary = Diary(cast("Nodes", nodes))
    for nodes.found in (None, (2, 0), (2, 0), (2, 5), (1, 4), (1, 4)):
        diary.watch()
    diary.note("a node is killed")
    assert [(step, workers) for _, step, workers in diary.progress] == [(0, 2), (5, 2), (4, 1)]
    assert [time for time, _, _ in diary.progress] == sorted(time for time, _, _ in diary.progress)
    ((time, what),) = diary.events
    assert (time >= diary.progress[-1][0], what) == (True, "a node is killed")


def test_there_is_a_checkpoint_before_anything_happens() -> None:
    for steps, every in SIZES.values():
        assert 1 <= every <= steps // 4


def test_nodes_that_never_come_end_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elastic, "DEADLINE_SECONDS", 0.2)
    (tmp_path / "first.txt").write_text("no such file", encoding="utf-8")
    with ExitStack() as stack, pytest.raises(TimeoutError, match=r"no 2 workers have come to step 3: .*no such file"):
        Nodes(tmp_path, stack, ("-m", "nothing")).wait_for(3, 2)


@pytest.mark.slow
def test_a_lost_rank_a_lost_node_and_new_ones_are_seen() -> None:
    found = run_elastic("smoke")
    assert [what for _, what in found["events"]] == ["a rank is killed", "a node is killed", "two nodes join"]
    assert found["progress"][-1][1] == 1200
    assert {workers for _, _, workers in found["progress"]} == {1, 2, 3}
    assert found["attempts"][-1]["worker_count"] == 3
    # At most those since the last checkpoint, in each of the changes.
    assert found["lost_steps"] <= 60 * (len(found["attempts"]) - 1)
    json.dumps(found, allow_nan=False)


def test_every_number_of_processes_is_timed_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pretended(model: str, method: str, process_count: int, steps: int) -> dict[str, Any]:
        asked.append(process_count)
        return {"wall_seconds": steps / process_count, "parameters_sha256": model + method}

    monkeypatch.setattr(slices, "trained", pretended)
    found = run_slices(SlicesCommand(Path("result.json"), rounds=2, steps=10))
    assert asked == [*PROCESS_COUNTS] * 8
    assert len(found["rows"]) == 12
    for row in found["rows"]:
        assert row["step_seconds"] == [1 / row["process_count"]] * 2


def test_parameters_that_differ_fail_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        slices,
        "trained",
        lambda _model, method, count, _steps: {
            "wall_seconds": 1.0,
            "parameters_sha256": str(count) if method == "top_k" else "",
        },
    )
    with pytest.raises(RuntimeError, match=r"differ between numbers of processes: \[\('fnn3', 'top_k'\)"):
        run_slices(SlicesCommand(Path("result.json"), rounds=1, steps=1))


@pytest.mark.slow
def test_real_workers_take_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slices.main(["--output", str(tmp_path / "slices.json"), "--rounds", "1", "--steps", "3"])
    assert len(capsys.readouterr().out.splitlines()) == 12
    rows = json.loads((tmp_path / "slices.json").read_text(encoding="utf-8"))["rows"]
    assert all(0 < seconds < 60 for row in rows for seconds in row["step_seconds"])


def test_numbers_below_one_are_refused() -> None:
    for name in ("rounds", "steps"):
        with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
            SlicesCommand(Path("result.json"), **{name: 0})
