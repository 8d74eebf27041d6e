"""Documents of different vocabularies: gradients are derivatives, and touch the rows of their own words alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sparsync.experiments.engine.vocabularies import Vocabularies
from sparsync.experiments.racing.contest import VOCABULARIES, Race, run_contestant
from sparsync.experiments.training.seeding import random_stream

SMALL: dict[str, Any] = {"words_per_block": 4, "class_count": 3, "batch_size": 5, "seed": 1}


@pytest.mark.parametrize("batch", [1.0, 2.0])
def test_a_gradient_is_the_derivative_of_its_loss(batch: float) -> None:
    problem, width = Vocabularies(3, **SMALL), 2.0**-12
    model = torch.randn(problem.initial.shape, dtype=torch.float64, generator=random_stream(0, "model"))
    gradient = problem.loss_and_gradient(1, 4, model, batch)[1]
    for place in range(len(model)):
        ahead, behind = model.clone(), model.clone()
        ahead[place] += width
        behind[place] -= width
        difference = (
            problem.loss_and_gradient(1, 4, ahead, batch)[0] - problem.loss_and_gradient(1, 4, behind, batch)[0]
        )
        # Central differences err by width²/6 times a third derivative, below √length of them.
        assert abs(difference / (2 * width) - float(gradient[place])) < width**2 * 12**1.5


@pytest.mark.parametrize("worker_count", [1, 2, 5])
def test_a_gradient_is_of_the_blocks_of_its_worker_and_hangs_on_no_others(worker_count: int) -> None:
    problem = Vocabularies(worker_count, **SMALL)
    assert len(problem.block_sizes) == worker_count
    assert sum(problem.block_sizes) == len(problem.initial)
    for worker, blocks in enumerate(problem.reads):
        assert len(blocks) == min(2, worker_count)
        elsewhere = problem.initial.view(worker_count, -1).clone()
        elsewhere[[block for block in range(worker_count) if block not in blocks]] = 5.0
        loss, gradient = problem.loss_and_gradient(worker, 3, problem.initial, 4.0)
        assert problem.loss_and_gradient(worker, 3, elsewhere.flatten(), 4.0)[0] == loss
        touched = gradient.view(worker_count, -1).abs().sum(dim=1).nonzero().flatten().tolist()
        assert tuple(touched) == blocks == problem.writes[worker]


def test_every_block_is_read_by_two() -> None:
    read = [block for blocks in Vocabularies(5, **SMALL).reads for block in blocks]
    assert sorted(read) == sorted([*range(5), *range(5)])


def test_draws_hang_on_worker_and_step_and_the_batch_is_as_large_as_asked() -> None:
    problem = Vocabularies(3, **SMALL)
    first = problem.loss_and_gradient(1, 0, problem.initial, 1.0)[1]
    assert torch.equal(Vocabularies(3, **SMALL).loss_and_gradient(1, 0, problem.initial, 1.0)[1], first)
    others = [problem.loss_and_gradient(1, step, problem.initial, batch)[1] for step, batch in ((1, 1.0), (0, 3.0))]
    assert not any(torch.equal(other, first) for other in others)


@pytest.mark.parametrize("name", ["worker_count", "words_per_block", "batch_size", "class_count"])
def test_counts_are_at_least_one_and_classes_two(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be at least [12], got 0$"):
        Vocabularies(**{"worker_count": 2, **SMALL, name: 0})


def test_barriers_of_blocks_give_the_model_of_one_barrier_and_more_of_it_in_the_same_time() -> None:
    race = Race(workers=6, cluster="exponential", seconds=60.0, data=VOCABULARIES, step_size=4.0, points=4)
    blocks = Vocabularies(6).reads
    bsp, database = (
        run_contestant(race, name, parameters)
        for name, parameters in (("bsp", {}), ("parameter_database", {"reads": blocks, "writes": blocks}))
    )
    assert database.points[-1].step_count > bsp.points[-1].step_count
    assert database.report.waiting_share < bsp.report.waiting_share
    assert bsp.points[0].quality < 0.3 < bsp.points[-1].quality < 1
    # Of blocks without words of others the bytes are not sent.
    assert database.points[-1].sent_bytes / database.points[-1].step_count == pytest.approx(
        bsp.points[-1].sent_bytes / bsp.points[-1].step_count / 3
    )
