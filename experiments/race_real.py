"""A synchronisation model on real processes: the policy of a race, unchanged, with workers that really are slow or die.

`torchrun --nproc-per-node 5 -m sparsync.experiments.race_real --policy ssp:staleness=3 --selector top_k --density 0.01
--seconds 60 --output FILE --trace FILE`: one server and four workers. Options are those of `race` where they have a
meaning here: seconds are real ones, links are what they are. `sparsync.experiments.replay` tells the trace to a fresh
policy, which must decide the same.
"""

from __future__ import annotations

import math
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from sparsync.experiments.checkpoints.keeper import PATIENCE_SECONDS
from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.layout import Layout
from sparsync.experiments.engine.problems import Problem
from sparsync.experiments.engine.real.keeping import Kept, ServerKeeper
from sparsync.experiments.engine.real.roads import Announcements, find_store
from sparsync.experiments.engine.real.server import Server
from sparsync.experiments.hosts import told_rates
from sparsync.experiments.racing.contest import QUADRATIC, VOCABULARIES, Race, outcome_line, outcome_of, remark_lines
from sparsync.experiments.racing.curve import Curve
from sparsync.experiments.racing.entries import Contestant, make_policy, policy_type, read_contestants
from sparsync.experiments.racing.real import (
    DONE,
    VERDICT_SECONDS,
    WORKER_VARIABLE,
    Conditions,
    live,
    look_after,
    open_server,
    require_downlink,
    worker_command,
)
from sparsync.experiments.racing.recordings import recording_of, sayable
from sparsync.verify.monitors.files import Recording, write_trace
from sparsync.verify.tools.locks import held
from sparsync.verify.tools.provenance import provenance, require_folder, require_output, write_json

_LINK_FIELDS = ("bandwidth", "latency", "shared_link", "rack_size", "rack_bandwidth")
"""Of a simulated race: real links are what they are."""


@dataclass(frozen=True)
class RealRaceCommand:
    """A parsed command line, but for the policy's own parameters."""

    policy: str
    """key of POLICIES, or file.py:Class, perhaps with parameters: ssp:staleness=3"""
    output: Path
    """where the result goes, as JSON"""
    race: Annotated[Race, tyro.conf.arg(name="")]
    """the conditions"""
    conditions: Annotated[Conditions, tyro.conf.arg(name="")]
    """more of them"""
    trace: Path | None = None
    """where every event goes, to be judged by sparsync.verify.judge"""
    checkpoint: Path | None = None
    """folder that keeps the server's state, of this run and no other; None keeps nothing"""
    every_seconds: float = 30.0
    """from one checkpoint to the next"""
    resume: bool = False
    """go on from the newest checkpoint, if there is one; without it there must be none"""

    def __post_init__(self) -> None:
        if not 0 < self.every_seconds < math.inf:
            raise ValueError(f"every_seconds must be positive and finite, got {self.every_seconds}")
        if self.resume and self.checkpoint is None:
            raise ValueError("--resume goes on from the folder that --checkpoint names, and there is none")

    @property
    def settings(self) -> dict[str, Any]:
        """What a run that goes on has in common with the one before, as JSON holds it."""
        said = sayable({"policy": self.policy, **asdict(self.race), "slowness": self.conditions.slowness})
        return {name: value for name, value in said.items() if name not in ("seconds", "points")}


class Watching:
    """Looks after a run: its curve, and its state.

    Args:
        curve: the one.
        keeper: of the other, if it is to be kept.
        server: of the run.
        recording: what a trace says of it.
    """

    def __init__(self, curve: Curve, keeper: ServerKeeper | None, server: Server, recording: Recording) -> None:
        self._curve, self._keeper, self._server, self._recording = curve, keeper, server, recording

    def look(self) -> None:
        """See `Watcher`."""
        self._curve.look()
        if self._keeper is not None:
            self._keeper.look(self._server, self._recording)

    def keep(self) -> None:
        """See `Watcher`."""
        self._curve.keep()


def serve(command: RealRaceCommand, contestant: Contestant, announcements: Announcements) -> None:
    """Run the race as its server, and write what came of it.

    Raises:
        ValueError: an output cannot be written, the policy does not fit, or not all workers have come.
        Violation: the policy broke its guarantee.
        WorkerLostError: see there.
        FloatingPointError: a gradient is not finite.
    """
    race, conditions, (name, parameters) = command.race, command.conditions, contestant
    problem = race.make_problem(race.load_data())
    policy = make_policy(name, parameters)
    with ExitStack() as stack:
        stack.enter_context(held(command.output))
        try:
            keeper, kept = _kept(command, problem, stack)
            horizon = Horizon(seconds=race.seconds)
            opened = open_server(race, conditions, policy, problem, horizon, announcements, kept)
            server = stack.enter_context(opened)
            curve = Curve(server, seconds=race.seconds, points=race.points)
            said = recording_of(race, name, server, server.shared.layout, asdict(conditions))
            server.run(Watching(curve, keeper, server, said))
            server.finish()
        except BaseException as error:
            announcements.end(f"{error}" or type(error).__name__)
            raise
        announcements.end(DONE)
        announcements.wait_for_hearing(race.workers, VERDICT_SECONDS)
        outcome = outcome_of(name, server, curve.measured(problem), server.shared.layout)
        result = {
            "race": sayable(asdict(race)),
            "measure": race.measure,
            "conditions": asdict(conditions),
            "links_mbit": list(told_rates()),
            "broadcast_count": server.broadcast_count,
            "outcomes": [sayable(outcome.as_row())],
            "provenance": provenance(process_count=race.workers + 1),
        }
        write_json(command.output, result)
        if command.trace is not None:
            said = recording_of(race, name, server, server.shared.layout, asdict(conditions))
            write_trace(command.trace, said, server.trace, server.view.now)
    for line in (f"{outcome_line(race, outcome, kind='real')} → {command.output}", *remark_lines([outcome])):
        print(line)  # noqa: T201


