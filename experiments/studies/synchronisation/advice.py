"""Is the advice good? What a short real run leads it to is set against real runs that it has not seen.

`python -m sparsync.experiments.studies.synchronisation.advice --profile quick --output FILE`. For each setting of
cluster and problem: (a) a short real run of `asp` leaves a trace; (b) candidates are ranked on what that tells; (c) all
of them run for real, and it is seen whether the advised one is within a tenth of the fastest. Real workers are slowed
down by sleeping, each run is started by torchrun, and only its own seconds count.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.racing.advice import Advice, Candidate, Question, advise, real_words, seconds_to
from sparsync.experiments.racing.contest import QUADRATIC, Point, Race
from sparsync.experiments.racing.entries import read_contestants
from sparsync.experiments.racing.forecast import observe
from sparsync.experiments.racing.real import Conditions
from sparsync.experiments.racing.recordings import sayable
from sparsync.experiments.reproduce import default_job_count
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.verify.tools.pool import Pool
from sparsync.verify.tools.provenance import provenance, require_output, write_json

WITHIN = 1.1
"""Times the fastest real run that an advised one may take."""
START_SECONDS = 300.0
"""Within which a real run has begun and ended, besides its own seconds."""
_LAUNCHER = ("--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1")


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
        seed_count: of the simulations.
        repeats: of each real run.
    """

    settings: dict[str, Setting]
    trace_seconds: float
    policies: tuple[str, ...]
    densities: tuple[float, ...]
    seed_count: int
    repeats: int


_QUADRATIC = Race(workers=4, data=QUADRATIC, seconds=8.0, step_size=0.2, points=80)
_NETWORK = Race(workers=4, data="embedded", model="fnn2", seconds=20.0, step_size=0.2, points=80)
_QUICK = Sizes(
    settings={
        "quadratic, one slow": Setting(_QUADRATIC, 0.5, 0.1),
        "quadratic, pareto": Setting(replace(_QUADRATIC, cluster="pareto"), 0.5, 0.1),
        "network, one slow": Setting(_NETWORK, 0.7, 0.1),
    },
    trace_seconds=5.0,
    policies=("bsp", "asp", "ssp:staleness=2", "local_sgd"),
    densities=(1.0, 0.1),
    seed_count=3,
    repeats=1,
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": replace(
        _QUICK,
        settings={"quadratic, one slow": Setting(replace(_QUADRATIC, seconds=5.0), 0.8, 0.05)},
        trace_seconds=2.0,
        policies=("bsp", "asp"),
        densities=(1.0,),
        seed_count=1,
    ),
    "quick": _QUICK,
    "record": replace(
        _QUICK,
        settings={
            f"{name}, {cluster}": Setting(replace(race, cluster=cluster, seconds=60.0), target, 0.2)
            for (name, race, target), cluster in product(
                (("quadratic", _QUADRATIC, 0.5), ("network", _NETWORK, 0.75)),
                ("equal", "one_slow", "spread", "pareto"),
            )
        },
        trace_seconds=15.0,
        policies=("bsp", "asp", "ssp:staleness=2", "ssp:staleness=8", "dssp", "local_sgd", "osp"),
        densities=(1.0, 0.1, 0.01),
        seed_count=5,
        repeats=3,
    ),
}


@dataclass(frozen=True)
class AdviceCommand:
    """A parsed command line."""

    output: Path
    """where the JSON result goes; its folder must exist"""
    profile: ProfileName = "quick"
    """how large the study is"""


def candidates_of(sizes: Sizes) -> list[Candidate]:
    """All pairs of policies and densities."""
    return [Candidate(*pair) for pair in product(read_contestants(sizes.policies, []), sizes.densities)]


def run_count(sizes: Sizes) -> int:
    """How many real runs there are."""
    return len(sizes.settings) * (1 + sizes.repeats * len(candidates_of(sizes)))


def run_advice(profile_name: ProfileName, *, advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Take, follow and judge the advice in every setting; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        advance: called after each real run.

    Raises:
        RuntimeError: a real run failed; its last words are quoted.
    """
    sizes = sized(SIZES, profile_name)
    rows = {name: run_setting(setting, sizes, advance) for name, setting in sizes.settings.items()}
    return {
        "profile": profile_name,
        "settings": sayable(rows),
        "within": WITHIN,
        "provenance": provenance(process_count=1),
    }


def run_setting(setting: Setting, sizes: Sizes, advance: Callable[[], None]) -> dict[str, Any]:
    """What was advised in a setting, and what came of it."""
    candidates = candidates_of(sizes)
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "asp.jsonl"
        recorded = replace(setting, race=replace(setting.race, seconds=sizes.trace_seconds))
        _run_for_real(recorded, Candidate(("asp", {}), 1.0), "--trace", str(trace))
        advance()
        seen = observe(trace)
    question = Question(setting.race, seen.cluster, setting.target, (setting.race.step_size,), sizes.seed_count)
    advice = advise(question, candidates, Pool(default_job_count()))
    rows = []
    for one in advice:
        seconds = []
        for _ in range(sizes.repeats):
            points = _run_for_real(setting, one.candidate)
            seconds.append(seconds_to(points, setting.target, falls=question.falls))
            advance()
        rows.append(_row(one, seconds))
    fastest = min(row["real_mean_seconds"] for row in rows)
    return {
        "race": asdict(setting.race),
        "target": setting.target,
        "unit_seconds": setting.unit_seconds,
        "candidates": rows,
        "fastest_seconds": fastest,
        "is_within": fastest < math.inf and rows[0]["real_mean_seconds"] <= WITHIN * fastest,
    }


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


def _run_for_real(setting: Setting, candidate: Candidate, *more: str) -> list[Point]:
    """The curve of a real run of a candidate, in processes that torchrun starts."""
    race = setting.race
    words = [*real_words(race, candidate, setting.conditions), *more]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(race.workers + 1)]
        ended = subprocess.run(
            [*launcher, *_LAUNCHER, "-m", "sparsync.experiments.race_real", *words, "--output", str(output)],
            capture_output=True,
            text=True,
            timeout=race.seconds + START_SECONDS,
            check=False,
        )
        if ended.returncode:
            raise RuntimeError(f"a real run of {words} failed: {ended.stderr[-2000:]}")
        (outcome,) = json.loads(output.read_text(encoding="utf-8"))["outcomes"]
    return [Point(**point) for point in outcome["points"]]


def summary(study: dict[str, Any]) -> list[str]:
    """A line for each setting."""
    found = []
    for name, setting in study["settings"].items():
        first = setting["candidates"][0]
        verdict = "within" if setting["is_within"] else "not within"
        found.append(
            f"{name}: advised {first['policy']} at density {first['density']:g}, {first['real_mean_seconds']:.4g} s "
            f"for real, {verdict} {WITHIN - 1:.0%} of the fastest, {setting['fastest_seconds']:.4g} s"
        )
    return found


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
    return command


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        command = read()
        total = run_count(sized(SIZES, command.profile))
        with step_progress(total, visible=True, title="real runs") as advance:
            study = run_advice(command.profile, advance=advance)
        write_json(command.output, study)
    print("\n".join(summary(study)))  # noqa: T201


if __name__ == "__main__":
    main()
