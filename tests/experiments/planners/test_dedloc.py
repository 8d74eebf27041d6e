"""Collaborations: the limits of the plan, what binds, how it changes with the density, and what is refused."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sparsync.experiments.planners.collaborations.loads import (
    Collaboration,
    Peer,
    compute_seconds,
    exchange_seconds,
    exchange_shares,
    sparse_shares,
    update_seconds,
)
from sparsync.experiments.planners.dedloc import plan
from sparsync.experiments.planners.plan import InfeasibleError
from sparsync.theory.statements import STATEMENTS
from tests.support.planning.dedloc import drawn

UNEQUAL = (1.0, 2.0, 4.0, 8.0)


def shares_of(speeds: tuple[float, ...], gradient: float = 1.0, mean: float = 1.0) -> tuple[list[float], float]:
    """Shares and seconds per parameter where all compute."""
    question = Collaboration(tuple(Peer(1.0, own, own) for own in speeds), 1.0, 1, gradient, mean)
    everybody = frozenset(range(len(speeds)))
    shares = exchange_shares(question, everybody)
    return shares, exchange_seconds(question, everybody, shares)


def test_equal_peers_that_must_all_compute_are_a_ring() -> None:
    question = Collaboration((Peer(10.0, 5.0, 5.0),) * 4, target_batch=400.0, parameter_count=20)
    found = plan(question)
    assert found.choice == {"computing": [0, 1, 2, 3], "shares": [0.25] * 4, "parts": [5] * 4}
    assert found.parts == {"compute": 10.0, "exchange": 2 * 3 / 4 * 20 / 5}
    assert found.objective == 10.0
    assert found.binding == ("examples_per_second",)


def test_one_much_faster_peer_averages_all() -> None:
    slow = Peer(10.0, 1.0, 1.0)
    found = plan(Collaboration((slow, slow, Peer(10.0, 1e4, 1e4)), target_batch=300.0, parameter_count=6))
    assert found.choice == {"computing": [0, 1, 2], "shares": [0.0, 0.0, 1.0], "parts": [0, 0, 6]}
    assert found.parts["exchange"] == 6.0


def test_whole_parts_take_no_less_than_shares_and_hardly_more_of_many_parameters() -> None:
    numbers = random.Random(14)
    for _ in range(15):
        question = replace(drawn(numbers, most_peers=4), parameter_count=10_000)
        if len(question.peers) == 1 or not any(peer.averages for peer in question.peers):
            continue
        if not any(peer.examples_per_second for peer in question.peers):
            continue
        found = plan(question)
        computing, parts = found.choice["computing"], found.choice["parts"]
        assert isinstance(computing, list)
        assert isinstance(parts, list)
        whole = exchange_seconds(question, frozenset(computing), [part / 10_000 for part in parts])
        # A peer's time changes by 2n values at most with each of its own.
        slowest = min(min(peer.upload, peer.download) for peer in question.peers)
        assert found.parts["exchange"] * (1 - 1e-12) <= whole <= found.parts["exchange"] + 8 * len(parts) / slowest


def test_a_link_that_binds_cannot_be_slower_without_harm() -> None:
    numbers = random.Random(15)
    named = 0
    for _ in range(40):
        question = drawn(numbers, most_peers=4)
        try:
            found = plan(question)
        except InfeasibleError:
            continue
        computing = found.choice["computing"]
        assert isinstance(computing, list)
        for place, peer in enumerate(question.peers):
            for name in ("upload", "download"):
                if f"{name} of peer {place}" in found.binding:
                    peers = list(question.peers)
                    peers[place] = replace(peer, **{name: getattr(peer, name) * 0.999})
                    slower = replace(question, peers=tuple(peers))
                    assert update_seconds(slower, frozenset(computing)) > found.objective
                    named += 1
        if "examples_per_second" in found.binding:
            peers = [replace(peer, examples_per_second=0.999 * peer.examples_per_second) for peer in question.peers]
            assert update_seconds(replace(question, peers=tuple(peers)), frozenset(computing)) > found.objective
            named += 1
    assert named > 40


def test_the_less_gradients_have_in_common_the_more_the_slowest_averages() -> None:
    """From a share of none, where one mean is as large as one gradient, to that of everybody."""
    slowest = [shares_of(UNEQUAL, 0.05, 0.05 * ratio)[0][0] for ratio in (1.0, 2.0, 3.0, 3.5, 4.0)]
    assert slowest == sorted(slowest)
    assert slowest[0] == 0
    assert slowest[-1] == pytest.approx(1 / 4, rel=1e-9)


def test_a_lower_density_saves_less_than_it_leaves_out() -> None:
    """Of unequal peers, too: from κ = 1/(2n) on the mean travels whole."""
    _, whole = shares_of(UNEQUAL)
    densities = (1 / 4, 1 / 8, 1 / 16, 1 / 64)
    seconds = [shares_of(UNEQUAL, *sparse_shares(density, 4))[1] for density in densities]
    assert seconds == sorted(seconds, reverse=True)
    assert all(2 * density * whole < own <= whole for density, own in zip(densities, seconds, strict=True))
    stated = STATEMENTS["scattered_butterfly_time"].evaluate(
        n=4, gradient_share=1 / 32, mean_share=1 / 8, least_bandwidth=1
    )
    assert seconds[-1] == pytest.approx(stated, rel=1e-9)


@pytest.mark.parametrize("density", [0.001, 0.1, 0.125, 0.3, 0.5])
def test_equal_peers_save_what_the_statement_says(density: float) -> None:
    factor = STATEMENTS["density_saturation"].evaluate(n=4, entry_cost=2, kappa=density)
    _, sparse = shares_of((3.0,) * 4, *sparse_shares(density, 4))
    assert sparse == pytest.approx(factor * shares_of((3.0,) * 4)[1], rel=1e-12)


def test_what_would_help_is_said() -> None:
    question = Collaboration((Peer(1.0, 1.0, 1.0), Peer(9.0, 9.0, 9.0)), 9.0, 9, *sparse_shares(0.05, 2))
    found = plan(question)
    assert found.remarks[0] == f"if all who can compute do, an update takes {update_seconds(question, {0, 1}):.4g} s"
    dense = plan(replace(question, gradient_share=1.0, mean_share=1.0)).objective
    assert found.remarks[1] == f"with whole gradients an update takes {dense:.4g} s"


def test_bad_questions_are_refused() -> None:
    peer = Peer(1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="examples_per_second must be finite and at least 0, got -1"):
        Peer(-1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="upload must be positive and finite, got 0"):
        Peer(1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="download must be positive and finite, got inf"):
        Peer(1.0, 1.0, float("inf"))
    with pytest.raises(ValueError, match="needs a peer, got none"):
        Collaboration((), 1.0, 1)
    with pytest.raises(ValueError, match="target_batch must be positive and finite, got 0"):
        Collaboration((peer,), 0.0, 1)
    with pytest.raises(ValueError, match="parameter_count must be at least 1, got 0"):
        Collaboration((peer,), 1.0, 0)
    with pytest.raises(ValueError, match=r"got 0\.5 and 0\.25"):
        Collaboration((peer,), 1.0, 1, 0.5, 0.25)
    with pytest.raises(ValueError, match="0 < density ≤ 1 ≤ entry_values, got 0 and 2"):
        sparse_shares(0, 3)
    with pytest.raises(ValueError, match="peer_count must be at least 1, got 0"):
        sparse_shares(0.1, 0)


def test_seconds_that_no_double_holds_are_refused_instead_of_planned_with() -> None:
    """An infinite time times a share of none is no number, and no larger than any."""
    peer = Peer(1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="10 parameters take longer than a double holds over a link of 1e-320 up"):
        plan(Collaboration((Peer(1.0, 1e-320, 1.0), peer), 1.0, 10))
    with pytest.raises(ValueError, match=r"peers \[0\], of 5e-324 examples per second, never have 1\.0"):
        plan(Collaboration((Peer(5e-324, 1.0, 1.0),), 1.0, 10))


def test_an_update_needs_peers_that_are_there_and_compute() -> None:
    question = Collaboration((Peer(1.0, 1.0, 1.0), Peer(0.0, 1.0, 1.0)), 1.0, 10)
    for computing in (frozenset[int](), frozenset({1})):
        with pytest.raises(ValueError, match=r"of 0\.0 examples per second, never have 1\.0"):
            update_seconds(question, computing)
    with pytest.raises(ValueError, match=r"there are 2 peers, none at \[5\]"):
        compute_seconds(question, frozenset({0, 5}))


def test_what_cannot_be_met_is_named() -> None:
    idle, client = Peer(0.0, 1.0, 1.0), Peer(1.0, 1.0, 1.0, averages=False)
    with pytest.raises(InfeasibleError, match="examples_per_second: none of 2 peers computes"):
        plan(Collaboration((idle, idle), 1.0, 1))
    with pytest.raises(InfeasibleError, match="averages: none of 2 peers can be sent to"):
        plan(Collaboration((client, client), 1.0, 1))
    assert plan(Collaboration((client,), 2.0, 1)).objective == 2.0
