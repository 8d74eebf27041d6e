"""Which link is it that transfers were observed on? Latency, rate, and whether all workers share one line.

Each worker having a line of its own, a transfer of s bytes takes α + s/R. R is by Theil and Sen: 1/R is the median
slope over pairs of transfers of different sizes; α is the median of what is left. Half of the transfers may so have
been held up by something else. On a shared line a transfer also waits for those before it, occupies the line for
μ + s/R, and takes α besides; these three have the least mean absolute error, and count only where that is clearly less
than without sharing. μ holds the server's own work on a message, for which the next one waits. Where all transfers are
about equally large, μ and R cannot be told apart, and all of the occupation counts as R. What is shared in one
direction is taken to be shared in the other, as long as that explains the transfers there as well.

A worker whose transfers take more than twice as long as those of a usual one may have a slower end of its own. Then the
line is that of the others, and the end has the median rate of what it carried, if that explains all clearly better. Of
two workers it cannot be said which is the usual one.

Sources: Hockney 1994 for α + s/R; Theil 1950 and Sen 1968 for the slope; the rest is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from sparsync.experiments.engine.clusters import Line, Link

ALIKE = 1.2
"""Sizes whose largest is at most this multiple of the smallest say nothing of a rate."""
CLEARLY = 0.8
"""A shared line must leave at most this share of the error of separate ones."""
NEGLIGIBLE = 0.02
"""An error of separate lines that is no more than this share of a usual transfer is none."""
SLOW = 2.0
"""How much longer than the median of all workers' a slow one's transfers take. Whoever is always the last of n on a
shared line takes 2n/(n + 1) times as long as their median, which is less."""
MOST_TRANSFERS = 600
"""That a fit looks at, the first ones: it looks at all of their pairs."""
_ROUNDS = 300


class Transfer(NamedTuple):
    """Something that travelled.

    Args:
        worker: whose end of the link it was.
        ordered: when, in seconds.
        size_bytes: of it.
        seconds: until it was there.
    """

    worker: int
    ordered: float
    size_bytes: int
    seconds: float


def fitted_links(
    uploads: Sequence[Transfer], downloads: Sequence[Transfer], worker_count: int, *, order_seconds: float
) -> tuple[Link, Link]:
    """The links up and down that explain the transfers; without any, one that takes no time.

    Args:
        uploads: in any order.
        downloads: likewise. Where all transfers of a direction are alike, the rate is that of both together, if those
            of the other differ from them.
        worker_count: n.
        order_seconds: what an order takes that carries nothing: the latency, where all sizes are alike in both
            directions.
    """
    # What was ordered early over a slow end arrives late, and has not waited for what overtook it.
    ups, downs = (sorted(seen, key=_ordered)[:MOST_TRANSFERS] for seen in (uploads, downloads))
    up = _fitted(ups, downs, worker_count, order_seconds)
    down = _fitted(downs, ups, worker_count, order_seconds)
    return _alike(up, down, ups, worker_count), _alike(down, up, downs, worker_count)


def _ordered(transfer: Transfer) -> float:
    return transfer.ordered


def _fitted(seen: list[Transfer], others: list[Transfer], worker_count: int, order_seconds: float) -> Link:
    link = _common_line(seen, others, worker_count, order_seconds)
    slow = _slow_workers(seen, link)
    if not slow:
        return link
    usual, usual_others = ([one for one in sample if one.worker not in slow] for sample in (seen, others))
    common = _common_line(usual, usual_others, worker_count, order_seconds)
    rates = tuple(
        _own_rate([one for one in seen if one.worker == worker], common.latency_seconds) if worker in slow else math.inf
        for worker in range(worker_count)
    )
    apart = replace(common, own_rates=rates)
    is_better = _error(apart, seen, worker_count) < CLEARLY * _error(link, seen, worker_count)
    return apart if is_better else link


def _slow_workers(seen: Sequence[Transfer], link: Link) -> set[int]:
    """Those whose transfers take longer than on this link, by more than `SLOW` times what a usual worker's do."""
    ratios: dict[int, list[float]] = {}
    for worker, _, size, seconds in seen:
        at_once = link.latency_seconds + link.occupied_seconds(size)
        if size and at_once:
            ratios.setdefault(worker, []).append(seconds / at_once)
    medians = {worker: median(found) for worker, found in ratios.items()}
    usual = median(medians.values()) if medians else 0.0
    return {worker for worker, found in medians.items() if found > SLOW * usual}


