"""How many workers is a farm worth, by what it costs and by the clock, and how far does a selection move that?

`python -m sparsync.experiments.studies.planning.farms --output FILE` runs `experiments/bulk/farm.py` on real processes
at several densities, round after round, beside what the constants that it measures predict. Sleeps stand for longer
rows and slower links, so that the whole curve lies within what a machine with two cores can start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import sympy

from sparsync.experiments.bulk.farm import Model
from sparsync.experiments.bulk.farm_talk import Constants
from sparsync.experiments.studies.planning.measured import MeasuredStudy
from sparsync.experiments.studies.planning.rounds import measured_rounds
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.theory.cost import farm_boundaries, farms
from sparsync.theory.language.symbols import (
    farm_size,
    fold_time,
    list_length,
    map_time,
    master_time,
    round_time,
    tree_depth,
)
from sparsync.verify.tools.intervals import paired_difference
from sparsync.verify.tools.provenance import provenance


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        unknowns: of the linear system.
        blocks: of its rows.
        workers: how many are tried.
        densities: of what is told; 1 is all of it.
        iterations: with each number of workers in a round.
        round_count: how often everything is measured.
        work_seconds: that a worker sleeps for a block.
        message_seconds: that the master sleeps before a message.
        byte_seconds: and for each of its bytes.
    """

    unknowns: int = 1920
    blocks: int = 120
    workers: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)
    densities: tuple[float, ...] = (1.0, 0.5, 0.25, 0.125, 0.0625)
    iterations: int = 6
    round_count: int = 5
    work_seconds: float = 0.005
    message_seconds: float = 0.004
    byte_seconds: float = 1.3e-6

    def settings(self, density: float) -> dict[str, Any]:
        """Of the program, at a density."""
        kept = ("unknowns", "blocks", "workers", "iterations", "work_seconds", "message_seconds", "byte_seconds")
        return {**{name: getattr(self, name) for name in kept}, "density": density}


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        unknowns=96, blocks=12, workers=(1, 2, 3), densities=(1.0, 0.25), iterations=2, round_count=2, byte_seconds=1e-5
    ),
    "quick": Sizes(densities=(1.0, 0.25, 0.0625), iterations=3, round_count=2),
    "record": Sizes(),
    "full": Sizes(),
}


