"""What says beforehand, or explains afterwards, which split of a line is best? Predictions for the study `budgets`.

A contestant whose model lies ησP from the virtual iterate pays for it in the bound of its gradient. P is that of
`additive_perturbation`, with the δ = k/d that Top-k never falls below, or what was observed in a run.
"""

from __future__ import annotations

import math
from itertools import groupby
from statistics import correlation, fmean
from typing import Any, NamedTuple

import torch

from sparsync.experiments.engine.problems import Problem, Quadratics
from sparsync.experiments.studies.synchronisation.trials import Curve
from sparsync.experiments.training.seeding import random_stream
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.trace import Sent

POWER_ITERATIONS = 20
_HALVINGS = 200  # from the first step size to one 2⁻¹⁴⁸ times as large, and that to its last digit
PREDICTORS = ("perturbation", "energy_by_perturbation", "observed", "energy_by_observed", "steps_per_worker")
"""Fields of a cell that may tell its error: P and what it says of the gradient, the same as observed, and the steps."""


class Constants(NamedTuple):
    """Of a problem at the model that all start from: its gap to a lower bound, L, E‖g‖² and ‖mean g‖²."""

    gap: float
    smoothness: float
    second_moment: float
    mean_square: float


def perturbation(density: float, *, period: int, delay: int) -> float:
    """P, the root of `additive_perturbation` over ησ, with δ the density: τ + H√(1 − δ)/(1 − √(1 − δ))."""
    numbers = {"step_size": 1, "second_moment": 1, "delay": delay, "local_count": period, "delta": density}
    return math.sqrt(STATEMENTS["additive_perturbation"].evaluate(**numbers))


def residual_steps(curve: Curve, period: int) -> float:
    """How many steps' worth is kept back: mean ‖e‖ after sending over mean change per step, later half of a run."""
    sent = [event for event in curve.trace if isinstance(event, Sent) and event.time > curve.seconds[-1] / 2]
    change = fmean(event.change_norm for event in sent) / period
    return fmean(event.kept_norm for event in sent) / change


def energy_bound(constants: Constants, *, step_count: float, perturbation: float) -> float:
    """min_η 2Δ/(ηR) + ηL‖ḡ‖² + (ηLσP)²: what a distance of ησP from the virtual iterate says of the mean ‖∇f‖².

    With x̃ the virtual iterate, f(x̃⁺) ≤ f(x̃) − η⟨∇f(x̃), ∇f(x)⟩ + Lη²‖ḡ‖²/2 in the mean, and twice the product is at
    least ‖∇f(x)‖² − L²‖x̃ − x‖²; summed over R steps. The constants are those of the start, η is any positive number.

    Source: ours; form: Mania et al. 2017.
    """
    start = 2 * constants.gap / step_count
    noise = constants.smoothness * constants.mean_square
    distance = (constants.smoothness * perturbation) ** 2 * constants.second_moment
    # The derivative has one positive root, at most where it would be without the distance; halved to all its digits.
    low, size = 0.0, math.sqrt(start / noise)
    for _ in range(_HALVINGS):
        middle = (low + size) / 2
        low, size = (middle, size) if 2 * distance * middle**3 + noise * middle**2 < start else (low, middle)
    return start / size + noise * size + distance * size**2


def problem_constants(problem: Problem, worker_count: int) -> Constants:
    """Measured on the workers' first batches; L by power iteration on differences of gradients.

    The gap of a network is its loss, which has the lower bound 0.
    """
    model, workers = problem.initial, range(worker_count)

    def mean_gradient(at: torch.Tensor) -> torch.Tensor:
        return torch.stack([problem.loss_and_gradient(worker, 0, at, 1.0)[1].clone() for worker in workers]).mean(dim=0)

    found = [problem.loss_and_gradient(worker, 0, model, 1.0) for worker in workers]
    found = [(loss, gradient.clone()) for loss, gradient in found]
    base = mean_gradient(model)
    direction = torch.randn(len(model), generator=random_stream(0, "direction"), dtype=model.dtype)
    length, smoothness = 1e-2, 0.0
    for _ in range(POWER_ITERATIONS):
        direction = direction / direction.norm()
        direction = (mean_gradient(model + length * direction) - base) / length
        smoothness = float(direction.norm())
    is_quadratic = isinstance(problem, Quadratics)
    gap = problem.quality(model) if is_quadratic else fmean(loss for loss, _ in found)
    second_moment = fmean(float(gradient.square().sum()) for _, gradient in found)
    return Constants(gap, smoothness, second_moment, float(base.square().sum()))


def agreement(cells: list[dict[str, Any]], lines: list[dict[str, Any]], problem: str) -> dict[str, Any]:
    """Rank correlations of the measured error with what predicts it, and the splits that are best in each respect.

    Returns:
        The rank correlation over the grid of each of `PREDICTORS`; `lines`: of the perturbation along each line, by
        density over period; `best` and `predicted_best`, by the energy of the perturbation: rule and density; `excess`:
        the measured error of the second over that of the first.
    """
    own = [row for row in cells if row["problem"] == problem]
    errors = [fmean(row["end_error"]) for row in own]
    best = own[errors.index(min(errors))]
    expected = min(own, key=lambda row: float(row["energy_by_perturbation"]))
    by_share = groupby((row for row in lines if row["problem"] == problem), lambda row: row["density"] / row["period"])
    return {
        **{name: _along(own, name) for name in PREDICTORS},
        "lines": {f"{share:g}": _along(list(rows), "perturbation") for share, rows in by_share},
        "best": [best["rule"], best["density"]],
        "predicted_best": [expected["rule"], expected["density"]],
        "excess": fmean(expected["end_error"]) / min(errors),
    }


def rank_correlation(first: list[float], second: list[float]) -> float:
    """Spearman's: the correlation of ranks, equal values sharing their mean rank.

    Raises:
        ValueError: fewer than two pairs, or all values of one list are equal.
    """
    if len(first) < 2 or len(set(first)) == 1 or len(set(second)) == 1:
        raise ValueError(f"no rank correlation of {first} and {second}")
    return correlation(_ranks(first), _ranks(second))


def _along(rows: list[dict[str, Any]], name: str) -> float:
    return rank_correlation([float(row[name]) for row in rows], [fmean(row["end_error"]) for row in rows])


def _ranks(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]
