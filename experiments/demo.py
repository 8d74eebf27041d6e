"""The first two minutes: a few training runs, a race and a theorem, small enough to watch.

`python -m sparsync.experiments.demo --output-folder build/demo`

What is printed is what was just computed. Pictures need matplotlib, which comes with the extra "paper".
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.racing.contest import Outcome, Race, outcome_line, run_contestant
from sparsync.experiments.simulate import DEFAULT_WORKER_COUNT, simulate
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.record import result_line
from sparsync.experiments.training.runs import RUNS
from sparsync.theory.language.statement import written
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.tools.provenance import require_folder

TRAINED = {"dense": "fnn3_dense", "Top-k": "fnn3_top_k", "Gaussian-k": "fnn3_gaussian_k"}
"""Titles to keys of `RUNS`."""
CONTESTANTS = ("bsp", "ssp", "asp", "adsp")
"""Policies, with the parameters that they have by themselves."""
CONDITIONS = Race(model="fnn2", step_size=0.2, consensus_step=0.1, bandwidth=203_600.0, points=12)
"""As in the study of races: a dense gradient takes half a second each way; the last worker is three times slower."""
CLAIM, CLAIMED_OF = "top_k", "Top-k"
"""The statement that is checked, and the run whose selections it bounds."""
STEPS, SECONDS = 300, 60.0
"""Updates of a training run, and simulated seconds of the race."""
EVALUATIONS = 20
GANTT_SECONDS = 15.0


@dataclass(frozen=True)
class Check:
    """A statement set against measurements.

    Args:
        unproved: claims of its derivation that came out false.
        bound: of ‖u − C(u)‖²/‖u‖².
        measured: the largest such error among the selections; NaN if there were none.
        count: of the selections.
    """

    unproved: tuple[str, ...]
    bound: float
    measured: float
    count: int

    @property
    def holds(self) -> bool:
        """Proved, and obeyed by at least one selection and by all."""
        return not self.unproved and self.measured <= self.bound


def train(steps: int, data: Dataset) -> dict[str, TrainingResult]:
    """Train dense and sparse on the same batches; print a line for each run.

    Args:
        steps: updates of each run.
        data: examples.

    Raises:
        FloatingPointError: see `run_training`.
    """
    results: dict[str, TrainingResult] = {}
    with step_progress(steps * len(TRAINED), visible=True, title="train") as advance:
        for title, name in TRAINED.items():
            run = replace(RUNS[name], steps=steps, evaluate_every=max(1, steps // EVALUATIONS))
            results[title] = simulate(run, data, lambda *_: advance())
            _say(result_line(title, results[title]))
            if results[title].divergence:
                _say(f"it diverged: {results[title].divergence}")
    return results


def race(conditions: Race, data: Dataset) -> list[Outcome]:
    """Let the policies run under the same conditions; print a line for each.

    Raises:
        Violation: a policy broke its guarantee.
        FloatingPointError: a gradient is not finite.
    """
    outcomes: list[Outcome] = []
    with step_progress(len(CONTESTANTS) * (conditions.points + 1), visible=True, title="race") as advance:
        for name in CONTESTANTS:
            outcomes.append(run_contestant(conditions, name, data=data, advance=advance))
            _say(outcome_line(conditions, outcomes[-1]))
    return outcomes


def check(result: TrainingResult) -> Check:
    """Execute the derivation of the statement, evaluate its bound, and look for a selection that breaks it."""
    statement = STATEMENTS[CLAIM]
    errors = [1 - delta for facts in result.steps for delta in facts.deltas]
    k = result.run.target_count(result.dimension, 0)
    bound = statement.evaluate(k=k, d=result.dimension)
    return Check(statement.unproved_claims(), bound, max(errors, default=math.nan), len(errors))


def say_check(found: Check) -> None:
    """Print the statement, what became of its proof, and what was measured."""
    statement = STATEMENTS[CLAIM]
    _say(f"{statement.label}: ‖u − C(u)‖²/‖u‖² ≤ {written(statement.bound)} ({statement.title}; {statement.source})")
    for claim in found.unproved:
        _say(f"not proved: {claim}")
    if not found.unproved:
        _say(f"its derivation was executed: {len(statement.derivation)} steps, all hold")
    verdict = "holds" if found.holds else "does not hold"
    _say(f"bound {found.bound:.4f}, largest of {found.count} measured errors {found.measured:.4f}: {verdict}")


def draw(folder: Path, results: Mapping[str, TrainingResult], outcomes: Sequence[Outcome]) -> None:
    """Draw both pictures and print where they lie, or that there are none."""
    if find_spec("matplotlib") is None:
        print("No pictures: matplotlib, of the extra 'paper', is not installed.")  # noqa: T201
        return
    from sparsync.experiments.racing.drawings import draw_gantt
    from sparsync.experiments.training.drawings import draw_training

    training, gantt = folder / "training.png", folder / "gantt.png"
    draw_training(training, results)
    draw_gantt(gantt, outcomes, CONDITIONS.workers, min(GANTT_SECONDS, outcomes[0].points[-1].seconds))
    print(f"Pictures:\n   {training}\n   {gantt}")  # noqa: T201


def show(folder: Path, *, steps: int, seconds: float) -> bool:
    """The whole demonstration; does the statement hold?

    Args:
        folder: where the pictures go.
        steps: updates of each training run.
        seconds: simulated, of the race.

    Raises:
        ValueError: steps or seconds are out of range.
        Violation: see `race`.
        FloatingPointError: see `train` and `race`.
    """
    conditions, data = replace(CONDITIONS, seconds=seconds), load_dataset("embedded")
    _head(f"1. Send little: {DEFAULT_WORKER_COUNT} workers send all of the gradient, or a thousandth of it.")
    results = train(steps, data)
    _head(f"2. Wait little: one of {conditions.workers} workers is three times slower; who waits for whom?")
    outcomes = race(conditions, data)
    _head("3. Prove it: what Top-k leaves out of a vector u, as a theorem and as measured in 1.")
    found = check(results[CLAIMED_OF])
    say_check(found)
    draw(folder, results, outcomes)
    return found.holds


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line (None: the process's own)."""
    parser = argparse.ArgumentParser(prog="python -m sparsync.experiments.demo", description="The first two minutes.")
    parser.add_argument("--output-folder", type=Path, required=True, help="where pictures go; made if it is absent")
    parser.add_argument("--steps", type=int, default=STEPS, help="updates of each training run")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="simulated seconds of the race")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments (2), a broken guarantee or a statement that does not hold (1).
    """
    options = read_arguments(arguments)
    with exit_on_bad_input():
        require_folder(options.output_folder, option="--output-folder")
        try:
            holds = show(options.output_folder, steps=options.steps, seconds=options.seconds)
        except Violation as violation:
            sys.stderr.write(f"broken promise: {violation}\n")
            sys.exit(1)
        sys.exit(0 if holds else 1)


def _head(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def _say(text: str) -> None:
    print(f"   {text}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
