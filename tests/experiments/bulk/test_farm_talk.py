"""Master and workers: the same iterates on any number of workers, which are those of a plain loop; parts are timed."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import torch

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.bulk.farm_talk import (
    Constants,
    Course,
    Job,
    answer_constants,
    ask_constants,
    known,
    master,
    worker,
)
from sparsync.experiments.bulk.jacobi import VALUE, Block, change
from sparsync.experiments.parties.talk import Books, Talk, give, side_by_side, take

JOB = Job(
    unknowns=48,
    block_count=12,
    kept=4,
    iterations=9,
    tolerance=0.0,
    work_seconds=0.0,
    message_seconds=0.0,
    byte_seconds=0.0,
    seed=5,
)
SPARSE = replace(JOB, kept=1)


def played(job: Job, workers: int, books: Books | None = None) -> Course:
    """Of a farm in this process; the last rank has nothing to do."""
    blocks: dict[int, Block] = {}
    others = [worker(job, number, workers, blocks) for number in range(workers + 1)]
    course, *_ = side_by_side([master(job, workers), *others], Books() if books is None else books)
    assert isinstance(course, Course)
    return course


@pytest.mark.parametrize("job", [JOB, SPARSE, replace(JOB, kept=3)], ids=["dense", "one", "three"])
def test_iterates_have_the_same_bits_on_any_number_of_workers_and_in_a_plain_loop(job: Job) -> None:
    point, digest, blocks = torch.zeros(48, dtype=VALUE), hashlib.sha256(), known(job, range(12), {})
    moved = 0.0
    for _ in range(job.iterations):
        new = torch.cat([block.relaxed(point) for block in blocks])
        moved = float((new - point).norm())
        for made in [change(block, point, job.kept, 0.0) for block in blocks]:
            point[made.positions.long()] = made.values
        digest.update(point.numpy().data)
    courses = [played(job, workers) for workers in (1, 2, 3, 4, 6, 12)]
    assert {course.digest for course in courses} == {digest.hexdigest()}
    (stated,) = {course.change for course in courses}
    assert stated == pytest.approx(moved, rel=1e-12)
    assert all(torch.equal(course.approximation, point) for course in courses)
    assert all(len(course.seconds) == len(course.master_seconds) == job.iterations for course in courses)


@pytest.mark.parametrize("job", [replace(JOB, iterations=400), replace(SPARSE, iterations=2000)], ids=["dense", "one"])
def test_it_ends_near_the_solution_when_it_hardly_moves(job: Job) -> None:
    course = played(replace(job, tolerance=1e-9), 3)
    assert len(course.seconds) < job.iterations
    assert course.change <= 1e-9
    blocks = known(job, range(12), {})
    left = torch.cat([block.relaxed(course.approximation) for block in blocks]) - course.approximation
    # A row that was not set may by now have to move by 0.9 of what others did, besides what it had to.
    assert left.abs().max() <= 1.9e-9


def test_bytes_are_those_of_whole_approximations_or_of_what_changed() -> None:
    for job, first, told in ((JOB, 48 * 8, 48 * 8), (SPARSE, 48 * 8, 12 * 12)):
        books = Books()
        played(job, 4, books)
        assert job.told_bytes() == told
        assert books.total(subject="approximation") == 4 * (first + 8 * told)
        answers = 9 * (12 * 8 + told)
        assert books.total(subject="answer") == answers


def test_neighbouring_blocks_have_one_worker_and_every_block_has_one() -> None:
    assert [JOB.blocks(number, 3) for number in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_blocks_are_made_once() -> None:
    blocks: dict[int, Block] = {}
    first = known(JOB, [1, 2], blocks)
    assert known(JOB, [2, 3], blocks)[0] is first[1]
    assert set(blocks) == {1, 2, 3}


def test_parts_of_an_iteration_are_timed_with_the_sleeps_that_they_hold() -> None:
    job = replace(JOB, work_seconds=0.002, message_seconds=0.001, byte_seconds=1e-5)
    others = [answer_constants(job, number, {}) for number in range(2)]
    constants, *_ = side_by_side([ask_constants(job), *others], Books())
    assert isinstance(constants, Constants)
    assert constants.work >= 12 * 0.002
    # The sleep is the master's, before it tells.
    assert constants.dispatch >= 0.001
    assert 0 < constants.collect < constants.dispatch
    assert constants.latency == (constants.dispatch + constants.collect) / 2
    # 384 bytes, of which some noise may be taken off.
    assert constants.send >= 0.002
    assert constants.receive > 0


def test_a_worker_that_ends_early_is_named() -> None:
    def deserter() -> Talk[None]:
        yield from take(0, "approximation")

    with pytest.raises(ExchangeError, match="takes 'answer' from rank 1: rank 1 has ended"):
        side_by_side([master(JOB, 1), deserter()], Books())


def test_an_answer_of_another_length_is_refused() -> None:
    def liar() -> Talk[None]:
        yield from take(0, "approximation")
        yield from give(0, "answer", torch.zeros(3, dtype=torch.uint8))

    with pytest.raises(ValueError, match="a message has 3 bytes"):
        side_by_side([master(JOB, 1), liar()], Books())
