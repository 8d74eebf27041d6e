"""What evidence is there for what sharding costs? Rings are carried out, choices tried, and vertices listed, exactly.

The relaxation is solved at each of its vertices, from its own equations. Ours.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import d, least_exchange_seconds, least_state_bytes
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.simulated.shards import Choice, Network, kept_choice, operator_plans, pairs_seconds
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check


def largest_density(network: Network, part: int, index: int) -> Fraction:
    """Of the densities up to 1 the largest with which a replica's gathering takes no longer than a shard's passes."""
    count = part * network.devices
    sharded = kept_choice(network, part, 1, "sharded").seconds
    none, whole = (pairs_seconds(network, Fraction(pairs), index) for pairs in (0, count))
    return Fraction(1) if whole <= sharded else (sharded - none) / (whole - none)


def traffic_margin(network: Network, part: int) -> Fraction:
    """Minus the distance of carried out seconds from the statement's ratio."""
    sharded, replicated = (kept_choice(network, part, 1, kept).seconds for kept in ("sharded", "replicated"))
    return -abs(sharded / replicated - STATEMENTS["sharding_traffic"].fraction(n=network.devices))


def crossover_margin(network: Network, part: int, index: int) -> Fraction:
    """Minus the distance of κ* from the largest density with which a replica is no slower; −1 if fewer entries are."""
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
    is_less = pairs_seconds(network, density * count / 2, index) < sharded
    return -abs(largest_density(network, part, index) - density) if is_less else Fraction(-1)


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
    """What the best whole choice loses, less than stated; room is a share of the bytes from shards to replicas.

    Of operators whose parts are to those given as the assumed largest number of parameters is to d.
    """
    statement, most = STATEMENTS["rounded_relaxation"], max(parts) * network.devices
    largest = Fraction(str(statement.given("largest_operator").subs(d, most)))
    choices = [
        [kept_choice(network, part * largest / most, states, kept) for kept in ("sharded", "replicated")]
        for part in parts
    ]
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
    stated = statement.fraction(
        n=network.devices,
        d=most,
        message_seconds=network.message,
        byte_seconds=network.byte,
        value_bytes=network.size,
    )
    return stated - (whole - relaxed)


def throughput_margin(devices: int, plans: Sequence[Choice], spare: int, sample: Choice) -> Fraction:
    """What the best of all plans and batches lacks of the statement's.

    Memory holds so many samples beside the states of the quickest plan. Where other bytes or seconds are assumed than
    the least, every plan takes as many more.
    """
    statement = STATEMENTS["sharded_throughput"]
    least, soonest = min(plan.bytes for plan in plans), min(plan.seconds for plan in plans)
    memory = min(plan.bytes for plan in plans if plan.seconds == soonest) + spare * sample.bytes
    more_bytes = _assumed(statement.given("states"), least_state_bytes, least) - least
    more_seconds = _assumed(statement.given("exchange"), least_exchange_seconds, soonest) - soonest
    rates = [
        devices * batch / (plan.seconds + more_seconds + batch * sample.seconds)
        for plan in plans
        for batch in range(1, int((memory - plan.bytes - more_bytes) / sample.bytes) + 1)
    ]
    stated = statement.fraction(
        n=devices,
        sample_seconds=sample.seconds,
        sample_bytes=sample.bytes,
        least_exchange_seconds=soonest,
        memory_bytes=memory,
        least_state_bytes=least,
    )
    return stated - max(rates)


def _assumed(given: sympy.Expr, symbol: sympy.Symbol, number: Fraction) -> Fraction:
    return Fraction(str(given.subs(symbol, sympy.Rational(number.numerator, number.denominator))))


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
    alone = NETWORKS[0]._replace(devices=1)
    cases = product(
        (*NETWORKS[::3], alone), [(3,), (1, 4), (2, 2, 5)], (8,), (Fraction(0), Fraction(1, 3), Fraction(99, 100))
    )
    return _counted([rounding_margin(*case) for case in cases])


def throughput_check(_profile: Profile) -> Outcome:
    """`rational`: listed operators, with one device too, and plans alone, which attain it."""
    networks = (*NETWORKS[::3], NETWORKS[0]._replace(devices=1))
    samples = (Choice(Fraction(1), Fraction(2)), Choice(Fraction(1000), Fraction(1, 9)))
    listed = [(one.devices, operator_plans(one, parts, 8)) for one in networks for parts in ((3,), (1, 4))]
    alone = [(devices, [Choice(Fraction(64), Fraction(seconds))]) for devices in (1, 4) for seconds in (0, 90)]
    return _counted(
        [throughput_margin(*case, *more) for case in (*listed, *alone) for more in product((1, 6), samples)],
        is_attained=True,
    )


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
    """Networks, values of a part of one to three operators, bytes of states, and room; often for nearly one replica."""
    drawn = st.tuples(networks(least=1), st.lists(COUNT, min_size=1, max_size=3), COUNT, SHARE)
    nearly = st.tuples(networks(), st.lists(COUNT, min_size=1, max_size=1), COUNT, st.just(Fraction(99, 100)))
    return drawn | nearly


def throughput_cases() -> Members:
    """Devices, plans of operators or any, samples that fit beside the states of the quickest, and a sample."""
    operators = st.tuples(networks(least=1), st.lists(COUNT, min_size=1, max_size=2), COUNT).map(
        lambda case: (case[0].devices, operator_plans(*case))
    )
    plans = st.lists(st.builds(Choice, NOT_NEGATIVE, NOT_NEGATIVE), min_size=1, max_size=3)
    chosen = operators | st.tuples(st.integers(1, 5), plans)
    sample = st.builds(Choice, POSITIVE, POSITIVE)
    return st.tuples(chosen, COUNT, sample).map(lambda case: (*case[0], *case[1:]))


_ALONE = Unneeded("n >= 2", "one device exchanges nothing, and 0/0 is no ratio")
EDGES: dict[str, tuple[Remark, ...]] = {
    "sharding_traffic": (_ALONE,),
    "replica_crossover": (
        # A device alone gathers all its entries in no time.
        Edge(
            "n >= 2",
            {"value_bytes": 1, "index_bytes": 8, "n": 1, "d": 4, "message_seconds": 0, "byte_seconds": 1},
            left=lambda: largest_density(Network(1, Fraction(0), Fraction(1), 1), 4, 8),
        ),
    ),
    "replica_saving": (_ALONE,),
    "sharded_throughput": (
        # Without memory for any sample.
        Edge(
            "least_state_bytes < memory_bytes",
            {
                "n": 2,
                "sample_seconds": 1,
                "sample_bytes": 1,
                "least_exchange_seconds": 1,
                "memory_bytes": 1,
                "least_state_bytes": Fraction(33, 32),
            },
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

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