def _own_rate(seen: Sequence[Transfer], latency_seconds: float) -> float:
    return _rate(median(max(0.0, one.seconds - latency_seconds) / one.size_bytes for one in seen if one.size_bytes))


def _common_line(seen: list[Transfer], others: list[Transfer], worker_count: int, order_seconds: float) -> Link:
    if not seen:
        return Link()
    own = _own_line(seen, others, order_seconds)
    error = _error(own, seen, worker_count)
    if error <= _negligible(seen):
        return own
    shared = _shared_line(seen, own, worker_count)
    return shared if _error(shared, seen, worker_count) < CLEARLY * error else own


def _alike(link: Link, other: Link, seen: list[Transfer], worker_count: int) -> Link:
    """Shared as the other one, if the transfers do not speak against it: where none waits they do not say."""
    if link.is_shared or not other.is_shared:
        return link
    at_once = Line(replace(other, latency_seconds=0.0, own_rates=link.own_rates), worker_count).arrival
    left = [seconds - (at_once(worker, ordered, size) - ordered) for worker, ordered, size, seconds in seen]
    shared = replace(other, latency_seconds=max(0.0, median(left)), own_rates=link.own_rates) if seen else other
    if not seen or _error(shared, seen, worker_count) <= max(
        _negligible(seen), _error(link, seen, worker_count) / CLEARLY
    ):
        return shared
    return link


def _own_line(seen: list[Transfer], others: list[Transfer], order_seconds: float) -> Link:
    telling = next((sample for sample in (seen, [*seen, *others]) if not _are_alike(sample)), None)
    usual = median(transfer.seconds for transfer in seen)
    if telling is not None:
        per_byte = max(0.0, _median_slope(telling))
    else:
        sent = median(transfer.size_bytes for transfer in seen)
        per_byte = max(0.0, usual - order_seconds) / sent if sent else 0.0
    latency = max(0.0, median(transfer.seconds - per_byte * transfer.size_bytes for transfer in seen))
    return Link(latency_seconds=latency, bytes_per_second=_rate(per_byte))


def _shared_line(seen: list[Transfer], own: Link, worker_count: int) -> Link:
    """The best one: the search begins where all is latency, all is bytes, and all is work on messages."""
    usual = median(transfer.seconds for transfer in seen)
    sent = fmean(transfer.size_bytes for transfer in seen)
    if not usual or not sent:
        return own
    are_alike = _are_alike(seen)

    def link(values: np.ndarray) -> Link:
        latency, per_message, per_mean = np.abs(values) * usual
        message_seconds = 0.0 if are_alike else float(per_message)
        return Link(float(latency), _rate(float(per_mean) / sent), message_seconds, is_shared=True)

    def error(values: np.ndarray) -> float:
        return _error(link(values), seen, worker_count)

    begins = ((0.9, 0.05, 0.05), (0.1, 0.1, 0.8), (0.1, 0.8, 0.1))
    found = [minimize(error, begin, method="Nelder-Mead", options={"maxfev": _ROUNDS}) for begin in begins]
    return link(min(found, key=lambda one: float(one.fun)).x)


def _are_alike(seen: Sequence[Transfer]) -> bool:
    sizes = [transfer.size_bytes for transfer in seen]
    return max(sizes) <= ALIKE * min(sizes)


def _median_slope(seen: Sequence[Transfer]) -> float:
    """Seconds per byte, over all pairs of different sizes."""
    sizes = np.array([transfer.size_bytes for transfer in seen], dtype=np.float64)
    seconds = np.array([transfer.seconds for transfer in seen])
    apart = sizes[:, None] - sizes
    pairs = apart > 0
    return float(np.median((seconds[:, None] - seconds)[pairs] / apart[pairs]))


def _negligible(seen: Sequence[Transfer]) -> float:
    return NEGLIGIBLE * median(transfer.seconds for transfer in seen)


def _rate(seconds_per_byte: float) -> float:
    return 1 / seconds_per_byte if seconds_per_byte > 0 else math.inf


def _error(link: Link, seen: Sequence[Transfer], worker_count: int) -> float:
    """Mean absolute, in seconds."""
    arrival: Callable[[int, float, int], float] = Line(link, worker_count).arrival
    return fmean(abs(arrival(worker, ordered, size) - ordered - seconds) for worker, ordered, size, seconds in seen)
