"""What evidence is there that raising counts one by one is best, and that prices prove it? Everything is tried.

Messages are followed from the backward pass to the last arrival, so that no capacity enters what is best. Ours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

MOST_MESSAGES, MOST_ENTRIES = 4, 3
LARGEST_SQUARE, LARGEST_SECONDS = 6, 5


@dataclass(frozen=True)
class Exchange:
    """Messages that are sent one after the other, in the order of the backward pass.

    Args:
        squares: by message, of the entries that may be sent, largest first.
        backward: seconds of the backward pass before each message is ready, from message to message.
        message: seconds that a message takes without these entries.
        entry: seconds that each adds.
        spare: seconds by which the last may arrive later than without any.
    """

    squares: tuple[tuple[int, ...], ...]
    backward: tuple[int, ...]
    message: int
    entry: int
    spare: int

    def end(self, counts: Sequence[int]) -> Fraction:
        """When the last message has arrived."""
        end = Fraction(0)
        for ready, count in zip(accumulate(self.backward), counts, strict=True):
            end = max(end, Fraction(ready)) + self.message + self.entry * count
        return end

    @property
    def deadline(self) -> Fraction:
        """When the last is to have arrived."""
        return self.end([0] * len(self.squares)) + self.spare

    def capacities(self) -> list[int]:
        """By message, entries that it and those behind it have room for."""
        left = range(len(self.squares), 0, -1)
        return [
            int((self.deadline - ready - messages * self.message) // self.entry)
            for ready, messages in zip(accumulate(self.backward), left, strict=True)
        ]

    def all_counts(self) -> Iterator[tuple[int, ...]]:
        """Every choice that arrives in time."""
        choices = product(*(range(len(own) + 1) for own in self.squares))
        return (counts for counts in choices if self.end(counts) <= self.deadline)

    def energy(self, counts: Sequence[int]) -> int:
        """What the counts capture."""
        return sum(sum(own[:count]) for own, count in zip(self.squares, counts, strict=True))


def one_by_one(exchange: Exchange) -> tuple[list[int], list[int]]:
    """The greedy counts, and a threshold for each message: the square at which its room was used up; 0 if it was not.

    Where there is no room at all the threshold is the largest square of all.
    """
    squares, room = exchange.squares, exchange.capacities()
    counts = [0] * len(squares)
    thresholds = [0] * len(squares)
    last, level = len(squares), max((own[0] for own in squares if own), default=0)
    while True:
        # Messages from the first without room on have none either.
        still = next((first for first, left in enumerate(room) if left == 0), len(squares))
        thresholds[still:last] = [level] * (last - min(still, last))
        last = min(still, last)
        open_ = [layer for layer in range(last) if counts[layer] < len(squares[layer])]
        if not open_:
            return counts, thresholds
        best = max(open_, key=lambda layer: squares[layer][counts[layer]])
        level = squares[best][counts[best]]
        counts[best] += 1
        room[: best + 1] = [left - 1 for left in room[: best + 1]]


def greedy_margin(exchange: Exchange) -> Fraction:
    """Minus the difference of the greedy counts' energy from the largest of all counts that arrive in time."""
    best = max(map(exchange.energy, exchange.all_counts()))
    counts, _ = one_by_one(exchange)
    if exchange.end(counts) > exchange.deadline:
        return Fraction(-1)
    return -abs(exchange.energy(counts) - STATEMENTS["nested_greedy"].fraction(largest_energy=best))


def price_margin(exchange: Exchange, raises: Sequence[int]) -> Fraction:
    """How far the bound at raised prices is above the largest energy; minus how far off it is at the greedy prices."""
    best = max(map(exchange.energy, exchange.all_counts()))
    _, thresholds = one_by_one(exchange)
    prices = [after - before for before, after in zip([0, *thresholds], thresholds, strict=False)]
    if min(prices) < 0:
        return Fraction(-1)
    attained = abs(_priced(exchange, prices) - best)
    raised = [price + more for price, more in zip(prices, raises, strict=True)]
    return -attained if attained else _priced(exchange, raised) - best


def _priced(exchange: Exchange, prices: Sequence[int]) -> Fraction:
    """The statement's bound at these prices."""
    thresholds = list(accumulate(prices))
    above = [max(square - level, 0) for own, level in zip(exchange.squares, thresholds, strict=True) for square in own]
    paid = sum(price * capacity for price, capacity in zip(prices, exchange.capacities(), strict=True))
    return STATEMENTS["threshold_prices"].fraction(priced_capacity=paid, squares_above=sum(above))


def listed() -> list[Exchange]:
    """Exchanges of two and three messages, early and late, with ties, with room for all and for none."""
    squares = [((5, 2), (4, 3)), ((1, 1), (6,)), ((3, 1), (), (3, 2)), ((2,), (6, 2), (5, 5))]
    return [
        Exchange(own, tuple(backward[: len(own)]), message, entry, spare)
        for own in squares
        for backward in ((1, 0, 4), (3, 2, 1))
        for message, entry in ((0, 1), (1, 2))
        for spare in (0, 2, 5, 20)
    ]


def _counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0."""
    return Outcome(
        earned=bool(margins) and min(margins) >= 0,
        detail={"cases_count": len(margins), "smallest_margin": str(min(margins))},
    )


def greedy_check(_profile: Profile) -> Outcome:
    """`rational`: listed exchanges, against all counts."""
    return _counted([greedy_margin(exchange) for exchange in listed()])


def price_check(_profile: Profile) -> Outcome:
    """`rational`: the same at the greedy prices, and at raised ones."""
    cases = [(exchange, raises) for exchange in listed() for raises in ((0, 0, 0), (1, 0, 2))]
    return _counted([price_margin(exchange, raises[: len(exchange.squares)]) for exchange, raises in cases])


def exchanges() -> Members:
    """Exchanges of up to the most messages."""
    square = st.integers(0, LARGEST_SQUARE)
    own = st.lists(square, max_size=MOST_ENTRIES).map(lambda drawn: tuple(sorted(drawn, reverse=True)))
    message = st.tuples(own, st.integers(0, LARGEST_SECONDS))
    return st.builds(
        lambda messages, seconds, entry, spare: Exchange(
            tuple(squares for squares, _ in messages), tuple(ready for _, ready in messages), seconds, entry, spare
        ),
        st.lists(message, min_size=1, max_size=MOST_MESSAGES),
        st.integers(0, 3),
        st.integers(1, 3),
        st.integers(0, 3 * LARGEST_SECONDS),
    )


def greedy_cases() -> Members:
    """An exchange."""
    return st.tuples(exchanges())


def price_cases() -> Members:
    """An exchange, and by how much each price is raised."""
    return exchanges().flatmap(
        lambda exchange: st.tuples(
            st.just(exchange),
            st.lists(st.integers(0, 3), min_size=len(exchange.squares), max_size=len(exchange.squares)),
        )
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    "nested_greedy": {"rational": greedy_check, "property": property_check(greedy_cases, greedy_margin)},
    "threshold_prices": {"rational": price_check, "property": property_check(price_cases, price_margin)},
}
"""Every check of these statements, by label and grade."""
