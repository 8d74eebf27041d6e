"""Is the advice good? What a short real run leads it to is set against real runs that it has not seen.

`python -m sparsync.experiments.studies.synchronisation.advice --profile quick --output FILE --store FOLDER`. For each
setting of cluster and problem: (a) a short real run of `asp` leaves a trace; (b) candidates are ranked on the cluster
that it shows; (c) all of them run for real, and it is seen whether the advised one is within a tenth of the fastest.
Real workers are slowed down by sleeping. A run that has ended is kept in the store, so that an interrupted study goes
on where it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.racing.advice import Advice, Candidate, Question, advise, seconds_to
from sparsync.experiments.racing.contest import QUADRATIC, Outcome, Race
from sparsync.experiments.racing.crew import race_for_real
from sparsync.experiments.racing.entries import read_contestants
from sparsync.experiments.racing.observed import observed_cluster
from sparsync.experiments.racing.real import Conditions
from sparsync.experiments.racing.recordings import sayable
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.verify.tools.pool import Pool, default_job_count
from sparsync.verify.tools.provenance import provenance, require_folder, require_output, write_json
from sparsync.verify.tools.store import Store

WITHIN = 1.1
"""Times the fastest real run that an advised one may take."""


@dataclass(frozen=True)
class Setting:
    """A cluster and a problem.

    Args:
        race: of every real run, in real seconds.
        target: test accuracy; of the problem "quadratic", f − min f.
        unit_seconds: real ones of a usual step.
    """

    race: Race
    target: float
    unit_seconds: float

    @property
    def conditions(self) -> Conditions:
        """Of real runs."""
        return Conditions(unit_seconds=self.unit_seconds)


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        settings: by name.
        trace_seconds: of the real run that is recorded.
        policies: as on a command line.
        densities: of each.
        seed_count: of the simulations, and of the real runs.
    """

    settings: dict[str, Setting]
    trace_seconds: float
    policies: tuple[str, ...]
    densities: tuple[float, ...]
    seed_count: int


_QUADRATIC = Race(workers=4, data=QUADRATIC, seconds=7.0, step_size=0.1, points=100)
# A large batch and a small step keep the curve from crossing its target by luck.
_NETWORK = Race(workers=4, data="embedded", model="fnn2", seconds=9.0, step_size=0.05, batch_size=128, points=100)
_RECORD = Sizes(
    settings={
        f"{name}, {cluster}": Setting(replace(race, cluster=cluster), target, 0.05)
        for (name, race, target), cluster in product(
            (("quadratic", _QUADRATIC, 0.4), ("network", _NETWORK, 0.65)),
            ("equal", "one_slow", "spread", "exponential", "pareto"),
        )
    },
    trace_seconds=5.0,
    policies=("bsp", "asp", "ssp:staleness=2", "local_sgd"),
    densities=(1.0, 0.05),
    seed_count=5,
)
_QUICK = replace(
    _RECORD, settings={name: _RECORD.settings[name] for name in ("quadratic, one_slow", "network, pareto")}
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": replace(
        _QUICK,
        settings={"quadratic, one_slow": Setting(replace(_QUADRATIC, cluster="one_slow", seconds=4.0), 0.8, 0.05)},
        trace_seconds=2.0,
        policies=("bsp", "asp"),
        densities=(1.0,),
        seed_count=1,
    ),
    "quick": _QUICK,
    "record": _RECORD,
}


@dataclass(frozen=True)
class AdviceCommand:
    """A parsed command line."""

    output: Path
    """where the JSON result goes; its folder must exist"""
    profile: ProfileName = "quick"
    """how large the study is"""
    store: Path | None = None
    """folder that keeps each run that has ended; None keeps none"""


def candidates_of(sizes: Sizes) -> list[Candidate]:
    """All pairs of policies and densities."""
    return [Candidate(*pair) for pair in product(read_contestants(sizes.policies, []), sizes.densities)]


def run_count(sizes: Sizes) -> int:
    """How many real runs there are."""
    return len(sizes.settings) * (1 + sizes.seed_count * len(candidates_of(sizes)))


@dataclass(frozen=True)
class Case:
    """A real run.

    Args:
        setting: where.
        candidate: the policy, and how much it sends.
        seed: of the problem, the data order and the durations.
    """

    setting: Setting
    candidate: Candidate
    seed: int


