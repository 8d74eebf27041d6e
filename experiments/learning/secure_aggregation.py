"""How does a server learn the sum of its clients' vectors and none of the vectors? By masks that cancel.

Every two clients add and subtract one mask, and each adds one of its own. Of a client that is lost after it shared its
secrets, the others give back the shares of its key; of all others those of their own masks: nobody's both. Integers
modulo 2⁶⁴, so that what cancels does so exactly. Any `threshold` clients suffice, and fewer learn nothing.

Source: Bonawitz et al. 2017, "Practical secure aggregation for privacy-preserving machine learning", the protocol
against a server that follows it and is curious. Written anew.

What it does not protect: the sum itself; positions that travel beside it, and with them every entry that one client
alone selected, since the others add 0 there and the sum is its value; anything from a server that lies, since nobody
signs keys; a client from `threshold` others, or fewer and the server, that pool what they know. Keys are agreed in a
group of 2048 bits (RFC 3526, group 14), masks are the output of SHAKE-256; neither is written to resist timing.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import mpmath
import numpy as np
import torch
from torch import Tensor

from sparsync.experiments.averaging.fixed_point import WORD_BITS
from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.parties.talk import Talk, give, give_unless_lost, take, take_unless_lost

SERVER = 0
"""Its rank; all others are clients."""
SEED_BYTES, KEY_BYTES, SHARE_BYTES, TAG_BYTES = 32, 256, 66, 16
SEALED_BYTES = 2 * SHARE_BYTES + TAG_BYTES
"""The shares of one client's two secrets for another."""
FIELD = 2**521 - 1
"""A prime: secrets are shared modulo it."""
MASK_BYTES = WORD_BITS // 8
"""Of an entry of what is added."""

Entropy = Callable[[int], bytes]
"""So many bytes that nobody can guess."""


@dataclass(frozen=True, eq=False)
class MaskedSum:
    """What a server learns.

    Args:
        total: [m] int64, the sum over the survivors, modulo 2⁶⁴.
        survivors: clients whose vectors are in it.
        lost: clients that had shared their secrets, and sent no vector.
    """

    total: Tensor
    survivors: tuple[int, ...]
    lost: tuple[int, ...]


def add_up(clients: Sequence[int], threshold: int, *, present: Sequence[int] | None = None) -> Talk[MaskedSum]:
    """The server's part: relay keys and shares, add what comes, and take off the masks that are left.

    Args:
        clients: ranks that were told to take part, ascending.
        threshold: how many must survive, 2 at least; it is also how many shares recover a secret.
        present: of these, with whom it still talks, ascending; None is all.

    Raises:
        ValueError: see `require_threshold`.
        ExchangeError: fewer than that are left, or shares do not fit together.
    """
    require_threshold(threshold, len(clients))
    keys = yield from _collected(clients if present is None else present, "public keys", 2 * KEY_BYTES)
    _require_enough(keys, clients, threshold)
    for client in keys:
        yield from give_unless_lost(client, "public keys", _rows(keys, clients, 2 * KEY_BYTES))
    sealed: dict[int, dict[int, bytes]] = {}
    for client in keys:
        found = yield from take_unless_lost(client, "sealed shares")
        if isinstance(found, Tensor):
            sealed[client] = _entries(found, clients)
    _require_enough(sealed, clients, threshold)
    for client in sealed:
        own = {sender: rows[client] for sender, rows in sealed.items() if client in rows}
        yield from give_unless_lost(client, "sealed shares", _rows(own, clients, SEALED_BYTES))
    masked: dict[int, Tensor] = {}
    for client in sealed:
        found = yield from take_unless_lost(client, "masked vector")
        if isinstance(found, Tensor) and found.numel():
            # Over NCCL it arrives on a GPU; masks are made on the CPU.
            masked[client] = found.cpu()
    _require_enough(masked, clients, threshold)
    survivors, lost = tuple(masked), tuple(client for client in sealed if client not in masked)
    total = torch.stack(list(masked.values())).sum(dim=0)
    shares = yield from _shares_of_masks(clients, survivors, threshold)
    return MaskedSum(total - _masks_left(survivors, lost, keys, shares, len(total), threshold), survivors, lost)


