"""Do the formal proofs compile, and on which axioms do they rest? Coq says so, theorem by theorem.

    python -m sparsync.verify.formal.coq --output FILE [--folder DIR] [--jobs N]

The sources are `verify/formal/*.v`; `verify/formal/theorems.py` lists the theorems and what they prove of `STATEMENTS`.
Exit status 1 if a file does not compile or a theorem rests on an axiom, 2 if there is no Coq or FILE or DIR cannot be
written.
Ours; Coq 8.16 with the Mathematical Components library (Mahboubi and Tassi 2022).
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from rich.console import Console

from sparsync.verify.formal.theorems import PROVED, THEOREMS, Proof
from sparsync.verify.tools.arguments import positive
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.outcome import Outcome
from sparsync.verify.tools.provenance import provenance, require_folder, require_output, write_json

SOURCE_FOLDER = Path(__file__).resolve().parent
LARGEST_SECONDS = 300
"""A file that takes longer is given up: a rewriting tactic can loop."""
INSTALLATION = (
    "no coqc: install Coq 8.16 and Mathematical Components, on Debian with apt-get install --no-install-recommends coq "
    "libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics"
)
CLOSED = "Closed under the global context"
"""What Coq says of a theorem that rests on no axiom."""

_MARK = "theorem "
_STAMP = "compiled.json"
_ASSUMPTIONS = "assumptions"
_OTHERS = "something outside the list of theorems"
_STATED = re.compile(r"^(?:Theorem|Lemma|Corollary|Example) (\w+)", re.M)


class CoqError(Exception):
    """A file does not compile; the message is the file's name and Coq's own words."""


@dataclass(frozen=True)
class Compiled:
    """What Coq found.

    Args:
        axioms: by theorem, as "file.name", what it rests on; empty if it is closed.
        others: what the other results of the sources rest on, witnesses among them; empty if all are closed.
        version: Coq's.
        seconds: of wall time that compilation took, in an earlier run where its files were there.
    """

    axioms: Mapping[str, tuple[str, ...]]
    others: tuple[str, ...]
    version: str
    seconds: float

    @property
    def failures(self) -> tuple[str, ...]:
        """The theorems that are not closed, with their axioms; and the same for all other results together."""
        found = {**self.axioms, _OTHERS: self.others}
        return tuple(f"{name} rests on {', '.join(axioms)}" for name, axioms in found.items() if axioms)


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, print a line per theorem, write the result; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.verify.formal.coq", description="Compile the formal proofs."
    )
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--folder", type=Path, help="keep compiled files here; default: nowhere")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="number of processes; default: 1")
    options = parser.parse_args(arguments)
    try:
        require_output(options.output)
        if options.folder:
            require_folder(options.folder, option="--folder")
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    console = Console(soft_wrap=True)
    if not coq_is_there():
        console.print(INSTALLATION, markup=False)
        return 2
    try:
        compiled = compile_theorems(folder=options.folder, job_count=options.jobs)
    except CoqError as error:
        console.print(f"FAILED {error}", style="bold red", markup=False)
        return 1
    for name, axioms in compiled.axioms.items():
        console.print(f"{name}: {f'rests on {axioms}' if axioms else CLOSED.lower()}", markup=False, highlight=False)
    console.print(f"{len(compiled.axioms)} theorems, {compiled.seconds:.1f} s, Coq {compiled.version}", highlight=False)
    write_json(options.output, report(compiled, process_count=options.jobs))
    return 1 if compiled.failures else 0


def coq_is_there() -> bool:
    """True iff there is a coqc to run."""
    return shutil.which("coqc") is not None


def compile_theorems(*, folder: Path | None, job_count: int) -> Compiled:
    """Compile all sources and ask for the axioms of every theorem of the list.

    Args:
        folder: where compiled files of the same sources may lie, and are kept; it exists. None: nowhere.
        job_count: how many files are compiled at a time.

    Raises:
        CoqError: a file does not compile.
    """
    sources = read_sources()
    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        version, seconds = coq_version(), _stamped_seconds(place, sources)
        if seconds is None:
            started = time.perf_counter()
            compile_sources(sources, place, job_count=job_count)
            seconds = time.perf_counter() - started
            write_json(place / _STAMP, {"sha256": _digest(sources, version), "seconds": seconds})
        axioms = _axioms(place, THEOREMS, stated_names(sources))
        others = axioms.pop(_OTHERS)
        return Compiled(axioms=axioms, others=others, version=version, seconds=seconds)


def formal_outcomes(compiled: Compiled) -> dict[str, Outcome]:
    """The grade `formal` of every statement that theorems prove, by label: all of them are closed.

    The detail says, theorem by theorem, what of the statement it leaves, if any of them leaves something.
    """
    return {
        label: Outcome(
            earned=not any(compiled.axioms[proof.theorem] for proof in proofs),
            detail={"theorems": [proof.theorem for proof in proofs]} | _left(proofs),
        )
        for label, proofs in PROVED.items()
    }


def _left(proofs: Sequence[Proof]) -> dict[str, object]:
    return {"leaves": [proof.leaves for proof in proofs]} if any(proof.leaves for proof in proofs) else {}


def report(compiled: Compiled, *, process_count: int) -> dict[str, object]:
    """The result as JSON: where it was made, and for every theorem what it states, assumes and rests on."""
    proved = {proof.theorem: (label, proof.leaves) for label, proofs in PROVED.items() for proof in proofs}
    return {
        "provenance": provenance(process_count=process_count),
        "coq_version": compiled.version,
        "sources_sha256": sources_digest(read_sources()),
        "compilation_seconds": compiled.seconds,
        "failures": list(compiled.failures),
        "theorems": [
            {
                "name": name,
                "states": THEOREMS[name].states,
                "assumes": THEOREMS[name].assumes,
                "witness": THEOREMS[name].witness,
                "label": proved.get(name, (None, ""))[0],
                "leaves": proved.get(name, (None, ""))[1],
                "axioms": list(axioms),
            }
            for name, axioms in compiled.axioms.items()
        ],
    }


def read_sources(folder: Path = SOURCE_FOLDER) -> dict[str, str]:
    """The text of every file by its name without suffix."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.v"))}


