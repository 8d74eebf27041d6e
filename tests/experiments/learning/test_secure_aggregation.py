"""Masks cancel exactly, whoever survives; too few survivors, shares that were changed and one mask lost are noticed."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any

import pytest
import sympy
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning import secure_aggregation
from sparsync.experiments.learning.secure_aggregation import (
    FIELD,
    Entropy,
    MaskedSum,
    add_up,
    agreed,
    expanded,
    group_modulus,
    overhead_bytes,
    public_key,
    recovered,
    split_secret,
    take_part,
)
from sparsync.experiments.parties.party import Party
from sparsync.experiments.parties.talk import Books, Give, Talk, side_by_side
from sparsync.experiments.training.seeding import random_stream
from tests.support.workers import run_workers

LENGTH = 5


def drawn(seed: int, rank: int, length: int = LENGTH) -> Tensor:
    """Of all 64 bits."""
    return torch.randint(-(2**63), 2**63 - 1, (length,), generator=random_stream(seed, "vector", rank))


def silent() -> Talk[None]:
    """A client that is gone before it says anything."""
    return
    yield


def until(talk: Talk[Any], subject: str) -> Talk[Any]:
    """A talk that ends before it gives this."""
    wish = next(talk)
    while not (isinstance(wish, Give) and wish.subject == subject):
        wish = talk.send((yield wish))
    return None


def summed(
    vectors: dict[int, Tensor],
    threshold: int,
    *,
    leaving: Collection[int] = (),
    ending: dict[int, str] | None = None,
    absent: Collection[int] = (),
    books: Books | None = None,
) -> MaskedSum:
    """What the server learns, of clients that leave, end before they say something, or are not there."""
    clients = list(vectors)
    talks: list[Talk[Any]] = [add_up(clients, threshold)]
    for client in clients:
        talk = take_part(client, clients, vectors[client], threshold, leaves=client in leaving)
        if client in (ending or {}):
            talk = until(talk, (ending or {})[client])
        talks.append(silent() if client in absent else talk)
    found: MaskedSum = side_by_side(talks, Books() if books is None else books)[0]
    return found


def plain_sum(vectors: dict[int, Tensor], survivors: Sequence[int]) -> list[int]:
    """In whole numbers, modulo 2⁶⁴, as int64 has it."""
    totals = [sum(int(vectors[client][place]) for client in survivors) for place in range(LENGTH)]
    return [(total + 2**63) % 2**64 - 2**63 for total in totals]


@settings(max_examples=12, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_masks_cancel_exactly_for_any_survivors(data: st.DataObject, seed: int) -> None:
    count = data.draw(st.integers(2, 4))
    threshold = data.draw(st.integers(2, count))
    lost = data.draw(st.sets(st.integers(1, count), max_size=count - threshold))
    absent = data.draw(st.sets(st.sampled_from(sorted(lost)))) if lost else set()
    vectors = {client: drawn(seed, client) for client in range(1, count + 1)}
    found = summed(vectors, threshold, leaving=lost - absent, absent=absent)
    assert set(found.survivors) == set(vectors) - lost
    assert set(found.lost) == lost - absent
    assert found.total.tolist() == plain_sum(vectors, found.survivors)


@pytest.mark.parametrize("subject", ["public keys", "sealed shares", "masked vector"])
def test_whoever_ends_early_is_not_in_the_sum(subject: str) -> None:
    vectors = {client: drawn(1, client) for client in (1, 2, 3)}
    found = summed(vectors, 2, ending={3: subject})
    assert found.survivors == (1, 2)
    assert found.lost == ((3,) if subject == "masked vector" else ())
    assert found.total.tolist() == plain_sum(vectors, found.survivors)


@pytest.mark.parametrize("subject", ["public keys", "masked vector", "shares of masks"])
def test_fewer_survivors_than_the_threshold_are_an_error_that_counts_them(subject: str) -> None:
    vectors = {client: drawn(2, client) for client in (1, 2, 3)}
    with pytest.raises(ExchangeError, match=r"\[1, 2, 3\] only \[1\] are left, and 2 are needed"):
        summed(vectors, 2, ending={2: subject, 3: subject})


def test_a_mask_that_is_lost_is_all_that_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = {client: drawn(3, client) for client in (1, 2, 3)}
    right = secure_aggregation._masks_left

    def forgets_the_lost(survivors: Any, _lost: Any, *others: Any) -> Tensor:
        return right(survivors, (), *others)

    monkeypatch.setattr(secure_aggregation, "_masks_left", forgets_the_lost)
    found = summed(vectors, 2, leaving=[3])
    # Of five entries of 64 random bits none is left by chance but with 2⁻³⁰⁹.
    assert all(one != other for one, other in zip(found.total.tolist(), plain_sum(vectors, (1, 2)), strict=True))


def test_masks_are_new_each_time_and_as_random_as_they_should_be() -> None:
    seen: list[Tensor] = []

    def overheard(talk: Talk[None]) -> Talk[None]:
        wish = next(talk)
        while True:
            if isinstance(wish, Give) and wish.subject == "masked vector":
                seen.append(wish.tensor)
            answered = yield wish
            try:
                wish = talk.send(answered)
            except StopIteration:
                return

    zero = torch.zeros(2000, dtype=torch.int64)
    for _ in range(2):
        talks: list[Talk[Any]] = [add_up([1, 2], 2), *(overheard(take_part(c, [1, 2], zero, 2)) for c in (1, 2))]
        assert side_by_side(talks, Books())[0].total.eq(0).all()
    assert all(one.ne(other).all() for one, other in combinations(seen, 2))
    bits = torch.stack([(masked >> place) & 1 for masked in seen for place in range(64)]).double()
    # 512,000 fair bits have a mean within five standard errors of 1/2 but in one case of 1.7 million.
    assert abs(float(bits.mean()) - 0.5) < 5 * 0.5 / bits.numel() ** 0.5


@pytest.mark.parametrize(("count", "leaving"), [(2, ()), (3, ()), (4, (2,)), (5, (1, 4))])
def test_bytes_besides_the_vectors_are_those_stated(count: int, leaving: tuple[int, ...]) -> None:
    books = Books()
    summed(
        {client: drawn(4, client) for client in range(1, count + 1)}, count - len(leaving), leaving=leaving, books=books
    )
    assert books.total(subject="masked vector") == 8 * LENGTH * (count - len(leaving))
    assert books.total() - books.total(subject="masked vector") == overhead_bytes(count, len(leaving))


def parabola(secret: int, shares: dict[int, int]) -> tuple[int, int]:
    """The coefficients of that which is the secret at 0 and goes through two shares."""
    (first, one), (second, other) = ((x, (y - secret) * pow(x, -1, FIELD)) for x, y in shares.items())
    bend = (one - other) * pow(first - second, -1, FIELD) % FIELD
    return (one - bend * first) % FIELD, bend


def saying(numbers: Sequence[int]) -> Entropy:
    """Entropy that happens to be these numbers, one after another."""
    left = iter(numbers)
    return lambda count: next(left).to_bytes(count, "big")


def test_any_shares_up_to_the_threshold_recover_a_secret_and_fewer_fit_every_other() -> None:
    stream = random_stream(5, "entropy")

    def entropy(count: int) -> bytes:
        return bytes(torch.randint(256, (count,), generator=stream).tolist())

    secret, points = 2**255 + 12345, [1, 2, 5, 9]
    shares = dict(zip(points, split_secret(secret, points, 3, entropy), strict=True))
    for some in combinations(points, 3):
        assert recovered({point: shares[point] for point in some}, 3) == secret
    with pytest.raises(ExchangeError, match="2 shares of a secret, of which 3"):
        recovered({1: shares[1], 2: shares[2]}, 3)
    # Two shares lie on a parabola through any secret, and the entropy that it takes is as likely as the other.
    for other in (0, secret + 1, FIELD - 1):
        slope, second = parabola(other, {1: shares[1], 2: shares[2]})
        found = split_secret(other, points, 3, saying([slope, second]))
        assert found[:2] == [shares[1], shares[2]]
        assert found[2:] != [shares[5], shares[9]]
    assert 0 <= min(shares.values()) <= max(shares.values()) < FIELD


def test_the_group_is_the_one_that_the_standard_names() -> None:
    p = group_modulus()
    assert p.bit_length() == 2048
    assert sympy.isprime(p)
    assert sympy.isprime((p - 1) // 2)
    # First and last words as RFC 3526 prints them.
    assert f"{p:X}".startswith("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD1")
    assert f"{p:X}".endswith("15728E5A8AACAA68FFFFFFFFFFFFFFFF")
    assert agreed(3, public_key(5), b"mask") == agreed(5, public_key(3), b"mask") != agreed(5, public_key(3), b"seal")


@pytest.mark.parametrize("key", [0, 1, -1])
def test_a_key_of_which_everybody_knows_the_power_is_refused(key: int) -> None:
    number = key % group_modulus()
    with pytest.raises(ExchangeError, match="outside the group"):
        agreed(3, number.to_bytes(256, "big"), b"mask")


def test_masks_are_the_output_of_shake() -> None:
    # The first 8 bytes of SHAKE-256 of nothing, from FIPS 202's examples: 46b9dd2b0ba88d13.
    assert int(expanded(b"", 1)) == int.from_bytes(bytes.fromhex("46b9dd2b0ba88d13"), "little")


def changed(talk: Talk[Any], subject: str, change: Any) -> Talk[Any]:
    """A server that changes what it says on a subject."""
    wish = next(talk)
    while True:
        if isinstance(wish, Give) and wish.subject == subject:
            wish = Give(wish.rank, wish.subject, change(wish.tensor.clone()), wish.survives_loss)
        answered = yield wish
        try:
            wish = talk.send(answered)
        except StopIteration as end:
            return end.value


def flipped(rows: Tensor) -> Tensor:
    rows[rows.bool().any(dim=1)] ^= 1
    return rows


@pytest.mark.parametrize(
    ("subject", "change", "words"),
    [
        ("sealed shares", flipped, "shares of client 2 are not what it sent"),
        ("sealed shares", torch.zeros_like, r"was given shares of \[\], too few"),
        ("survivors", torch.zeros_like, "asked to unmask"),
    ],
)
def test_a_client_does_not_go_along_with_what_would_unmask_others(subject: str, change: Any, words: str) -> None:
    clients = [1, 2]
    talks = [changed(add_up(clients, 2), subject, change), *(take_part(c, clients, drawn(6, c), 2) for c in clients)]
    with pytest.raises(ExchangeError, match=words):
        side_by_side(talks, Books())


@pytest.mark.parametrize(
    ("threshold", "words"),
    [(0, "sum of 0 of 2 clients hides"), (1, "sum of 1 of 2 clients hides"), (3, "2 at most.*got 3")],
)
def test_a_threshold_that_cannot_be_or_hides_nobody_is_refused(threshold: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        next(add_up([1, 2], threshold))
    with pytest.raises(ValueError, match=words):
        next(take_part(1, [1, 2], drawn(0, 1), threshold))


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (torch.ones(3), r"client 2.*\[3\] torch.float32"),
        (torch.ones(3, dtype=torch.int32), r"client 2.*\[3\] torch.int32"),
        (torch.ones(0, dtype=torch.int64), r"client 2.*\[0\] torch.int64"),
        (torch.ones(2, 3, dtype=torch.int64), r"client 2.*\[2, 3\] torch.int64"),
    ],
    ids=str,
)
def test_what_cannot_be_masked_is_refused_before_a_key_is_made(vector: Tensor, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        next(take_part(2, [1, 2], vector, 2))


class Elsewhere(Tensor):
    """A tensor as if on a GPU: what meets a tensor of the CPU, or becomes an array, is an error there."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name == "numpy":
            raise TypeError("an array of a tensor that is not on the CPU")
        flat = [one for arg in args for one in (arg if isinstance(arg, (list, tuple)) else [arg])]
        if any(isinstance(one, Tensor) for one in flat if not isinstance(one, Elsewhere)):
            raise RuntimeError(f"{name} of tensors on two devices")
        found = super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
        return found.as_subclass(Tensor) if name == "cpu" and isinstance(found, Tensor) else found