def take_part(
    rank: int,
    clients: Sequence[int],
    vector: Tensor,
    threshold: int,
    *,
    leaves: bool = False,
    entropy: Entropy = secrets.token_bytes,
) -> Talk[None]:
    """A client's part: agree on keys, share secrets, send the masked vector, and give back shares of others' secrets.

    Args:
        rank: its own.
        clients: ranks that were told to take part, ascending.
        vector: [m] int64, m ≥ 1: a vector without entries says that a client leaves.
        threshold: see `add_up`.
        leaves: it shares its secrets, and then says that it will send nothing.
        entropy: where its secrets come from.

    Raises:
        ValueError: see `require_threshold`; or the vector has another dtype or shape.
        ExchangeError: what arrives was not sent by the other, or the server asks for what would unmask a client.
    """
    require_threshold(threshold, len(clients))
    _require_words(vector, rank)
    mask_secret, seal_secret, own_seed = (int.from_bytes(entropy(SEED_BYTES), "big") for _ in range(3))
    yield from give(SERVER, "public keys", _tensor(public_key(mask_secret) + public_key(seal_secret)))
    keys = _all_in_group(_entries((yield from take(SERVER, "public keys")), clients))
    held = _shares_to_hold((own_seed, mask_secret), list(keys), threshold, entropy)
    sealed = {
        client: _sealed(b"".join(shares), _seal_key(seal_secret, keys[client], rank, client))
        for client, shares in held.items()
    }
    yield from give(SERVER, "sealed shares", _rows(sealed | {rank: b""}, clients, SEALED_BYTES))
    arrived = _entries((yield from take(SERVER, "sealed shares")), clients)
    if len(arrived) + 1 < threshold:
        raise ExchangeError(f"client {rank} was given shares of {sorted(arrived)}, too few for {threshold} survivors")
    shared = {client: _mask_seed(mask_secret, keys[client]) for client in arrived}
    masked = vector.cpu() + _masks(rank, _as_seed(own_seed), shared, len(vector))
    yield from give(SERVER, "masked vector", masked[:0] if leaves else masked)
    if leaves:
        return
    survives = dict(zip(clients, (yield from take(SERVER, "survivors")).tolist(), strict=True))
    if sum(survives.values()) < threshold:
        raise ExchangeError(f"client {rank} was asked to unmask {survives}, fewer than {threshold} survivors")
    for client, content in arrived.items():
        held[client] = _opened(content, _seal_key(seal_secret, keys[client], client, rank), client)
    # Of nobody both: the own mask of who survives, the key of who does not.
    given = {client: held[client][0 if survives[client] else 1] for client in (rank, *arrived)}
    yield from give(SERVER, "shares of masks", _rows(given, clients, SHARE_BYTES))


def overhead_bytes(client_count: int, lost_count: int = 0) -> int:
    """Bytes of a sum besides the masked vectors: keys and shares of n clients, of which some leave after sharing.

    Each gives and takes 2 keys of every client and n sealed shares; survivors take n flags and give n shares.
    """
    n = client_count
    each = 2 * KEY_BYTES + 2 * KEY_BYTES * n + 2 * SEALED_BYTES * n
    return n * each + (n - lost_count) * (n + SHARE_BYTES * n)


def require_threshold(threshold: int, client_count: int) -> None:
    """A threshold is one that n clients can reach, and that leaves nobody's vector alone in the sum.

    Raises:
        ValueError: it is not in 2 … n.
    """
    if threshold < 2:
        raise ValueError(
            f"a sum of {threshold} of {client_count} clients hides nobody: the threshold must be 2 at least"
        )
    if threshold > client_count:
        raise ValueError(f"threshold may be {client_count} at most, the number of clients, got {threshold}")


@cache
def group_modulus() -> int:
    """p = 2²⁰⁴⁸ − 2¹⁹⁸⁴ − 1 + 2⁶⁴(⌊2¹⁹¹⁸π⌋ + 124476), a safe prime. Source: RFC 3526, section 3."""
    with mpmath.workprec(2100):
        digits = int(mpmath.floor(mpmath.ldexp(mpmath.pi, 1918)))
    return 2**2048 - 2**1984 - 1 + 2**64 * (digits + 124476)


