"""Calls at the edges of what the kernels decide by: room, ranks, counts and sizes met exactly or missed by one."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sparsync.kernels.chunks import CHUNK_SIZE
from sparsync.kernels.feedback_reference import RULES
from tests.support.feedback_cases import Case, from_bits, make_case, normal, shifted, spotted

RANKED = RULES[:2]
CHUNK = 64 * 4096
SIZE = 2000
K = 20
# Of k = 20 in 2000 entries: the rank that a list must hold, and the entries that it has room for.
NEEDED = {"top_k": 20, "gaussian_k": 27}
ROOM = {"top_k": 89, "gaussian_k": 97}
ONE = 0x3F800000


def rising(size: int) -> Tensor:
    """The largest last: what a list that is too short by one would miss."""
    return from_bits(ONE + 1000 * torch.arange(size))


def scattered(bits: Tensor) -> Tensor:
    """Among zeros, in the same order, and the last at the end."""
    places = torch.zeros(SIZE, dtype=torch.int64)
    places[SIZE - 1 - 7 * torch.arange(len(bits)).flip(0)] = bits
    return from_bits(places)


def listed_cases() -> dict[str, Case]:
    """A bound that lists `count` entries."""
    vector = rising(SIZE)
    counts = {
        f"{rule}: {name}": (rule, count)
        for rule in RANKED
        for name, count in {
            "just enough listed": NEEDED[rule],
            "one listed too few": NEEDED[rule] - 1,
            "just room for the listed": ROOM[rule],
            "one listed too many": ROOM[rule] + 1,
        }.items()
    }
    broken = spotted(vector, {5: math.inf, SIZE - 30: math.nan, SIZE - 3: -math.inf, SIZE - 1: math.inf})
    return {
        name: make_case(vector * 0, vector, rule, counts=[K], memory=(ONE + 1000 * (SIZE - count), 9))
        for name, (rule, count) in counts.items()
    } | {
        f"{rule}: not finite, listed": make_case(
            vector * 0, broken, rule, counts=[K], memory=(ONE + 1000 * (SIZE - 50), 9)
        )
        for rule in RANKED
    }


def collected_cases() -> dict[str, Case]:
    """With no bound: all that is not zero shares its first two digits, and is listed while a later one is read.

    That is the second, or the last where other entries, of another second digit, leave too little room before.
    """
    counts = {
        "just room for the collected": (ROOM["top_k"], 0),
        "one collected too many": (ROOM["top_k"] + 1, 0),
        "fewer than there is room for": (30, 0),
        "just room once two digits are known": (ROOM["top_k"], 60),
        "one too many once two digits are known": (ROOM["top_k"] + 1, 60),
    }
    return {
        f"top_k: {name}": make_case(torch.zeros(SIZE), scattered(torch.cat([low, high])), "top_k", counts=[K])
        for name, (count, others) in counts.items()
        for low, high in [(ONE + 11 * torch.arange(others), ONE + 4096 + 11 * torch.arange(count))]
    }


def sparse_tile_cases() -> dict[str, Case]:
    """Of the tiles that a block takes one after another, every other one has nothing to list."""
    tiles = torch.arange(24 * 4096) // 4096
    vector = normal(24 * 4096, 5) * (tiles % 2)
    return {
        f"{rule}: nothing in every other tile, memory {bound}": make_case(
            vector * 0, vector, rule, counts=[200], memory=(bound, 9)
        )
        for rule in RANKED
        for bound in (0, 0x40200000)
    }


def smallest_cases() -> dict[str, Case]:
    """The two smallest magnitudes, fewer of them than asked for; no bound, or one that lists all, the larger, none."""
    vector = scattered(1 + torch.arange(15) % 2)
    return {
        f"{rule}: smallest magnitudes, memory {bound}": make_case(
            vector * 0, vector, rule, counts=[K], memory=(bound, 9)
        )
        for rule in RANKED
        for bound in (0, 1, 2, 3)
    }


def released_cases() -> dict[str, Case]:
    """Counts at the ends of the accepted band, and entries next to the threshold."""
    vector = normal(SIZE, 3)
    ordered = vector.abs().double().sort(descending=True).values
    cases = {}
    for count in (59, 60, 120, 121):
        between = (ordered[count - 1] + ordered[count]) / 2
        z = float((between - vector.double().mean()) / vector.double().std())
        cases[f"released, {count} counted of 90"] = make_case(
            vector * 0, vector, "gaussian_k_released", counts=[90], parameter=z
        )
    near = from_bits(ONE + (torch.arange(SIZE) % 5 < 2).long())
    cases["released, next to the mean"] = make_case(
        near * 0, near, "gaussian_k_released", counts=[SIZE * 2 // 5], parameter=0.0
    )
    return cases


def ladder_case() -> dict[str, Case]:
    """Entries at every float around 1.5 times a threshold that lets too many through: here to round twice moves it."""
    vector = normal(SIZE, 75)
    for _ in range(20):  # the entries move the threshold, each time less
        high = 1.5 * float(vector.double().mean() + 1.645 * vector.double().std())
        vector[:64] = from_bits(torch.tensor(high).view(torch.int32) + torch.arange(-32, 32))
    case = make_case(vector * 0, vector, "gaussian_k_released", counts=[50], parameter=1.645)
    return {"released, next to a step": case}


def cancelling_cases() -> dict[str, Case]:
    """A threshold left over from mean + z std = 2^-48 mean: one rounding of the moments moves it by per cents.

    The tensors differ in mean and end within a tile, so that every rounding of a merge counts.
    """
    cases = {}
    near = torch.logspace(-1.0, 3.0, 200, base=2.0)
    for seed in range(6):
        vectors = [0.1 * normal(length, 50 + seed) + length % 7 for length in (301, 503, 77, 4099, 607, 1201)]
        entries = torch.cat([torch.zeros(len(near)), *vectors]).double()
        mean, deviation = float(entries.mean()), float(entries.std())
        tensors = [near * mean * 2.0**-48, *vectors]
        cases[f"released, cancelling {seed}"] = make_case(
            [tensor * 0 for tensor in tensors],
            tensors,
            "gaussian_k_released",
            counts=[150],
            parameter=(2.0**-48 - 1.0) * mean / deviation,
        )
    return cases


def chunked_cases() -> dict[str, Case]:
    """Shares of no entry, of more than are finite, and such as one, two or three digits of a magnitude decide."""
    size = 3 * CHUNK_SIZE + 100
    places, zeros = torch.arange(size), torch.zeros(size)
    broken = torch.where((places % CHUNK_SIZE < 4090) & (places < 2 * CHUNK_SIZE), math.inf, normal(size, 6))
    rule = "chunked_top_k"
    cases = {
        f"{rule}: fewer entries than chunks": make_case(normal(size, 7), zeros, rule, counts=[2]),
        f"{rule}: more to send than is finite": make_case(zeros, broken, rule, density=0.5),
        f"{rule}: more to send than is finite, and little room": make_case(
            zeros, broken, rule, density=0.5, capacities=[1000]
        ),
        f"{rule}: nothing finite": make_case(zeros, zeros * math.nan, rule, density=0.5),
        f"{rule}: as many subnormal numbers as are sent": make_case(
            zeros, from_bits((places % 100 == 99).long()), rule, density=0.01
        ),
    }
    steps = torch.arange(2 * CHUNK_SIZE) % CHUNK_SIZE * 7 % CHUNK_SIZE // 40
    for shift in (20, 10, 0):
        vector = from_bits(2**23 + (steps << shift))
        for share in (40, 50):
            name = f"{rule}: a chunk's {share} of forties that bit {shift} sets apart"
            cases[name] = make_case(vector * 0, vector, rule, counts=[2 * share])
    return cases


def ranked_cases() -> dict[str, Case]:
    """Chunks of which so few are sent that a GPU ranks those which reach the least of eight warps' largest."""
    cases: dict[str, Case] = {}
    zeros, warps = torch.zeros(CHUNK_SIZE), 128 * torch.arange(1, 8)
    # All others are the first warp's; there is room for 64.
    for count in (63, 64, 65):
        bits = zeros.long()
        bits[warps] = ONE + torch.arange(7)
        bits[: count - 7] = ONE + 7
        ties = from_bits(bits)
        bits[: count - 7] += 1000 * torch.arange(count - 7)
        cases |= {
            f"chunked_top_k: {count} to be ranked": make_case(zeros, from_bits(bits), "chunked_top_k", counts=[8]),
            f"chunked_top_k: {count} ties to be ranked": make_case(zeros, ties, "chunked_top_k", counts=[8]),
        }
    vector = normal(5 * CHUNK_SIZE + 77, 6)
    contents = {
        "normal": vector,
        "few values": (2 * vector).round(),
        "rising": torch.arange(len(vector)).float(),
        "in one warp": vector * (torch.arange(len(vector)) % 1024 < 128),
        "NaN": torch.where(vector > -1.0, vector, math.nan),
    }
    for name, residual in contents.items():
        for k in (len(vector) // 1000, 8 * len(vector) // CHUNK_SIZE, 9 * len(vector) // CHUNK_SIZE):
            cases[f"chunked_top_k: {k} of {name}"] = make_case(vector * 0, residual, "chunked_top_k", counts=[k])
    return cases


def edge_cases() -> dict[str, Case]:
    """By name."""
    full = normal(CHUNK, 1), normal(CHUNK, 2)
    late = spotted(normal(2 * 4096, 4), {4099: math.inf, 4101: math.nan})
    ones = torch.ones(140_000)
    cases = (
        listed_cases()
        | collected_cases()
        | sparse_tile_cases()
        | smallest_cases()
        | released_cases()
        | ladder_case()
        | cancelling_cases()
        | chunked_cases()
        | ranked_cases()
    )
    for rule in RULES:
        cases[f"{rule}: a full chunk"] = make_case(*full, rule, memory=(0x40533333, 9))
    cases["threshold: first not finite in the fourth of four"] = make_case(
        late, torch.zeros(len(late)), "threshold", parameter=2.0
    )
    for offset in (1, 2, 3):
        gradient = shifted(full[0][:9001], offset)
        cases[f"threshold: float32 gradient at {offset}"] = make_case(gradient, full[1][:9001], "threshold")
    cases["threshold: more ties than 2^16"] = make_case(ones * 0, ones, "threshold", parameter=1.0)
    return cases
