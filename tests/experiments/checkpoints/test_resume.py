"""A run that goes on has the bits of one that never stopped; with other workers, its mean owes as much."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.checkpoints.folder import Checkpoint, Folder
from sparsync.experiments.checkpoints.keeper import Keeping, open_keeper
from sparsync.experiments.checkpoints.snapshot import restore, tensors
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.loop import Training, TrainingResult, new_training
from sparsync.experiments.training.low_rank import LowRankAverager
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.worker import step
from sparsync.kernels.selection import SELECTORS
from tests.support.slow_cases import slow_except

RUN = Run(
    evaluate_every=4,
    test_limit=64,
    selector="top_k",
    model="fnn2",
    density=0.01,
    step_location="outside",
    momentum=0.9,
    steps=9,
)
RUNS = (
    {f"selector {name}": replace(RUN, selector=name) for name in (*SELECTORS, *ADAPTIVE_SELECTORS)}
    | {f"feedback {name}": replace(RUN, feedback=name, momentum=0.0) for name in FEEDBACKS}
    | {f"collective {name}": replace(RUN, collective=name, node_size=2) for name in COLLECTIVES}
    | {
        "adamw": replace(RUN, optimiser="adamw", weight_decay=0.1),
        "inside": replace(RUN, step_location="inside", step_size_end=0.5),
        "warm-up": replace(RUN, density_warmup=(0.5, 0.1), step_size_warmup_epochs=2),
        "reference": replace(RUN, kernel="reference"),
        "code": replace(RUN, values="int2"),
        "statistics": replace(RUN, model="resnet20", steps=6, batch_size=2, test_limit=4),
    }
)


ALIKE = {f"selector {name}" for name in SELECTORS if name not in ("top_k", "gaussian_k", "random_k")}
"""Selectors that remember nothing and draw nothing, as the first two."""


class Stop(Exception):  # noqa: N818 - nothing errs
    """The process ends here."""


def trained(run: Run, keeping: Keeping, *, stop_after: int | None = None) -> TrainingResult:
    """Simulated; it ends after so many updates as a killed process would."""

    def stop(step_count: int, _: object) -> None:
        if step_count == stop_after:
            raise Stop

    with open_keeper(keeping) as keeper:
        return simulate(run, load_dataset("embedded"), stop, keeper=keeper)


@pytest.mark.parametrize("name", slow_except(set(RUNS) - ALIKE, RUNS))
def test_stopped_and_gone_on_with_is_never_stopped(name: str, tmp_path: Path) -> None:
    run = replace(RUNS[name], workers=2)
    whole = simulate(run)
    # After five steps of nine a selector that reviews every five calls has changed.
    keeping, at = Keeping(tmp_path / "kept", every=2, resume=True), 2 * run.steps // 3
    with pytest.raises(Stop):
        trained(run, keeping, stop_after=at)
    resumed = trained(run, keeping)
    assert resumed.parameters_sha256 == whole.parameters_sha256
    assert resumed.steps == whole.steps
    assert resumed.evaluations == whole.evaluations
    # It ended in its last update, before that was kept.
    assert [attempt.first_step for attempt in resumed.attempts] == [0, (at - 1) // 2 * 2]
    assert resumed.lost_steps == (at - 1) % 2


@pytest.mark.parametrize("worker_count", [2, 3])
def test_what_low_rank_has_not_sent_is_kept_for_any_number_of_workers(worker_count: int, tmp_path: Path) -> None:
    run = Run(selector="keep_all", model="deep0", steps=4, evaluate_every=4, test_limit=16, workers=2)
    shapes = [(10, 784), (10,)]

    def averager() -> LowRankAverager:
        return LowRankAverager(shapes, rank=1, generator=torch.Generator().manual_seed(1))

    first, keeping = averager(), Keeping(tmp_path / "kept", every=2, resume=True)

    def stop(step_count: int, _: object) -> None:
        if step_count == 3:
            raise Stop

    with pytest.raises(Stop), open_keeper(keeping) as keeper:
        simulate(replace(run, steps=4), load_dataset("embedded"), stop, keeper=keeper, averager=first)
    kept, (newest, *_) = averager(), Folder(keeping.folder, 1).checkpoints()
    saved = newest.read(["averager/residual"])["averager/residual"]
    assert saved.any()
    new = begun(run, worker_count)
    new.averager = kept
    restore(new, newest)
    assert torch.equal(kept.residual, saved)


def begun(run: Run, worker_count: int) -> Training:
    averager, ranks = LocalAverager(run.collective, node_size=run.node_size), range(worker_count)
    return new_training(run, load_dataset("embedded"), worker_count=worker_count, local_ranks=ranks, averager=averager)


def pending(training: Training) -> list[Fraction]:
    """The mean of what all workers owe, exactly, at every coordinate."""
    vectors = [worker.feedback.pending(worker.memory).tolist() for worker in training.workers]
    return [sum(map(Fraction, entries), Fraction()) / len(vectors) for entries in zip(*vectors, strict=True)]


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("counts", slow_except({(3, 2)}, [(3, 2), (4, 1), (1, 3), (2, 4)]))
def test_other_workers_go_on_where_the_old_ones_were(feedback: str, counts: tuple[int, int], tmp_path: Path) -> None:
    before, after = counts
    run = replace(RUNS[f"feedback {feedback}"], steps=4, model="deep0")
    old, new = begun(run, before), begun(run, after)
    for index in range(run.steps):
        old.steps.append(step(index, old.replica, old.workers, old.averager)[0])
    folder = Folder(tmp_path, 1)
    saved = tensors(old)
    folder.begin(4)
    folder.write(4, saved, Processes())
    folder.finish(4, {})
    restore(new, Checkpoint(tmp_path / "step-00000004", 4))
    assert torch.equal(new.replica.model.parameters, old.replica.model.parameters)
    for owed, owes in zip(pending(old), pending(new), strict=True):
        # The first worker's share is rounded once, to 24 bits, and counts for one of all; it is the mean with what the
        # roundings of the others' took, each at most a 2^24th of it. Sums of the old ones are in float64.
        first = abs(owed) * (1 + after * Fraction(2) ** -24)
        assert abs(owes - owed) <= first * Fraction(2) ** -24 / after + abs(owed) * Fraction(2) ** -48
    taken = 4 * before * run.batch_size
    assert new.replica.schedule.position(4).taken == taken


@given(
    sizes=st.lists(st.integers(1, 4), min_size=2, max_size=4), gaps=st.lists(st.integers(0, 9), min_size=4, max_size=4)
)
def test_every_example_of_an_epoch_is_seen_once_whatever_the_number_of_workers(
    sizes: list[int], gaps: list[int]
) -> None:
    """But for the last ones, too few for a step."""
    schedule, step, seen = BatchSchedule(40, worker_count=sizes[0], batch_size=2, seed=5), 0, []
    for size, gap in zip(sizes, gaps, strict=False):
        schedule = schedule.resumed(step, size)
        for index in range(step, step + gap):
            epoch = schedule.position(index).epoch
            seen += [(epoch, int(example)) for rank in range(size) for example in schedule.batch(index, rank)]
        step += gap
    assert len(set(seen)) == len(seen)
    last = max((epoch for epoch, _ in seen), default=0)
    for epoch in range(last):
        assert sum(each == epoch for each, _ in seen) > 40 - 2 * max(sizes)
