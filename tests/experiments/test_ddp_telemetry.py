"""Telemetry says what the hook did: readings are what the residuals show, phases add up, and nothing changes by it."""

from __future__ import annotations

import io
import json
import sys
import types
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from torch import Tensor

from sparsync.experiments.ddp import ErrorFeedbackState
from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.feedbacks.feedback import Feedback, Memory
from sparsync.experiments.feedbacks.registry import FEEDBACKS, new_feedback
from sparsync.experiments.hooks import telemetry as module
from sparsync.experiments.hooks.residuals import copied
from sparsync.experiments.hooks.sinks import JsonLines, LiveLine, TensorBoard
from sparsync.experiments.hooks.telemetry import Reading, break_even_mbit_per_second, telemetry
from sparsync.experiments.hooks.watching import PHASES, Content, Watch, WatchedStep
from sparsync.kernels.payload import SparsePayload
from tests.support.hooks.training import Recorder, hooked, loss_of, seeded_model
from tests.support.workers import run_workers

STEPS = 7
SPARSE = ("first.weight", "branch.weight", "last.weight")
NO_REMAINDER = [{"feedback": "econtrol"}]
"""Options with which no u − C(u) is remembered."""


def readings_and_truth(unused_at: tuple[int, ...] = (), **options: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Of each step: the reading, and what gradients and residuals show; every entry's age is followed."""
    module.SAMPLE_STRIDE = 1
    readings: list[Reading] = []
    watch = telemetry([readings.append], every=1)
    recorder = Recorder(model := seeded_model(), density=0.1, telemetry=watch, **options)
    ddp = hooked(model, recorder, find_unused_parameters=True)
    settings = tuple(options.get("feedback_settings", {}).items())
    feedback = new_feedback(options.get("feedback", "ef14"), settings, step_location="outside")
    names = recorder.names() if feedback.is_update else SPARSE
    sent_last = {name: torch.zeros_like(recorder.pending(name)) for name in names}
    truths = []
    for step in range(STEPS):
        ddp.zero_grad()
        before = {name: copied(recorder._residuals.memory(name), feedback) for name in names}
        loss_of(ddp, step, with_branch=step not in unused_at).backward()
        watch.close()
        truths.append(truth(recorder, feedback, before, sent_last, step))
    return [(asdict(reading), truth) for reading, truth in zip(readings, truths, strict=True)]


def truth(
    recorder: Recorder, feedback: Feedback, before: dict[str, Memory], sent_last: dict[str, Tensor], step: int
) -> dict[str, Any]:
    """By the definitions, from whole vectors; what was sent is not pending as if nothing had been."""
    kept = {name: recorder.pending(name) for name in before}
    corrected, sent_count = [], 0
    for name, memory in before.items():
        if not recorder.gradients[name].any():
            # Nobody used it: nothing is created, and nothing sent.
            corrected.append(feedback.pending(memory))
            continue
        corrected.append(feedback.correct(memory, recorder.gradients[name].flatten(), 1.0))
        nothing = SparsePayload(torch.empty(0), torch.empty(0, dtype=torch.int32), len(corrected[-1]))
        feedback.settle(memory, corrected[-1], nothing)
        is_sent = kept[name] != feedback.pending(memory).view_as(kept[name])
        sent_last[name][is_sent] = step
        sent_count += int(is_sent.sum())
    kept_square = sum(float(vector.double().square().sum()) for vector in kept.values())
    square = float(torch.cat(corrected).double().square().sum())
    ages = step - torch.cat([vector.flatten() for vector in sent_last.values()])
    return {
        "step": step,
        "contraction": 1 - kept_square / square if feedback.pends_remainder else None,
        "selected_count": sent_count,
        "residual_norm": kept_square**0.5,
        "mean_age_steps": float(ages.mean(dtype=torch.float64)),
        "oldest_age_steps": int(ages.max()),
    }


CASES: list[dict[str, Any]] = [
    *({}, {"selector": "gaussian_k"}, {"granularity": "model", "selector": "random_k"}),
    {"values": "int8", "granularity": "bucket"},
    *({"unused_at": (2, 5), "values": values} for values in ("exact", "int8")),
    {"feedback": "decayed", "feedback_settings": {"decay": 0.5}},
    *({"feedback": name} for name in FEEDBACKS if name not in ("ef14", "decayed")),
]
OPTIONS = {str(options): options for options in CASES}


def all_readings_and_truths() -> dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]:
    return {name: readings_and_truth(**options) for name, options in OPTIONS.items()}