def requirements(source: str) -> set[str]:
    """The files of ours that a file needs."""
    return {
        name
        for line in re.findall(r"^From sparsync Require (?:Import )?([^.]*)\.", source, re.M)
        for name in line.split()
    }


def compile_sources(sources: Mapping[str, str], folder: Path, *, job_count: int) -> None:
    """Write and compile all files, each after those that it needs.

    Raises:
        CoqError: a file does not compile.
    """
    order = TopologicalSorter({name: requirements(source) for name, source in sources.items()})
    order.prepare()
    with ThreadPoolExecutor(job_count) as pool:
        running: dict[Future[str], str] = {}
        try:
            while order.is_active():
                for name in order.get_ready():
                    running[pool.submit(compile_file, name, sources[name], folder)] = name
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    done.result()
                    order.done(running.pop(done))
        except BaseException:  # a file does not compile, or an interrupt: those that wait are not begun
            pool.shutdown(cancel_futures=True)
            raise


def compile_file(name: str, source: str, folder: Path) -> str:
    """Compile one file, whose requirements are compiled there; return what Coq printed.

    Raises:
        CoqError: it does not compile, or not in time.
    """
    (folder / f"{name}.v").write_text(source, encoding="utf-8")
    command = ["coqc", "-q", "-w", "none", "-Q", ".", "sparsync", f"{name}.v"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LARGEST_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise CoqError(f"{name}.v: not compiled after {LARGEST_SECONDS} s") from error
    if done.returncode:
        raise CoqError(f"{name}.v: {done.stderr.strip() or f'status {done.returncode}'}")
    return done.stdout


def coq_version() -> str:
    """Such as 8.16.1."""
    return subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=True).stdout.split()[0]


def read_axioms(printed: str) -> dict[str, tuple[str, ...]]:
    """The axioms of each theorem, from the answers to `Print Assumptions` between marks.

    Raises:
        CoqError: an answer is neither a list of axioms nor that there are none.
    """
    answers = dict(part.split("\n", 1) for part in printed.split(_MARK)[1:])
    return {name.strip(): _axioms_of(name.strip(), answer.strip()) for name, answer in answers.items()}


def _axioms_of(name: str, answer: str) -> tuple[str, ...]:
    if answer == CLOSED:
        return ()
    found = re.findall(r"^(\S+)(?:\s*:| is assumed | relies on )", answer.removeprefix("Axioms:"), re.M)
    if not answer.startswith("Axioms:") or not found:
        raise CoqError(f"{name}: no answer about axioms, but {answer!r}")
    return tuple(found)


def _axioms(folder: Path, names: Collection[str], stated: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What each of the theorems rests on, and under `_OTHERS` what all that is stated does."""
    together = list(dict.fromkeys((*names, *stated)))
    files = " ".join(dict.fromkeys(name.partition(".")[0] for name in together))
    # With its library's name each is itself, whatever a module inside another file is called.
    mentions = "".join(f"let _ := @sparsync.{name} in\n" for name in together)
    text = f"From sparsync Require {files}.\nDefinition everything : True :=\n{mentions}I.\n"
    text += _question(_OTHERS, "everything")
    found = read_axioms(compile_file(_ASSUMPTIONS, text, folder))
    if not found[_OTHERS]:  # then nothing that it mentions rests on an axiom; each question walks through all proofs
        return {**dict.fromkeys(names, ()), **found}
    text += "".join(_question(name, f"sparsync.{name}") for name in names)
    return read_axioms(compile_file(_ASSUMPTIONS, text, folder))


def _question(name: str, term: str) -> str:
    return f'Goal True. idtac "{_MARK}{name}". Abort.\nPrint Assumptions {term}.\n'


def stated_names(sources: Mapping[str, str]) -> list[str]:
    """Every theorem, lemma, corollary and example of the sources, as "file.name"."""
    return [f"{file}.{name}" for file, source in sources.items() for name in _STATED.findall(source)]


def sources_digest(sources: Mapping[str, str]) -> str:
    """SHA-256, in hexadecimal, of all files with their names."""
    return hashlib.sha256(json.dumps(dict(sources), sort_keys=True).encode()).hexdigest()


def _digest(sources: Mapping[str, str], version: str) -> str:
    return f"{version} {sources_digest(sources)}"


def _stamped_seconds(folder: Path, sources: Mapping[str, str]) -> float | None:
    """How long the same sources took, if their compiled files are there."""
    path = folder / _STAMP
    stamp = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return float(stamp["seconds"]) if stamp.get("sha256") == _digest(sources, coq_version()) else None


if __name__ == "__main__":
    raise SystemExit(main())
