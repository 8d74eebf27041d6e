"""What evidence is there that masks cancel, and for sums in fixed point?

The protocol is played with whole numbers modulo a small power of two, for all survivors, with masks of every kind
forgotten; and modulo 2⁶⁴ with drawn numbers. Roundings are exact fractions. Ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st

from sparsync.theory.language.symbols import magnitude_bound
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

LISTED_BITS, WORD_BITS = 4, 64
"""Of the integers that are added up."""
LISTED_CLIENTS = 4

Mask = tuple[int, ...]
"""Whose it is: one client's, or two clients'."""


def messages(inputs: Sequence[int], masks: Mapping[Mask, int], modulus: int) -> list[int]:
    """What each client sends: its input, its own mask, and with their signs those that it shares."""
    found = []
    for client, own in enumerate(inputs):
        total = own + masks[client,]
        for other in range(len(inputs)):
            if other > client:
                total += masks[client, other]
            elif other < client:
                total -= masks[other, client]
        found.append(total % modulus)
    return found


def known_to_server(masks: Mapping[Mask, int], survivors: Sequence[int]) -> dict[Mask, int]:
    """The masks that it takes to unmask the survivors' sum, as they stand in it."""
    found = {}
    for mask, value in masks.items():
        inside = [client for client in mask if client in survivors]
        if len(inside) == 1:
            found[mask] = value if inside[0] == mask[0] else -value
    return found


def cancel_margin(
    inputs: Sequence[int], survivors: Sequence[int], masks: Mapping[Mask, int], forgotten: Sequence[Mask], bits: int
) -> Fraction:
    """Minus the difference of what the server is left with from the statement's, modulo 2^bits."""
    modulus = 1 << bits
    sent = messages(inputs, masks, modulus)
    needed = known_to_server(masks, survivors)
    left = sum(sent[client] for client in survivors) - sum(
        value for mask, value in needed.items() if mask not in forgotten
    )
    stated = STATEMENTS["masks_cancel"].fraction(
        input_sum=sum(inputs[client] for client in survivors),
        unknown_masks=sum(value for mask, value in needed.items() if mask in forgotten),
    )
    return -((left - stated) % modulus)


def all_masks(clients: int) -> list[Mask]:
    """One for each client, and one for every two."""
    return [*((client,) for client in range(clients)), *combinations(range(clients), 2)]


def listed_sums() -> Iterator[tuple[list[int], tuple[int, ...], dict[Mask, int], tuple[Mask, ...], int]]:
    """All survivors of a few clients, with nothing forgotten, and with each mask."""
    for clients in range(1, LISTED_CLIENTS + 1):
        masks = {mask: (5 * place + 3) % (1 << LISTED_BITS) for place, mask in enumerate(all_masks(clients))}
        inputs = [7 * client + 2 for client in range(clients)]
        for size in range(1, clients + 1):
            for survivors in combinations(range(clients), size):
                for forgotten in ((), *((mask,) for mask in masks)):
                    yield inputs, survivors, masks, forgotten, LISTED_BITS


def cancel_check(_profile: Profile) -> Outcome:
    """`rational`: all survivors of up to four clients, modulo 16."""
    margins = [cancel_margin(*case) for case in listed_sums()]
    return Outcome(earned=min(margins) == 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def sum_cases() -> Members:
    """(inputs, survivors, masks, those forgotten, 64): all are numbers of 64 bits."""
    word = st.integers(0, 2**WORD_BITS - 1)

    def of(clients: int) -> Members:
        kinds = all_masks(clients)
        values = st.lists(word, min_size=len(kinds), max_size=len(kinds))
        return st.tuples(
            st.lists(word, min_size=clients, max_size=clients),
            st.sets(st.integers(0, clients - 1), min_size=1).map(sorted),
            values.map(lambda drawn: dict(zip(kinds, drawn, strict=True))),
            st.just(()) | st.lists(st.sampled_from(kinds), max_size=3).map(tuple),
            st.just(WORD_BITS),
        )

    return st.integers(1, 5).flatmap(of)


def rounded(value: Fraction) -> int:
    """The nearest integer, of two the even one."""
    return round(value)


def error_margin(values: Sequence[Fraction], scale: int) -> Fraction:
    """The bound less the error of the decoded sum."""
    decoded = Fraction(sum(rounded(value * scale) for value in values), scale)
    stated = STATEMENTS["fixed_point_error"].fraction(n=len(values), fixed_scale=scale)
    return stated - abs(decoded - sum(values, Fraction(0)))


def room_margin(values: Sequence[Fraction], scale: int) -> Fraction:
    """The bound less the sum of the integers; b is the smallest whose multiple by the scale is whole."""
    largest = max(abs(value) for value in values)
    magnitude = Fraction(-((-largest * scale) // 1), scale)
    stated = STATEMENTS["fixed_point_room"].fraction(n=len(values), fixed_scale=scale, magnitude_bound=magnitude)
    return stated - abs(sum(rounded(value * scale) for value in values))


def largest_room(count: int) -> Fraction:
    """The bound for b = 4 less the sum of as many integers of the largest numbers assumed, in steps of 1/4."""
    assumed = STATEMENTS["fixed_point_room"].given("magnitude").subs(magnitude_bound, 4)
    stated = STATEMENTS["fixed_point_room"].fraction(n=count, fixed_scale=4, magnitude_bound=4)
    return stated - count * rounded(4 * Fraction(str(assumed)))


def listed_values() -> list[tuple[tuple[Fraction, ...], int]]:
    """Quarters, which are halfway between steps of 1/2 and of 1, and eighths."""
    eighths = [Fraction(eighth, 8) for eighth in (-8, -6, -3, 0, 2, 4, 6, 8)]
    return [(values, scale) for count in (1, 2, 3) for values in product(eighths, repeat=count) for scale in (1, 2)]


def error_check(_profile: Profile) -> Outcome:
    """`rational`: no listed sum is farther off, and some are as far."""
    margins = [error_margin(*case) for case in listed_values()]
    return Outcome(earned=min(margins) == 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def room_check(_profile: Profile) -> Outcome:
    """`rational`: no listed sum of integers is larger, and some are as large."""
    margins = [room_margin(*case) for case in listed_values()]
    largest = [largest_room(count) for count in range(1, 5)]
    return Outcome(
        earned=min(margins) == 0 and not any(largest),
        detail={"cases_count": len(margins) + len(largest), "smallest_margin": str(min(margins))},
    )


def value_cases() -> Members:
    """(numbers, scale), those that are all halfway between steps among them."""
    scale = st.integers(0, 6).map(lambda power: 1 << power)

    def of(size: int) -> Members:
        value = st.integers(-64, 64).map(lambda sixteenths: Fraction(sixteenths, 16))
        half = st.just(Fraction(1, 2 * size))
        values = st.lists(value, min_size=1, max_size=6) | st.lists(half, min_size=1, max_size=6)
        return st.tuples(values | st.lists(st.just(Fraction(3)), min_size=1, max_size=4), st.just(size))

    return scale.flatmap(of)


CHECKS: dict[str, dict[Grade, Check]] = {
    "masks_cancel": {"rational": cancel_check, "property": property_check(sum_cases, cancel_margin)},
    "fixed_point_error": {"rational": error_check, "property": property_check(value_cases, error_margin)},
    "fixed_point_room": {"rational": room_check, "property": property_check(value_cases, room_margin)},
}
"""Every check of these statements, by label and grade."""
