"""What evidence is there for what sharding costs? Rings are carried out, choices tried, and vertices listed, exactly.

Parts that a device hands to its neighbour are counted as they are handed over; a ring that ends without the sums, or
without everybody's part, is refused. The relaxation is solved at each of its vertices, from its own equations. Ours.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check


class Network(NamedTuple):
    """Devices, seconds of a message and of a byte, and bytes of a value."""

    devices: int
    message: Fraction
    byte: Fraction
    size: int


class Choice(NamedTuple):
    """Bytes of memory and seconds of a step."""

    bytes: Fraction
    seconds: Fraction


def reduce_scattered(vectors: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """Of vectors with a part for each device, the sum that each device ends with, and how many parts each passed on."""
    devices, held, passed = len(vectors), [list(vector) for vector in vectors], 0
    for turn in range(devices - 1):
        parts = [(device - turn - 1) % devices for device in range(devices)]
        values = [held[device][part] for device, part in enumerate(parts)]
        for device, (part, value) in enumerate(zip(parts, values, strict=True)):
            held[(device + 1) % devices][part] += value
        passed += 1
    return [held[device][device] for device in range(devices)], passed


def all_gathered(parts: Sequence[int]) -> tuple[list[list[int]], int]:
    """What each device ends with, of the parts that each of them begins with, and how many parts each passed on."""
    devices, passed = len(parts), 0
    held: list[dict[int, int]] = [{device: part} for device, part in enumerate(parts)]
    for turn in range(devices - 1):
        sent = [((device - turn) % devices, held[device][(device - turn) % devices]) for device in range(devices)]
        for device, (place, part) in enumerate(sent):
            held[(device + 1) % devices][place] = part
        passed += 1
    return [[own[place] for place in range(devices)] for own in held], passed


def passed_parts(devices: int, kept: str) -> int:
    """Parts that each device passes on in a step of an operator that is `replicated` or `sharded`.

    Raises:
        ValueError: a device ends without what it needs.
    """
    parameters = [7**device for device in range(devices)]
    gradients = [[11**device * (part + 1) for part in range(devices)] for device in range(devices)]
    sums = [sum(own[part] for own in gradients) for part in range(devices)]
    found, passed = reduce_scattered(gradients)
    if found != sums:
        raise ValueError(f"{devices} devices end with {found} instead of {sums}")
    for wanted in [sums] if kept == "replicated" else [parameters, parameters]:
        everywhere, more = all_gathered(wanted)
        passed += more
        if everywhere != [wanted] * devices:
            raise ValueError(f"{devices} devices end with {everywhere} instead of {wanted}")
    return passed


def kept_choice(network: Network, part: int, states: int, kept: str) -> Choice:
    """An operator with so many values a part, and bytes of states a value."""
    count = passed_parts(network.devices, kept)
    seconds = count * (network.message + part * network.size * network.byte)
    values = part * network.devices if kept == "replicated" else part
    return Choice(Fraction(states * values), seconds)


def pairs_seconds(network: Network, pairs: Fraction, index: int) -> Fraction:
    """Of an all-gather of so many values and positions of each device."""
    _, passed = all_gathered([0] * network.devices)
    return passed * (network.message + pairs * (network.size + index) * network.byte)


def traffic_margin(network: Network, part: int) -> Fraction:
    """Minus the distance of carried out seconds from the statement's ratio."""
    sharded, replicated = (kept_choice(network, part, 1, kept).seconds for kept in ("sharded", "replicated"))
    return -abs(sharded / replicated - STATEMENTS["sharding_traffic"].fraction())


def crossover_margin(network: Network, part: int, index: int) -> Fraction:
    """Minus how far replica and shard are apart with κ*; −1 where fewer entries are not quicker."""
    count = part * network.devices
    density = STATEMENTS["replica_crossover"].fraction(
        value_bytes=network.size,
        index_bytes=index,
        n=network.devices,
        d=count,
        message_seconds=network.message,
        byte_seconds=network.byte,
    )
    sharded = kept_choice(network, part, 1, "sharded").seconds
    gap = pairs_seconds(network, density * count, index) - sharded
    is_less = pairs_seconds(network, density * count / 2, index) < sharded
    return -abs(gap) if is_less else Fraction(-1)


def saving_margin(network: Network, part: int, states: int) -> Fraction:
    """Minus the distance of seconds saved per byte from the statement's; −1 where twice the operator saves more."""
    stated = STATEMENTS["replica_saving"].fraction(
        n=network.devices,
        d=part * network.devices,
        message_seconds=network.message,
        byte_seconds=network.byte,
        value_bytes=network.size,
        state_bytes=states,
    )
    saved, larger = (_saving(network, size, states) for size in (part, 2 * part))
    return -abs(saved - stated) if larger <= saved else Fraction(-1)


