"""What does a streamed product cost, by its formula and by the clock, and when does fetching hide behind computing?

`python -m sparsync.experiments.studies.planning.streams --output FILE` runs `experiments/bulk/streaming.py` on four
processes, with several numbers of outer blocks and several prices of a word of external memory, round after round. The
memory of a process is what its blocks take, and no byte more. A slower memory sleeps; operations, words between
processes and barriers are this machine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any

from sparsync.experiments.bulk.memory import LOCAL_BLOCKS, WORD_BYTES, Shape
from sparsync.experiments.bulk.prices import Prices, predictions
from sparsync.experiments.studies.planning.measured import MeasuredStudy
from sparsync.experiments.studies.planning.rounds import measured_rounds
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.theory.cost import streamed_products
from sparsync.verify.tools.provenance import provenance

GRID = 2
"""Processes along a side."""
WAYS = ("streamed", "unoverlapped")
"""With overlap, and without."""


@dataclass(frozen=True)
class Cell:
    """A product.

    Args:
        outer: M, outer blocks along a side of a matrix.
        word_seconds: that the external memory sleeps for a word.
    """

    outer: int
    word_seconds: float


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        rows: of the matrices.
        outers: numbers of outer blocks a side, each with the first word price.
        outer: the one that is measured with every price.
        word_seconds: sleeps for a word.
        round_count: how often everything is measured.
    """

    rows: int
    outers: tuple[int, ...]
    outer: int
    word_seconds: tuple[float, ...]
    round_count: int

    @property
    def cells(self) -> list[Cell]:
        """All products, each once."""
        by_outer = [Cell(outer, self.word_seconds[0]) for outer in self.outers]
        return list(dict.fromkeys([*by_outer, *(Cell(self.outer, price) for price in self.word_seconds)]))

    def shape(self, cell: Cell) -> Shape:
        """Of a product."""
        return Shape(self.rows, cell.outer, GRID)

    def settings(self, cell: Cell) -> dict[str, Any]:
        """Of the program: a process's memory is as large as seven blocks."""
        room = LOCAL_BLOCKS * self.shape(cell).block_words * WORD_BYTES
        return {"rows": self.rows, **asdict(cell), "local_bytes": room}


_RECORD = Sizes(
    rows=1440,
    outers=(1, 2, 3, 4, 5, 6, 8),
    outer=3,
    word_seconds=(1e-7, 0.0, 2.5e-8, 5e-8, 1.5e-7, 2e-7, 3e-7),
    round_count=5,
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(rows=48, outers=(1, 2), outer=2, word_seconds=(1e-6, 0.0), round_count=1),
    "quick": Sizes(rows=720, outers=(1, 2, 3, 6), outer=3, word_seconds=(2e-7, 0.0, 8e-7), round_count=2),
    "record": _RECORD,
    "full": _RECORD,
}


def run_streams(profile_name: ProfileName, *, advance: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """The study's JSON.

    Args:
        profile_name: key of `SIZES`.
        advance: called after each round.

    Raises:
        RuntimeError: a round failed, which it does if a product is wrong or not as many words passed as are stated.
    """
    sizes = sized(SIZES, profile_name)
    each = [sizes.settings(cell) for cell in sizes.cells]
    rounds = measured_rounds("streaming", each, process_count=GRID**2, round_count=sizes.round_count, advance=advance)
    return {
        "profile": profile_name,
        "load": {"meaning": rounds[0][0]["load"]["meaning"]},
        "rows": sizes.rows,
        "process_count": GRID**2,
        "outer": sizes.outer,
        "word_seconds": sizes.word_seconds[0],
        "cells": [
            row(cell, sizes.shape(cell), [found[place] for found in rounds]) for place, cell in enumerate(sizes.cells)
        ],
        "provenance": provenance(process_count=GRID**2),
    }


def row(cell: Cell, shape: Shape, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A product: medians of the prices over its rounds, what they predict, and what was measured.

    Args:
        cell: what was set.
        shape: of the product.
        found: results of the program, round by round.
    """
    prices = Prices(*(median(one["prices"][f"{part.name}_seconds"] for one in found) for part in fields(Prices)))
    predicted = predictions(shape, prices)
    stated, sizes = streamed_products.STATEMENTS, {"matrix_side": shape.rows, "outer_count": shape.outer}
    return {
        **asdict(cell),
        "block_rows": shape.side,
        "local_bytes": found[0]["local_bytes"],
        "most_local_bytes": max(one["most_local_bytes"] for one in found),
        "sent_counts": [one["words"]["sent_count"] for one in found],
        "external_counts": [one["words"]["external_count"] for one in found],
        "stated_sent_count": int(stated["cannon_words"].fraction(grid_side=shape.grid, **sizes)),
        "stated_external_count": int(stated["cannon_tokens"].fraction(**sizes)),
        "prices": {f"{name}_seconds": seconds for name, seconds in asdict(prices).items()},
        "hidden_word_seconds": predicted["largest_hidden_fetch_cost"] * prices.operation,
        "bound_by": predicted["bound_by"],
        **{f"{way}_predicted_seconds": predicted[f"{way}_seconds"] for way in WAYS},
        **{f"{way}_seconds": [one[way]["measured_seconds"] for one in found] for way in WAYS},
    }


def summary(study: Mapping[str, Any]) -> str:
    """What was found, a line for each product."""
    lines = []
    for one in study["cells"]:
        said = ", ".join(
            f"{way} {median(one[f'{way}_seconds']):.3g} s (predicted {one[f'{way}_predicted_seconds']:.3g} s)"
            for way in WAYS
        )
        lines.append(f"{one['outer']} outer blocks a side, {one['word_seconds']:g} s a word: {said}")
    return "\n".join(lines)


STUDY = MeasuredStudy(
    name="streams",
    description="Time streamed products on real processes, beside what their prices predict.",
    measure=run_streams,
    step_count=lambda profile: sized(SIZES, profile).round_count,
    summary=summary,
)
"""Its command line."""


if __name__ == "__main__":
    STUDY.main()
