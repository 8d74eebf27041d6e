"""Self-paced learning as a system: which data, how many batches on how many processes, and what came of it.

`torchrun --nproc-per-node 4 -m sparsync.experiments.learn --system spl --output result.json`. Batches live in the
processes in turn, so that the model has the same bits on any number of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sparsync.experiments.learning.consensus import ZStep
from sparsync.experiments.learning.proposals import Memory, Selection
from sparsync.experiments.learning.regression import Regression, Source, Task, make_task, on_device
from sparsync.experiments.learning.self_paced import Options, Round, SelfPaced
from sparsync.experiments.parties.party import Party, System
from sparsync.experiments.training.slices import shares


@dataclass(frozen=True)
class Settings:
    """What `--system spl` takes."""

    source: Source = "synthetic"
    """the data: synthetic, or diabetes"""
    batches: int = 10
    """batches over all processes, at least one each"""
    corrupted_batches: int = 6
    """of them, how many have most of their targets moved"""
    corruption: float = 5.0
    """targets are moved by something uniform within so many times the largest target"""
    bad_share: float = 0.9
    """share of the targets of a corrupted batch that are moved"""
    good_share: float = 0.1
    """share of the targets of any other batch that are moved"""
    features: int = 50
    """width of synthetic data"""
    examples: int = 4000
    """of synthetic data, over all batches"""
    target_noise: float = 0.1
    """standard deviation of the noise of synthetic targets"""
    penalty: float | None = None
    """the penalty of ADMM; without it the largest curvature of a batch, which suffices for descent"""
    pace: float = 0.1
    """examples with a smaller loss have weight, at first"""
    pace_growth: float = 1.1
    """factor of the pace from round to round"""
    last_pace: float = 1.0
    """where it ends"""
    rounds: int = 40
    """rounds at most"""
    steps: int = 30
    """steps of ADMM in a round at most"""
    tolerance: float = 1e-3
    """a round ends where the model is proved to be no farther from the optimum of its examples"""
    z_step: ZStep = "right"
    """the minimiser, or the printed mean that drops a term"""
    damping: float = 1.0
    """share of the way to the next consensus that is gone"""
    density: float = 1.0
    """share of the entries of a proposal that is sent; 1 sends whole proposals"""
    selector: str = "top_k"
    """which, where not all are sent"""
    memory: Memory = "ef21"
    """what is kept of what was not sent"""
    seed: int = 0
    """of data and draws"""

    def __post_init__(self) -> None:
        # Refuses what is out of range.
        _ = self.regression, self.options

    @property
    def regression(self) -> Regression:
        """The data."""
        return Regression(
            source=self.source,
            batch_count=self.batches,
            corrupted_count=self.corrupted_batches,
            corruption=self.corruption,
            bad_share=self.bad_share,
            good_share=self.good_share,
            feature_count=self.features,
            example_count=self.examples,
            target_noise=self.target_noise,
            seed=self.seed,
        )

    @property
    def options(self) -> Options:
        """How it learns."""
        selection = Selection(self.selector, self.density, self.memory, self.seed)
        return Options(
            penalty=self.penalty,
            pace=self.pace,
            pace_growth=self.pace_growth,
            last_pace=self.last_pace,
            round_count=self.rounds,
            step_count=self.steps,
            tolerance=self.tolerance,
            z_step=self.z_step,
            damping=self.damping,
            selection=None if self.density == 1 else selection,
        )


def run(settings: Settings, party: Party) -> dict[str, Any]:
    """Learn; the result as JSON, alike on all processes.

    Raises:
        ValueError: fewer batches than processes, or the data's library is not installed.
        FloatingPointError: the model is not finite.
        ExchangeError: another process is lost, or does not come in time.
    """
    own = shares(settings.batches, party.size)[party.rank]
    task = make_task(settings.regression)
    collective = "dense" if settings.options.selection is None else "sparse"
    solver = SelfPaced(
        [on_device(task.batches[rank], party.device) for rank in own],
        party.averager(collective, worker_count=settings.batches),
        batch_count=settings.batches,
        first_rank=own.start,
        options=settings.options,
    )
    rounds = []
    for found in solver.rounds():
        rounds.append(found)
        party.advance()
    for _ in range(settings.rounds - len(rounds)):
        party.advance()
    return {
        "batch_count": settings.batches,
        "example_count": sum(batch.example_count for batch in task.batches),
        "moved_count": sum(int(moved.sum()) for moved in task.is_moved),
        "penalty": solver.penalty,
        "largest_curvature": max(solver.curvatures),
        "is_penalty_sufficient": solver.is_penalty_sufficient,
        "model": solver.consensus.tolist(),
        **judged(task, rounds),
        "rounds": [round_facts(task, found) for found in rounds],
    }


def judged(task: Task, rounds: list[Round]) -> dict[str, Any]:
    """What the rounds come to; "plain" is the first of them, least squares on all examples."""
    steps = [step for found in rounds for step in found.steps]
    worst = max(steps, key=lambda step: step.rise - step.allowance - step.explained)
    return {
        "recovery_error": task.recovery_error(rounds[-1].consensus),
        "plain_recovery_error": task.recovery_error(rounds[0].consensus),
        "test_error": task.test_error(rounds[-1].consensus),
        "plain_test_error": task.test_error(rounds[0].consensus),
        "selected_count": rounds[-1].selected_count,
        "distance_bound": rounds[-1].distance_bound,
        "is_settled": rounds[-1].is_settled,
        "round_count": len(rounds),
        "step_count": len(steps),
        "violation_count": sum(found.violation_count for found in rounds),
        "largest_rise": worst.rise,
        "sent_bytes": sum(step.sent_bytes for step in steps),
    }


def round_facts(task: Task, found: Round) -> dict[str, Any]:
    """A round as JSON, with what each of its steps measured."""
    columns = ("lagrangian", "rise", "allowance", "explained", "primal_residual", "dual_residual", "error_energy")
    return {
        "pace": found.pace,
        "selected_count": found.selected_count,
        "distance_bound": found.distance_bound,
        "is_settled": found.is_settled,
        "recovery_error": task.recovery_error(found.consensus),
        "test_error": task.test_error(found.consensus),
        "violation_count": found.violation_count,
        **{name: [getattr(step, name) for step in found.steps] for name in columns},
        "sent_bytes": [step.sent_bytes for step in found.steps],
    }


def line(result: dict[str, Any]) -> str:
    """How far off the model is, before and after examples were chosen, if it settled, and if the Lagrangian rose."""
    kind = "recovery_error" if result["recovery_error"] is not None else "test_error"
    words = {"recovery_error": "from the true model", "test_error": "mean absolute error of the test"}[kind]
    count = result["violation_count"]
    rose = f"rose {count} times" if count > 1 else "rose once" if count else "never rose"
    near = f"at most {result['distance_bound']:.1g} from the optimum of these"
    settled = f"settled, {near}" if result["is_settled"] else f"not settled, {near}"
    return (
        f"{result[kind]:.3g} {words} ({result[f'plain_{kind}']:.3g} with all examples), "
        f"{result['selected_count']} of {result['example_count']} examples in {result['round_count']} rounds, "
        f"{settled}, "
        f"{result['sent_bytes']} bytes; the Lagrangian {rose}"
    )


SYSTEM = System(
    summary="self-paced learning by ADMM",
    settings=Settings,
    run=run,
    line=line,
    step_count=lambda settings: settings.rounds,
)
"""Self-paced learning."""
