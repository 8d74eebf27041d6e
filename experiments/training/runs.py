"""The runs: each is a value, named in `RUNS`; the command line may override its fields and little else.

`fnn3_*` keep the step size inside the memory and use no momentum, so that they are the algorithm the theory
speaks of. `fnn3_*_paper` use the settings found in the code released with Shi et al. 2019: step size outside,
momentum, weight decay, warm-up of density and step size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sparsync.experiments.averaging.coded import require_code
from sparsync.experiments.averaging.registry import require_collective
from sparsync.experiments.feedbacks.feedback import StepLocation
from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.experiments.training.adaptive import require_selector
from sparsync.experiments.training.data import PixelScale, kind_of, require_scale
from sparsync.experiments.training.descent import OptimiserName, require_optimiser
from sparsync.experiments.training.models import require_pair
from sparsync.experiments.training.roads import KERNEL_CHOICES, KernelChoice, obstacle
from sparsync.kernels.codec import Values
from sparsync.kernels.selection import target_count


@dataclass(frozen=True)
class Run:
    """One training run, complete: two runs with equal fields on one machine give equal parameters.

    Raises:
        ValueError: a field out of its range, named with its value.
    """

    selector: str
    """key of SELECTORS or ADAPTIVE_SELECTORS"""
    collective: str = "sparse"
    """how the payloads are averaged: key of COLLECTIVES"""
    values: Values = "exact"
    """in which code values travel: key of VALUE_CODES; all but "exact" by the collective "sparse" alone"""
    node_size: int = 1
    """workers, neighbours in rank, that share a node; the collective "hierarchical" knows of nodes"""
    rank_order: bool = False
    """add dense vectors in rank order rather than by all-reduce, so that bits do not depend on the backend"""
    model: str = "fnn3"
    """key of MODELS, which takes the kind of data that `data` is"""
    data: str = "embedded"
    """data source, see experiments/training/data.py: embedded, fashion_mnist[:FOLDER], cifar10[:FOLDER], text[:FILE]"""
    pixels: PixelScale = "unit"
    """pixels in [0, 1] (unit), or standardised by the training set's own mean and deviation"""
    density: float = 0.001
    """k/d; k is d times this, rounded, at least 1"""
    density_warmup: tuple[float, ...] = ()
    """densities of the first epochs, one each; `density` where it is larger"""
    batch_size: int = 32
    """examples per worker and step"""
    step_size: float = 0.1
    """after warm-up"""
    step_size_warmup_epochs: int = 0
    """epochs over which the step size rises linearly to `step_size`"""
    step_size_end: float = 1.0
    """the step size falls linearly over the run, towards this share of itself; 1 leaves it as it is"""
    step_location: StepLocation = "inside"
    """does the memory hold gradients times the step size (inside) or gradients (outside)"""
    feedback: str = "ef14"
    """what is done with what is not sent: key of FEEDBACKS"""
    feedback_settings: tuple[tuple[str, float], ...] = ()
    """hyperparameters of that, by name; others have their defaults"""
    kernel: KernelChoice = "auto"
    """does the fused kernel select: where there is one (auto), or an error (native), or never (reference)"""
    optimiser: OptimiserName = "sgd"
    """what moves the parameters along the mean"""
    momentum: float = 0.0
    """heavy ball, after aggregation; of adamw its first β"""
    weight_decay: float = 0.0
    """added to the averaged update; of adamw apart from it"""
    steps: int = 600
    """number of updates"""
    evaluate_every: int = 50
    """steps between measurements of test accuracy"""
    test_limit: int | None = None
    """test examples that a measurement takes, the first ones; None takes all"""
    seed: int = 0
    """names every random stream of the run"""
    threads: int = 1
    """arithmetic threads per process, set before any arithmetic"""
    workers: int | None = None
    """number of workers; None takes what torchrun gives, 4 in the simulation"""

    def __post_init__(self) -> None:
        require_selector(self.selector)
        require_collective(self.collective, self.node_size)
        require_code(self.values, self.collective)
        require_pair(self.model, kind_of(self.data))
        require_scale(self.pixels, kind_of(self.data))
        feedback = new_feedback(self.feedback, self.feedback_settings, step_location=self.step_location)
        _require(self.kernel in KERNEL_CHOICES, f"unknown kernel {self.kernel!r}; known: {', '.join(KERNEL_CHOICES)}")
        reason = obstacle(self.selector, feedback) if self.kernel == "native" else ""
        _require(not reason, f"kernel 'native': {reason}")
        for density in (self.density, *self.density_warmup):
            _require(0 < density <= 1, f"density must lie in (0, 1], got {density}")
        for name in ("batch_size", "steps", "evaluate_every", "threads"):
            _require(getattr(self, name) >= 1, f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("workers", "test_limit"):
            value = getattr(self, name)
            _require(value is None or value >= 1, f"{name} must be at least 1, got {value}")
        _require(0 < self.step_size < float("inf"), f"step_size must be positive, got {self.step_size}")
        _require(0 <= self.step_size_end <= 1, f"step_size_end must lie in [0, 1], got {self.step_size_end}")
        require_optimiser(self.optimiser, self.step_location)
        message = f"feedback {self.feedback!r} makes updates, of which optimiser {self.optimiser!r} would make others"
        _require(not (feedback.is_update and self.optimiser == "adamw"), message)
        _require(0 <= self.momentum < 1, f"momentum must lie in [0, 1), got {self.momentum}")
        _require(0 <= self.weight_decay < float("inf"), f"weight_decay must be >= 0, got {self.weight_decay}")
        _require(
            self.step_size_warmup_epochs >= 0,
            f"step_size_warmup_epochs must be >= 0, got {self.step_size_warmup_epochs}",
        )

    def target_count(self, dimension: int, epoch: int) -> int:
        """The selector's k in an epoch (from 0)."""
        warming = epoch < len(self.density_warmup)
        density = max(self.density, self.density_warmup[epoch]) if warming else self.density
        return target_count(density, dimension)

    def step_size_at(self, step: int, epochs: Fraction) -> float:
        """The step size of a step (from 0), with so many epochs done after it: positive at every step of the run."""
        warmup = self.step_size_warmup_epochs
        warmed = self.step_size * min(1.0, float(epochs / warmup)) if warmup else self.step_size
        return warmed * (1 - (1 - self.step_size_end) * step / self.steps)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


_SELECTED = {
    "fnn3_dense": Run(selector="keep_all", collective="dense"),
    "fnn3_top_k": Run(selector="top_k"),
    "fnn3_random_k": Run(selector="random_k"),
    "fnn3_gaussian_k": Run(selector="gaussian_k"),
    "fnn3_gaussian_k_released": Run(selector="gaussian_k_released"),
    "fnn3_dgc_released": Run(selector="dgc_released"),
    "fnn3_dgc_grace": Run(selector="dgc_grace"),
    "fnn3_sidco_released": Run(selector="sidco_released"),
    "fnn3_sidco_adaptive": Run(selector="sidco_adaptive"),
    "fnn3_oktopk_released": Run(selector="oktopk_released"),
}


def _with_released_settings(run: Run) -> Run:
    """The configuration of FNN-3 in the released code; 700 steps are 30 epochs of the embedded data on 4 workers."""
    return replace(
        run,
        batch_size=128,
        step_size=0.01,
        step_size_warmup_epochs=5,
        step_location="outside",
        momentum=0.9,
        weight_decay=1e-4,
        density_warmup=(1 / 64, 0.004, 0.001),
        steps=700,
    )


RUNS: dict[str, Run] = _SELECTED | {f"{name}_paper": _with_released_settings(run) for name, run in _SELECTED.items()}