def vertices(weights: Sequence[Sequence[Fraction]], capacity: Fraction) -> Iterator[list[list[Fraction]]]:
    """Every vertex of the shares of choices, one in all of each operator, that weigh no more than the capacity."""
    places = [(operator, choice) for operator, own in enumerate(weights) for choice in range(len(own))]
    columns = [
        [*(Fraction(operator == row) for row in range(len(weights))), weights[operator][choice]]
        for operator, choice in places
    ]
    columns.append([*([Fraction(0)] * len(weights)), Fraction(1)])
    right = [*([Fraction(1)] * len(weights)), capacity]
    for basis in combinations(range(len(columns)), len(right)):
        found = _solved([columns[column] for column in basis], right)
        if found is None or min(found) < 0:
            continue
        shares = [[Fraction(0)] * len(own) for own in weights]
        for column, share in zip(basis, found, strict=True):
            if column < len(places):
                operator, choice = places[column]
                shares[operator][choice] = share
        yield shares


def divided_margin(weights: Sequence[Sequence[int]], capacity: Fraction) -> Fraction:
    """What the most divided choices of a vertex lack of the statement's; −1 where they are of several operators."""
    exact = [[Fraction(weight) for weight in own] for own in weights]
    divided = [[sum(0 < share < 1 for share in own) for own in shares] for shares in vertices(exact, capacity)]
    if any(sum(count > 0 for count in counts) > 1 for counts in divided):
        return Fraction(-1)
    return STATEMENTS["divided_choices"].fraction() - max(map(sum, divided))


def rounding_margin(network: Network, parts: Sequence[int], states: int, room: Fraction) -> Fraction:
    """What the best whole choice loses, less than stated; room is a share of the bytes from shards to replicas."""
    choices = [[kept_choice(network, part, states, kept) for kept in ("sharded", "replicated")] for part in parts]
    low, high = (sum((own[place].bytes for own in choices), Fraction(0)) for place in (0, 1))
    capacity = low + room * (high - low)
    relaxed = min(
        sum(
            share * choice.seconds
            for own, taken in zip(choices, shares, strict=True)
            for choice, share in zip(own, taken, strict=True)
        )
        for shares in vertices([[choice.bytes for choice in own] for own in choices], capacity)
    )
    whole = min(
        sum((choice.seconds for choice in taken), Fraction(0))
        for taken in product(*choices)
        if sum(choice.bytes for choice in taken) <= capacity
    )
    stated = STATEMENTS["rounded_relaxation"].fraction(
        n=network.devices,
        d=max(parts) * network.devices,
        message_seconds=network.message,
        byte_seconds=network.byte,
        value_bytes=network.size,
    )
    return stated - (whole - relaxed)


def throughput_margin(network: Network, parts: Sequence[int], states: int, spare: int, sample: Choice) -> Fraction:
    """What the best of all choices and batches lacks of the statement's, with so many samples' bytes and one spare."""
    kept = ("sharded", "replicated")
    choices = [[kept_choice(network, part, states, way) for way in kept] for part in parts]
    least = sum((min(choice.bytes for choice in own) for own in choices), Fraction(0))
    memory = least + spare * sample.bytes
    rates = [
        network.devices * batch / (sum(choice.seconds for choice in taken) + batch * sample.seconds)
        for taken in product(*choices)
        for batch in range(1, spare + 1)
        if sum(choice.bytes for choice in taken) + batch * sample.bytes <= memory
    ]
    stated = STATEMENTS["sharded_throughput"].fraction(
        n=network.devices,
        sample_seconds=sample.seconds,
        sample_bytes=sample.bytes,
        least_exchange_seconds=sum((min(choice.seconds for choice in own) for own in choices), Fraction(0)),
        memory_bytes=memory,
        least_state_bytes=least,
    )
    return stated - max(rates)


def _saving(network: Network, part: int, states: int) -> Fraction:
    sharded, replicated = (kept_choice(network, part, states, kept) for kept in ("sharded", "replicated"))
    return (sharded.seconds - replicated.seconds) / (replicated.bytes - sharded.bytes)


