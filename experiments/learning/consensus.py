"""What does a batch do in a step of consensus ADMM on weighted least squares? Its model, its multiplier, its weights.

min over w_i and z of Σ_i Σ_j v_ij ((x_ij·w_i − y_ij)² − λ) + ‖z‖² with w_i = z, by the augmented Lagrangian
L = Σ_i [f_i(w_i) + α_i·(w_i − z) + (ρ/2)‖w_i − z‖²] + ‖z‖². A step takes z first and every w_i after it, so that
∇f_i(w_i) = −α_i after it; that is the order for which `theory/learning/consensus.py` proves that L never rises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

ZStep = Literal["right", "printed"]
Z_STEPS: tuple[ZStep, ...] = get_args(ZStep)

_UNIT = 2.0**-53
"""Of rounding, in float64."""
_MARGIN = 1 + 2.0**-20
"""By which a curvature that was computed is raised, so that it bounds the exact one: far above p roundings."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Examples that stay where they are.

    Args:
        features: [examples, p] float64; there may be no examples.
        targets: [examples] float64.

    Raises:
        ValueError: shapes that do not fit together, another dtype, no feature, or a value that is not finite, the first
            of which is named.
    """

    features: Tensor
    targets: Tensor

    def __post_init__(self) -> None:
        shape = tuple(self.features.shape)
        if len(shape) != 2 or shape[1] < 1 or tuple(self.targets.shape) != shape[:1]:
            raise ValueError(f"expected features [n, p] and targets [n], got {shape} and {tuple(self.targets.shape)}")
        if self.features.dtype != torch.float64 or self.targets.dtype != torch.float64:
            raise ValueError(f"expected float64, got {self.features.dtype} and {self.targets.dtype}")
        for name in ("features", "targets"):
            _require_finite(name, getattr(self, name))

    @property
    def example_count(self) -> int:
        """How many examples there are, perhaps none."""
        return len(self.targets)

    def curvature(self) -> float:
        """φ_i = 2λ_max(XᵀX), a bound on ∇²f_i for all weights in [0, 1], raised by more than its roundings."""
        if self.example_count == 0:
            return 0.0
        return 2 * max(0.0, float(torch.linalg.eigvalsh(self.features.T @ self.features)[-1])) * _MARGIN


@dataclass(frozen=True)
class Watched:
    """What a batch adds to the Lagrangian, and what roundings can do to it.

    Args:
        value: of the terms of L with this w_i.
        allowance: by how much roundings may make the computed L of this step exceed that of the step before.
        distance: ‖w_i − z‖².
    """

    value: float
    allowance: float
    distance: float


class BatchModel:
    """What one batch keeps from step to step.

    Args:
        batch: its examples.
        penalty: ρ > 0.
        feature_count: p.
    """

    def __init__(self, batch: Batch, penalty: float) -> None:
        self.batch, self.penalty = batch, penalty
        zeros = batch.features.new_zeros(batch.features.shape[1])
        self.weights = torch.ones_like(batch.targets)
        self.model, self.multiplier = zeros, zeros.clone()
        self._magnitudes, self._size = batch.features.abs(), float(batch.features.norm())
        self._factor: Tensor | None = None
        self._least: float | None = None
        self._before: _Roundings | None = None

    def proposal(self) -> Tensor:
        """w_i + α_i/ρ [p]: all that others need of this batch."""
        return self.model + self.multiplier / self.penalty

    def losses(self, model: Tensor) -> Tensor:
        """(x_j·w − y_j)² of every example, [examples]."""
        return (self.batch.features @ model - self.batch.targets).square()

    def gradient(self, model: Tensor) -> Tensor:
        """∇f_i(w) = 2XᵀV(Xw − y), [p]."""
        return 2 * self.batch.features.T @ (self.weights * (self.batch.features @ model - self.batch.targets))

    def slope(self, model: Tensor) -> Tensor:
        """∇f_i(w); behind it a bound on the norm of its roundings, and one on λ_min(∇²f_i) from below, [p + 2]."""
        misses = self.batch.features @ model - self.batch.targets
        rounding = 2 * _MARGIN * self._blurred(misses, self._blurs(model)).norm()
        return torch.cat([self.gradient(model), rounding[None], rounding.new_tensor([self._least_curvature()])])

    def _least_curvature(self) -> float:
        """λ_min(2XᵀVX), lowered by more than its roundings: γ_n of the product, and 4p² of the eigenvalues."""
        count, width = self.batch.features.shape
        if self._least is None:
            least = torch.linalg.eigvalsh(2 * self.batch.features.T @ (self.weights[:, None] * self.batch.features))[0]
            self._least = max(0.0, float(least) - 2 * _gamma(count + 4 * width**2 + 4) * self._size**2)
        return self._least

    def set_weights(self, weights: Tensor) -> int:
        """Weigh the examples anew, [examples] in [0, 1]; how many changed. The factorisation stays if none did."""
        changed_count = int((weights != self.weights).sum())
        if changed_count:
            self.weights, self._factor, self._least = weights, None, None
        return changed_count

    def begin(self, consensus: Tensor) -> None:
        """w_i = z and α_i = −∇f_i(z): the identity that descent rests on holds before the first step, too."""
        self.model, self.multiplier = consensus.clone(), -self.gradient(consensus)
        self._before = None

    def step(self, consensus: Tensor) -> None:
        """w_i = argmin f_i(w) + α_i·(w − z) + (ρ/2)‖w − z‖², then α_i ← α_i + ρ(w_i − z).

        NaN where roundings leave 2XᵀVX + ρ no Cholesky factor, so that all processes hear of it with the Lagrangian.
        """
        features, targets = self.batch.features, self.batch.targets
        if self._factor is None:
            normal = 2 * features.T @ (self.weights[:, None] * features)
            normal.diagonal().add_(self.penalty)
            self._factor, failed = torch.linalg.cholesky_ex(normal)
            if failed:
                self._factor = torch.full_like(normal, math.nan)
        right = 2 * features.T @ (self.weights * targets) - self.multiplier + self.penalty * consensus
        self.model = torch.cholesky_solve(right[:, None], self._factor)[:, 0]
        self.multiplier = self.multiplier + self.penalty * (self.model - consensus)

    def watch(self, consensus: Tensor, pace: float, batch_count: int) -> Watched:
        """This batch's part of L = L(w, v, z, α) at the pace λ.

        The allowance bounds, in float64 with u = 2⁻⁵³ and γ_k = ku/(1 − ku), how far both values of L are from the
        exact ones at the numbers held, and how far the step is from the exact one: with the residue
        η = ‖∇f_i(w_i) + α_i‖ the solve gives away (η + ‖δ‖)‖Δw‖, δ the rounding of α_i, and Δα_i differs from −HΔw by
        η of before and now, which changes ‖Δα_i‖²/ρ by (2η‖Δα‖ + 3η² + ‖δ‖‖Δα‖)/ρ. A z that is off by γ‖ū‖ costs
        (2/n + ρ)γ²‖u_i‖²/2. No η counts beyond what roundings of the solve can leave, see `_most_residue`.
        """
        now = self._roundings(consensus, pace)
        before, self._before = self._before, now
        first = before or now
        move, turn = float((now.model - first.model).norm()), float((now.multiplier - first.multiplier).norm())
        residue = first.residue + now.residue
        given_away = (now.residue + now.slip) * move
        given_away += (2 * residue * turn + 3 * residue**2 + now.slip * turn) / self.penalty
        z_error = _gamma(batch_count + 8) ** 2 * float(self.proposal().square().sum())
        given_away += (2 / batch_count + self.penalty) * z_error / 2
        # To come together at z, as at the end of a round, gives away no more than this.
        given_away += now.residue * math.sqrt(now.distance)
        return Watched(now.value, first.rounding + now.rounding + given_away, now.distance)

    def _roundings(self, consensus: Tensor, pace: float) -> _Roundings:
        features, targets, weights = self.batch.features, self.batch.targets, self.weights
        apart, count, width = self.model - consensus, *features.shape
        misses = features @ self.model - targets
        blurs = self._blurs(self.model)
        squares = misses.square()
        pull, distance = float(self.multiplier @ apart), float(apart.square().sum())
        value = float((weights * (squares - pace)).sum()) + pull + self.penalty / 2 * distance
        rounding = float((weights * (2 * misses.abs() * blurs + blurs.square())).sum())
        rounding += _gamma(count + 4) * float((weights * (squares + pace)).sum())
        rounding += _gamma(width + 5) * (float(self.multiplier.abs() @ apart.abs()) + self.penalty * distance)
        sums = self._blurred(misses, blurs)
        residue = self.gradient(self.model) + self.multiplier
        slip = 4 * _UNIT * float((self.multiplier.abs() + self.penalty * apart.abs()).norm())
        blurred = float((2 * sums + 2 * _UNIT * self.multiplier.abs()).norm())
        most = min(float(residue.norm()) + blurred, self._most_residue(consensus))
        return _Roundings(self.model, self.multiplier, value, rounding, most, slip, distance)

    def _blurs(self, model: Tensor) -> Tensor:
        """By how much each computed x_j·w − y_j may be off, [examples]."""
        return _gamma(self.batch.features.shape[1] + 1) * (self._magnitudes @ model.abs() + self.batch.targets.abs())

    def _blurred(self, misses: Tensor, blurs: Tensor) -> Tensor:
        """By how much XᵀV(Xw − y) may be off, where the misses Xw − y are off by `blurs`, [p]."""
        return self._magnitudes.T @ (self.weights * (blurs + _gamma(len(misses) + 3) * misses.abs()))

    def _most_residue(self, consensus: Tensor) -> float:
        """What roundings may leave of ∇f_i(w_i) + α_i.

        Cholesky's answer is that of a matrix off by less than p(3p + 1) roundings (Higham 2002, Theorem 10.4); to make
        the matrix and the right side, and to ask for the residue, takes p(n + 5) more each; twice for both.
        """
        count, width = self.batch.features.shape
        scale = (2 * self._size**2 + self.penalty) * float(self.model.norm()) + float(self.multiplier.norm())
        scale += 2 * self._size * float(self.batch.targets.norm()) + self.penalty * float(consensus.norm())
        return 2 * width * (3 * width + count + 6) * _UNIT * scale


@dataclass(frozen=True, eq=False)
class _Roundings:
    """A state of a batch: L's terms there, and bounds on what was rounded away."""

    model: Tensor
    multiplier: Tensor
    value: float
    rounding: float
    residue: float
    slip: float
    distance: float


