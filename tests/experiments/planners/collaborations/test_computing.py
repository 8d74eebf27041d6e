"""Who computes: the best of all sets, which need not be the fastest peers."""

from __future__ import annotations

import itertools
import math
import random

from sparsync.experiments.planners.collaborations.computing import best_computing, by_compute
from sparsync.experiments.planners.collaborations.loads import Collaboration, Peer, update_seconds

BROAD, NARROW = Peer(8.0, 8.0, 8.0), Peer(9.0, 1.0, 8.0)
"""The second computes faster, and sends one eighth."""


def drawn(numbers: random.Random, count: int, *, is_sparse: bool = False) -> Collaboration:
    """Peers of many kinds, of which several must compute."""
    peers = tuple(
        Peer(
            examples_per_second=numbers.lognormvariate(0, 1),
            upload=numbers.lognormvariate(2, 1),
            download=numbers.lognormvariate(3, 1),
            averages=numbers.random() < 0.7,
        )
        for _ in range(count - 1)
    )
    shares = (0.1, 0.1 * count / 2) if is_sparse else (1.0, 1.0)
    return Collaboration((*peers, BROAD), numbers.choice([10.0, 40.0]) * count / 4, 18, *shares)


def test_the_set_found_is_as_good_as_any_other() -> None:
    numbers = random.Random(9)
    for count, is_sparse in itertools.product((2, 3, 4, 5, 6), (False, True)):
        question = drawn(numbers, count, is_sparse=is_sparse)
        sets = itertools.chain.from_iterable(itertools.combinations(range(count), size) for size in range(1, count + 1))
        least = min(update_seconds(question, frozenset(computing)) for computing in sets)
        assert math.isclose(update_seconds(question, best_computing(question)), least, rel_tol=1e-12)


def test_a_fast_peer_with_a_slow_uplink_should_not_compute() -> None:
    """Whoever computes sends its vector of 8, which takes the fastest peer 8 s; the others are done in 2 s."""
    question = Collaboration((NARROW, BROAD, BROAD), target_batch=32.0, parameter_count=8)
    assert by_compute(question) == [frozenset({0}), frozenset({0, 1}), frozenset({0, 1, 2})]
    assert [update_seconds(question, computing) for computing in by_compute(question)] == [8.0, 8.0, 8.0]
    assert best_computing(question) == {1, 2}
    assert update_seconds(question, best_computing(question)) == 2.0


def test_who_cannot_compute_never_does() -> None:
    question = Collaboration((Peer(0.0, 9.0, 9.0), BROAD), target_batch=4.0, parameter_count=1)
    assert best_computing(question) == {1}
    assert by_compute(question) == [frozenset({1})]


def test_an_exchange_takes_no_less_if_one_more_computes() -> None:
    numbers = random.Random(10)
    for _ in range(20):
        question = drawn(numbers, 4, is_sparse=numbers.random() < 0.5)
        idle = Collaboration(
            question.peers, 1e-9, question.parameter_count, question.gradient_share, question.mean_share
        )
        order = numbers.sample(range(4), 4)
        times = [update_seconds(idle, frozenset(order[:size])) for size in range(1, 5)]
        assert all(later >= earlier * (1 - 1e-12) for earlier, later in itertools.pairwise(times))
