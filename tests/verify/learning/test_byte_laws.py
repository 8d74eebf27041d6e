"""Messages a second time: by hand, and a ring that ends without the sum."""

from __future__ import annotations

import pytest

from sparsync.verify.learning import byte_laws
from sparsync.verify.learning.byte_laws import (
    averaging_messages,
    crossover_margin,
    federated_margin,
    ring_bytes,
    ring_margin,
    split_messages,
    total,
)


def test_messages_by_hand() -> None:
    assert split_messages([3], 2, 5, 4, 1, 7) == [
        *[("activations", 40), ("labels", 2), ("gradients", 40)],
        *[("activations", 20), ("labels", 1), ("gradients", 20)],
        ("layers", 28),
    ]
    assert averaging_messages(1, 6, 2, 4) == [("down", 24), ("up", 24)] * 2
    assert total(averaging_messages(3, 6, 1, 4)) == 144


@pytest.mark.parametrize("clients", range(1, 6))
def test_a_ring_ends_with_the_sum_everywhere(clients: int) -> None:
    assert ring_bytes(clients, 2, 4) == 2 * (clients - 1) * clients * 2 * 4
    assert ring_margin(clients, 2, 3, 4, 4) == 0


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert federated_margin(2, 6, 1, 4) == 0
    assert crossover_margin(2, 6, 1, 1, 3, 4, 1) == 0
    monkeypatch.setattr(byte_laws, "averaging_messages", lambda *_: [("down", 1)])
    assert federated_margin(2, 6, 1, 4) == -(96 - 1)
    assert crossover_margin(2, 6, 1, 1, 3, 4, 1) < 0
