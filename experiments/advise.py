"""Which policy, and how much of each gradient should be sent? Candidates are ranked by their time to a target.

`python -m sparsync.experiments.advise --trace asp.jsonl --target 0.6` asks for the cluster that a trace
was recorded on, with the problem of that run. `--step-seconds 0.1 0.1 0.1 0.4 --link-mbit 100 --model-bytes 100e6`
describes a cluster by measured numbers: seconds of a step of each worker, the rate of the links, and the size of the
model that is to be trained, in whose place a small network is. Options are those of `race`. A line for each candidate
says why, and the last one how to run the best.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.engine.clusters import Cluster, Constant, Link
from sparsync.experiments.engine.layout import Layout
from sparsync.experiments.racing.advice import Advice, Candidate, Question, advise, cases_of, real_words
from sparsync.experiments.racing.contest import QUADRATIC, Race, require_fitting
from sparsync.experiments.racing.entries import Contestant, read_contestants
from sparsync.experiments.racing.forecast import Observation, observe
from sparsync.experiments.racing.real import Conditions
from sparsync.experiments.racing.recordings import CLUSTER_FIELDS, recorded_conditions, sayable
from sparsync.experiments.training.data import load_dataset
from sparsync.verify.tools.pool import CasesFailedError, Pool, default_job_count
from sparsync.verify.tools.provenance import provenance, require_output, write_json

USUAL = Race(seconds=120.0, points=240)
CANDIDATES = ("bsp", "asp", "ssp:staleness=2", "ssp:staleness=8", "dssp", "local_sgd", "local_sgd:period=16", "osp")
DENSITIES = (1.0, 0.1, 0.01)
AS_THEY_ARE = Conditions(slowness="none")
"""Of workers that need not be slowed down."""
_BITS = 8


@dataclass(frozen=True)
class AdviseCommand:
    """A parsed command line, but for the policies' own parameters."""

    target: float
    """test accuracy to be reached; of the problem "quadratic", f − min f"""
    race: Annotated[Race, tyro.conf.arg(name="")]
    """the conditions; --seconds is how long a candidate has"""
    trace: Path | None = None
    """of a run on the cluster in question, written by a race with --traces, or by a real one with --trace"""
    step_seconds: tuple[float, ...] = ()
    """in the place of a trace: of each worker's steps"""
    link_mbit: float = math.inf
    """with --step-seconds: Mbit/s of each line between a worker and the shared model, in each direction"""
    model_bytes: float | None = None
    """with --step-seconds: dense size of the model that is to be trained; None is that of the simulated one"""
    policy: tuple[str, ...] = CANDIDATES
    """keys of POLICIES, each perhaps with parameters"""
    densities: tuple[float, ...] = DENSITIES
    """k/d of what is sent; 1 is everything"""
    step_sizes: tuple[float, ...] = ()
    """tried for each candidate, the best one counts; none is --step-size alone"""
    seeds: int = 3
    """how often each candidate is simulated, from --seed on"""
    output: Path | None = None
    """where the advice goes, as JSON"""
    jobs: int = field(default_factory=default_job_count)
    """simulations at a time"""


def asked(command: AdviseCommand) -> tuple[Question, Conditions]:
    """What is asked, and how real runs are made as slow as the recorded one.

    Raises:
        ValueError: there is no cluster or there are two, a number is out of its range, or see `observe`.
    """
    if (command.trace is None) == (not command.step_seconds):
        raise ValueError("say what the cluster is: either --trace FILE, or --step-seconds of each worker")
    race, conditions = command.race, AS_THEY_ARE
    if command.trace is None:
        if race.workers not in (USUAL.workers, len(command.step_seconds)):
            raise ValueError(f"{race.workers} workers, but seconds of {len(command.step_seconds)}")
        race = replace(race, workers=len(command.step_seconds))
        cluster = _described(command, race)
    else:
        seen = observe(command.trace)
        _require_trace_alone(command, seen)
        cluster = seen.cluster
        conditions = recorded_conditions(seen.recording)
    sizes = command.step_sizes or (race.step_size,)
    return Question(race, cluster, command.target, sizes, command.seeds), conditions


def _described(command: AdviseCommand, race: Race) -> Cluster:
    """The cluster that the numbers describe; a message takes as long as one of the model that is to be trained."""
    for name in ("bandwidth", "cluster", "rack_size", "rack_bandwidth"):
        if getattr(race, name) != getattr(USUAL, name):
            raise ValueError(
                f"--{name.replace('_', '-')} is of races; --step-seconds and --link-mbit describe a cluster here"
            )
    for name, value in (("link_mbit", command.link_mbit), ("model_bytes", command.model_bytes)):
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, got {value}")
    rate = command.link_mbit * 1e6 / _BITS
    if command.model_bytes is not None:
        problem = race.make_problem()
        rate *= sum(Layout(problem.block_sizes, problem.initial.dtype).block_bytes) / command.model_bytes
    link = Link(latency_seconds=race.latency, bytes_per_second=rate, is_shared=race.shared_link)
    costs = (race.batch_cost,)
    return Cluster(race.workers, Constant(command.step_seconds), costs, upload=link, download=link)


