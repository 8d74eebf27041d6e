"""How long would it have taken? A recorded run is the cluster on which the same or another policy is simulated.

`python -m sparsync.experiments.predict asp.jsonl --policy bsp ssp:staleness=3 --output FILE` predicts the seconds until
all workers together have finished as many steps as the recorded run, which a race wrote with --traces or a real one
with --trace. Without --policy it predicts the recorded run itself, and says how wrong that is. `--against bsp.jsonl …`
predicts the recorded runs of others from the first trace, and says how wrong that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.racing.contest import QUADRATIC
from sparsync.experiments.racing.entries import Contestant, read_contestants
from sparsync.experiments.racing.forecast import Forecast, Observation, forecast, observe
from sparsync.experiments.racing.recordings import sayable
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.record import readable_size
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.tools.provenance import provenance, require_output, write_json


@dataclass(frozen=True)
class PredictCommand:
    """A parsed command line, but for the policies' own parameters."""

    trace: tyro.conf.Positional[Path]
    """written by a race with --traces, or by a real one with --trace"""
    policy: tuple[str, ...] = ()
    """keys of POLICIES, each perhaps with parameters: ssp:staleness=3; none is that of the trace"""
    against: tuple[Path, ...] = ()
    """traces of other runs, whose policies are predicted, and whose seconds are compared"""
    output: Path | None = None
    """where the predictions go, as JSON"""


def predict(command: PredictCommand, contestants: Sequence[Contestant]) -> tuple[Cluster, list[Forecast]]:
    """The cluster as observed, and all predictions; written if that is asked for.

    Raises:
        ValueError: a trace is none of a race, runs have different numbers of workers, or see `forecast`.
        Violation: workers of a policy wait for ever.
        FloatingPointError: a gradient is not finite.
    """
    if command.output is not None:
        require_output(command.output)
    base = observe(command.trace)
    runs = [observe(path) for path in command.against]
    for path, run in zip(command.against, runs, strict=True):
        if run.race.workers != base.race.workers:
            raise ValueError(f"{path}: a run of {run.race.workers} workers, {command.trace}: of {base.race.workers}")
    asked = [replace(base, contestant=contestant) for contestant in contestants] or runs or [base]
    forecasts = []
    with step_progress(len(asked), visible=True, title="predictions") as advance:
        for run in asked:
            forecasts.append(_forecast(base, run, is_observed=not contestants))
            advance()
    if command.output is not None:
        write_json(command.output, results(base, forecasts))
    return base.cluster, forecasts


def _forecast(base: Observation, run: Observation, *, is_observed: bool) -> Forecast:
    data = None if run.race.data == QUADRATIC else load_dataset(run.race.data)
    found = forecast(base.cluster, run.race, run.contestant, run.step_count, usual_seconds=run.seconds, data=data)
    is_observed = is_observed or found.label == base.label
    return replace(found, observed_seconds=run.seconds if is_observed else None)


def results(base: Observation, forecasts: Sequence[Forecast]) -> dict[str, object]:
    """The JSON of predictions: the cluster as observed, without its durations, and a row for each policy."""
    cluster = base.cluster
    rows = [{**asdict(one), "error_percent": one.error_percent} for one in forecasts]
    return {
        "trace": base.recording.name,
        "race": sayable(asdict(base.race)),
        "cluster": sayable(
            {
                "upload": asdict(cluster.upload),
                "download": asdict(cluster.download),
                "order_seconds": cluster.order_seconds,
                "changes": [asdict(change) for change in cluster.changes],
            }
        ),
        "forecasts": rows,
        "provenance": provenance(process_count=1),
    }


def slow_links(cluster: Cluster) -> list[str]:
    """A line for each worker whose own end of a link is slower than the others'."""
    return [
        f"worker {worker} {verb} at {readable_size(round(rate))}/s, slower than others"
        for verb, link in (("sends", cluster.upload), ("reads", cluster.download))
        for worker, rate in enumerate(link.own_rates)
        if rate < link.bytes_per_second
    ]


def read_arguments(arguments: Sequence[str] | None = None) -> tuple[PredictCommand, list[Contestant]]:
    """Parse the command line (None: the process's own).

    Raises:
        ValueError: a policy or parameter is unknown, or there are both policies and traces of others.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    command, options = tyro.cli(
        PredictCommand,
        prog="python -m sparsync.experiments.predict",
        description="Predict how long policies take on the cluster that a trace was recorded on.",
        args=arguments,
        return_unknown_args=True,
    )
    if command.policy and command.against:
        raise ValueError("name policies with --policy or runs of them with --against, not both")
    if options and not command.policy:
        raise ValueError(f"unexpected arguments {' '.join(options)}")
    return command, read_contestants(command.policy, options) if command.policy else []


def main() -> None:
    """Run the command line."""
    with exit_on_bad_input():
        try:
            cluster, forecasts = predict(*read_arguments())
        except Violation as violation:
            raise ValueError(f"no prediction: {violation}") from violation
        for line in [*(one.line for one in forecasts), *slow_links(cluster)]:
            print(line)  # noqa: T201


if __name__ == "__main__":
    main()
