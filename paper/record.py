"""What the last whole run of a profile found becomes the record, `paper/data`.

    python -m paper.record --profile record

The tree must be clean, and the results must come from a clean tree too, of a run in which nothing failed. What the run
did not measure (timings of `make bench`, formal proofs without Coq, what the profile leaves out) stays as recorded.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from paper.origins import RESULT_NAMES
from paper.reproduce import PROFILES, RECORD, data_folder, durations_file, run_file
from paper.results import LEFT_OUT, command, results
from sparsync.verify.tools.interrupts import interrupt_as_line, interrupts_held_back


def require_recordable(profile: str, *, root: Path) -> None:
    """Find out whether a profile's results may become the record.

    Raises:
        ValueError: the tree has changes; there was no whole run, or something failed in it; a result is missing, or was
            made from a tree with changes.
    """
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()
    if changed:
        raise ValueError(f"the tree has changes, commit them first:\n{changed}")
    whole = root / run_file(profile)
    if not whole.is_file():
        raise ValueError(f"{whole} is missing: run `make reproduce PROFILE={profile}` to its end first")
    failed = json.loads(whole.read_text(encoding="utf-8"))["failed"]
    if failed:
        raise ValueError(f"in the last run of {profile} these failed: {', '.join(failed)}")
    data = root / data_folder(profile)
    for name in RESULT_NAMES:
        if command(name) != "make reproduce" or name in LEFT_OUT.get(profile, ()):
            continue
        for found in results(data, name):
            if found.record("provenance")["git_dirty"] is not False:
                raise ValueError(f"{found.path} was not made from a clean tree")


def replace_record(profile: str, *, root: Path) -> None:
    """Put the new record beside the old one, then in its place; an interrupt waits while they change places.

    How long runs of any profile took goes with it.
    """
    record, data = root / RECORD, root / data_folder(profile)
    beside, old = record.with_name(".data-new"), record.with_name(".data-old")
    for folder in (beside, old):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(record, beside)
    for found in data.iterdir():
        target = beside / found.name
        if found.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(found, target)
        else:
            shutil.copyfile(found, target)
    for durations in sorted(root.glob(str(durations_file("*")))):
        shutil.copyfile(durations, beside / f"durations-{durations.parent.name}.json")
    with interrupts_held_back():
        record.rename(old)
        beside.rename(record)
    shutil.rmtree(old)


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments), from the checkout's root.

    Raises:
        SystemExit: malformed arguments, or results that may not become the record.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.record", description="Replace paper/data.")
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    options = parser.parse_args(arguments)
    try:
        require_recordable(options.profile, root=Path())
        replace_record(options.profile, root=Path())
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error
    print(f"{RECORD} now holds what profile {options.profile} found")  # noqa: T201


if __name__ == "__main__":
    main()