def _require_trace_alone(command: AdviseCommand, seen: Observation) -> None:
    for name in ("link_mbit", "model_bytes"):
        if getattr(command, name) != getattr(AdviseCommand, name):
            raise ValueError(f"--{name.replace('_', '-')} goes with --step-seconds; a trace tells it itself")
    for name in CLUSTER_FIELDS:
        if getattr(command.race, name) != getattr(seen.race, name):
            raise ValueError(f"--{name.replace('_', '-')} is that of the trace, {getattr(seen.race, name)}")


def candidates_of(command: AdviseCommand, contestants: Sequence[Contestant], race: Race) -> list[Candidate]:
    """All pairs of policies and densities, once it is known that they can race.

    Raises:
        ValueError: no density, one comes twice or is out of its range, or a policy does not fit the workers.
    """
    if not command.densities or len(set(command.densities)) < len(command.densities):
        raise ValueError(f"densities must be there once each, got {list(command.densities)}")
    found = [Candidate(*pair) for pair in product(contestants, command.densities)]
    data = None if race.data == QUADRATIC else load_dataset(race.data)
    for density in command.densities:
        Candidate(contestants[0], density).in_race(race).descent()
    for name, parameters in contestants:
        require_fitting(race, name, parameters, data=data)
    return found


def real_command(race: Race, advice: Advice, conditions: Conditions) -> str:
    """What runs the candidate for real, on as many workers."""
    words = ["torchrun", "--nproc-per-node", str(race.workers + 1), "-m", "sparsync.experiments.race_real"]
    own = replace(race, step_size=advice.step_size, points=Race.points)
    return shlex.join([*words, *real_words(own, advice.candidate, conditions), "--output", "best.json"])


def results(question: Question, advice: Sequence[Advice], command: str) -> dict[str, Any]:
    """The JSON of an advice; what is infinite is the text "inf"."""
    rows = [
        {
            "policy": one.label,
            "density": one.candidate.density,
            "step_size": one.step_size,
            "seconds": None if one.seconds is None else asdict(one.seconds),
            "reached_count": one.reached_count,
            "is_as_good": one.is_as_good,
            "runs": [asdict(run) for run in one.runs],
        }
        for one in advice
    ]
    return {
        "race": sayable(asdict(question.race)),
        "target": question.target,
        "step_sizes": list(question.step_sizes),
        "seed_count": question.seed_count,
        "candidates": sayable(rows),
        "command": command,
        "provenance": provenance(process_count=1),
    }


def read_arguments(arguments: Sequence[str] | None = None) -> tuple[AdviseCommand, list[Contestant]]:
    """Parse the command line (None: the process's own); conditions are those of the trace, where there is one.

    Raises:
        ValueError: a policy or parameter is unknown, a condition out of its range, or see `observe`.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    scout = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    scout.add_argument("--trace", type=Path)
    trace = scout.parse_known_args(words)[0].trace
    race = USUAL
    if trace is not None and trace.is_file():
        race = replace(observe(trace).race, seconds=USUAL.seconds, points=USUAL.points)
    command, options = tyro.cli(
        AdviseCommand,
        prog="python -m sparsync.experiments.advise",
        description="Rank policies and densities by their time to a target on a cluster.",
        args=words,
        return_unknown_args=True,
        default=AdviseCommand(tyro.MISSING, race),
    )
    if command.jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {command.jobs}")
    return command, read_contestants(command.policy, options)


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command, contestants = read_arguments()
        if command.output is not None:
            require_output(command.output)
        question, conditions = asked(command)
        candidates = candidates_of(command, contestants, question.race)
        try:
            with step_progress(len(cases_of(question, candidates)), visible=True, title="runs") as advance:
                pool = Pool(command.jobs, advance=advance, preloaded="sparsync.experiments.racing.advice")
                advice = advise(question, candidates, pool)
        except CasesFailedError as error:
            raise ValueError(f"no advice: {error}") from error
        line = real_command(question.race, advice[0], conditions)
        if command.output is not None:
            write_json(command.output, results(question, advice, line))
        for place, one in enumerate(advice, start=1):
            print(f"{place}{'≈' if one.is_as_good and place > 1 else ' '} {one.line}")  # noqa: T201
        print(line)  # noqa: T201


if __name__ == "__main__":
    main()
