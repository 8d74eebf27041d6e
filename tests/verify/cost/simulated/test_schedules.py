"""Clocks of a schedule by hand, ports that are taken, and data that arrive."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.verify.cost.simulated.schedules import Block, Costs, Link, Message, Round, Store, add, play, sums, width

WIDE, NARROW = Block(0, Fraction(3)), Block(1, Fraction(1, 2))
LINK = Link(Fraction(10), Fraction(2))
COSTS = Costs(lambda _sender, _receiver: LINK, merge_seconds=Fraction(1), unit_bytes=Fraction(4))


def told(sender: int, receiver: int, *, block: Block = WIDE, is_added: bool = False) -> Message:
    return Message(sender, receiver, ({block: Fraction(1)},), is_added)


def seconds(*rounds: Round, workers: int = 3, costs: Costs = COSTS) -> Fraction:
    return play([{} for _ in range(workers)], iter(rounds), costs)


def test_a_message_takes_its_latency_its_bytes_and_what_is_added() -> None:
    assert seconds([told(0, 1)]) == 10 + 3 * 4 * 2
    assert seconds([told(0, 1, is_added=True)]) == 10 + 3 * 4 * 2 + 3 * 4


def test_messages_of_one_round_travel_at_once() -> None:
    assert seconds([told(0, 1), told(1, 2), told(2, 0)]) == 34


def test_the_next_message_waits_for_the_worker_and_not_for_a_barrier() -> None:
    first = [told(0, 1, is_added=True), told(2, 3, block=NARROW)]
    assert seconds(first, [told(1, 2)], workers=4) == 46 + 34
    # Workers 2 and 3 go on while worker 1 adds.
    assert seconds(first, [told(3, 2)], workers=4) == max(46, 14 + 34)


def test_a_sender_is_free_before_the_receiver_has_added() -> None:
    assert seconds([told(0, 1, is_added=True)], [told(0, 2)]) == 34 + 34


def test_a_message_waits_for_its_receiver() -> None:
    assert seconds([told(0, 1, is_added=True)], [told(2, 1)]) == 46 + 34


def test_links_may_differ() -> None:
    links = {(0, 1): Link(Fraction(1), Fraction(1)), (1, 2): Link(Fraction(100), Fraction(0))}
    costs = Costs(lambda sender, receiver: links[sender, receiver], Fraction(0), Fraction(1))
    assert seconds([told(0, 1), told(1, 2)], costs=costs) == 100


def test_all_messages_of_a_round_are_sent_before_any_arrives() -> None:
    stores: list[Store] = [{WIDE: Fraction(1)}, {WIDE: Fraction(2)}]

    def swapped() -> list[Message]:
        return [Message(0, 1, (dict(stores[0]),), is_added=True), Message(1, 0, (dict(stores[1]),), is_added=False)]

    play(stores, iter([swapped()]), COSTS)
    assert stores == [{WIDE: 2}, {WIDE: 3}]


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([told(0, 1), told(0, 2)], r"sender of one message, got \[0, 0\]"),
        ([told(0, 2), told(1, 2)], r"receiver of one message, got \[2, 2\]"),
        ([told(1, 1)], "worker 1 sends to itself"),
    ],
)
def test_a_worker_has_one_port_each_way(messages: list[Message], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        seconds(messages)


def test_blocks_are_told_apart_by_their_place() -> None:
    total = sums([{WIDE: Fraction(1)}, {NARROW: Fraction(2)}, {WIDE: Fraction(3)}])
    assert total == {WIDE: 4, NARROW: 2}
    assert width([total, total]) == 7
    add(total, {NARROW: Fraction(-2)})
    assert total[NARROW] == 0