def _solved(columns: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """The solution of a square system, or None where there is none or many."""
    size = len(right)
    rows = [[*(column[row] for column in columns), right[row]] for row in range(size)]
    for place in range(size):
        pivot = next((row for row in range(place, size) if rows[row][place]), None)
        if pivot is None:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for row in range(size):
            if row != place and rows[row][place]:
                factor = rows[row][place] / rows[place][place]
                rows[row] = [own - factor * other for own, other in zip(rows[row], rows[place], strict=True)]
    return [rows[place][size] / rows[place][place] for place in range(size)]


def _counted(margins: Sequence[Fraction], *, is_attained: bool = False) -> Outcome:
    """Earned where none is below 0, and some is 0 if the bound is to be attained."""
    least = min(margins)
    return Outcome(
        earned=least == 0 if is_attained else least >= 0,
        detail={"cases_count": len(margins), "smallest_margin": str(least)},
    )


NETWORKS = tuple(
    Network(devices, message, byte, size)
    for devices in (2, 3, 5)
    for message in (Fraction(0), Fraction(3, 2))
    for byte in (Fraction(1, 7),)
    for size in (2, 4)
)
"""Of the checks by list."""


def traffic_check(_profile: Profile) -> Outcome:
    """`rational`: listed networks, and parts."""
    return _counted([traffic_margin(*case) for case in product(NETWORKS, (1, 6))])


def crossover_check(_profile: Profile) -> Outcome:
    """`rational`: likewise, with bytes of positions."""
    return _counted([crossover_margin(*case) for case in product(NETWORKS, (1, 6), (2, 4))])


def saving_check(_profile: Profile) -> Outcome:
    """`rational`: likewise, with bytes of states."""
    return _counted([saving_margin(*case) for case in product(NETWORKS, (1, 6), (4, 16))])


def divided_check(_profile: Profile) -> Outcome:
    """`rational`: every vertex of listed choices, some with equal weights; two choices are divided somewhere."""
    listed: list[list[list[int]]] = [
        *([[1, 4], [2, 7], [0, 3]], [[1, 1, 4], [2, 5, 5]], [[0, 2, 3], [0, 2, 3]]),
        *([[1, 9]], [[3, 3], [3, 3]]),
    ]
    cases = [
        (weights, sum(map(min, weights)) + share * sum(max(own) - min(own) for own in weights))
        for weights in listed
        for share in (Fraction(0), Fraction(2, 5), Fraction(1, 2), Fraction(1))
    ]
    return _counted([divided_margin(*case) for case in cases], is_attained=True)


def rounding_check(_profile: Profile) -> Outcome:
    """`rational`: listed operators, and room up to one hundredth less than all replicated need."""
    cases = product(NETWORKS[::3], [(3,), (1, 4), (2, 2, 5)], (8,), (Fraction(0), Fraction(1, 3), Fraction(99, 100)))
    return _counted([rounding_margin(*case) for case in cases])


def throughput_check(_profile: Profile) -> Outcome:
    """`rational`: listed operators, with one device too, and with states that are nothing beside a sample."""
    networks = (*NETWORKS[::3], NETWORKS[0]._replace(devices=1))
    samples = (Choice(Fraction(1), Fraction(2)), Choice(Fraction(1000), Fraction(1, 9)))
    return _counted([throughput_margin(*case) for case in product(networks, [(3,), (1, 4)], (8,), (1, 6), samples)])


COUNT = st.integers(1, 6)
POSITIVE = st.builds(Fraction, st.integers(1, 20), st.integers(1, 9))
NOT_NEGATIVE = st.builds(Fraction, st.integers(0, 20), st.integers(1, 9))
SHARE = st.builds(Fraction, st.integers(0, 100), st.just(100))


def networks(least: int = 2) -> Members:
    """Two to five devices, or from one on."""
    return st.builds(Network, st.integers(least, 5), NOT_NEGATIVE, POSITIVE, COUNT)


def traffic_cases() -> Members:
    """Networks, and values of a part."""
    return st.tuples(networks(), COUNT)


def numbered_cases() -> Members:
    """The same, and bytes of positions or states."""
    return st.tuples(networks(), COUNT, COUNT)


def divided_cases() -> Members:
    """Weights of a few choices of a few operators, and a capacity between lightest and heaviest."""
    weights = st.one_of(
        st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=1, max_size=3),
        st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=3), min_size=1, max_size=2),
    )
    return st.tuples(weights, SHARE).map(
        lambda case: (case[0], sum(map(min, case[0])) + case[1] * sum(max(own) - min(own) for own in case[0]))
    )


def rounding_cases() -> Members:
    """Networks, values of a part of one to three operators, bytes of states, and room."""
    return st.tuples(networks(), st.lists(COUNT, min_size=1, max_size=3), COUNT, SHARE)


def throughput_cases() -> Members:
    """Networks of one device or more, operators, bytes of states, samples that fit beside shards, and a sample."""
    return st.tuples(
        networks(least=1), st.lists(COUNT, min_size=1, max_size=2), COUNT, COUNT, st.builds(Choice, POSITIVE, POSITIVE)
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    "sharding_traffic": {"rational": traffic_check, "property": property_check(traffic_cases, traffic_margin)},
    "replica_crossover": {"rational": crossover_check, "property": property_check(numbered_cases, crossover_margin)},
    "replica_saving": {"rational": saving_check, "property": property_check(numbered_cases, saving_margin)},
    "divided_choices": {"rational": divided_check, "property": property_check(divided_cases, divided_margin)},
    "rounded_relaxation": {"rational": rounding_check, "property": property_check(rounding_cases, rounding_margin)},
    "sharded_throughput": {
        "rational": throughput_check,
        "property": property_check(throughput_cases, throughput_margin),
    },
}
"""Every check of these statements, by label and grade."""
