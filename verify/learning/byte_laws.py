"""What evidence is there for the bytes of split learning, federated averaging and synchronous SGD?

Messages are listed one by one, with the size of each, and added up; rings pass their parts on until all have all. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

SIZES = (1, 2, 4)
"""Bytes of what travels."""
MOST_CLIENTS = 5


def split_messages(
    shards: Sequence[int], batch: int, values: int, size: int, label: int, passed: int
) -> list[tuple[str, int]]:
    """Every message of an epoch: what it is about, and its bytes."""
    sent = []
    for shard in shards:
        for first in range(0, shard, batch):
            examples = min(batch, shard - first)
            sent += [("activations", examples * values * size), ("labels", examples * label)]
            sent += [("gradients", examples * values * size)]
        sent.append(("layers", passed * size))
    return sent


def averaging_messages(clients: int, parameters: int, exchanges: int, size: int) -> list[tuple[str, int]]:
    """The same of federated averaging, or of synchronous SGD with so many exchanges."""
    one = [(way, parameters * size) for _ in range(clients) for way in ("down", "up")]
    return one * exchanges


def total(messages: Sequence[tuple[str, int]]) -> int:
    """Their bytes."""
    return sum(size for _, size in messages)


def ring_bytes(clients: int, part: int, size: int) -> int:
    """Of one all-reduce of clients·part values, carried out.

    Raises:
        ValueError: a client ends without the sum.
    """
    held = [[10**client] * clients for client in range(clients)]
    sent = 0
    for turn, is_added in [(turn, turn < clients - 1) for turn in range(2 * (clients - 1))]:
        moves = [(client, (client - turn) % clients) for client in range(clients)]
        values = [held[client][place] for client, place in moves]
        for (client, place), value in zip(moves, values, strict=True):
            receiver = (client + 1) % clients
            held[receiver][place] = held[receiver][place] + value if is_added else value
            sent += part * size
    if held != [[sum(10**client for client in range(clients))] * clients] * clients:
        raise ValueError(f"a ring of {clients} ends with {held}")
    return sent


def split_margin(shards: Sequence[int], batch: int, values: int, size: int, label: int, passed: int) -> Fraction:
    """Minus the difference of all messages from the statement's."""
    stated = STATEMENTS["split_epoch_bytes"].fraction(
        example_count=sum(shards),
        cut_values=values,
        value_bytes=size,
        label_bytes=label,
        n=len(shards),
        passed_count=passed,
    )
    return -abs(total(split_messages(shards, batch, values, size, label, passed)) - stated)


def federated_margin(clients: int, parameters: int, exchanges: int, size: int) -> Fraction:
    """The same of federated averaging."""
    stated = STATEMENTS["federated_epoch_bytes"].fraction(
        n=clients, d=parameters, round_count=exchanges, value_bytes=size
    )
    return -abs(total(averaging_messages(clients, parameters, exchanges, size)) - stated)


def large_batch_margin(clients: int, parameters: int, batch: int, batches: int, size: int) -> Fraction:
    """The same of synchronous SGD, with so many batches of all clients' examples in an epoch."""
    stated = STATEMENTS["large_batch_epoch_bytes"].fraction(
        n=clients, d=parameters, example_count=batch * batches, total_batch=batch, value_bytes=size
    )
    return -abs(total(averaging_messages(clients, parameters, batches, size)) - stated)


def ring_margin(clients: int, part: int, batch: int, batches: int, size: int) -> Fraction:
    """The same on a ring of clients, each of which adds up a part of as many values."""
    stated = STATEMENTS["ring_epoch_bytes"].fraction(
        n=clients, d=clients * part, example_count=batch * batches, total_batch=batch, value_bytes=size
    )
    return -abs(batches * ring_bytes(clients, part, size) - stated)


Traffic = tuple[int, int, int, int, int, int, int]
"""Clients, parameters, those that are passed on, exchanges, values at the cut, bytes of a value and of a label."""


def crossover_margin(
    clients: int, parameters: int, passed: int, exchanges: int, values: int, size: int, label: int
) -> Fraction:
    """Minus how far split learning and averaging are apart with p* examples; −1 where more are not more bytes."""
    crossover = STATEMENTS["split_federated_crossover"].fraction(
        n=clients,
        d=parameters,
        passed_count=passed,
        round_count=exchanges,
        cut_values=values,
        value_bytes=size,
        label_bytes=label,
    )
    averaged = total(averaging_messages(clients, parameters, exchanges, size))

    def split(examples: Fraction) -> Fraction:
        # One example's messages, as often as there are examples.
        one = total(split_messages([1], 1, values, size, label, 0))
        return examples * one + clients * passed * size

    below, above = split(crossover - 1) < averaged, split(crossover + 1) > averaged
    return -abs(split(crossover) - averaged) if below and above else Fraction(-1)