def public_key(secret: int) -> bytes:
    """2^secret modulo the group's p."""
    return pow(2, secret, group_modulus()).to_bytes(KEY_BYTES, "big")


def agreed(secret: int, others_key: bytes, purpose: bytes) -> bytes:
    """The seed that two clients have for a purpose: SHA-256 of what Diffie and Hellman's exchange gives both.

    Raises:
        ExchangeError: a key that is not of the group, or of which everybody knows the power.
    """
    key = _in_group(others_key, "a public key")
    return hashlib.sha256(purpose + pow(key, secret, group_modulus()).to_bytes(KEY_BYTES, "big")).digest()


def expanded(seed: bytes, length: int) -> Tensor:
    """[m] int64, the output of SHAKE-256 of a seed."""
    return torch.from_numpy(np.frombuffer(hashlib.shake_256(seed).digest(MASK_BYTES * length), dtype="<i8").copy())


def sign(client: int, other: int) -> int:
    """+1 where it adds the mask that both have, −1 where the other adds it."""
    return 1 if client < other else -1


def split_secret(secret: int, points: Sequence[int], threshold: int, entropy: Entropy) -> list[int]:
    """Values at the points of a random polynomial of degree threshold − 1 that is the secret at 0 (Shamir 1979)."""
    coefficients = [secret, *(int.from_bytes(entropy(80), "big") % FIELD for _ in range(threshold - 1))]
    return [sum(c * pow(point, power, FIELD) for power, c in enumerate(coefficients)) % FIELD for point in points]


def recovered(shares: Mapping[int, int], threshold: int) -> int:
    """The secret, from any `threshold` of the values by their points.

    Raises:
        ExchangeError: there are fewer.
    """
    if len(shares) < threshold:
        raise ExchangeError(f"{len(shares)} shares of a secret, of which {threshold} are needed")
    points = list(shares)[:threshold]
    total = 0
    for point in points:
        factor = 1
        for other in points:
            if other != point:
                factor = factor * other * pow(other - point, -1, FIELD) % FIELD
        total += shares[point] * factor
    return total % FIELD


def _masks(rank: int, own: bytes, shared: Mapping[int, bytes], length: int) -> Tensor:
    """[m] int64, what a client adds: its own mask, and those that it shares, with their signs."""
    total = expanded(own, length)
    for client, seed in shared.items():
        total += sign(rank, client) * expanded(seed, length)
    return total


def _shares_to_hold(
    of: tuple[int, int], holders: Sequence[int], threshold: int, entropy: Entropy
) -> dict[int, tuple[bytes, bytes]]:
    """The shares of two secrets by who is to hold them, whose rank is the point."""
    first, second = (split_secret(secret, holders, threshold, entropy) for secret in of)
    return {
        holder: (_as_bytes(one), _as_bytes(other)) for holder, one, other in zip(holders, first, second, strict=True)
    }


def _shares_of_masks(
    clients: Sequence[int], survivors: Sequence[int], threshold: int
) -> Talk[dict[int, dict[int, int]]]:
    """What survivors give back: by whose secret, the shares by who held them."""
    flags = torch.tensor([client in survivors for client in clients], dtype=torch.uint8)
    shares: dict[int, dict[int, int]] = {}
    for client in survivors:
        yield from give_unless_lost(client, "survivors", flags)
    answered = yield from _collected(survivors, "shares of masks", SHARE_BYTES * len(clients))
    _require_enough(answered, clients, threshold)
    for holder, rows in answered.items():
        for client, share in _entries(_tensor(rows), clients).items():
            shares.setdefault(client, {})[holder] = int.from_bytes(share, "big")
    return shares