def elsewhere(talk: Talk[Any]) -> Talk[Any]:
    """A party to whom everything arrives on a GPU, as over NCCL; what it gives is on the way to others again."""
    wish = next(talk)
    while True:
        if isinstance(wish, Give):
            wish = Give(wish.rank, wish.subject, wish.tensor.as_subclass(Tensor), wish.survives_loss)
        answered = yield wish
        try:
            wish = talk.send(answered.as_subclass(Elsewhere) if isinstance(answered, Tensor) else answered)
        except StopIteration as end:
            return end.value


def test_what_arrives_on_a_gpu_is_masked_and_unmasked_on_the_cpu() -> None:
    clients, vectors = [1, 2, 3], {client: drawn(8, client) for client in (1, 2, 3)}
    with pytest.raises(RuntimeError, match="two devices"):
        torch.add(vectors[1].as_subclass(Elsewhere), vectors[2])
    parts = [take_part(c, clients, vectors[c].as_subclass(Elsewhere), 2, leaves=c == 3) for c in clients]
    found = side_by_side([elsewhere(add_up(clients, 2)), *map(elsewhere, parts)], Books())[0]
    assert type(found.total) is Tensor
    assert found.total.tolist() == plain_sum(vectors, (1, 2))


def test_a_public_key_outside_the_group_is_refused_with_its_client() -> None:
    def without_key_of_the_second(rows: Tensor) -> Tensor:
        rows[1, :256] = 0
        rows[1, 255] = 1
        return rows

    talks = [changed(add_up([1, 2], 2), "public keys", without_key_of_the_second)]
    talks += [take_part(client, [1, 2], drawn(6, client), 2) for client in (1, 2)]
    with pytest.raises(ExchangeError, match=r"key of client 2 lies outside the group: 0x1$"):
        side_by_side(talks, Books())


def killed_client() -> tuple[list[int], tuple[int, ...]] | None:
    rank, clients = dist.get_rank(), [1, 2, 3, 4]
    party = Party(rank, 5, timeout_seconds=20)
    if rank == 0:
        found = party.carry(add_up(clients, 3), Books())
        return found.total.tolist(), found.survivors

    def dying(talk: Talk[None]) -> Talk[None]:
        yield from until(talk, "masked vector")
        os.kill(os.getpid(), signal.SIGKILL)

    talk = take_part(rank, clients, drawn(7, rank), 3)
    party.carry(dying(talk) if rank == 2 else talk, Books())
    return None


def test_a_process_that_is_killed_after_it_shared_its_secrets_is_recovered_from() -> None:
    answered, *_ = run_workers(killed_client, 5, killed={2})
    vectors = {client: drawn(7, client) for client in (1, 3, 4)}
    assert answered == (plain_sum(vectors, (1, 3, 4)), (1, 3, 4))