def run_farms(profile_name: ProfileName, *, advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """The study's JSON.

    Args:
        profile_name: key of `SIZES`.
        advance: called after each round.

    Raises:
        RuntimeError: a round failed, or workers made other iterates than one alone.
    """
    sizes = sized(SIZES, profile_name)
    rounds = measured_rounds(
        "farm",
        [sizes.settings(density) for density in sizes.densities],
        process_count=1 + max(sizes.workers),
        round_count=sizes.round_count,
        advance=advance,
    )
    return {
        "profile": profile_name,
        "load": rounds[0][0]["load"],
        "unknowns": sizes.unknowns,
        "blocks": sizes.blocks,
        "iterations": sizes.iterations,
        "rows": [
            {"density": density, **row([found[place] for found in rounds])}
            for place, density in enumerate(sizes.densities)
        ],
        "tree": tree_example(),
        "provenance": provenance(process_count=1 + max(sizes.workers)),
    }


def row(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A density: medians of the constants over its rounds, what they predict, and what was measured.

    Args:
        found: results of the program, round by round.

    Raises:
        RuntimeError: workers made other iterates than one alone.
    """
    digests = {one["iterates_digest"] for result in found for one in result["curve"]}
    if len(digests) > 1:
        raise RuntimeError(f"a farm made {len(digests)} different sequences of iterates, by workers and rounds")
    share = float(found[0]["payload_share"])
    constants = {name: median(one["constants"][name] for one in found) for name in found[0]["constants"]}
    parts = {name.removesuffix("_seconds"): seconds for name, seconds in constants.items()}
    own = parts.pop("master")
    model = Model(Constants(**parts), master_seconds=own, payload_share=share, answer_share=share)
    counts = [one["worker_count"] for one in found[0]["curve"]]
    seconds = [[result["curve"][place]["measured_seconds"] for result in found] for place in range(len(counts))]
    return {
        "payload_share": share,
        "constants": constants,
        "boundary": model.boundary(),
        "told_bytes": [one["told_bytes"] for one in found[0]["curve"]],
        "curve": [
            {
                "worker_count": count,
                "seconds": measured,
                "phased_seconds": model.phased_seconds(count),
                "pipelined_seconds": model.pipelined_seconds(count),
            }
            for count, measured in zip(counts, seconds, strict=True)
        ],
        **fastest(counts, seconds),
    }


def fastest(counts: Sequence[int], seconds: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The number of workers with the least geometric mean of seconds, and all that cannot be told from it, ascending.

    One cannot be told from it where the 95 % interval of the ratio, round by round, holds one or less: what else a
    machine does slows a whole round.

    Args:
        counts: numbers of workers, ascending.
        seconds: of each, by round, at least two.
    """
    logarithms = [[math.log(each) for each in rounds] for rounds in seconds]
    least = min(range(len(counts)), key=lambda place: fmean(logarithms[place]))
    close = [
        count
        for place, count in enumerate(counts)
        if place == least or paired_difference(logarithms[place], logarithms[least]).low <= 0
    ]
    return {"fastest_count": counts[least], "close_counts": close}


@dataclass(frozen=True)
class Tree:
    """What a farm in a tree takes; the numbers of an example that is computed, not measured.

    Args:
        map_seconds: t_m, of all parts by one worker.
        fold_seconds: t_a, of two results.
        round_seconds: t_c, of a message down and one up.
        parts: ℓ.
    """

    map_seconds: float = 1.0
    fold_seconds: float = 1e-5
    round_seconds: float = 2e-3
    parts: int = 10_000

    @property
    def numbers(self) -> dict[sympy.Symbol, Any]:
        """By symbol; what the master computes at last moves no boundary."""
        own = (self.map_seconds, self.fold_seconds, self.round_seconds, self.parts)
        return {**dict(zip((map_time, fold_time, round_time, list_length), own, strict=True)), master_time: 0}


def tree_example(tree: Tree = Tree()) -> dict[str, Any]:
    """Boundaries in closed form and by trying every number of workers up to the parts.

    Returns:
        By whether workers fold ("tree") or the master ("gathered") the `boundary`, the fastest whole number of workers
        at the depth log₂ of it, and the fastest of those that fill whole levels.
    """
    return {
        "map_seconds": tree.map_seconds,
        "fold_seconds": tree.fold_seconds,
        "round_seconds": tree.round_seconds,
        "parts": tree.parts,
        **{name: _boundary(name, tree) for name in ("tree", "gathered")},
    }


def _boundary(name: str, tree: Tree) -> dict[str, float | int]:
    stated = farm_boundaries.STATEMENTS[f"{name}_farm_boundary"].evaluate(
        map_time=tree.map_seconds, fold_time=tree.fold_seconds, round_time=tree.round_seconds, list_length=tree.parts
    )
    time = farms.STATEMENTS[f"{name}_farm"].bound.subs(tree_depth, sympy.log(farm_size, 2))
    at = sympy.lambdify(farm_size, time.subs(tree.numbers), modules="math")
    levels = [2**level for level in range(tree.parts.bit_length())]
    return {
        "boundary": stated,
        "best_count": min(range(1, tree.parts + 1), key=at),
        "best_level_count": min(levels, key=at),
    }


def summary(study: Mapping[str, Any]) -> str:
    """What was found, a line for each density."""
    lines = []
    for one in study["rows"]:
        close = ", ".join(map(str, one["close_counts"]))
        lines.append(
            f"density {one['density']:g}: predicted boundary {one['boundary']['worker_count']:.1f} workers, fastest "
            f"{one['fastest_count']}, not told from it {close}"
        )
    return "\n".join(lines)


STUDY = MeasuredStudy(
    name="farms",
    description="Time a farm on real processes, beside what its costs predict.",
    measure=run_farms,
    step_count=lambda profile: sized(SIZES, profile).round_count,
    summary=summary,
)
"""Its command line."""


if __name__ == "__main__":
    STUDY.main()
