"""How are gradients distributed over training, without error feedback and with it? Six models, the original study's.

Of each a dense run and one of Top-k with error feedback. Looked at is the first worker's gradient, or its corrected
gradient u = g + e; the step size is outside the memory, so that both have the same unit. At every update: scale, gain
δ/κ, and whether the hypotheses of the ladder hold; at some: histograms, sorted magnitudes, laws, relative errors.
Models, density and what is drawn follow the code released with Shi, Chu, Cheung and See 2019.

Further seeds repeat the runs and keep what the claims need. The bounds of these claims (feedback multiplies the
deviation by more than 4, the hypothesis of exponent two holds at 99 % of the updates) were chosen when the runs of seed
0 were known, and before those of any other seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, Literal

import numpy as np
from torch import Tensor

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.selection.rank_hypotheses import RUNGS, sampled_ranks
from sparsync.experiments.studies.selection.vector_shapes import (
    DENSITIES,
    DENSITY,
    HISTOGRAM,
    MAGNITUDE_HISTOGRAM,
    StepShape,
    found_over,
    observed,
    step_shape,
)
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import target_count
from sparsync.theory.contraction.ladder import STATEMENTS as LADDER
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import Pool, call
from sparsync.verify.tools.provenance import provenance

Kind = Literal["dense", "top_k"]
KINDS: tuple[Kind, ...] = ("dense", "top_k")
WORKER_COUNT = 4
OBSERVATION_COUNT, SERIES_COUNT = 8, 200
STEADY_LAWS = ("steady_drift", "steady_noise")
_SIGNIFICANT_DIGITS = 6
_LAST_SHARE = 10
"""The last tenth of a run is called late."""


@dataclass(frozen=True)
class Setup:
    """A model and how it trains: plain SGD.

    Args:
        model: see `Run.model`.
        data: see `Run.data`.
        batch_size: examples per worker and step.
        steps: updates.
        step_size: constant.
    """

    model: str
    data: str
    batch_size: int
    steps: int
    step_size: float


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        setup: what trains.
        kind: dense, or Top-k with error feedback.
        seed: names its random streams.
    """

    setup: Setup
    kind: Kind
    seed: int = 0


SIZES: Mapping[ProfileName, tuple[Setup, ...]] = {
    "smoke": (Setup("fnn3", "embedded", batch_size=8, steps=12, step_size=0.1),),
    "record": (
        Setup("fnn3", "embedded", batch_size=32, steps=4000, step_size=0.1),
        Setup("lenet5", "embedded", batch_size=32, steps=3000, step_size=0.05),
        Setup("resnet20", "embedded", batch_size=8, steps=800, step_size=0.05),
        Setup("vgg16", "embedded", batch_size=4, steps=100, step_size=0.02),
        Setup("lstm", "text", batch_size=1, steps=800, step_size=1.0),
        Setup("gpt", "text", batch_size=1, steps=600, step_size=0.3),
    ),
    "full": (
        Setup("fnn3", "fashion_mnist", batch_size=128, steps=20_000, step_size=0.1),
        Setup("lenet5", "fashion_mnist", batch_size=128, steps=20_000, step_size=0.05),
        Setup("resnet20", "cifar10", batch_size=32, steps=20_000, step_size=0.1),
        Setup("vgg16", "cifar10", batch_size=32, steps=5000, step_size=0.05),
        Setup("lstm", "text", batch_size=8, steps=20_000, step_size=1.0),
        Setup("gpt", "text", batch_size=8, steps=20_000, step_size=0.3),
    ),
}
"""The quick profile leaves the study out: FNN-3 alone takes minutes."""
SEED_COUNTS: Mapping[ProfileName, int] = {"smoke": 2, "quick": 0, "record": 5, "full": 5}