@cache
def readings_of_ranks() -> list[dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]]:
    return run_workers(all_readings_and_truths, 2)


@pytest.mark.parametrize("name", OPTIONS)
def test_readings_are_what_gradients_and_residuals_show(name: str) -> None:
    for of_rank in readings_of_ranks():
        assert len(of_rank[name]) == STEPS
        for reading, expected in of_rank[name]:
            is_unknown = OPTIONS[name] in NO_REMAINDER
            assert (reading["contraction"] is None) == (expected["contraction"] is None) == is_unknown
            known = {field: value for field, value in expected.items() if value is not None}
            # Sums of some hundred squares in float64, in other orders; e and u are rounded to float32 alike, as is
            # their sum where values are rounded.
            assert {field: reading[field] for field in known} == pytest.approx(known, rel=1e-6)


def watched_and_unwatched() -> dict[str, Any]:
    """The same steps with and without a watch; its marks."""
    steps: list[WatchedStep] = []
    watch = Watch(steps.append)
    ends = []
    for given_watch in (watch, None):
        model = seeded_model()
        state = ErrorFeedbackState(model, density=0.1, telemetry=given_watch)
        ddp = hooked(model, state)
        for step in range(3):
            ddp.zero_grad()
            loss_of(ddp, step).backward()
        parameters = [(name, p.grad) for name, p in model.named_parameters() if p.requires_grad]
        ends.append([part for name, grad in parameters for part in (grad, state.pending(name))])
    watch.close()
    return {
        "is_same": all(torch.equal(mine, theirs) for mine, theirs in zip(*ends, strict=True)),
        "steps": [step.step for step in steps],
        "bucket_counts": [len(step.ready) for step in steps],
        "passages": [
            ([name for name, _, _ in p.marks], sum(p.seconds().values()), p.marks[-1][1] - p.marks[0][1])
            for step in steps
            for p in step.passages
        ],
    }


def test_a_watch_changes_no_bit_and_the_phases_of_an_exchange_leave_no_gap() -> None:
    for found in run_workers(watched_and_unwatched, 2):
        assert found["is_same"]
        assert found["steps"] == [0, 1, 2]
        assert found["bucket_counts"][-1] > 1
        assert len(found["passages"]) == sum(found["bucket_counts"])
        assert any("select" in names for names, _, _ in found["passages"])
        for names, seconds, through_seconds in found["passages"]:
            assert names == ["ready", *(phase for phase in PHASES if phase in names)]
            assert {"prepare", "check", "pack", "communicate", "unpack"} <= set(names)
            # A sum of six differences of times near 10⁶ s, each rounded to 2⁻³³ s.
            assert seconds == pytest.approx(through_seconds, abs=1e-8)


def content(gradient_bytes: int, packed_bytes: int, reduced_bytes: int, rank_count: int) -> Content:
    counts: list[int] = []
    return Content(
        [], counts, [], counts, counts, gradient_bytes, packed_bytes, reduced_bytes, rank_count, Ef14("outside")
    )


SIZES = st.integers(1, 10**9)


@given(st.lists(st.tuples(SIZES, SIZES, st.integers(0, 10**8)), min_size=1), st.integers(2, 64), st.floats(1e-6, 10))
def test_at_break_even_both_ways_take_as_long(
    sizes: list[tuple[int, int, int]], ranks: int, working_seconds: float
) -> None:
    found = break_even_mbit_per_second([content(*three, ranks) for three in sizes], working_seconds)
    share = (ranks - 1) / ranks
    dense = sum(2 * share * gradients for gradients, _, _ in sizes)
    sparse = sum(ranks * share * packed + 2 * share * reduced for _, packed, reduced in sizes)
    if found is None:
        # The two sums are formed in other orders; each rounding is below 2⁻⁵² of them.
        assert sparse >= dense * (1 - 1e-12)
        return
    bytes_per_second = found * 1e6 / 8
    # Rounding of the sums, as above, and of seconds where dense and sparse nearly cancel.
    assert dense / bytes_per_second == pytest.approx(sparse / bytes_per_second + working_seconds, rel=1e-9)


