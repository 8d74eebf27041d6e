"""How many steps does a network need until it is good enough, when updates arrive late? One run, and the best of some.

Used by the study `staleness`; the model of lateness is that of `stale_descent.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from torch import Tensor
from torch.nn import functional

from sparsync.experiments.studies.staleness.stacked_networks import StackedTraining
from sparsync.experiments.studies.staleness.stale_descent import StaleDescent, uniform_delays
from sparsync.experiments.training.data import Dataset, load_dataset

BATCH_SIZE = 16
"""Examples of each worker and step."""
EVALUATION_INTERVAL = 10
"""Steps between two looks at the test accuracy."""
PROBE_EXAMPLES = 500
"""Training examples on which the coherence of gradients is measured."""
PROBE_INTERVAL = 50
"""Steps between two such measurements."""


@dataclass(frozen=True)
class Setting:
    """What is trained, by whom.

    Args:
        hidden_count: of layers of 32 units.
        optimiser: key of `OPTIMISERS`.
        worker_count: n.
    """

    hidden_count: int
    optimiser: str
    worker_count: int


@dataclass(frozen=True)
class Tuned:
    """A step size and how many steps the runs of each seed took with it."""

    step_size: float
    steps: tuple[int, ...]


def fastest(
    run: Callable[..., int | None],
    step_sizes: Sequence[float],
    *,
    seeds: Sequence[int],
    limit: int,
    best: Tuned | None = None,
) -> Tuned | None:
    """The step size with which all seeds' runs reach the target, in the fewest steps together; of equals the last.

    Args:
        run: (step size, seed, limit) to the steps that are needed, None if more than the limit.
        step_sizes: tried in this order; given up once they cannot win.
        seeds: of the runs.
        limit: steps of a run.
        best: is to be beaten, or equalled.
    """
    for step_size in step_sizes:
        steps: list[int] = []
        for seed in seeds:
            left = sum(best.steps) - sum(steps) if best else limit
            taken = run(step_size, seed=seed, limit=min(limit, left))
            if taken is None:
                break
            steps.append(taken)
        else:
            best = Tuned(step_size, tuple(steps))
    return best


def steps_to_target(
    setting: Setting,
    step_size: float,
    *,
    staleness: int,
    seed: int,
    target: float,
    limit: int,
    watch: Callable[[StackedTraining, StaleDescent], None] = lambda _training, _descent: None,
) -> int | None:
    """After how many steps the first worker's model has the target accuracy on the test images; None: not in `limit`.

    Args:
        setting: what is trained.
        step_size: of every worker.
        staleness: s.
        seed: of parameters, batches and delays.
        target: accuracy; looked at every `EVALUATION_INTERVAL` steps.
        limit: the largest number of steps.
        watch: called before every step.
    """
    count = setting.worker_count
    training = StackedTraining(
        _data(), model=f"deep{setting.hidden_count}", worker_count=count, batch_size=BATCH_SIZE, seed=seed
    )
    descent = StaleDescent(
        training.gradients,
        training.initial,
        optimiser=setting.optimiser,
        step_size=step_size,
        worker_count=count,
        delays=uniform_delays(staleness, worker_count=count, seed=seed),
    )
    try:
        while descent.step_count < limit:
            watch(training, descent)
            descent.step()
            if descent.step_count % EVALUATION_INTERVAL == 0 and training.accuracy(descent.copies[0]) >= target:
                return descent.step_count
    except FloatingPointError:
        return None
    return None


class Probe:
    """The coherence μ_k = min_t ⟨∇F(x_k), ∇F(x_t)⟩/‖∇F(x_k)‖² over t = k − s, …, k of the first worker's models.

    F is the mean loss of the first `PROBE_EXAMPLES` training examples. It is looked at every `PROBE_INTERVAL` steps of
    each run that is watched.

    Args:
        staleness: s, the largest delay; a model that late belongs to the window.

    Raises:
        ValueError: a window longer than the interval, which would reach back into another run.
    """

    def __init__(self, staleness: int) -> None:
        if not 1 <= staleness < PROBE_INTERVAL:
            raise ValueError(f"staleness must lie between 1 and {PROBE_INTERVAL - 1} to be probed, got {staleness}")
        self.coherences: list[float] = []
        """in the order of measurement"""
        self._window: deque[Tensor] = deque(maxlen=staleness + 1)

    def observe(self, training: StackedTraining, descent: StaleDescent) -> None:
        """Look at the model that the first worker takes its next gradient at."""
        self._window.append(descent.copies[0].clone())
        if descent.step_count and descent.step_count % PROBE_INTERVAL == 0:
            gradients = [training.loss_gradient(model, PROBE_EXAMPLES).double() for model in self._window]
            self.coherences.append(coherence(gradients))


def coherence(gradients: Sequence[Tensor]) -> float:
    """The least ⟨g_k, g_t⟩/‖g_k‖² of all t, k being the last; at most 1, as t = k shows."""
    last = gradients[-1]
    return min([1.0, *(float(earlier @ last / (last @ last)) for earlier in gradients[:-1])])


@cache
def _data() -> Dataset:
    """The embedded images, standardised and averaged over squares of 2 × 2 pixels: a step is four times cheaper."""
    data = load_dataset("embedded", pixels="standardised")
    channels, height, width = data.image_shape
    return replace(
        data,
        train_images=_pooled(data.train_images, data.image_shape),
        test_images=_pooled(data.test_images, data.image_shape),
        image_shape=(channels, height // 2, width // 2),
    )


def _pooled(images: Tensor, shape: tuple[int, int, int]) -> Tensor:
    return functional.avg_pool2d(images.view(-1, *shape), 2).flatten(start_dim=1)
