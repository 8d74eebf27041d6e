"""Flows with copies: no faster where all compute whole gradients, and faster in places where they do not."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from sparsync.experiments.planners.collaborations.computing import best_computing, by_compute
from sparsync.experiments.planners.collaborations.flows import fastest_flows, flow_seconds
from sparsync.experiments.planners.collaborations.loads import (
    Collaboration,
    Peer,
    exchange_seconds,
    exchange_shares,
    update_seconds,
)
from tests.support.planning.dedloc import drawn

SOLVER = 1e-6
"""HiGHS's tolerance."""


def test_where_all_compute_whole_gradients_shares_are_the_fastest_flows() -> None:
    numbers = random.Random(12)
    for _ in range(8):
        peers = tuple(
            Peer(1.0, numbers.choice([1.0, 3.0, 7.0]), numbers.choice([1.0, 4.0, 20.0]), numbers.random() < 0.8)
            for _ in range(numbers.randint(2, 5))
        )
        question = Collaboration((replace(peers[0], averages=True), *peers[1:]), 1.0, 6)
        everybody = frozenset(range(len(peers)))
        by_shares = exchange_seconds(question, everybody, exchange_shares(question, everybody))
        assert 6 / fastest_flows(question, everybody).rate == pytest.approx(by_shares, rel=SOLVER)


def test_flows_are_never_slower_than_shares() -> None:
    numbers = random.Random(13)
    questions = [drawn(numbers, most_peers=4) for _ in range(12)]
    tried = 0
    for question in questions:
        able = frozenset(place for place, peer in enumerate(question.peers) if peer.examples_per_second)
        if len(question.peers) > 1 and able and any(peer.averages for peer in question.peers):
            assert flow_seconds(question, able) <= update_seconds(question, able) * (1 + SOLVER)
            tried += 1
    assert tried > 5


def test_copies_pay_where_peers_only_average() -> None:
    """Two peers that only average add all gradients up, and need send no means to each other: 3 × 12 for 4 × 12."""
    computing = (Peer(1.0, 9.0, 1.0),) * 3
    question = Collaboration((*computing, Peer(0.0, 1.5, 9.0), Peer(0.0, 1.5, 9.0)), 1.0, 12)
    flows = fastest_flows(question, frozenset({0, 1, 2}))
    assert 12 / flows.rate == pytest.approx(12.0, rel=SOLVER)
    assert update_seconds(question, frozenset({0, 1, 2})) == pytest.approx(12.8, rel=1e-12)
    for averager, receiver in itertools.product(range(5), range(5)):
        for sender in range(3):
            assert flows.means[averager][receiver] <= flows.gradients[sender][averager] + SOLVER
    assert all(sum(row[receiver] for row in flows.means) >= flows.rate - SOLVER for receiver in range(5))


def test_a_search_along_the_fastest_peers_misses_the_best_set_of_flows_too() -> None:
    question = Collaboration((Peer(9.0, 1.0, 8.0), Peer(8.0, 8.0, 8.0), Peer(8.0, 8.0, 8.0)), 32.0, 8)
    sets = [frozenset(own) for size in (1, 2, 3) for own in itertools.combinations(range(3), size)]
    least = min(flow_seconds(question, computing) for computing in sets)
    assert least == pytest.approx(flow_seconds(question, best_computing(question)), rel=SOLVER)
    assert least == pytest.approx(2.0, rel=SOLVER)
    assert min(flow_seconds(question, computing) for computing in by_compute(question)) == pytest.approx(8, rel=SOLVER)


def test_flows_need_two_peers_and_one_that_computes() -> None:
    question = Collaboration((Peer(1.0, 1.0, 1.0),), 1.0, 1)
    with pytest.raises(ValueError, match=r"got 1 and \[0\]"):
        fastest_flows(question, frozenset({0}))
    with pytest.raises(ValueError, match=r"got 2 and \[\]"):
        fastest_flows(replace(question, peers=question.peers * 2), frozenset())


def test_flows_that_nobody_averages_are_none() -> None:
    client = Peer(1.0, 1.0, 1.0, averages=False)
    assert fastest_flows(Collaboration((client, client), 1.0, 1), frozenset({0, 1})).rate == pytest.approx(
        0, abs=SOLVER
    )
    with pytest.raises(ValueError, match="nobody of 2 peers averages"):
        flow_seconds(Collaboration((client, client), 1.0, 1), frozenset({0, 1}))


def test_a_client_hands_its_gradient_to_those_who_average_though_it_computes_alone() -> None:
    """The averager's uplink binds: the client itself, though it has the mean, is no peer that others hear it from."""
    peers = (Peer(1.0, 9.0, 9.0, averages=False), Peer(0.0, 0.5, 9.0), Peer(0.0, 9.0, 9.0, averages=False))
    assert fastest_flows(Collaboration(peers, 1.0, 1), frozenset({0})).rate == pytest.approx(0.5, rel=SOLVER)


def test_a_peer_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got 2 and \[0, 7\]"):
        fastest_flows(Collaboration((Peer(1.0, 1.0, 1.0),) * 2, 1.0, 1), frozenset({0, 7}))