def test_telemetry_at_no_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="every must be at least 1, got 0"):
        telemetry([], every=0)


def test_only_every_so_manieth_step_is_read_and_seconds_are_means_since_the_last() -> None:
    readings: list[Reading] = []
    watch = telemetry([readings.append], every=3)
    for step in range(7):
        watch.ready(step, is_first=True)
        watch.passage(content(100, 10, 0, 2), [0])
    watch.close()
    assert [reading.step for reading in readings] == [0, 3, 6]
    assert all(reading.phase_seconds["prepare"] > 0 for reading in readings)


def test_a_watch_closes_its_sinks_after_the_last_step_only() -> None:
    seen: list[int | str] = []

    class Closing:
        def __call__(self, reading: Reading) -> None:
            seen.append(reading.step)

        def close(self) -> None:
            seen.append("closed")

    without_close = list[Reading]().append
    watch = telemetry([Closing(), without_close], every=1)
    for step in range(2):
        watch.ready(step, is_first=True)
    watch.close()
    assert seen == [0, 1, "closed"]


READING = Reading(
    step=20,
    contraction=0.25,
    selected_count=98,
    target_count=100,
    residual_norm=3.5,
    mean_age_steps=12.5,
    oldest_age_steps=20,
    sent_bytes=800,
    gradient_bytes=40_000,
    phase_seconds=dict.fromkeys(PHASES, 0.001),
    break_even_mbit_per_second=450.0,
)


def test_json_lines_are_appended_and_read_back(tmp_path: Path) -> None:
    for step in (0, 10):
        JsonLines(tmp_path / "hook.jsonl")(replace(READING, step=step))
    lines = (tmp_path / "hook.jsonl").read_text(encoding="utf-8").splitlines()
    assert [Reading(**json.loads(line)) for line in lines] == [replace(READING, step=step) for step in (0, 10)]
    with pytest.raises(FileNotFoundError):
        JsonLines(tmp_path / "absent" / "hook.jsonl")


def test_without_tensorboard_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ValueError, match="pip install tensorboard"):
        TensorBoard(tmp_path)


def test_tensorboard_gets_every_number_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: dict[str, tuple[float, int]] = {}

    class Writer:
        def __init__(self, folder: str) -> None:
            assert folder == str(tmp_path)

        def add_scalar(self, name: str, number: float, step: int) -> None:
            written[name] = (number, step)

        def flush(self) -> None:
            written["flushed"] = (1.0, len(written))

        def close(self) -> None:
            written["closed"] = (1.0, len(written))

    fake = types.ModuleType("torch.utils.tensorboard")
    monkeypatch.setattr(fake, "SummaryWriter", Writer, raising=False)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    sink = TensorBoard(tmp_path)
    sink(replace(READING, contraction=None))
    assert "closed" not in written
    sink.close()
    assert written["hook/residual_norm"] == (3.5, 20)
    assert written["hook/seconds/select"] == (0.001, 20)
    assert "hook/contraction" not in written
    # All fields but the step, the contraction that is not there and the dict of phases; and the six phases.
    assert written["flushed"] == (1.0, len(asdict(READING)) - 3 + len(PHASES))
    assert written["closed"] == (1.0, written["flushed"][1] + 1)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_live_line_shows_the_reading_on_a_terminal_only(is_terminal: bool) -> None:
    shown = io.StringIO()
    live = LiveLine(Console(file=shown, force_terminal=is_terminal, width=200))
    live(READING)
    live.close()
    assert ("count/k 0.98" in shown.getvalue()) is is_terminal
    assert ("2.00% of the bytes" in shown.getvalue()) is is_terminal


def test_a_sink_that_fails_is_left_out_and_the_others_go_on() -> None:
    readings: list[Reading] = []
    asked: list[int] = []

    def full(reading: Reading) -> None:
        asked.append(reading.step)
        raise OSError("no space left")

    watch = telemetry([full, readings.append], every=1)
    watch.ready(0, is_first=True)
    with pytest.warns(UserWarning, match=r"full gets no more readings: OSError\('no space left'\)"):
        watch.ready(1, is_first=True)
    watch.close()
    assert [reading.step for reading in readings] == [0, 1]
    assert asked == [0]
