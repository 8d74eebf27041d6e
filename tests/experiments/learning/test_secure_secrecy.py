"""The server sees no share in what it relays, and no vector without a mask that is its client's own."""

from __future__ import annotations

import os
from itertools import combinations
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.experiments.learning import secure_aggregation
from sparsync.experiments.learning.secure_aggregation import add_up, agreed, expanded, public_key, sign, take_part
from sparsync.experiments.parties.talk import Books, Give, Talk, side_by_side
from sparsync.experiments.training.seeding import random_stream


def drawn(client: int) -> Tensor:
    """[50], of all 64 bits."""
    return torch.randint(-(2**63), 2**63 - 1, (50,), generator=random_stream(9, "vector", client))


class Overheard:
    """A run of three clients, of whom everything is kept that the server sees, and the secrets that it must not.

    The first three draws of a client are the secrets of its masks, of its seals and its own seed.
    """

    def __init__(self) -> None:
        self.given: dict[tuple[int, str], Tensor] = {}
        self.draws: dict[int, list[int]] = {client: [] for client in (1, 2, 3)}
        self.vectors = {client: drawn(client) for client in (1, 2, 3)}
        self.shares: dict[int, Any] = {}
        clients = list(self.vectors)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(secure_aggregation, "_shares_to_hold", self._noted(secure_aggregation._shares_to_hold))
            parts = [
                self._listened(c, take_part(c, clients, self.vectors[c], 2, entropy=self._entropy(c))) for c in clients
            ]
            side_by_side([add_up(clients, 2), *parts], Books())

    def _noted(self, right: Any) -> Any:
        def noted(*arguments: Any) -> Any:
            self.shares[len(self.shares) + 1] = found = right(*arguments)
            return found

        return noted

    def _entropy(self, client: int) -> Any:
        def drawn_bytes(count: int) -> bytes:
            content = os.urandom(count)
            self.draws[client].append(int.from_bytes(content, "big"))
            return content

        return drawn_bytes

    def _listened(self, client: int, talk: Talk[Any]) -> Talk[Any]:
        wish = next(talk)
        while True:
            if isinstance(wish, Give):
                self.given[client, wish.subject] = wish.tensor.clone()
            answered = yield wish
            try:
                wish = talk.send(answered)
            except StopIteration as end:
                return end.value

    def pair_masks(self, client: int) -> Tensor:
        """[50], what the masks that a client shares add up to."""
        total = torch.zeros(50, dtype=torch.int64)
        for other in set(self.draws) - {client}:
            seed = agreed(self.draws[client][0], public_key(self.draws[other][0]), b"mask")
            total += sign(client, other) * expanded(seed, 50)
        return total


def test_what_the_server_relays_does_not_contain_the_shares() -> None:
    heard = Overheard()
    relayed = b"".join(heard.given[client, "sealed shares"].numpy().tobytes() for client in (1, 2, 3))
    shares = [share for held in heard.shares.values() for pair in held.values() for share in pair]
    assert len(set(shares)) == 3 * 3 * 2
    # The last half too, since the first bits of a share are zeros.
    assert not any(share[-32:] in relayed for share in shares)
    # Of two that are sealed for one client with the same key both would tell their difference.
    key, other = b"k" * 32, b"o" * 32
    assert secure_aggregation._sealed(bytes(132), key)[:132] != secure_aggregation._sealed(bytes(132), other)[:132]


def test_every_client_has_a_mask_of_its_own_besides_those_that_it_shares() -> None:
    """A server that takes a client for lost learns its shared masks: then its own alone hides its vector."""
    heard = Overheard()
    own = {c: heard.given[c, "masked vector"] - heard.vectors[c] - heard.pair_masks(c) for c in (1, 2, 3)}
    assert all(mask.ne(0).all() for mask in own.values())
    assert all(one.ne(other).all() for one, other in combinations(own.values(), 2))
    for client in own:
        # Nor is its own all that there is: the server learns it of every survivor.
        mask = expanded(secure_aggregation._as_seed(heard.draws[client][2]), 50)
        assert (heard.given[client, "masked vector"] - heard.vectors[client] - mask).ne(0).all()