def consensus_of(mean_proposal: Tensor, batch_count: int, penalty: float, z_step: ZStep) -> Tensor:
    """z = ρ Σ_i (w_i + α_i/ρ)/(2 + ρn), the minimiser of L; as printed, the mean, which drops ‖z‖².

    Args:
        mean_proposal: [p], the mean of all w_i + α_i/ρ.
        batch_count: n.
        penalty: ρ.
        z_step: which of both.
    """
    return mean_proposal if z_step == "printed" else mean_proposal * consensus_share(batch_count, penalty)


def consensus_share(batch_count: int, penalty: float) -> float:
    """θ = ρn/(2 + ρn), the part of the mean proposal that z is."""
    return penalty * batch_count / (2 + penalty * batch_count)


def sufficient_penalty(curvatures: Sequence[float]) -> float:
    """The largest φ_i: L never rises for this ρ; 1 where there is no curvature at all."""
    return max(curvatures, default=0.0) or 1.0


def distance_bound(consensus: Tensor, slopes: Sequence[Tensor]) -> float:
    """‖z − z*‖ ≤ ‖∇F(z)‖/m with m = 2 + Σ_i λ_min(∇²f_i), where z* minimises F = Σ_i f_i + ‖z‖²; and its roundings.

    F has curvature m at least, so (∇F(z) − ∇F(z*))·(z − z*) ≥ m‖z − z*‖²; ∇F(z*) = 0, and by Cauchy and Schwarz the
    left side is at most ‖∇F(z)‖‖z − z*‖. It holds for any z, whatever led there, and so for every ρ and selection.

    Args:
        consensus: z, [p].
        slopes: `BatchModel.slope` of every batch there, [p + 2] each, in rank order.
    """
    total = 2 * consensus
    size, rounding, curvature = float(total.norm()), 0.0, 2.0
    for slope in slopes:
        total = total + slope[:-2]
        size += float(slope[:-2].norm())
        rounding += float(slope[-2])
        curvature += float(slope[-1])
    return (float(total.norm()) + rounding + _gamma(len(slopes)) * size) / curvature * _MARGIN


def has_cholesky_factor(penalty: float, curvature: float, feature_count: int) -> bool:
    """Whether 2XᵀVX + ρ surely has a Cholesky factor in float64: 20p^(3/2)·u·cond < 1 (Higham 2002, equation (10.8)).

    Args:
        penalty: ρ.
        curvature: the largest φ_i.
        feature_count: p.
    """
    return 20 * math.sqrt(feature_count) * feature_count * _UNIT * (curvature + penalty) < penalty


def _require_finite(name: str, values: Tensor) -> None:
    if len(places := (~values.isfinite()).nonzero()):
        place = places[0].tolist()
        raise ValueError(f"{name}{place} is not finite: {float(values[tuple(place)])}")


def _gamma(count: int) -> float:
    """Relative error of sums and products with so many roundings, in any order (Higham 2002, Lemma 3.1)."""
    return count * _UNIT / (1 - count * _UNIT)