def _masks_left(
    survivors: Sequence[int],
    lost: Sequence[int],
    keys: Mapping[int, bytes],
    shares: Mapping[int, Mapping[int, int]],
    length: int,
    threshold: int,
) -> Tensor:
    """[m] int64: the own masks of the survivors, and those that they share with the lost."""
    left = torch.zeros(length, dtype=torch.int64)
    for client in survivors:
        left += expanded(_as_seed(recovered(shares.get(client, {}), threshold)), length)
    for client in lost:
        secret = recovered(shares.get(client, {}), threshold)
        if public_key(secret) != keys[client][:KEY_BYTES]:
            raise ExchangeError(f"the shares of client {client}'s key are not those that it made")
        for other in survivors:
            left += sign(other, client) * expanded(_mask_seed(secret, keys[other]), length)
    return left


def _collected(clients: Iterable[int], subject: str, size: int) -> Talk[dict[int, bytes]]:
    """What those say who are not lost.

    Raises:
        ExchangeError: it has another length.
    """
    found: dict[int, bytes] = {}
    for client in clients:
        said = yield from take_unless_lost(client, subject)
        if isinstance(said, Tensor):
            found[client] = said.cpu().numpy().tobytes()
            if len(found[client]) != size:
                raise ExchangeError(f"{subject} of client {client} have {len(found[client])} bytes instead of {size}")
    return found


def _require_enough(present: Iterable[int], clients: Sequence[int], threshold: int) -> None:
    there = sorted(present)
    if len(there) < threshold:
        raise ExchangeError(
            f"of the clients {list(clients)} only {there} are left, and {threshold} are needed to unmask"
        )


def _require_words(vector: Tensor, rank: int) -> None:
    if vector.dtype != torch.int64 or vector.dim() != 1 or not len(vector):
        raise ValueError(f"client {rank}: masked are vectors [m ≥ 1] int64, got {list(vector.shape)} {vector.dtype}")


def _all_in_group(keys: Mapping[int, bytes]) -> Mapping[int, bytes]:
    for client, pair in keys.items():
        for half in (pair[:KEY_BYTES], pair[KEY_BYTES:]):
            _in_group(half, f"a public key of client {client}")
    return keys


def _in_group(content: bytes, name: str) -> int:
    key = int.from_bytes(content, "big")
    if not 1 < key < group_modulus() - 1:
        raise ExchangeError(f"{name} lies outside the group: {key:#x}")
    return key


def _mask_seed(secret: int, keys: bytes) -> bytes:
    return agreed(secret, keys[:KEY_BYTES], b"mask")


def _seal_key(secret: int, keys: bytes, sender: int, receiver: int) -> bytes:
    return agreed(secret, keys[KEY_BYTES:], f"shares {sender} {receiver}".encode())


def _sealed(content: bytes, key: bytes) -> bytes:
    hidden = _exclusive_or(content, hashlib.shake_256(b"hide" + key).digest(len(content)))
    return hidden + hashlib.blake2b(hidden, key=key, digest_size=TAG_BYTES).digest()


def _opened(content: bytes, key: bytes, sender: int) -> tuple[bytes, bytes]:
    hidden, tag = content[:-TAG_BYTES], content[-TAG_BYTES:]
    if not hmac.compare_digest(tag, hashlib.blake2b(hidden, key=key, digest_size=TAG_BYTES).digest()):
        raise ExchangeError(f"the shares of client {sender} are not what it sent")
    shares = _exclusive_or(hidden, hashlib.shake_256(b"hide" + key).digest(len(hidden)))
    return shares[:SHARE_BYTES], shares[SHARE_BYTES:]


def _exclusive_or(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def _as_bytes(share: int) -> bytes:
    return share.to_bytes(SHARE_BYTES, "big")


def _as_seed(secret: int) -> bytes:
    return b"own" + secret.to_bytes(SHARE_BYTES, "big")


def _tensor(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _rows(content: Mapping[int, bytes], clients: Sequence[int], width: int) -> Tensor:
    """[n, width] uint8, a row of zeros for whoever has nothing."""
    return _tensor(b"".join(content.get(client, b"").ljust(width, b"\0") for client in clients)).view(-1, width)


def _entries(rows: Tensor, clients: Sequence[int]) -> dict[int, bytes]:
    """By client, the rows that are not zero."""
    content = rows.reshape(len(clients), -1).cpu().numpy()
    return {client: row.tobytes() for client, row in zip(clients, content, strict=True) if row.any()}
