"""What does self-paced ADMM recover from corrupted batches, does it descend, and what does Top-k make of its residuals?

Recovery: with most targets of some of ten batches moved, self-paced ADMM beside least squares on all examples (its own
first round), Huber's regression of scikit-learn, which sees all batches in one place, and least squares on the examples
that nobody moved. Descent: the right and the printed step of z on batches of several sizes, and how far each ends from
the optimum that cvxpy finds. Selection: residuals, bytes and the distance from the optimum by density and memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.learning.consensus import Batch, ZStep
from sparsync.experiments.learning.proposals import Memory, Selection
from sparsync.experiments.learning.regression import Regression, Source, Task, make_task
from sparsync.experiments.learning.self_paced import Options, Round, SelfPaced
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

METHODS = ("plain", "self_paced", "huber", "clean")
"""Least squares on all examples; this system; Huber's regression; least squares on those that nobody moved."""
DESCENT_BATCHES, DESCENT_FEATURES = 4, 5
DESCENT_SIZES = (5, 50, 500)
"""Examples of each batch."""
SELECTION_BATCHES = 10
TOLERANCE = 1e-6
"""Distance from the optimum to which selections are run, as it is proved."""
MEMORY_DENSITY = 0.25
"""Where memories are compared."""


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        regression: synthetic data; how many batches are corrupted, and the seed, are the case's.
        corrupted_counts: of the ten batches.
        seed_count: of recovery.
        options: how it learns there.
        descent_seed_count: of descent.
        descent_step_count: steps of each of its runs.
        selection_seed_count: of selection.
        selection_step_count: steps at most.
        selection_features: p there.
        densities: k/p.
    """

    regression: Regression
    corrupted_counts: tuple[int, ...]
    seed_count: int
    options: Options
    descent_seed_count: int
    descent_step_count: int
    selection_seed_count: int
    selection_step_count: int
    selection_features: int
    densities: tuple[float, ...]


_RECORD = Sizes(
    regression=Regression(),
    corrupted_counts=(4, 5, 6, 7, 8, 9),
    seed_count=10,
    options=Options(step_count=60, tolerance=1e-3),
    descent_seed_count=10,
    descent_step_count=60,
    selection_seed_count=10,
    selection_step_count=600,
    selection_features=100,
    densities=(1.0, 0.5, 0.25, 0.1, 0.05),
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        regression=Regression(feature_count=3, example_count=120),
        corrupted_counts=(4, 9),
        seed_count=1,
        options=Options(round_count=4, step_count=5, tolerance=1e-2),
        descent_seed_count=1,
        descent_step_count=20,
        selection_seed_count=1,
        selection_step_count=40,
        selection_features=20,
        densities=(1.0, 0.25),
    ),
    "quick": Sizes(
        regression=Regression(feature_count=20, example_count=1000),
        corrupted_counts=(4, 9),
        seed_count=3,
        options=Options(step_count=12, tolerance=1e-3),
        descent_seed_count=3,
        descent_step_count=60,
        selection_seed_count=3,
        selection_step_count=150,
        selection_features=40,
        densities=(1.0, 0.5, 0.25, 0.1),
    ),
    "record": _RECORD,
    "full": replace(_RECORD, seed_count=20, descent_seed_count=20, selection_seed_count=20),
}


@dataclass(frozen=True)
class RecoveryCase:
    """One task, learned by all methods."""

    source: Source
    corrupted_count: int
    seed: int
    sizes: Sizes


@dataclass(frozen=True)
class DescentCase:
    """One run of a step of z."""

    example_count: int
    z_step: ZStep
    seed: int
    sizes: Sizes


@dataclass(frozen=True)
class SelectionCase:
    """One run of a selection; damped is with the damping that `admm_compressed_damping` states."""

    density: float
    memory: Memory
    is_damped: bool
    seed: int
    sizes: Sizes
    keeps_residuals: bool = False


Case = RecoveryCase | DescentCase | SelectionCase


def run_self_paced(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Run all cases; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.
        seed: the first one.

    Returns:
        `recovery`: of each source, number of corrupted batches and seed the error of each of the `METHODS`, ‖ŵ − w*‖ or
        the mean absolute error on the test, how many examples had weight in the end, and how many of these were moved.
        of the last round also the distance from its optimum, as it is proved, and whether that was small enough.
        `descent`: of each batch size, step of z and seed the share of steps in which L rose by more than roundings, and
        the distance of z from the optimum at the end. `selection`: of each density, memory, damping and seed the steps
        and bytes until z was proved to be near (null: never), the distance from the optimum at the end, and, of the
        first seed, the residuals.
    """
    sizes = sized(SIZES, profile_name)
    cases = _cases(sizes, seed)
    found = pool.run(run_case, cases)
    parts: dict[str, list[dict[str, Any]]] = {"recovery": [], "descent": [], "selection": []}
    for case, row in zip(cases, found, strict=True):
        parts[_part(case)].append(row)
    return {
        "profile": profile_name,
        "seed": seed,
        "regression": asdict(sizes.regression),
        "options": asdict(sizes.options),
        "corrupted_count": list(sizes.corrupted_counts),
        "density": list(sizes.densities),
        "memory_density": MEMORY_DENSITY,
        "tolerance": TOLERANCE,
        "descent_step_count": sizes.descent_step_count,
        "selection_step_count": sizes.selection_step_count,
        "selection_feature_count": sizes.selection_features,
        **parts,
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_self_paced` advances."""
    return len(_cases(sized(SIZES, profile_name), 0))


def run_case(case: Case) -> dict[str, Any]:
    """Any of them: one pool of processes for all."""
    if isinstance(case, RecoveryCase):
        return recovery(case)
    return descent(case) if isinstance(case, DescentCase) else selection(case)


def recovery(case: RecoveryCase) -> dict[str, Any]:
    """The error of every method on one task."""
    regression = replace(
        case.sizes.regression, source=case.source, corrupted_count=case.corrupted_count, seed=case.seed
    )
    task = make_task(regression)
    rounds = _learned(task.batches, case.sizes.options)
    moved = torch.cat(task.is_moved)
    weights = torch.cat([_has_weight(batch, rounds) for batch in task.batches])
    models = {
        "plain": rounds[0].consensus,
        "self_paced": rounds[-1].consensus,
        "huber": huber(task.batches),
        "clean": least_squares(task.clean()),
    }
    return {
        "source": case.source,
        "corrupted_count": case.corrupted_count,
        "seed": case.seed,
        **{name: _error(task, models[name]) for name in METHODS},
        "example_count": len(moved),
        "selected_count": int(weights.sum()),
        "selected_moved_count": int((weights & moved).sum()),
        "violation_count": sum(found.violation_count for found in rounds),
        "distance_bound": rounds[-1].distance_bound,
        "is_settled": rounds[-1].is_settled,
    }


def descent(case: DescentCase) -> dict[str, Any]:
    """How often L rises in one round on all examples, and where z ends."""
    batches = _plain_task(case.example_count * DESCENT_BATCHES, DESCENT_BATCHES, DESCENT_FEATURES, case.seed, 0.5)
    options = Options(round_count=1, step_count=case.sizes.descent_step_count, tolerance=0.0, z_step=case.z_step)
    (found,) = _learned(batches, options)
    return {
        "example_count": case.example_count,
        "z_step": case.z_step,
        "seed": case.seed,
        "rising_share": found.violation_count / len(found.steps),
        "distance": float((found.consensus - optimum(batches)).norm()),
    }


def selection(case: SelectionCase) -> dict[str, Any]:
    """Residuals and bytes of one round on all examples, until z is proved to be near its optimum."""
    sizes, width = case.sizes, case.sizes.selection_features
    batches = _plain_task(20 * width, SELECTION_BATCHES, width, case.seed, 0.1)
    options = Options(round_count=1, step_count=sizes.selection_step_count, tolerance=TOLERANCE)
    if case.density < 1:
        damping = _stated_damping(case.density, batches, options) if case.is_damped else 1.0
        chosen = Selection(density=case.density, memory=case.memory, seed=case.seed)
        options = replace(options, selection=chosen, damping=damping)
    (found,) = _learned(batches, options)
    return {
        "density": case.density,
        "memory": case.memory,
        "is_damped": case.is_damped,
        "damping": options.damping,
        "seed": case.seed,
        "step_count": len(found.steps) if found.is_settled else None,
        "sent_bytes": sum(step.sent_bytes for step in found.steps) if found.is_settled else None,
        "step_bytes": found.steps[0].sent_bytes,
        "distance": float((found.consensus - least_squares(batches)).norm()),
        "rising_share": sum(step.rise > step.allowance for step in found.steps) / len(found.steps),
        "violation_count": found.violation_count,
        "residual": [step.residual for step in found.steps] if case.keeps_residuals else None,
    }


def least_squares(batches: Sequence[Batch]) -> Tensor:
    """The minimiser of Σ_j (x_j·z − y_j)² + ‖z‖²."""
    features, targets = _together(batches)
    normal = features.T @ features + torch.eye(features.shape[1], dtype=torch.float64)
    model: Tensor = torch.linalg.solve(normal, features.T @ targets)
    return model


def huber(batches: Sequence[Batch]) -> Tensor:
    """Huber's regression as scikit-learn has it, on all batches in one place, with its own defaults."""
    from sklearn.linear_model import HuberRegressor

    features, targets = _together(batches)
    fitted = HuberRegressor(fit_intercept=False, max_iter=10_000).fit(features.numpy(), targets.numpy())
    return torch.as_tensor(fitted.coef_, dtype=torch.float64)


def optimum(batches: Sequence[Batch]) -> Tensor:
    """The same minimiser as `least_squares`, found by cvxpy, which knows nothing of normal equations.

    Raises:
        RuntimeError: the solver does not say that it is optimal.
    """
    import cvxpy

    features, targets = _together(batches)
    model = cvxpy.Variable(features.shape[1])
    loss = ((features.numpy() @ model - targets.numpy()) ** 2).sum() + (model**2).sum()
    problem = cvxpy.Problem(cvxpy.Minimize(loss))
    problem.solve(solver=cvxpy.CLARABEL)  # type: ignore[no-untyped-call]  # not annotated by cvxpy
    if problem.status != cvxpy.OPTIMAL or model.value is None:
        raise RuntimeError(f"cvxpy says {problem.status}")
    return torch.as_tensor(model.value, dtype=torch.float64)


def _learned(batches: Sequence[Batch], options: Options) -> list[Round]:
    averager = LocalAverager("dense" if options.selection is None else "sparse")
    return list(SelfPaced(batches, averager, options=options).rounds())


def _plain_task(example_count: int, batch_count: int, width: int, seed: int, noise: float) -> list[Batch]:
    """Batches of which no target is moved."""
    regression = Regression(
        batch_count=batch_count,
        corrupted_count=0,
        good_share=0.0,
        feature_count=width,
        example_count=example_count,
        target_noise=noise,
        seed=seed,
    )
    return make_task(regression).batches


def _stated_damping(density: float, batches: Sequence[Batch], options: Options) -> float:
    """Top-k keeps at least the share k/p of the energy."""
    penalty = SelfPaced(batches, LocalAverager("dense"), options=options).penalty
    return STATEMENTS["admm_compressed_damping"].evaluate(delta=density, n=len(batches), penalty=penalty)


def _has_weight(batch: Batch, rounds: Sequence[Round]) -> Tensor:
    """Which examples had weight in the last round."""
    pace = rounds[-1].pace
    if pace is None:
        return torch.ones(batch.example_count, dtype=torch.bool)
    return (batch.features @ rounds[-2].consensus - batch.targets).square() < pace


def _together(batches: Sequence[Batch]) -> tuple[Tensor, Tensor]:
    return torch.cat([batch.features for batch in batches]), torch.cat([batch.targets for batch in batches])


def _error(task: Task, model: Tensor) -> float:
    error = task.test_error(model) if task.model is None else task.recovery_error(model)
    assert error is not None
    return error


def _part(case: Case) -> str:
    if isinstance(case, RecoveryCase):
        return "recovery"
    return "descent" if isinstance(case, DescentCase) else "selection"


def _cases(sizes: Sizes, seed: int) -> list[Case]:
    sources: tuple[Source, ...] = ("synthetic", "diabetes")
    z_steps: tuple[ZStep, ...] = ("right", "printed")
    recoveries = [
        RecoveryCase(source, count, seed + place, sizes)
        for source in sources
        for count in sizes.corrupted_counts
        for place in range(sizes.seed_count)
    ]
    descents = [
        DescentCase(count, z_step, seed + place, sizes)
        for count in DESCENT_SIZES
        for z_step in z_steps
        for place in range(sizes.descent_seed_count)
    ]
    kinds: list[tuple[float, Memory, bool]] = [(density, "ef21", False) for density in sizes.densities]
    kinds += [(MEMORY_DENSITY, "ef14", False), (MEMORY_DENSITY, "none", False), (MEMORY_DENSITY, "ef21", True)]
    selections = [
        SelectionCase(*kind, seed + place, sizes, keeps_residuals=place == 0)
        for kind in kinds
        for place in range(sizes.selection_seed_count)
    ]
    return [*recoveries, *descents, *selections]
