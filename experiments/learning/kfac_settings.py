"""What does a K-FAC preconditioner do, and what is sent? Settings, which may change from step to step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.experiments.learning.kfac_layers import LOSS_REDUCTIONS, LossReduction
from sparsync.kernels.selection import SELECTORS, target_count

Scheme = Literal["everyone", "owners"]
SCHEMES: tuple[Scheme, ...] = ("everyone", "owners")
Schedule: TypeAlias = "float | Callable[[int], float]"
"""A number, or what gives it for each step from 0."""
Period: TypeAlias = "int | Callable[[int], int]"
"""Likewise, a whole one."""


@dataclass(frozen=True)
class Sending:
    """What a worker sends of a vector.

    Args:
        density: share of the entries; 1 sends the vector whole.
        selector: key of `SELECTORS`, for a density below 1.
        feedback: key of `FEEDBACKS`, likewise: what becomes of the rest.

    Raises:
        ValueError: a density outside (0, 1], a name that is no key, or a feedback that delivers an update rather than
            an estimate of the mean.
    """

    density: float = 1.0
    selector: str = "top_k"
    feedback: str = "ef14"

    def __post_init__(self) -> None:
        target_count(self.density, 1)
        if self.selector not in SELECTORS:
            raise ValueError(f"unknown selector {self.selector!r}; known: {', '.join(SELECTORS)}")
        if new_feedback(self.feedback, step_location="outside").is_update:
            raise ValueError(f"feedback {self.feedback!r} delivers an optimiser's update, and no estimate of the mean")

    @property
    def is_whole(self) -> bool:
        """Nothing is left out."""
        return self.density == 1

    @property
    def collective(self) -> str:
        """Key of `COLLECTIVES` that suits it."""
        return "dense" if self.is_whole else "sparse"


@dataclass(frozen=True)
class KfacSettings:
    """What a preconditioner does; the defaults are those of the released code.

    Args:
        scheme: who preconditions: "everyone", or the "owners" of the layers, who send what they made.
        factor_period: f₁: factors are averaged at the steps that it divides, 0 among them.
        decomposition_period: f₂: decompositions are made at the steps that it divides, 0 among them.
        decay: of the running means of factors, which become decay · old + (1 − decay) · new; the first is as it is.
        damping: γ > 0, added to the eigenvalues of the curvature.
        clip: κ of `clipping`, or None.
        step_size: η of the optimiser that follows; `clipping` reads it.
        loss_reduction: whether gradients are the mean over a worker's examples, or the sum.
        gradients: what is sent of gradients.
        factors: what is sent of factors.
        seed: of random selectors.

    Raises:
        ValueError: a setting out of range; of schedules that is said at the step. A feedback with momentum for factors.
    """

    scheme: Scheme = "everyone"
    factor_period: Period = 10
    decomposition_period: Period = 100
    decay: Schedule = 0.95
    damping: Schedule = 0.001
    clip: float | None = 0.001
    step_size: Schedule = 0.1
    loss_reduction: LossReduction = "mean"
    gradients: Sending = field(default_factory=Sending)
    factors: Sending = field(default_factory=Sending)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {self.scheme!r}")
        if self.loss_reduction not in LOSS_REDUCTIONS:
            raise ValueError(f"loss_reduction must be one of {', '.join(LOSS_REDUCTIONS)}, got {self.loss_reduction!r}")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise ValueError(f"clip must be positive and finite, or None, got {self.clip}")
        if self.factors.feedback in _SUMS:
            raise ValueError(f"feedback {self.factors.feedback!r} delivers a sum over steps, and no mean of factors")
        for name in _SCHEDULED:
            if not callable(value := getattr(self, name)):
                _require(name, value)

    def fixed(self) -> dict[str, object]:
        """The settings that are alike at all steps, by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _SCHEDULED}

    def at(self, step: int) -> Numbers:
        """The numbers of a step, from 0.

        Raises:
            ValueError: one is out of range.
        """
        found = {name: value(step) if callable(value := getattr(self, name)) else value for name in _SCHEDULED}
        for name, value in found.items():
            _require(name, value)
        return Numbers(**found)


@dataclass(frozen=True)
class Numbers:
    """What of the settings may change from step to step; see there."""

    factor_period: int
    decomposition_period: int
    decay: float
    damping: float
    step_size: float


_SCHEDULED = tuple(field.name for field in fields(Numbers))
_SUMS = ("dgc",)
"""Feedbacks whose momentum makes what they deliver 1/(1 − β) times as much."""


def _require(name: str, value: Any) -> None:
    if name.endswith("period") and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    if name == "decay" and not 0 <= value < 1:
        raise ValueError(f"decay must lie in [0, 1), got {value}")
    if name in ("damping", "step_size") and not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")
