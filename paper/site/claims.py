"""What does the site say of a claim? Numbers, verdict, the files and statements behind them, and what tests it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from paper.claims import CLAIMS
from paper.commands import remaking
from paper.reproduction_page import DURATIONS, minutes, smallest
from paper.results import reads_recorded, result_name
from paper.site.figures import Figure
from paper.site.sources import Place, Sources
from paper.site.statements import Entry
from paper.verdicts import Claim, Judgement, judged
from sparsync.verify.tools.durations import read_durations

MOST_FIGURES = 2
_LEDGER = ("verify.json",)
"""Claims of the whole ledger have no figure: those that read it are of some statements."""
_TESTS = "tests/paper/test_claims.py"


@dataclass(frozen=True)
class Shown:
    """A claim as the site shows it.

    Args:
        judgement: of the run, or of the record where there is no run.
        reads: result files that decide it, seen from the data folder.
        command: which finds them anew.
        minutes: that it takes in profile `quick`, in words.
        figures: that show most of them.
        statements: that it rests on.
        tests: of the claim, and of the studies of its figures.
    """

    judgement: Judgement
    reads: tuple[str, ...]
    command: str
    minutes: str
    figures: tuple[Figure, ...]
    statements: tuple[Entry, ...]
    tests: tuple[Place, ...]

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        return self.judgement.claim

    @property
    def recorded(self) -> str:
        """The record's number, in words."""
        return self.claim.shown(self.judgement.recorded)

    @property
    def found(self) -> str:
        """The run's number, in words."""
        return self.claim.shown(self.judgement.found)

    @property
    def verdict(self) -> str:
        """In words."""
        return self.judgement.verdict.value


def shown_claims(
    data_folder: Path, run_folder: Path | None, *, figures: list[Figure], entries: dict[str, Entry], sources: Sources
) -> list[Shown]:
    """Every claim, in the order of the text.

    Args:
        data_folder: the record.
        run_folder: results of a run that is judged; None: the record itself is.
        figures: that the site has.
        entries: statements by label.
        sources: files that pages link to.

    Raises:
        ValueError: a result lacks a field, or a claim rests on an unknown statement.
    """
    return [_shown(claim, data_folder, run_folder or data_folder, figures, entries, sources) for claim in CLAIMS]


def _shown(
    claim: Claim,
    data_folder: Path,
    run_folder: Path,
    figures: list[Figure],
    entries: dict[str, Entry],
    sources: Sources,
) -> Shown:
    with reads_recorded() as paths:
        judgement = judged(claim, record_folder=data_folder, data_folder=run_folder)
    inside = [path for path in paths if path.is_relative_to(data_folder)]
    reads = tuple(sorted({str(path.relative_to(data_folder)) for path in inside}))
    if unknown := [label for label in claim.statements if label not in entries]:
        raise ValueError(f"claim {claim.name!r} rests on the statement {unknown[0]!r}, which there is not")
    names = smallest(tuple(dict.fromkeys(map(result_name, reads))))
    durations = read_durations(data_folder / DURATIONS)
    showing = () if reads == _LEDGER else _showing(set(reads), figures)
    tests = [sources.first(_TESTS, claim.name), *(test for figure in showing for test in figure.tests)]
    return Shown(
        judgement=judgement,
        reads=reads,
        command=remaking(names),
        minutes=minutes(durations, names),
        figures=showing,
        statements=tuple(entries[label] for label in claim.statements),
        tests=tuple(dict.fromkeys(tests)),
    )


def _showing(reads: set[str], figures: list[Figure]) -> tuple[Figure, ...]:
    """The figures that show most of the files, of these those that show least besides."""
    shares = {figure.name: len(reads & set(figure.reads)) for figure in figures}
    most = max(shares.values(), default=0)
    best = [figure for figure in figures if most and shares[figure.name] == most]
    return tuple(sorted(best, key=lambda figure: len(figure.reads))[:MOST_FIGURES])
