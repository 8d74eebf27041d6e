"""Runs end where they reach the target, the fastest step size is found fairly, and coherence is what it is called."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sparsync.experiments.studies.staleness.stacked_networks import StackedTraining
from sparsync.experiments.studies.staleness.stale_descent import StaleDescent
from sparsync.experiments.studies.staleness.stale_training import (
    EVALUATION_INTERVAL,
    PROBE_EXAMPLES,
    PROBE_INTERVAL,
    Probe,
    Setting,
    Tuned,
    coherence,
    fastest,
    steps_to_target,
)

LINEAR = Setting(0, "sgd", 2)


def table(steps: dict[float, tuple[int, int]]) -> Callable[..., int | None]:
    """Runs of two seeds that need the steps of a table."""

    def run(step_size: float, *, seed: int, limit: int) -> int | None:
        return steps[step_size][seed] if steps[step_size][seed] <= limit else None

    return run


def test_the_fastest_needs_the_fewest_steps_together_and_ties_go_to_the_last() -> None:
    run = table({4.0: (10, 90), 2.0: (40, 40), 1.0: (30, 50), 0.5: (60, 60)})
    assert fastest(run, (4.0, 2.0, 1.0, 0.5), seeds=(0, 1), limit=100) == Tuned(1.0, (30, 50))


def test_a_step_size_that_fails_for_one_seed_does_not_win() -> None:
    run = table({2.0: (10, 200), 1.0: (90, 90)})
    assert fastest(run, (2.0, 1.0), seeds=(0, 1), limit=100) == Tuned(1.0, (90, 90))
    assert fastest(run, (2.0,), seeds=(0, 1), limit=100) is None


def test_what_is_to_be_beaten_bounds_the_runs() -> None:
    run = table({2.0: (10, 31), 1.0: (50, 0)})
    assert fastest(run, (2.0, 1.0), seeds=(0, 1), limit=100, best=Tuned(4.0, (20, 20))) == Tuned(4.0, (20, 20))


def test_the_coherence_is_done_by_hand() -> None:
    first, second, last = (torch.tensor(entries, dtype=torch.float64) for entries in ([0, 5], [4, 0], [1, 1]))
    # ⟨(0, 5), (1, 1)⟩/2 and ⟨(4, 0), (1, 1)⟩/2; the last with itself is 1.
    assert coherence([first, last]) == 1
    assert coherence([second / 8, first, last]) == 0.25
    assert coherence([-first, second, last]) == -2.5
    assert coherence([last]) == 1


def test_a_probe_measures_windows_of_the_first_workers_models_within_each_run() -> None:
    probe, windows, expected = Probe(4), list[Tensor](), list[float]()

    def watch(training: StackedTraining, descent: StaleDescent) -> None:
        windows.append(descent.copies[0].clone())
        probe.observe(training, descent)
        if descent.step_count == PROBE_INTERVAL:
            expected.append(coherence([training.loss_gradient(at, PROBE_EXAMPLES).double() for at in windows[-5:]]))

    for seed in (0, 1):
        limit = PROBE_INTERVAL + 1
        steps_to_target(LINEAR, 0.2, staleness=4, seed=seed, target=2.0, limit=limit, watch=watch)
    assert probe.coherences == expected
    assert len(expected) == 2
    assert min(expected) < 1


def test_a_window_that_reaches_into_another_run_is_refused() -> None:
    with pytest.raises(ValueError, match="between 1 and 49 to be probed, got 50"):
        Probe(PROBE_INTERVAL)


def test_a_step_too_small_to_matter_leaves_gradients_coherent() -> None:
    probe, limit = Probe(8), PROBE_INTERVAL + 1
    steps_to_target(LINEAR, 1e-7, staleness=8, seed=0, target=2.0, limit=limit, watch=probe.observe)
    assert probe.coherences[0] == pytest.approx(1, abs=1e-3)


def test_the_target_is_reached_at_the_first_look_that_finds_it() -> None:
    found = steps_to_target(LINEAR, 0.05, staleness=0, seed=0, target=0.6, limit=100)
    assert found is not None
    assert found % EVALUATION_INTERVAL == 0
    again = {
        limit: steps_to_target(LINEAR, 0.05, staleness=0, seed=0, target=0.6, limit=limit)
        for limit in (found - 1, found)
    }
    assert again == {found - 1: None, found: found}


def test_a_run_that_diverges_has_not_reached_the_target() -> None:
    assert steps_to_target(Setting(2, "sgd", 1), 1e9, staleness=0, seed=0, target=0.9, limit=60) is None


def test_the_target_is_that_of_the_first_workers_model() -> None:
    """Late updates make the workers' models differ, and one reaches an accuracy where another does not."""
    seen: dict[int, list[float]] = {}

    def watch(training: StackedTraining, descent: StaleDescent) -> None:
        if descent.step_count and descent.step_count % EVALUATION_INTERVAL == 0:
            seen[descent.step_count] = [training.accuracy(copy) for copy in descent.copies]

    def reached(worker: int, target: float) -> int | None:
        return next((step for step, accuracies in seen.items() if accuracies[worker] >= target), None)

    setting, limit = Setting(0, "sgd", 3), 8 * EVALUATION_INTERVAL
    steps_to_target(setting, 0.5, staleness=8, seed=0, target=2.0, limit=limit + 1, watch=watch)
    targets = {accuracies[0] for accuracies in seen.values()}
    telling = [one for one in targets if reached(0, one) not in (reached(1, one), reached(2, one))]
    assert telling
    for target in telling:
        found = steps_to_target(setting, 0.5, staleness=8, seed=0, target=target, limit=limit)
        assert found == reached(0, target)
