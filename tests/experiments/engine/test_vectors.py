"""The engine's vectors: nothing is lost between change, message and residual."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import KEEP, PULL, USUAL_PLAN, Plan, Pull
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS, new_selector
from sparsync.kernels.selection import SELECTORS, target_count
from sparsync.verify.monitors.trace import NOTHING
from tests.support.small_vectors import BLOCKS, CURVATURES, DIMENSION, assert_same, in_place, make_vectors


@pytest.mark.parametrize("blocks", [None, (2,), (3, 0), (0, 1, 2, 3)], ids=str)
@pytest.mark.parametrize("selector", [None, *SELECTORS, *ADAPTIVE_SELECTORS])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_message_and_residual_are_change_and_residual_bit_by_bit(
    dtype: torch.dtype, selector: str | None, blocks: tuple[int, ...] | None
) -> None:
    vectors = make_vectors(dtype=dtype, selector=selector, density=0.25)
    places = torch.arange(DIMENSION)
    if blocks is not None:
        places = torch.cat([places.split(DIMENSION // BLOCKS)[block] for block in blocks])
    left_out = torch.ones(DIMENSION, dtype=torch.bool)
    left_out[places] = False
    for message in range(4):
        vectors.step(1, message, USUAL_PLAN)
        change, residual = vectors.workers[1].change.clone(), vectors.workers[1].residual.clone()
        dispatch = vectors.send(1, message, blocks)
        sent, kept = in_place(vectors, message), vectors.workers[1].residual
        # Selectors keep entries whole, so every entry of the sum is either sent or kept.
        assert torch.equal((sent + kept)[places], (change + residual)[places])
        assert not bool(((sent != 0) & (kept != 0)).any())
        assert not bool(sent[left_out].any())
        assert torch.equal(vectors.workers[1].change[left_out], change[left_out])
        assert not bool(vectors.workers[1].change[places].any())
        assert_same(dispatch.mass, vectors.sketch(sent))
        assert_same(dispatch.kept, vectors.sketch(vectors.workers[1].change + kept))
        assert not any(dispatch.lost.sums)
        assert dispatch.kept_norm == pytest.approx(float(kept[places].double().norm()), rel=1e-12)


@pytest.mark.parametrize("blocks", [None, (3, 0)], ids=str)
@pytest.mark.parametrize("selector", [None, "top_k"])
def test_who_spares_the_last_step_sends_what_was_made_before_it(
    selector: str | None, blocks: tuple[int, ...] | None
) -> None:
    vectors = make_vectors(selector=selector, density=0.25, is_on_grid=True)
    here = torch.arange(DIMENSION).split(DIMENSION // BLOCKS)
    places = torch.arange(DIMENSION) if blocks is None else torch.cat([here[block] for block in blocks])
    for message in range(4):
        for step in range(message):
            vectors.step(1, 4 * message + step, USUAL_PLAN)
        before, residual = vectors.workers[1].change.clone(), vectors.workers[1].residual.clone()
        vectors.step(1, 4 * message + 3, USUAL_PLAN)
        after, model = vectors.workers[1].change.clone(), vectors.workers[1].model
        dispatch = vectors.send(1, message, blocks, spares_last_step=True)
        sent, kept = in_place(vectors, message), vectors.workers[1].residual
        assert torch.equal((sent + kept)[places], (before + residual)[places])
        assert torch.equal(vectors.workers[1].change[places], (after - before)[places])
        assert dispatch.kept.sums == vectors.sketch(vectors.workers[1].change, kept).sums
        assert dispatch.change_norm == pytest.approx(float(before[places].norm()), rel=1e-12)
        if selector is None and blocks is None:
            assert torch.equal(vectors.workers[1].model + sent, model)


def test_a_step_can_be_spared_as_long_as_it_was_not_sent() -> None:
    """Sparing twice sends nothing more, and what is sent, mixed or abandoned is no last step any more."""
    vectors = make_vectors(is_on_grid=True)

    def sent_after(begin: Callable[[], object]) -> Tensor:
        for place in range(2):
            vectors.step(0, place, USUAL_PLAN)
        begin()
        before = vectors.workers[0].change.clone()
        number = len(vectors.server._shipments)
        vectors.send(0, number, None, spares_last_step=True)
        sent = in_place(vectors, number)
        assert torch.equal(vectors.workers[0].change, before - sent)
        return sent

    assert bool(sent_after(lambda: None).any())
    vectors.depart(0)
    assert not bool(
        sent_after(lambda: vectors.send(0, len(vectors.server._shipments), None, spares_last_step=True)).any()
    )
    assert bool(vectors.workers[0].change.any())
    for begin in (
        lambda: vectors.send(0, len(vectors.server._shipments), None),
        lambda: vectors.mix((0,), ((1.0,),)),
        lambda: vectors.depart(0),
    ):
        assert not bool(sent_after(begin).any())
        assert not bool(vectors.workers[0].change.any())
        vectors.depart(0)


@pytest.mark.parametrize("selector", [name for name in (*SELECTORS, *ADAPTIVE_SELECTORS) if name != "keep_all"])
def test_whatever_is_selected_pays_for_its_indices(selector: str) -> None:
    vectors = make_vectors(dtype=torch.float32, selector=selector, density=0.25)
    vectors.step(0, 0, USUAL_PLAN)
    size = vectors.send(0, 0, None).sent_bytes
    count = int(in_place(vectors, 0).count_nonzero())
    assert size == min(count * (4 + 4), DIMENSION * 4)


@pytest.mark.parametrize(("selector", "blocks", "size"), [(None, None, 96), (None, (1, 3), 48), ("keep_all", (2,), 24)])
def test_what_is_dense_travels_without_indices(selector: str | None, blocks: tuple[int, ...] | None, size: int) -> None:
    vectors = make_vectors(dtype=torch.float32, selector=selector)
    assert vectors.block_bytes == (24,) * BLOCKS
    assert vectors.send(0, 0, blocks).sent_bytes == size


def sends(vectors: Vectors, message: int, worker: int, blocks: tuple[int, ...] | None) -> tuple[Tensor, list[float]]:
    """A step and a message of a worker: what there was to send of the blocks, and what it sent of them."""
    vectors.step(worker, message, USUAL_PLAN)
    places = torch.arange(DIMENSION).split(DIMENSION // BLOCKS)
    here = torch.arange(DIMENSION) if blocks is None else torch.cat([places[block] for block in blocks])
    corrected = (vectors.workers[worker].change + vectors.workers[worker].residual)[here]
    vectors.send(worker, message, blocks)
    return corrected, in_place(vectors, message)[here].tolist()


@pytest.mark.parametrize("selector", ADAPTIVE_SELECTORS)
def test_every_worker_remembers_for_itself_and_for_each_set_of_blocks(selector: str) -> None:
    vectors = make_vectors(selector=selector, density=0.25)
    cases: list[tuple[int, tuple[int, ...] | None]] = [(0, None), (1, (0, 1)), (1, (3,)), (2, (1, 0))]
    by_hand = {case: new_selector(selector) for case in cases}
    unlike_the_first = 0
    for message in range(160):
        worker, blocks = cases[message % len(cases)]
        corrected, sent = sends(vectors, message, worker, blocks)
        k = target_count(0.25, len(corrected))
        assert sent == by_hand[worker, blocks](corrected, k).dense().tolist()
        unlike_the_first += sent != new_selector(selector)(corrected, k).dense().tolist()
    assert unlike_the_first > 20


@pytest.mark.parametrize("selector", ADAPTIVE_SELECTORS)
def test_who_departs_forgets_what_its_selector_learnt(selector: str) -> None:
    vectors = make_vectors(selector=selector, density=0.25)
    for message in range(16):
        sends(vectors, message, 0, None)
    vectors.depart(0)
    by_hand = new_selector(selector)
    for message in range(16, 48):
        corrected, sent = sends(vectors, message, 0, None)
        assert sent == by_hand(corrected, target_count(0.25, DIMENSION)).dense().tolist()


def test_every_worker_draws_from_a_stream_of_its_own() -> None:
    vectors = make_vectors(selector="random_k", density=0.25)
    places = []
    for worker in range(3):
        _, sent = sends(vectors, worker, worker, None)
        places.append([place for place, value in enumerate(sent) if value])
    assert len({tuple(chosen) for chosen in places}) == 3


def test_a_partial_selection_is_of_the_blocks_that_are_sent() -> None:
    vectors = make_vectors(selector="top_k", density=0.5)
    vectors.step(0, 0, USUAL_PLAN)
    change = vectors.workers[0].change.clone()
    vectors.send(0, 0, (1, 2))
    count = target_count(0.5, DIMENSION // 2)
    part = change[6:18].abs()
    assert in_place(vectors, 0).nonzero().flatten().tolist() == sorted((part.topk(count).indices + 6).tolist())


def test_without_memory_exactly_what_it_says_is_lost() -> None:
    vectors = make_vectors(selector="top_k", density=0.25, feedback="none", is_on_grid=True)
    vectors.step(0, 0, USUAL_PLAN)
    change = vectors.workers[0].change.clone()
    dispatch = vectors.send(0, 0, (0, 2))
    sent = in_place(vectors, 0)
    lost = change - sent
    lost[6:12] = lost[18:] = 0
    assert dispatch.lost == vectors.sketch(lost)
    assert any(dispatch.lost.sums)
    assert not bool(vectors.workers[0].residual.any())
    assert dispatch.kept == vectors.sketch(vectors.workers[0].change)


def test_a_step_is_taken_at_the_workers_own_model_its_unsent_change_included() -> None:
    vectors = make_vectors(step_size=0.25)
    for step in range(3):
        model = vectors.workers[2].model.clone()
        _, gradient = vectors.problem.loss_and_gradient(2, step, model, 1.0)
        statistics, created = vectors.step(2, step, Plan(step_scale=0.5))
        assert created == vectors.sketch(gradient * -0.125)
        assert statistics.gradient_norm == pytest.approx(float(gradient.norm()))
        assert statistics.block_norms == pytest.approx([float(part.norm()) for part in gradient.split(6)])
        scores = [float((x * g).abs().sum()) for x, g in zip(model.split(6), gradient.split(6), strict=True)]
        assert statistics.block_scores == pytest.approx(scores)
        assert torch.allclose(vectors.workers[2].model, model - 0.125 * gradient, rtol=0, atol=1e-15)
    assert torch.equal(vectors.workers[2].base, vectors.shared)


def test_momentum_is_a_heavy_ball_of_the_worker_alone() -> None:
    vectors, velocity = make_vectors(momentum=0.75, step_size=0.1), torch.zeros(DIMENSION, dtype=torch.float64)
    vectors.step(0, 0, USUAL_PLAN)
    for step in range(4):
        model = vectors.workers[1].model.clone()
        _, gradient = vectors.problem.loss_and_gradient(1, step, model, 1.0)
        velocity = 0.75 * velocity + gradient
        vectors.step(1, step, USUAL_PLAN)
        assert torch.allclose(vectors.workers[1].model, model - 0.1 * velocity, rtol=0, atol=1e-14)
    vectors.depart(1)
    before = vectors.workers[1].model.clone()
    _, gradient = vectors.problem.loss_and_gradient(1, 9, before, 1.0)
    vectors.step(1, 9, USUAL_PLAN)
    assert torch.allclose(vectors.workers[1].model, before - 0.1 * gradient, rtol=0, atol=1e-14)


@pytest.mark.parametrize("selector", [None, "top_k"])
def test_a_local_correction_adds_the_workers_own_messages_that_are_not_applied(selector: str | None) -> None:
    vectors = make_vectors(selector=selector, density=0.5, is_on_grid=True)
    for message, worker in enumerate((0, 1, 0, 0)):
        vectors.step(worker, message, USUAL_PLAN)
        vectors.send(worker, message, None)
    vectors.apply((0,), (0.5,))
    vectors.drop((3,))
    base, corrections = vectors.read(0, Pull(local_correction=True))
    assert corrections == (2,)
    assert base == vectors.sketch(vectors.workers[0].base)
    missing = vectors.workers[0].base - vectors.shared
    assert torch.equal(missing, in_place(vectors, 2))
    assert vectors.read(0, PULL) == (vectors.sketch(vectors.shared), ())


def test_reading_keeps_the_unsent_change_and_keeping_reads_nothing() -> None:
    vectors = make_vectors()
    vectors.step(0, 0, USUAL_PLAN)
    change = vectors.workers[0].change.clone()
    vectors.shared.add_(1.0)
    old = vectors.workers[0].base.clone()
    assert vectors.read(0, KEEP) == (vectors.sketch(old), ())
    assert torch.equal(vectors.workers[0].base, old)
    vectors.read(0, PULL)
    assert torch.equal(vectors.workers[0].base, vectors.shared)
    assert torch.equal(vectors.workers[0].change, change)


def test_messages_are_added_with_their_weights_in_order() -> None:
    vectors = make_vectors()
    before, messages = vectors.shared.clone(), []
    for message, worker in enumerate((2, 0, 1)):
        vectors.step(worker, 0, USUAL_PLAN)
        messages.append(vectors.workers[worker].change.clone())
        vectors.send(worker, message, None)
    model = vectors.apply((1, 0, 2), (0.3, 0.1, 0.7))
    expected = before + messages[1] * 0.3 + messages[0] * 0.1 + messages[2] * 0.7
    assert torch.equal(vectors.shared, expected)
    assert model == vectors.sketch(expected)


STOCHASTIC = ((0.5, 0.25, 0.25), (0.25, 0.75, 0.0), (0.25, 0.0, 0.75))


def test_mixing_without_a_selector_replaces_models_by_their_weighted_means() -> None:
    vectors = make_vectors()
    for worker in range(3):
        vectors.step(worker, 0, USUAL_PLAN)
    models = torch.stack([vectors.workers[worker].model for worker in range(3)])
    mixture = vectors.mix((0, 1, 2), STOCHASTIC)
    after = torch.stack([worker.base for worker in vectors.workers])
    assert torch.allclose(after, torch.tensor(STOCHASTIC, dtype=torch.float64) @ models, rtol=0, atol=1e-14)
    assert mixture.sent_bytes == (DIMENSION * 8,) * 3
    assert list(mixture.models) == [vectors.sketch(worker.base) for worker in vectors.workers]
    assert not any(bool(worker.change.any()) for worker in vectors.workers)


@pytest.mark.parametrize("selector", [None, "top_k", "random_k", "gaussian_k"])
@pytest.mark.parametrize("consensus_step", [1.0, 0.4])
def test_doubly_stochastic_mixing_keeps_the_sum_of_models_whatever_is_sent(
    selector: str | None, consensus_step: float
) -> None:
    vectors = make_vectors(selector=selector, density=0.25, consensus_step=consensus_step)
    for step in range(5):
        for worker in range(3):
            vectors.step(worker, step, USUAL_PLAN)
        before = vectors.mean_model(range(3))
        vectors.mix((0, 1, 2), STOCHASTIC)
        # Nine products and sums of entries below 8, and a mean: some tens of roundings.
        assert torch.allclose(vectors.mean_model(range(3)), before, rtol=0, atol=32 * 8 * 2.0**-52)


def test_weights_that_are_only_row_stochastic_lose_the_sum() -> None:
    vectors = make_vectors()
    for worker in range(3):
        vectors.step(worker, 0, USUAL_PLAN)
    before = vectors.mean_model(range(3))
    vectors.mix((0, 1, 2), ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    assert not torch.allclose(vectors.mean_model(range(3)), before, atol=1e-3)


def test_compressed_mixing_moves_towards_the_public_copies() -> None:
    vectors = make_vectors(worker_count=2, selector="top_k", density=0.25, consensus_step=0.5)
    for worker in range(2):
        vectors.step(worker, 0, USUAL_PLAN)
    models = [vectors.workers[worker].model.clone() for worker in range(2)]
    public = [worker.public.clone() for worker in vectors.workers]
    for worker in range(2):
        kept = (models[worker] - public[worker]).abs().topk(DIMENSION // 4).indices
        public[worker][kept] += (models[worker] - public[worker])[kept]
    mixture = vectors.mix((0, 1), ((0.5, 0.5), (0.5, 0.5)))
    assert all(torch.equal(mine, worker.public) for mine, worker in zip(public, vectors.workers, strict=True))
    assert list(mixture.copies) == [vectors.sketch(copy) for copy in public]
    assert torch.equal(vectors.workers[0].base, models[0] + 0.5 * (0.5 * (public[1] - public[0])))
    assert mixture.sent_bytes == ((DIMENSION // 4) * (8 + 4),) * 2


def test_departing_abandons_change_and_residual_and_nothing_else() -> None:
    vectors = make_vectors(selector="top_k", density=0.25, is_on_grid=True)
    for step in range(2):
        vectors.step(0, step, USUAL_PLAN)
        vectors.step(1, step, USUAL_PLAN)
        if step == 0:
            vectors.send(0, 0, None)
    unsent, other = vectors.workers[0].change + vectors.workers[0].residual, vectors.workers[1].change.clone()
    abandoned = vectors.depart(0)
    assert abandoned.sums == vectors.sketch(unsent).sums
    assert not bool(vectors.workers[0].change.any())
    assert not bool(vectors.workers[0].residual.any())
    assert torch.equal(vectors.workers[1].change, other)
    assert vectors.apply((0,), (1.0,)) != NOTHING


def test_a_gradient_that_is_not_finite_is_refused() -> None:
    vectors = make_vectors()
    vectors.workers[1].base.fill_(math.inf)
    with pytest.raises(FloatingPointError, match="step 3 of worker 1: loss"):
        vectors.step(1, 3, USUAL_PLAN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_size": 0.0}, "step_size must be positive, got 0.0"),
        ({"step_size": math.nan}, "step_size must be positive, got nan"),
        ({"momentum": 1.0}, r"momentum must lie in \[0, 1\), got 1.0"),
        ({"selector": "top"}, "unknown selector 'top'; known: keep_all, top_k"),
        ({"density": 0.0}, r"density must lie in \(0, 1\], got 0.0"),
        ({"consensus_step": 1.5}, r"consensus_step must lie in \(0, 1\], got 1.5"),
        ({"feedback": "memorial"}, "feedback must be 'memory' or 'none', got 'memorial'"),
    ],
)
def test_a_descent_refuses_what_lies_outside_its_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Descent(**options)


def test_blocks_must_make_up_the_model() -> None:
    problem = Quadratics(CURVATURES, worker_count=1)
    problem.block_sizes = (DIMENSION - 1,)
    with pytest.raises(ValueError, match="blocks of 23 entries do not make up a model of 24"):
        Vectors(problem, Descent(), worker_count=1)
