"""Would the policy decide the same again? `python -m sparsync.experiments.replay FILE …` tells recorded runs to it.

Each file, written by a race with --traces or by a real one with --trace, is judged first, as by sparsync.verify.judge;
then a fresh policy of the recorded name and parameters lives through it. Status 0: every decision came out again, and
every promise was kept. 1: one did not. 2: a file is no whole trace, or its policy is not to be had.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sparsync.experiments.engine.horizon import PolicyError
from sparsync.experiments.engine.replay import Divergence, Replay
from sparsync.experiments.racing.entries import make_policy
from sparsync.experiments.racing.recordings import recorded_contestant
from sparsync.verify.monitors.files import stored_trace
from sparsync.verify.monitors.verdict import BROKEN, KEPT, UNREADABLE, judge_file, told
from sparsync.verify.tools.interrupts import interrupt_as_line


def replay_file(path: Path) -> tuple[int, str]:
    """The status that a file deserves, and a line that says why."""
    status, line = judge_file(path)
    if status != KEPT:
        return status, line
    try:
        with stored_trace(path) as trace:
            recording = trace.recording
            replay = Replay(
                make_policy(*recorded_contestant(recording.run)),
                recording.header,
                trace.events,
                block_bytes=recording.block_bytes,
                seed=recording.policy_seed,
                download="sparse" if recording.run.get("download") == "sparse" else "dense",
            )
            count = replay.run()
    except (Divergence, PolicyError) as divergence:
        return BROKEN, f"{path}: another decision: {divergence}"
    except (ValueError, OSError) as error:
        return UNREADABLE, f"{path}: {error}"
    return KEPT, f"{line}; replayed, all {count} events came out again"


def read(arguments: Sequence[str] | None = None) -> list[Path]:
    """The files that a command line names (None: the process's own).

    Raises:
        SystemExit: it names none, or asks for help.
    """
    parser = argparse.ArgumentParser(prog="python -m sparsync.experiments.replay", description="Replay trace files.")
    parser.add_argument("files", nargs="+", type=Path, help="written by a race with --traces, or for real with --trace")
    found: list[Path] = parser.parse_args(arguments).files
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay the files; return the exit status."""
    with interrupt_as_line():
        return told(read(arguments), replay_file)


if __name__ == "__main__":
    sys.exit(main())
