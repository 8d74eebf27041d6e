"""Batches of unequal workers: by hand, what binds, what would help, and what is refused."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sparsync.experiments.planners.lb_bsp import FlatThenStraight, Measured, SharedBatch, Worker, plan
from sparsync.experiments.planners.plan import InfeasibleError
from sparsync.theory.statements import STATEMENTS
from tests.support.planning.lb_bsp import drawn


def test_a_batch_by_hand() -> None:
    """Two GPUs, one of which takes 1 s up to 4 examples and ¼ s for each more; the other has room for 8."""
    fast = Worker(FlatThenStraight(0.25, flat_count=4), send_seconds=0.5)
    small = Worker(FlatThenStraight(0.5, fixed_seconds=0.25), cap=8)
    found = plan(SharedBatch((fast, small), 16))
    assert found.choice == {"batches": [11, 5], "weights": [11 / 16, 5 / 16]}
    assert found.parts == {"compute": 2.75, "send": 0.5}
    assert found.objective == 3.25
    assert found.binding == ()
    # At 3.25 s the small one is done with 6.
    assert found.remarks == ("up to 17 examples would take no longer", "equal batches take 4.25 s")


def test_a_measured_table_is_what_it_can_hold() -> None:
    found = plan(SharedBatch((Worker(Measured((1.0, 1.0, 1.5))), Worker(FlatThenStraight(2.0))), 5))
    assert found.choice["batches"] == [3, 2]
    assert found.binding == ("cap of worker 0: 3 examples",)


def test_a_worker_that_is_slow_to_begin_is_named() -> None:
    workers = (Worker(FlatThenStraight(1.0)), Worker(FlatThenStraight(1.0, fixed_seconds=9.0)))
    found = plan(SharedBatch(workers, 4))
    assert found.choice["batches"] == [3, 1]
    assert found.remarks[-1] == "without worker 1, which has one example, it takes 4 s"


def test_what_binds_cannot_be_less_without_harm_and_what_does_not_can() -> None:
    numbers = random.Random(5)
    bound = free = 0
    for _ in range(300):
        question = drawn(numbers, most_workers=4, most_examples=9)
        try:
            found = plan(question)
        except InfeasibleError:
            continue
        for place, worker in enumerate(question.workers):
            cap = worker.most(question.example_count)
            if cap == question.example_count or cap == 1:
                continue
            workers = list(question.workers)
            workers[place] = replace(worker, cap=cap - 1)
            try:
                is_worse = plan(replace(question, workers=tuple(workers))).objective > found.objective
            except InfeasibleError:
                is_worse = True
            assert is_worse == (f"cap of worker {place}: {cap} examples" in found.binding)
            bound, free = bound + is_worse, free + (not is_worse)
    assert min(bound, free) > 20


def test_the_time_is_between_that_of_parts_of_examples_and_its_bound() -> None:
    numbers = random.Random(6)
    for _ in range(25):
        lines = [
            FlatThenStraight(numbers.choice([0.25, 0.5, 1.0]), numbers.choice([0.0, 0.75]), numbers.randint(1, 5))
            for _ in range(numbers.randint(1, 5))
        ]
        count = len(lines) + numbers.randint(0, 30)
        found = plan(SharedBatch(tuple(Worker(line) for line in lines), count)).objective
        known = {
            "flat_time": max(line(0) for line in lines),
            "total_rate": sum(1 / line.example_seconds for line in lines),
            "fixed_examples": sum(line.fixed_seconds / line.example_seconds for line in lines),
            "total_batch": count,
        }
        least = STATEMENTS["flat_split_time"].fraction(**known)
        assert least <= found <= STATEMENTS["flat_greedy_time"].fraction(n=len(lines), **known)


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="example_seconds must be finite and at least 0, got -1"):
        FlatThenStraight(-1.0)
    with pytest.raises(ValueError, match="flat_count must be at least 0, got -1"):
        FlatThenStraight(1.0, flat_count=-1)
    with pytest.raises(ValueError, match=r"not decrease, got \(2.0, 1.0\)"):
        Measured((2.0, 1.0))
    with pytest.raises(ValueError, match=r"not decrease, got \(\)"):
        Measured(())
    for examples in (0, 3):
        with pytest.raises(ValueError, match=f"1 to 2 examples were measured, not {examples}"):
            Measured((1.0, 2.0))(examples)
    with pytest.raises(ValueError, match="send_seconds must be finite and at least 0, got inf"):
        Worker(FlatThenStraight(1.0), send_seconds=float("inf"))
    with pytest.raises(ValueError, match="cap must be at least 1, got 0"):
        Worker(FlatThenStraight(1.0), cap=0)
    with pytest.raises(ValueError, match="a batch of 3 needs a worker"):
        SharedBatch((), 3)


def test_what_cannot_be_met_is_named() -> None:
    one = Worker(FlatThenStraight(1.0), cap=2)
    with pytest.raises(InfeasibleError, match="example_count: 1 examples, and each of 2 workers needs one"):
        plan(SharedBatch((one, one), 1))
    with pytest.raises(InfeasibleError, match=r"caps: \[2, 2\] let the workers hold 4 of 5 examples"):
        plan(SharedBatch((one, one), 5))


def test_a_worker_that_takes_more_than_a_double_holds_gets_one_example() -> None:
    found = plan(SharedBatch((Worker(FlatThenStraight(1e308)), Worker(FlatThenStraight(1.0))), 100))
    assert found.choice["batches"] == [1, 99]
    assert found.objective == 1e308
    with pytest.raises(ValueError, match="1 workers are not done with 100 examples"):
        plan(SharedBatch((Worker(FlatThenStraight(1e308)),), 100))