def batch_margin(
    clients: int, parameters: int, passed: int, examples: int, values: int, size: int, label: int
) -> Fraction:
    """Minus how far split learning and synchronous SGD are apart with batches of B*."""
    crossover = STATEMENTS["split_batch_crossover"].fraction(
        n=clients,
        d=parameters,
        passed_count=passed,
        example_count=examples,
        cut_values=values,
        value_bytes=size,
        label_bytes=label,
    )
    shards = [examples] + [0] * (clients - 1)
    split = total(split_messages(shards, examples, values, size, label, passed))
    exchange = total(averaging_messages(clients, parameters, 1, size))
    return -abs(examples / crossover * exchange - split)


def _counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0."""
    return Outcome(
        earned=bool(margins) and min(margins) >= 0,
        detail={"cases_count": len(margins), "smallest_margin": str(min(margins))},
    )


def split_check(_profile: Profile) -> Outcome:
    """`rational`: listed shards, batches that do not divide them, cuts and sizes."""
    shards = [(3,), (2, 5), (0, 1, 4)]
    return _counted([split_margin(own, 2, *rest) for own in shards for rest in product((1, 3), SIZES, (0, 1), (0, 7))])


def federated_check(_profile: Profile) -> Outcome:
    """`rational`: listed numbers of clients, parameters, exchanges and sizes."""
    return _counted([federated_margin(*case) for case in product((1, 2, 5), (1, 6), (1, 3), SIZES)])


def large_batch_check(_profile: Profile) -> Outcome:
    """`rational`: likewise, by batches."""
    return _counted([large_batch_margin(*case) for case in product((1, 2, 5), (1, 6), (1, 8), (1, 3), SIZES)])


def ring_check(_profile: Profile) -> Outcome:
    """`rational`: rings up to the most clients, carried out."""
    clients = range(1, MOST_CLIENTS + 1)
    return _counted([ring_margin(*case) for case in product(clients, (1, 3), (1, 4), (1, 2), SIZES)])


def crossover_check(_profile: Profile) -> Outcome:
    """`rational`: listed traffic, with and without layers that are passed on."""
    return _counted(
        [crossover_margin(*case) for case in product((1, 4), (6, 20), (0, 5), (1, 2), (1, 3), SIZES, (0, 1))]
    )


def batch_check(_profile: Profile) -> Outcome:
    """`rational`: likewise, for batches."""
    return _counted([batch_margin(*case) for case in product((1, 4), (6, 20), (0, 5), (1, 9), (1, 3), SIZES, (0, 1))])


COUNT, SIZE = st.integers(1, 9), st.integers(1, 8)


def split_cases() -> Members:
    """Shards, batch, values at the cut, bytes of a value and of a label, and what is passed on."""
    shards = st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(any)
    return st.tuples(shards, st.integers(1, 4), COUNT, SIZE, st.integers(0, 2), st.integers(0, 9))


def federated_cases() -> Members:
    """Clients, parameters, exchanges, and bytes of a value."""
    return st.tuples(COUNT, COUNT, COUNT, SIZE)


def large_batch_cases() -> Members:
    """Clients, parameters, batch, batches, and bytes of a value."""
    return st.tuples(COUNT, COUNT, COUNT, COUNT, SIZE)


def ring_cases() -> Members:
    """Clients, values of a part, batch, batches, and bytes of a value."""
    return st.tuples(st.integers(1, MOST_CLIENTS), COUNT, COUNT, COUNT, SIZE)


def traffic_cases() -> Members:
    """As `Traffic`; what is passed on is less than the parameters."""
    sizes = st.integers(1, 30).flatmap(lambda d: st.tuples(st.just(d), st.integers(0, d - 1)))
    return st.tuples(COUNT, sizes, COUNT, COUNT, SIZE, st.integers(0, 2)).map(
        lambda case: (case[0], *case[1], *case[2:])
    )


EDGES: dict[str, tuple[Remark, ...]] = {
    "split_federated_crossover": (
        Edge(
            str(STATEMENTS["split_federated_crossover"].domain[0]),
            {
                "n": 3, "d": 8, "passed_count": 17, "round_count": 1, "cut_values": 1, "value_bytes": 4,
                "label_bytes": 1,
            },
        ),
    ),
}  # fmt: skip
"""Points just beyond the conditions."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "split_epoch_bytes": {"rational": split_check, "property": property_check(split_cases, split_margin)},
    "federated_epoch_bytes": {
        "rational": federated_check,
        "property": property_check(federated_cases, federated_margin),
    },
    "large_batch_epoch_bytes": {
        "rational": large_batch_check,
        "property": property_check(large_batch_cases, large_batch_margin),
    },
    "ring_epoch_bytes": {"rational": ring_check, "property": property_check(ring_cases, ring_margin)},
    "split_federated_crossover": {
        "rational": crossover_check,
        "property": property_check(traffic_cases, crossover_margin),
    },
    "split_batch_crossover": {"rational": batch_check, "property": property_check(traffic_cases, batch_margin)},
}
"""Every check of these statements, by label and grade."""