def run_gradient_laws(profile_name: ProfileName, pool: Pool, *, seed: int = 0) -> dict[str, Any]:
    """Train every model both ways, on every seed; the study's JSON.

    Args:
        profile_name: one that `SIZES` leaves out has no runs.
        pool: runs the cases.
        seed: the first, of the runs and of the samples that are fitted.

    Returns:
        `density` of the runs, `densities` of the relative errors, the edges of the histograms; `runs` of the first
        seed, see `run_case`, and `repeats` of the others, see `run_repeat`, whose numbers have six digits.

    Raises:
        CasesFailedError: some runs failed. One that diverged later than its first update has not failed.
    """
    cases = [partial(run_case, case) for case in _cases(profile_name, [seed])]
    repeats = [partial(run_repeat, case) for case in _cases(profile_name, _further_seeds(profile_name, seed))]
    found = pool.run(call, [*cases, *repeats])
    return {
        "profile": profile_name,
        "seed": seed,
        "worker_count": WORKER_COUNT,
        "density": DENSITY,
        "densities": list(DENSITIES),
        "steady_gain": {
            label: [(1 - STATEMENTS[label].evaluate(kappa=kappa)) / kappa for kappa in DENSITIES]
            for label in STEADY_LAWS
        },
        "own_steady_gain": {label: (1 - STATEMENTS[label].evaluate(kappa=DENSITY)) / DENSITY for label in STEADY_LAWS},
        "edges_deviations": HISTOGRAM.edges(),
        "magnitude_edges_decades": MAGNITUDE_HISTOGRAM.edges(),
        "runs": found[: len(cases)],
        "repeats": found[len(cases) :],
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_gradient_laws` advances."""
    return len(_cases(profile_name, range(SEED_COUNTS[profile_name])))


def _further_seeds(profile_name: ProfileName, seed: int) -> range:
    return range(seed + 1, seed + SEED_COUNTS[profile_name])


def _cases(profile_name: ProfileName, seeds: Sequence[int]) -> list[Case]:
    """Seed by seed, so that an interrupted study has whole seeds."""
    return [Case(setup, kind, seed) for seed, setup, kind in product(seeds, SIZES.get(profile_name, ()), KINDS)]


def run_case(case: Case) -> dict[str, Any]:
    """Train, and look at what the first worker selects from.

    Returns:
        The setup's fields, `kind`, `parameter_count`, the losses, and where the run diverged, null if it did not;
        `rank`, those of the magnitudes; `bounds`, the relative error that each rung allows at each density;
        `observations`, see `observed`; `series` of every so many updates; and what `Watch.summary` has.
    """
    result, watch = _watched(case, observed_steps(case.setup.steps))
    facts = {**asdict(case.setup), "kind": case.kind, **_training_facts(result), **watch.details(), **watch.summary()}
    found: dict[str, Any] = rounded(facts)
    return found


def run_repeat(case: Case) -> dict[str, Any]:
    """The same run, of another seed, looked at closely only at its last update: a short record of it.

    Returns:
        `model`, `kind`, `seed`, `step_size`, `steps`, `late_loss`, where the run diverged, null if it did not, and
        what `Watch.summary` has; in `observations` the last update's `best_law` and the `distance` of each of its
        `laws`, none where the run diverged before.
    """
    result, watch = _watched(case, [case.setup.steps])
    training = _training_facts(result)
    facts = {
        **{name: getattr(case.setup, name) for name in ("model", "step_size", "steps")},
        **{name: getattr(case, name) for name in ("kind", "seed")},
        **{name: training[name] for name in ("late_loss", "diverged_at_step")},
        **watch.summary(),
        "observations": [_short(observation) for observation in watch.observations],
    }
    found: dict[str, Any] = rounded(facts)
    return found


def _short(observation: Mapping[str, Any]) -> dict[str, Any]:
    laws = {name: {"distance": law["distance"]} for name, law in observation["laws"].items()}
    return {"step": observation["step"], "laws": laws, "best_law": observation["best_law"]}


def _watched(case: Case, looked_at: Sequence[int]) -> tuple[TrainingResult, Watch]:
    """A run, and what was seen of it: closely at some updates.

    Raises:
        ValueError: nothing was seen: the run diverged at once.
    """
    setup = case.setup
    watch = Watch(case, frozenset(looked_at))
    result = simulate(
        Run(
            selector="keep_all" if case.kind == "dense" else "top_k",
            collective="dense" if case.kind == "dense" else "sparse",
            model=setup.model,
            data=setup.data,
            density=DENSITY,
            batch_size=setup.batch_size,
            step_size=setup.step_size,
            step_location="outside",
            steps=setup.steps,
            evaluate_every=setup.steps,
            test_limit=64,
            seed=case.seed,
            workers=WORKER_COUNT,
        ),
        observe=lambda step_count, corrected: watch.look(step_count, corrected[0]),
    )
    if not watch.shapes:
        raise ValueError(f"{case}: diverged at its first update")
    return result, watch


@dataclass
class Watch:
    """Looks at a run's vectors.

    Args:
        case: the run.
        looked_at: the updates to be looked at closely.
        shapes: of every update so far.
        observations: of those that are looked at closely.
    """

    case: Case
    looked_at: frozenset[int]
    shapes: list[StepShape] = field(default_factory=list)
    observations: list[dict[str, Any]] = field(default_factory=list)
    dimension: int = 0

    def look(self, step_count: int, vector: Tensor) -> None:
        """Note what is to be noted of the vector [d] of an update."""
        self.dimension = vector.numel()
        magnitudes = np.sort(np.abs(vector.numpy()))[::-1]
        self.shapes.append(step_shape(step_count, vector, magnitudes))
        if step_count in self.looked_at:
            stream = random_stream(self.case.seed, "laws", step_count)
            self.observations.append(observed(step_count, vector, magnitudes, self.shapes[-1].deviation, stream))

    def details(self) -> dict[str, Any]:
        """What is drawn: see `run_case`."""
        counts = [target_count(kappa, self.dimension) for kappa in DENSITIES]
        every = max(1, self.case.setup.steps // SERIES_COUNT)
        thinned = [shape for shape in self.shapes if shape.step % every == 0]
        names = ("step", "gain", "deviation", "largest", "gaussian_count_ratio")
        return {
            "rank": sampled_ranks(self.dimension).tolist(),
            "bounds": {
                label: [statement.evaluate(k=k, d=self.dimension) for k in counts]
                for label, statement in LADDER.items()
            },
            "observations": self.observations,
            "series": {name: [getattr(shape, name) for shape in thinned] for name in names},
        }

    def summary(self) -> dict[str, Any]:
        """`hypotheses` and `bound_share` over all updates, and means over the last tenth of them."""
        late = self.shapes[-max(1, len(self.shapes) // _LAST_SHARE) :]
        return {
            "hypotheses": {
                label: found_over([shape.findings[place] for shape in self.shapes]) for place, label in enumerate(RUNGS)
            },
            "bound_share": {label: self._bound_share(label) for label in LADDER},
            "late_gain": fmean([shape.gain for shape in late]),
            "late_deviation": fmean([shape.deviation for shape in late]),
            "late_largest": fmean([shape.largest for shape in late]),
            "late_gaussian_count_ratio": fmean([shape.gaussian_count_ratio for shape in late]),
        }

    def _bound_share(self, label: str) -> float:
        """Of the updates at which the relative error at the runs' density is within a rung's bound."""
        count = target_count(DENSITY, self.dimension)
        bound = LADDER[label].evaluate(k=count, d=self.dimension)
        errors = [1 - shape.gain * count / self.dimension for shape in self.shapes]
        # The error is a difference from one: the sums behind it are rounded by that many parts at most.
        return fmean([float(error <= bound + 2.0**-45) for error in errors])


def observed_steps(steps: int) -> list[int]:
    """Some eight updates, ever farther apart, the first and the last among them."""
    return sorted({round(steps ** (place / (OBSERVATION_COUNT - 1))) for place in range(OBSERVATION_COUNT)})


def rounded(value: Any) -> Any:
    """The same record with six digits of every number that is not whole."""
    if isinstance(value, float):
        return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return value


def _training_facts(result: TrainingResult) -> dict[str, Any]:
    losses = [facts.loss for facts in result.steps]
    tenth = max(1, len(losses) // _LAST_SHARE)
    return {
        "parameter_count": result.dimension,
        "early_loss": fmean(losses[:tenth]),
        "late_loss": fmean(losses[-tenth:]),
        "test_accuracy": result.test_accuracy,
        "diverged_at_step": result.diverged_at_step,
    }