def run_advice(profile_name: ProfileName, pool: Pool) -> dict[str, Any]:
    """Take, follow and judge the advice in every setting; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: of the real runs; one at a time, or times would mean nothing.
    """
    sizes = sized(SIZES, profile_name)
    rows = {name: run_setting(setting, sizes, pool) for name, setting in sizes.settings.items()}
    return {
        "profile": profile_name,
        "settings": sayable(rows),
        "within": WITHIN,
        "provenance": provenance(process_count=1),
    }


def run_setting(setting: Setting, sizes: Sizes, pool: Pool) -> dict[str, Any]:
    """What was advised in a setting, and what came of it."""
    candidates = candidates_of(sizes)
    recorded = replace(setting, race=replace(setting.race, seconds=sizes.trace_seconds))
    (cluster,) = pool.run(shown_cluster, [Case(recorded, Candidate(("asp", {}), 1.0), setting.race.seed)])
    question = Question(setting.race, cluster, setting.target, (setting.race.step_size,), sizes.seed_count)
    advice = advise(question, candidates, Pool(default_job_count(), store=pool.store))
    cases = [
        Case(setting, one.candidate, setting.race.seed + seed) for one in advice for seed in range(sizes.seed_count)
    ]
    seconds = iter(pool.run(seconds_for_real, cases))
    rows = [_row(one, [next(seconds) for _ in range(sizes.seed_count)]) for one in advice]
    fastest = min(row["real_mean_seconds"] for row in rows)
    return {
        "race": asdict(setting.race),
        "target": setting.target,
        "unit_seconds": setting.unit_seconds,
        "candidates": rows,
        "fastest_seconds": fastest,
        "is_within": fastest < math.inf and rows[0]["real_mean_seconds"] <= WITHIN * fastest,
    }


def shown_cluster(case: Case) -> Cluster:
    """The cluster that the trace of a real run shows."""
    return observed_cluster(_run_for_real(case).trace, case.setting.race.workers)


def seconds_for_real(case: Case) -> float:
    """Seconds of a real run to the target; infinite if it was not reached."""
    race, target = case.setting.race, case.setting.target
    return seconds_to(_run_for_real(case).points, target, falls=race.data == QUADRATIC)


def _run_for_real(case: Case) -> Outcome:
    race = replace(case.candidate.in_race(case.setting.race), seed=case.seed)
    return race_for_real(race, case.candidate.contestant, case.setting.conditions, data=race.load_data())


def _row(advice: Advice, seconds: Sequence[float]) -> dict[str, Any]:
    estimate = advice.seconds
    return {
        "policy": advice.label,
        "density": advice.candidate.density,
        "predicted_seconds": None if estimate is None else asdict(estimate),
        "is_as_good": advice.is_as_good,
        "real_seconds": list(seconds),
        "real_mean_seconds": fmean(seconds),
    }


def summary(study: dict[str, Any]) -> list[str]:
    """A line for each setting, and how many were well advised."""
    found = []
    for name, setting in study["settings"].items():
        first = setting["candidates"][0]
        # JSON has no infinity: there it is a word.
        seconds, fastest = float(first["real_mean_seconds"]), float(setting["fastest_seconds"])
        verdict = "within" if setting["is_within"] else "not within"
        found.append(
            f"{name}: advised {first['policy']} at density {first['density']:g}, {seconds:.4g} s for real, "
            f"{verdict} {WITHIN - 1:.0%} of the fastest, {fastest:.4g} s"
        )
    count = sum(setting["is_within"] for setting in study["settings"].values())
    return [*found, f"the advice was within {WITHIN - 1:.0%} of the fastest in {count} of {len(found)} settings"]


def read(arguments: Sequence[str] | None = None) -> AdviceCommand:
    """Parse the command line (None: the process's own).

    Raises:
        ValueError: the output cannot be written.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    command = tyro.cli(
        AdviceCommand,
        prog="python -m sparsync.experiments.studies.synchronisation.advice",
        description="Set advice against real runs that it has not seen.",
        args=arguments,
    )
    require_output(command.output)
    if command.store is not None:
        require_folder(command.store, option="--store")
    return command


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command = read()
        store = None if command.store is None else Store(command.store)
        total = run_count(sized(SIZES, command.profile))
        with step_progress(total, visible=True, title="real runs") as advance:
            study = run_advice(command.profile, Pool(1, store=store, advance=advance))
        write_json(command.output, study)
    print("\n".join([*summary(study), f"→ {command.output}"]))  # noqa: T201


if __name__ == "__main__":
    main()
