"""What do groups of different sizes gain on documents of different length? The study `sequence_groups`.

A batch of sequences is planned by `flexsp`, with the constants of GPT-7B on 64 devices that FlexSP's released solver
has, and compared with all groups of one size: the best size for the batch, and one group of all devices. Sequences are
drawn, with replacement, from real documents, four bytes being a token; or from the lengths of Wikipedia's articles, as
`gpt7b` has them, these also on a network whose bandwidth does not fall beyond a node. All are padded to 128 tokens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from sparsync.experiments.planners import flexsp
from sparsync.experiments.planners.flexsp import SequenceBatch, gpt7b, homogeneous, seconds_of
from sparsync.experiments.planners.parts.sequence_packing import Group, Groups
from sparsync.experiments.studies.planning.documents import DOCUMENTS
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

TOKEN_BYTES = 4
"""An assumption: about what tokenisers of English make of it."""
PADDING = 128
"""Tokens of which a sequence has a multiple, as in the released solver."""
NODE_DEVICES = 8
EXAMPLE = "wikipedia"
"""The set whose first batch is kept, to be drawn."""


@dataclass(frozen=True)
class SequenceSet:
    """Where sequences come from.

    Args:
        documents: key of `DOCUMENTS`; empty: Wikipedia's lengths.
        is_flat: whether groups beyond a node have its bandwidth.
        is_small: an eighth of the sequences; books are long.
    """

    documents: str = ""
    is_flat: bool = False
    is_small: bool = False


SETS: dict[str, SequenceSet] = {
    "wikipedia": SequenceSet(),
    "files": SequenceSet("files"),
    "books": SequenceSet("books", is_small=True),
    "chapters": SequenceSet("chapters"),
    "wikipedia, flat": SequenceSet(is_flat=True),
}
"""By name."""


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        seed_count: batches of each set.
        sequence_count: of a batch.
    """

    seed_count: int
    sequence_count: int


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(seed_count=1, sequence_count=64),
    "quick": Sizes(seed_count=4, sequence_count=512),
    "record": Sizes(seed_count=20, sequence_count=512),
    "full": Sizes(seed_count=20, sequence_count=512),
}


@dataclass(frozen=True)
class Case:
    """A batch.

    Args:
        name: key of `SETS`.
        seed: sequences are drawn with it.
        sequence_count: of a batch of a set that is not small.
    """

    name: str
    seed: int
    sequence_count: int


def run_sequence_groups(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Plan every batch; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.
        seed: the first of the seeds.

    Returns:
        `sets`: of each set, by name, what `run_case` says of its batches, in the order of the seeds, and `summary`, see
        `summary_of`, of all their sequences; `example`: see `drawn_plan`.
    """
    sizes = sized(SIZES, profile_name)
    cases = _cases(sizes, seed)
    rows = pool.run(run_case, cases)
    sets = {}
    for name in SETS:
        own = [row for case, row in zip(cases, rows, strict=True) if case.name == name]
        lengths = [length for case in cases if case.name == name for length in question_of(case).lengths]
        sets[name] = {field: [row[field] for row in own] for field in own[0]} | {"summary": summary_of(lengths)}
    example = question_of(next(case for case in cases if case.name == EXAMPLE))
    return {
        "profile": profile_name,
        "seed": seed,
        "seed_count": sizes.seed_count,
        "device_count": example.device_count,
        "token_bytes": TOKEN_BYTES,
        "token_capacity": example.token_capacity,
        "sets": sets,
        "example": drawn_plan(example),
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How many batches the study plans."""
    return len(_cases(sized(SIZES, profile_name), 0))


def question_of(case: Case) -> SequenceBatch:
    """What the planner is asked."""
    source, numbers = SETS[case.name], np.random.default_rng(case.seed)
    count = case.sequence_count // 8 if source.is_small else case.sequence_count
    if source.documents:
        drawn = numbers.choice(_bytes(source.documents), size=count)
        question = replace(gpt7b(numbers, count=1), lengths=tuple(padded(int(size)) for size in drawn))
    else:
        question = gpt7b(numbers, count=count)
    if source.is_flat:
        within = question.bandwidths[NODE_DEVICES.bit_length() - 2]
        rates = tuple(max(rate, within) for rate in question.bandwidths)
        return replace(question, bandwidths=rates)
    return question


def padded(byte_count: int) -> int:
    """Tokens of a document."""
    return PADDING * math.ceil(byte_count / (TOKEN_BYTES * PADDING))


def run_case(case: Case) -> dict[str, Any]:
    """A batch planned, and with groups of one size.

    Returns:
        `planned_seconds`, `static_seconds` of one group of all devices, and `homogeneous_seconds` of the best
        `homogeneous_size`; `gap`: by what share the plan may be slower than the best of all; `micro_batch_count`;
        `plan_seconds`: that planning took, of a processor.
    """
    question = question_of(case)
    begin = time.process_time()
    found = flexsp.plan(question)
    took = time.process_time() - begin
    rivals = {
        size: seconds_of(question, even) for size in question.sizes if (even := homogeneous(question, size)) is not None
    }
    best = min(rivals, key=lambda size: rivals[size])
    batches: Any = found.choice["micro_batches"]
    return {
        "planned_seconds": found.objective,
        "static_seconds": rivals[question.device_count],
        "homogeneous_seconds": rivals[best],
        "homogeneous_size": best,
        "gap": found.choice["gap"],
        "micro_batch_count": len(batches),
        "sequence_count": len(question.lengths),
        "plan_seconds": took,
    }


def summary_of(lengths: Sequence[int]) -> dict[str, float]:
    """Of tokens of sequences."""
    middle, rare = np.quantile(lengths, (0.5, 0.99))
    return {
        "count": len(lengths),
        "mean": float(np.mean(lengths)),
        "median": float(middle),
        "rare": float(rare),
        "longest": max(lengths),
    }


def drawn_plan(question: SequenceBatch) -> dict[str, Any]:
    """A batch's plan, and the same with one group of all devices, to be drawn.

    Returns:
        For `planned` and `static`: the micro-batches, each of groups with their `device_count` and, of every sequence,
        the `tokens` and the `seconds` on its group; `fixed_seconds` of a micro-batch.
    """
    choice: Any = flexsp.plan(question).choice
    planned = [
        tuple(Group(group["device_count"], tuple(group["sequences"])) for group in groups)
        for groups in choice["micro_batches"]
    ]
    static = homogeneous(question, question.device_count)
    assert static is not None, "what can be planned fits on all devices"
    return {
        "fixed_seconds": question.fixed_seconds,
        "planned": [_drawn(question, groups) for groups in planned],
        "static": [_drawn(question, groups) for groups in static],
    }


def _drawn(question: SequenceBatch, groups: Groups) -> list[dict[str, Any]]:
    """Sequences of a group from the longest on."""
    rows = []
    for group in groups:
        lengths = sorted((question.lengths[place] for place in group.sequences), reverse=True)
        seconds = [
            (question.square_seconds * length**2 + question.token_seconds * length) / group.size
            + question.exchange_seconds(length, group.size)
            for length in lengths
        ]
        rows.append({"device_count": group.size, "tokens": lengths, "seconds": seconds})
    return rows


def _cases(sizes: Sizes, seed: int) -> list[Case]:
    return [Case(name, own, sizes.sequence_count) for name in SETS for own in range(seed, seed + sizes.seed_count)]


@cache
def _bytes(documents: str) -> tuple[int, ...]:
    return tuple(DOCUMENTS[documents]())
