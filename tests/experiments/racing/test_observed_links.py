"""A link is found again from transfers over it, also where many of them were held up by something else."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import replace

import pytest

from sparsync.experiments.engine.clusters import Line, Link
from sparsync.experiments.racing.observed_links import Transfer, fitted_links

WORKERS = 4
ORDER_SECONDS = 0.001
OWN = Link(latency_seconds=0.02, bytes_per_second=1e5)
SHARED = Link(latency_seconds=0.02, bytes_per_second=1e5, message_seconds=0.01, is_shared=True)


def over(
    link: Link, sizes: tuple[int, ...], *, gap: float = 0.03, held_up: float = 0.0, count: int = 200
) -> list[Transfer]:
    """Transfers over the link, that share of them half a second late."""
    numbers, line, now, found = random.Random("transfers"), Line(link, WORKERS), 0.0, []
    for _ in range(count):
        now += numbers.expovariate(1 / gap)
        worker, size = numbers.randrange(WORKERS), numbers.choice(sizes)
        late = 0.5 if numbers.random() < held_up else 0.0
        found.append(Transfer(worker, now, size, line.arrival(worker, now, size) - now + late))
    return found


def slower(link: Link, worker: int, rate: float) -> Link:
    """The same with a slower end of that worker."""
    return replace(link, own_rates=tuple(rate if other == worker else math.inf for other in range(WORKERS)))


def fitted(seen: list[Transfer], others: list[Transfer]) -> Link:
    """In the direction of those seen."""
    return fitted_links(seen, others, WORKERS, order_seconds=ORDER_SECONDS)[0]


def close(link: Link, expected: Link, *, within: float = 0.02) -> bool:
    numbers = ("latency_seconds", "bytes_per_second", "message_seconds")
    alike = all(getattr(link, name) == pytest.approx(getattr(expected, name), rel=within) for name in numbers)
    return link.is_shared == expected.is_shared and alike


@pytest.mark.parametrize("held_up", [0.0, 0.2])
def test_lines_of_one_s_own_are_found_again(held_up: float) -> None:
    seen = over(OWN, (1000, 2000, 5000), gap=0.2, held_up=held_up)
    assert close(fitted(seen, []), OWN, within=0.05)


def test_a_shared_line_is_found_again_by_how_transfers_wait_for_each_other() -> None:
    seen = over(SHARED, (500, 2000, 4000))
    assert close(fitted(seen, []), SHARED, within=0.1)


def test_what_is_shared_in_one_direction_is_shared_in_the_other_unless_transfers_say_no() -> None:
    busy, idle = over(SHARED, (500, 2000, 4000)), over(SHARED, (500, 2000, 4000), gap=50.0)
    up, down = fitted_links(idle, busy, WORKERS, order_seconds=ORDER_SECONDS)
    assert close(up, SHARED, within=0.1)
    assert close(down, SHARED, within=0.1)
    own = over(OWN, (500, 2000, 4000), gap=0.005)
    up, down = fitted_links(own, busy, WORKERS, order_seconds=ORDER_SECONDS)
    assert (up.is_shared, down.is_shared) == (False, True)
    assert fitted([], busy).is_shared


def test_a_rate_that_one_direction_does_not_tell_is_that_of_both() -> None:
    found = fitted(over(OWN, (1000,), gap=0.2), over(OWN, (4000,), gap=0.2))
    assert close(found, OWN)


def test_where_all_are_alike_the_latency_is_that_of_an_order_and_the_rest_is_bytes() -> None:
    seen = over(OWN, (1000,), gap=50.0)
    found = fitted(seen, seen)
    assert close(found, replace(OWN, latency_seconds=ORDER_SECONDS, bytes_per_second=1000 / 0.029))


@pytest.mark.parametrize("worker", [0, 3])
@pytest.mark.parametrize(("link", "sizes"), [(OWN, (4000,)), (OWN, (2000, 3000, 5000)), (SHARED, (500, 2000, 4000))])
def test_a_worker_s_slower_end_is_found_again(link: Link, sizes: tuple[int, ...], worker: int) -> None:
    seen = over(slower(link, worker, 1e4), sizes, gap=0.5, held_up=0.1)
    # Since a slow transfer arrives after later ones.
    seen.sort(key=lambda one: one.ordered + one.seconds)
    found = fitted(seen, [])
    assert found.own_rates[worker] == pytest.approx(1e4, rel=0.1)
    assert [rate for other, rate in enumerate(found.own_rates) if other != worker] == [math.inf] * 3
    assert found.bytes_per_second > 5e4


def test_what_overtakes_a_slow_transfer_has_not_kept_it_waiting() -> None:
    numbers, line = random.Random("overtaking"), Line(slower(OWN, 2, 1e4), WORKERS)
    begins, seen = [(0.0, worker) for worker in range(WORKERS)], list[Transfer]()
    while len(seen) < 200:
        now, worker = heapq.heappop(begins)
        there = line.arrival(worker, now, 4000) + numbers.expovariate(1 / 0.02)
        seen.append(Transfer(worker, now, 4000, there - now))
        heapq.heappush(begins, (there + 0.01, worker))
    found = fitted(sorted(seen, key=lambda one: one.ordered + one.seconds), [])
    assert not found.is_shared
    # All of them are alike, so that latency is but an order's. The median delay is 14 ms, about which 26 are generous.
    assert 4000 / 0.085 < found.bytes_per_second < 4000 / 0.059
    assert 4000 / 0.445 < found.own_rates[2] < 4000 / 0.419


def test_who_is_always_the_last_on_a_shared_line_has_no_slower_end() -> None:
    line = Line(SHARED, WORKERS)
    rounds = [(worker, 10.0 * place) for place in range(50) for worker in range(WORKERS)]
    seen = [Transfer(worker, now, 4000, line.arrival(worker, now, 4000) - now) for worker, now in rounds]
    assert fitted(seen, []).own_rates == ()
    # Of two it cannot be said which is the usual one.
    pair = [Transfer(worker, now, 4000, 0.1 + worker) for worker, now in rounds if worker < 2]
    assert fitted(pair, []).own_rates == ()


def test_without_transfers_or_sizes_there_is_no_rate() -> None:
    assert fitted([], []) == Link()
    nothing = [Transfer(0, 0.0, 0, 0.5), Transfer(1, 1.0, 0, 0.25), Transfer(1, 2.0, 0, 0.5)]
    assert fitted(nothing, []) == Link(0.5, math.inf)
