"""Batches are drawn from what they should be, plans are timed as planned, and no rival is quicker."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sparsync.experiments.planners import flexsp
from sparsync.experiments.studies.planning.documents import DOCUMENTS
from sparsync.experiments.studies.planning.sequence_groups import (
    EXAMPLE,
    NODE_DEVICES,
    PADDING,
    SETS,
    SIZES,
    TOKEN_BYTES,
    Case,
    case_count,
    drawn_plan,
    padded,
    question_of,
    run_case,
    run_sequence_groups,
    summary_of,
)
from sparsync.verify.tools.pool import Pool

COUNT = 64


@pytest.mark.parametrize("name", SETS)
def test_sequences_are_documents_padded_and_the_same_with_the_same_seed(name: str) -> None:
    first, again, other = (question_of(Case(name, seed, COUNT)).lengths for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == (COUNT // 8 if SETS[name].is_small else COUNT)
    assert all(length % PADDING == 0 for length in first)
    if SETS[name].documents:
        assert {*first} <= {padded(size) for size in DOCUMENTS[SETS[name].documents]()}


@pytest.mark.parametrize(("size", "tokens"), [(1, 128), (512, 128), (513, 256), (757011, 189312)])
def test_a_token_is_four_bytes_and_sequences_are_padded_up(size: int, tokens: int) -> None:
    assert TOKEN_BYTES == 4
    assert padded(size) == tokens


def test_one_bandwidth_is_that_within_a_node_and_changes_nothing_else() -> None:
    plain, flat = (question_of(Case(name, 3, COUNT)) for name in ("wikipedia", "wikipedia, flat"))
    assert replace(flat, bandwidths=plain.bandwidths) == plain
    within = NODE_DEVICES.bit_length() - 1
    assert flat.bandwidths[:within] == plain.bandwidths[:within]
    assert {*flat.bandwidths[within:]} == {plain.bandwidths[within - 1]}
    assert max(plain.bandwidths[within:]) < plain.bandwidths[within - 1]


@pytest.mark.parametrize("name", ["wikipedia", "chapters"])
def test_no_rival_is_quicker_than_the_plan(name: str) -> None:
    found: dict[str, Any] = run_case(Case(name, 0, COUNT))
    assert found["planned_seconds"] <= found["homogeneous_seconds"] * (1 + 1e-12)
    assert found["homogeneous_seconds"] <= found["static_seconds"]
    assert 0 <= found["gap"] < 1
    assert found["plan_seconds"] > 0


def test_a_drawn_plan_has_every_sequence_and_ends_when_planned() -> None:
    question = question_of(Case(EXAMPLE, 0, COUNT))
    drawn = drawn_plan(question)
    static = flexsp.homogeneous(question, question.device_count)
    assert static is not None
    wanted = {"planned": flexsp.plan(question).objective, "static": flexsp.seconds_of(question, static)}
    for name, objective in wanted.items():
        batches = drawn[name]
        assert sorted(length for groups in batches for one in groups for length in one["tokens"]) == sorted(
            question.lengths
        )
        assert all(sum(one["device_count"] for one in groups) <= question.device_count for groups in batches)
        ends = [drawn["fixed_seconds"] + max(sum(one["seconds"]) for one in groups) for groups in batches]
        assert sum(ends) == pytest.approx(objective, rel=1e-12)


def test_a_summary_counts_tokens_of_sequences() -> None:
    lengths = list(range(1, 102))
    assert summary_of(lengths) == {"count": 101, "mean": 51.0, "median": 51.0, "rare": 100.0, "longest": 101}


def test_the_study_has_a_row_for_each_batch_of_each_set() -> None:
    advanced: list[int] = []
    study = run_sequence_groups("smoke", Pool(advance=lambda: advanced.append(1)), seed=5)
    assert len(advanced) == case_count("smoke") == len(SETS) * SIZES["smoke"].seed_count
    assert list(study["sets"]) == list(SETS)
    for name, own in study["sets"].items():
        assert len(own["planned_seconds"]) == SIZES["smoke"].seed_count
        assert own["summary"]["count"] == sum(own["sequence_count"])
        lengths = question_of(Case(name, 5, SIZES["smoke"].sequence_count)).lengths
        assert own["summary"]["mean"] == pytest.approx(np.mean(lengths))
    assert json.loads(json.dumps(study)) == study