def _kept(command: RealRaceCommand, problem: Problem, stack: ExitStack) -> tuple[ServerKeeper | None, Kept | None]:
    """Who keeps the server's state, and what it goes on from."""
    if command.checkpoint is None:
        return None, None
    require_folder(command.checkpoint, option="--checkpoint")
    command.checkpoint.mkdir(exist_ok=True)
    stack.enter_context(held(command.checkpoint / "folder", patience_seconds=PATIENCE_SECONDS))
    keeper = ServerKeeper(command.checkpoint, every_seconds=command.every_seconds, settings=command.settings)
    kept = keeper.find(Layout(problem.block_sizes, problem.initial.dtype))
    if kept is not None and not command.resume:
        raise ValueError(f"{command.checkpoint} has checkpoints; go on from them with --resume, or name another folder")
    return keeper, kept


def read_arguments(arguments: Sequence[str]) -> tuple[RealRaceCommand, Contestant]:
    """Parse a command line.

    Raises:
        ValueError: a condition is out of its range or has no meaning here, the policy or a parameter is
            unknown, or an output cannot be written.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    command, options = tyro.cli(
        RealRaceCommand,
        prog="torchrun --nproc-per-node 5 -m sparsync.experiments.race_real",
        description="Run a synchronisation model on real processes: one server, the others workers.",
        args=arguments,
        return_unknown_args=True,
        default=RealRaceCommand(tyro.MISSING, tyro.MISSING, Race(workers=4), Conditions()),
    )
    (contestant,) = read_contestants([command.policy], options)
    for name in _LINK_FIELDS:
        if getattr(command.race, name) != getattr(Race(), name):
            raise ValueError(f"--{name.replace('_', '-')} is of simulated links; real ones are what they are")
    if command.checkpoint is not None and policy_type(contestant[0]).is_decentralised:
        raise ValueError(f"{contestant[0]} has no shared model that a server could keep; leave --checkpoint out")
    if command.conditions.device != "cpu" and command.race.data in (QUADRATIC, VOCABULARIES):
        raise ValueError(f"--device {command.conditions.device} is of networks; {command.race.data} has none")
    require_downlink(command.conditions.downlink, command.race, make_policy(*contestant))
    require_output(command.output)
    if command.trace is not None:
        require_output(command.trace, option="--trace")
    return command, contestant


def of_this_job(command: RealRaceCommand) -> RealRaceCommand:
    """The command with the workers that torchrun has started.

    Raises:
        ValueError: it has started none.
    """
    worker_count = int(os.environ.get("WORLD_SIZE", "1")) - 1
    if worker_count < 1:
        raise ValueError("start this command with torchrun, --nproc-per-node of at least 2: a server and a worker")
    return replace(command, race=replace(command.race, workers=worker_count))


@contextmanager
def leaving_together(announcements: Announcements, process_count: int) -> Iterator[None]:
    """Who fails ends when all have said why, or in `VERDICT_SECONDS`: torchrun ends all as soon as one has ended."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, SystemExit):
            traceback.print_exc()
        announcements.hear()
        announcements.wait_for_hearing(process_count, VERDICT_SECONDS)
        sys.exit(error.code if isinstance(error, SystemExit) else 1)


def main() -> None:
    """Run this process's part."""
    words = sys.argv[1:]
    status = 0
    with exit_on_bad_input():
        command, contestant = read_arguments(words)
        command = of_this_job(command)
        torch.set_num_threads(1)
        announcements = Announcements(find_store(command.conditions.join_seconds))
        if WORKER_VARIABLE in os.environ:
            worker = int(os.environ[WORKER_VARIABLE])
            live(command.race, command.conditions, worker, announcements, command.race.load_data())
        elif os.environ["RANK"] == "0":
            with leaving_together(announcements, command.race.workers + 1), exit_on_bad_input():
                serve(command, contestant, announcements)
        else:
            rank = int(os.environ["RANK"])
            verdict = look_after(rank - 1, command.conditions, announcements, worker_command(words))
            if verdict != DONE:
                sys.stderr.write(f"error on rank {rank}: the run has ended: {verdict}\n")
            announcements.hear()
            status = int(verdict != DONE)
            if status:
                announcements.wait_for_hearing(command.race.workers + 1, VERDICT_SECONDS)
    sys.stdout.flush()
    # Threads that wait for a process that is gone are not waited for.
    os._exit(status)


if __name__ == "__main__":
    main()
