"""Self-paced learning by ADMM: examples with a small loss first, batches wherever they are, one model for all.

In rounds: ADMM on the examples that have weight, see `consensus.py`; then all batches come together at z, an example
has weight where its loss there is below the pace λ, and λ ← min(μλ, τ). The Lagrangian may not rise by more than
roundings and selection explain, within a round or between two; where it does, `is_violation` says so. After Zhang,
Zhao, Chen and Lu (IJCAI 2018) as the method was described to us; the order of the steps, the start of a round and the
proofs are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sparsync.experiments.learning.consensus import (
    Z_STEPS,
    Batch,
    BatchModel,
    ZStep,
    consensus_of,
    consensus_share,
    distance_bound,
    has_cholesky_factor,
    sufficient_penalty,
)
from sparsync.experiments.learning.proposals import Meeting, Met, Selection
from sparsync.experiments.training.averager import VectorAverager


@dataclass(frozen=True)
class Options:
    """How it learns.

    Args:
        penalty: ρ; None is the largest curvature φ_i of a batch, for which the Lagrangian is proved not to rise.
        pace: λ of the first weights.
        pace_growth: μ ≥ 1.
        last_pace: τ ≥ λ.
        round_count: rounds at most; the first is least squares on all examples.
        step_count: steps of ADMM in a round at most.
        tolerance: a round ends where z is proved to be no farther from the optimum of its examples, see
            `distance_bound`; in units of the model.
        z_step: "printed" drops the term ‖z‖², see `consensus_of`.
        damping: γ in z ← z + γ(θ·mean − z); 1 is ADMM.
        selection: what is sent of proposals; None everything.

    Raises:
        ValueError: one of them is out of range.
    """

    penalty: float | None = None
    pace: float = 0.1
    pace_growth: float = 1.1
    last_pace: float = 1.0
    round_count: int = 40
    step_count: int = 100
    tolerance: float = 1e-6
    z_step: ZStep = "right"
    damping: float = 1.0
    selection: Selection | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None and not 0 < self.penalty < math.inf:
            raise ValueError(f"penalty must be positive and finite, got {self.penalty}")
        if not 0 < self.pace <= self.last_pace < math.inf:
            raise ValueError(f"pace must be positive and at most last_pace, got {self.pace} and {self.last_pace}")
        if not 1 <= self.pace_growth < math.inf:
            raise ValueError(f"pace_growth must be at least 1 and finite, got {self.pace_growth}")
        for name in ("round_count", "step_count"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"tolerance must be at least 0 and finite, got {self.tolerance}")
        if self.z_step not in Z_STEPS:
            raise ValueError(f"z_step must be one of {', '.join(Z_STEPS)}, got {self.z_step!r}")
        if not 0 < self.damping <= 1:
            raise ValueError(f"damping must lie in (0, 1], got {self.damping}")


@dataclass(frozen=True)
class Step:
    """A step of ADMM.

    Args:
        lagrangian: L after it.
        rise: by how much L is larger than before.
        allowance: by how much it may be, for roundings.
        explained: by how much more it may be, for what was not sent.
        primal_residual: √(Σ‖w_i − z‖²/n).
        dual_residual: ‖Δz‖; ρ√n times that is the dual residual of ADMM.
        error_energy: mean over batches of ‖w_i + α_i/ρ − what was known of it‖².
        sent_bytes: of all batches, those of a look at the slope among them.
        distance_bound: z is no farther than that from the optimum of the round; None where nobody looked.
    """

    lagrangian: float
    rise: float
    allowance: float
    explained: float
    primal_residual: float
    dual_residual: float
    error_energy: float
    sent_bytes: int
    distance_bound: float | None = None

    @property
    def residual(self) -> float:
        """The larger of both, in units of the model; what it says of the distance depends on ρ and on the data."""
        return max(self.primal_residual, self.dual_residual)

    @property
    def is_violation(self) -> bool:
        """The Lagrangian rose more than roundings and selection explain; or is no number."""
        return not self.rise <= self.allowance + self.explained


@dataclass(frozen=True, eq=False)
class Round:
    """What a round was.

    Args:
        pace: λ with which its examples were weighted last; None in the first, in which all have weight.
        selected_count: examples with weight, of all batches; 0 leaves ‖z‖² alone, and z goes to 0.
        consensus: z at its end, [p].
        steps: of ADMM.
        start: the Lagrangian before the first step, when all batches are at one z: the objective there.
        start_rise: by how much coming together, weights and pace let the Lagrangian rise, which they do not.
        start_allowance: for roundings.
        distance_bound: z is no farther than that from the optimum of the examples with weight.
        is_settled: the bound is no larger than the tolerance; else the round ended because it had its steps.
    """

    pace: float | None
    selected_count: int
    consensus: Tensor
    steps: list[Step]
    start: float
    start_rise: float
    start_allowance: float
    distance_bound: float
    is_settled: bool

    @property
    def violation_count(self) -> int:
        """How often the Lagrangian rose where it cannot."""
        at_start = not self.start_rise <= self.start_allowance
        return at_start + sum(step.is_violation for step in self.steps)


@dataclass(frozen=True)
class _Watch:
    """The Lagrangian, and what roundings may have added to it; `rounding` is that of the last sums alone."""

    value: float = math.inf
    allowance: float = 0.0
    rounding: float = 0.0
    distance: float = 0.0


class SelfPaced:
    """Learns a model from batches, some here and some in other processes.

    Args:
        batches: those that live in this process, neighbours in rank.
        averager: how they meet the others; of the collective "dense" where nothing is selected.
        batch_count: n, over all processes; None: there are no others, which is checked, as any n is.
        first_rank: of the first batch here, among all.
        options: how.

    Raises:
        ValueError: no batch here, batches of different width or device, ranks beyond n, or not n batches in all.
    """

    def __init__(
        self,
        batches: Sequence[Batch],
        averager: VectorAverager,
        *,
        batch_count: int | None = None,
        first_rank: int = 0,
        options: Options = Options(),
    ) -> None:
        self.batch_count = len(batches) if batch_count is None else batch_count
        if not batches or not 0 <= first_rank <= self.batch_count - len(batches):
            raise ValueError(f"{len(batches)} batches from rank {first_rank} on are not among {self.batch_count}")
        if len(widths := {batch.features.shape[1] for batch in batches}) > 1:
            raise ValueError(f"batches have different numbers of features: {sorted(widths)}")
        if len(devices := {str(part.device) for batch in batches for part in (batch.features, batch.targets)}) > 1:
            raise ValueError(f"batches are on different devices: {sorted(devices)}")
        self._averager, self.options = averager, options
        self.curvatures = averager.gather([batch.curvature() for batch in batches])
        if len(self.curvatures) != self.batch_count:
            raise ValueError(f"batch_count is {self.batch_count}, but {len(self.curvatures)} batches meet")
        self.penalty = sufficient_penalty(self.curvatures) if options.penalty is None else options.penalty
        self._models = [BatchModel(batch, self.penalty) for batch in batches]
        first = batches[0].features
        ranks = range(first_rank, first_rank + len(batches))
        self._meeting = Meeting(averager, ranks, first.shape[1], options.selection, first.device)
        self.consensus = first.new_zeros(first.shape[1])
        self._pace, self._watch = options.pace, _Watch()

    @property
    def is_penalty_sufficient(self) -> bool:
        """ρ ≥ φ_i for every batch: the condition of descent, see `theory/learning/consensus.py`."""
        return self.penalty >= max(self.curvatures)

    def rounds(self) -> Iterator[Round]:
        """Learn, a round at a time, until a round at the last pace ends and changes no weight, or there were enough.

        Raises:
            FloatingPointError: the model is not finite, on every process alike.
            ExchangeError: another process is lost, or does not come in time.
        """
        used: float | None = None
        selected, changed = self._count([(float(model.batch.example_count), 0.0) for model in self._models])
        for index in range(self.options.round_count):
            rise, allowance = self._begin()
            start = self._watch.value
            steps = list(self._steps(index))
            bound = steps[-1].distance_bound
            assert bound is not None, "a round ends with a look"
            is_settled = bound <= self.options.tolerance
            yield Round(used, selected, self.consensus, steps, start, rise, allowance, bound, is_settled)
            is_last = used == self._pace == self.options.last_pace
            selected, changed = self._select()
            if is_settled and is_last and not changed:
                return
            used, self._pace = self._pace, min(self.options.pace_growth * self._pace, self.options.last_pace)

    def _begin(self) -> tuple[float, float]:
        """All batches come together at z; by how much the Lagrangian rises from the last one, and may for roundings."""
        for model in self._models:
            model.begin(self.consensus)
        before, self._watch = self._watch, self._lagrangian()
        return self._watch.value - before.value, before.allowance + self._watch.allowance

    def _steps(self, index: int) -> Iterator[Step]:
        """Steps until a look at the slope says that z is near enough, or there were enough: then the last one looks.

        A look costs a dense exchange. So the first waits for residuals no larger than the tolerance. If z was b away
        then, the next waits until residuals are smaller by 2b over the tolerance, as both fall together, or there
        were twice as many steps, as that is no law: in N steps at most 3 + log₂(N) looks, and one a halving.
        """
        options = self.options
        goal, due = options.tolerance, options.step_count
        for number in range(1, options.step_count + 1):
            step = self._step(self._meeting.average([model.proposal() for model in self._models]))
            self._require_finite(step.lagrangian, number, index)
            if step.residual < goal or number in (due, options.step_count):
                step = self._looked(step)
                assert step.distance_bound is not None
                self._require_finite(step.distance_bound, number, index)
                if step.distance_bound <= options.tolerance:
                    yield step
                    return
                goal, due = step.residual * options.tolerance / step.distance_bound / 2, 2 * number
            yield step

    def _looked(self, step: Step) -> Step:
        met = self._averager.gather_vectors([model.slope(self.consensus) for model in self._models])
        bound = distance_bound(self.consensus, met.vectors)
        return replace(step, distance_bound=bound, sent_bytes=step.sent_bytes + met.sent_bytes)

    def _require_finite(self, value: float, number: int, index: int) -> None:
        """Alike on all processes, as they all have the value."""
        if math.isfinite(value):
            return
        curvature = max(self.curvatures)
        words = f"the model is not finite in step {number - 1} of round {index}"
        if not has_cholesky_factor(self.penalty, curvature, self.consensus.numel()):
            words += f": the penalty {self.penalty} may be too small beside the curvature {curvature} for float64"
        raise FloatingPointError(words)

    def _step(self, met: Met) -> Step:
        options, count = self.options, self.batch_count
        aim = consensus_of(met.mean, count, self.penalty, options.z_step)
        move = options.damping * (aim - self.consensus)
        self.consensus = aim if options.damping == 1 else self.consensus + move
        for model in self._models:
            model.step(self.consensus)
        before, self._watch = self._watch, self._lagrangian()
        energy = 0.0
        if options.selection is not None:
            energy = math.fsum(self._averager.gather(met.errors)) / count
        share = consensus_share(count, self.penalty)
        return Step(
            lagrangian=self._watch.value,
            rise=self._watch.value - before.value,
            allowance=self._watch.allowance + before.rounding,
            explained=options.damping / (2 - options.damping) * (2 + self.penalty * count) / 2 * share**2 * energy,
            primal_residual=math.sqrt(self._watch.distance / count),
            dual_residual=float(move.norm()),
            error_energy=energy,
            sent_bytes=met.sent_bytes,
        )

    def _lagrangian(self) -> _Watch:
        count, square = self.batch_count, float(self.consensus.square().sum())
        watched = [model.watch(self.consensus, self._pace, count) for model in self._models]
        rows = self._averager.gather_rows([(part.value, part.allowance, part.distance) for part in watched])
        value, allowance, distance = (math.fsum(column) for column in zip(*rows, strict=True))
        # Of ‖z‖² with p squares, of adding it, and of the difference from another such value.
        rounding = (self.consensus.numel() + 2) * 2.0**-52 * square + 2.0**-51 * abs(value + square)
        return _Watch(value + square, allowance + rounding, rounding, distance)

    def _select(self) -> tuple[int, int]:
        """v_ij = 1 where the loss at z is below λ; how many examples have weight now, and how many changed."""
        rows = []
        for model in self._models:
            weights = (model.losses(self.consensus) < self._pace).to(torch.float64)
            rows.append((float(weights.sum()), float(model.set_weights(weights))))
        return self._count(rows)

    def _count(self, rows: Sequence[tuple[float, float]]) -> tuple[int, int]:
        selected, changed = zip(*self._averager.gather_rows(rows), strict=True)
        return int(math.fsum(selected)), int(math.fsum(changed))
