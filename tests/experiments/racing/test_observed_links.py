"""A link is found again from transfers over it, also where many of them were held up by something else."""

from __future__ import annotations

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


def test_without_transfers_or_sizes_there_is_no_rate() -> None:
    assert fitted([], []) == Link()
    nothing = [Transfer(0, 0.0, 0, 0.5), Transfer(1, 1.0, 0, 0.25), Transfer(1, 2.0, 0, 0.5)]
    assert fitted(nothing, []) == Link(0.5, math.inf)
