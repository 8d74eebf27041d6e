"""Every call that the kernels are held to, by name, and what the definition makes of it."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from sparsync.kernels.feedback_reference import RULES, feedback_select_
from tests.support.edge_cases import edge_cases
from tests.support.feedback_cases import (
    Case,
    from_bits,
    generator,
    make_case,
    normal,
    outcome,
    random_bits,
    shifted,
    spotted,
)


def contents() -> dict[str, tuple[Tensor, Tensor]]:
    """(gradient, residual) by what is special about them."""
    size = 9001
    zeros = torch.zeros(size)
    picked = torch.randperm(size, generator=generator(5))
    sparse = spotted(zeros, {int(position): float(position) for position in picked[:40]})
    infinite = {17: math.inf, 4096: -math.inf, 5000: math.nan, 9000: math.nan}
    largest = torch.finfo(torch.float32).max
    sizes = {f"normal, d = {d}": (normal(d, d), normal(d, d + 1)) for d in SIZES}
    return sizes | {
        "constant": (zeros, torch.full((size,), -0.75)),
        "the largest": (zeros, torch.where(picked % 2 == 0, largest, -largest)),
        "two values": (zeros, torch.where(picked % 3 == 0, 2.0, -1.5)),
        "zeros": (zeros, zeros),
        "negative zeros": (-zeros, -zeros),
        "sparse": (zeros, sparse),
        "few non-zeros": (zeros, spotted(zeros, {4095: 1.0, 8999: -1.0})),
        "subnormal": (zeros, from_bits(picked % 701 + 2**31 * (picked % 2) - 2**32 * (picked % 2))),
        "ties at the cut": (normal(size, 1).round(), normal(size, 2).round()),
        "integers": ((picked % 91).float(), zeros),
        "rising": (torch.arange(size).float(), zeros),
        "neighbours of a power of two": (zeros, from_bits(2**30 + 119 - picked)),
        "random bits": (random_bits(size, 7), random_bits(size, 8)),
        "infinite gradient": (spotted(normal(size, 3), infinite), normal(size, 4)),
        "overflowing sum": (spotted(normal(size, 3), {70: largest, 71: -largest}), spotted(zeros, {70: largest})),
        "residual with NaN": (normal(size, 5), spotted(normal(size, 6), infinite)),
        "NaN among zeros": (zeros, spotted(zeros, {2: math.nan, 50: 3.0, 4097: -math.inf})),
        "bfloat16": (normal(size, 9).to(torch.bfloat16), normal(size, 10)),
        "bfloat16 of random bits": (random_bits(size, 11).to(torch.bfloat16), normal(size, 12)),
        "float16": (normal(size, 13).to(torch.float16), normal(size, 14)),
        "float16 of all bits": (torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.float16), torch.zeros(2**16)),
    }


SIZES = (1, 2, 3, 7, 100, 1023, 4095, 4096, 4097, 12288, 70001)


def all_cases() -> dict[str, Case]:
    """By name; every rule on all contents, and the special calls."""
    plain = {
        f"{rule}: {name}": make_case(gradient, residual, rule)
        for name, (gradient, residual) in contents().items()
        for rule in RULES
    }
    size = 20000
    gradient, residual = normal(size, 20), normal(size, 21)
    pieces = [0, 1, 5000, 4096, 0, 8193, 300, 0, *range(30, 60)]
    gradients = [normal(length, 30 + index) for index, length in enumerate(pieces)]
    residuals = [normal(length, 130 + index) for index, length in enumerate(pieces)]
    solid = [(g, e) for g, e in zip(gradients, residuals, strict=True) if g.numel()]
    # The first tensor of two is decided by its list, the second by its vector, which lists too little.
    scales = [1.0, 0.25] * 4
    mixed = [scale * normal(9000, 200 + index) for index, scale in enumerate(scales)]
    mixed_residuals = [scale * normal(9000, 300 + index) for index, scale in enumerate(scales)]
    # So few non-zeros that exact Top-k sends zeros of either sign too, from more than one worker's stretch.
    few = [gradient * (gradient > 2.4) for gradient in gradients]
    few_solid = [g for g in few if g.numel()]
    late = spotted(torch.where(torch.arange(70_000) < 40_000, math.inf, -0.0), {7: 2.0, 69_999: 1.0})
    nothing = torch.full_like(late, -0.0)
    special: dict[str, Case] = {}
    # Several chunks of 64 tiles, and more tiles than a look-back sees at once.
    long = (normal(600_001, 22), normal(600_001, 23))
    for rule in RULES:
        special |= {
            f"{rule}: k = d": make_case(gradient, residual, rule, counts=[size]),
            f"{rule}: k = d, zeros": make_case(gradient * (gradient > 0), residual * 0, rule, counts=[size]),
            f"{rule}: k = d, tiny": make_case(gradient * 1e-30, spotted(residual * 0, {9: 1.0}), rule, counts=[size]),
            f"{rule}: k = d / 2": make_case(gradient, residual, rule, density=0.5),
            f"{rule}: k = 1": make_case(gradient, residual, rule, counts=[1]),
            f"{rule}: capacity 50": make_case(gradient, residual, rule, capacities=[50]),
            f"{rule}: capacity 0": make_case(gradient, residual, rule, capacities=[0]),
            f"{rule}: tied capacity": make_case(gradient * 0, residual * 0 + 1, rule, capacities=[130]),
            f"{rule}: long": make_case(*long, rule),
            f"{rule}: long, listed": make_case(*long, rule, memory=(0x40533333, 9)),
            f"{rule}: long pieces": make_case([long[0], gradient], [long[1], residual], rule, counts=[3000, 300]),
            f"{rule}: too many listed": make_case(gradient, residual, rule, memory=(0x40447AE1, 9)),
            f"{rule}: few listed": make_case(gradient, residual, rule, memory=(0x40600000, 9)),
            f"{rule}: whole vector": make_case(gradients, residuals, rule, counts=[400]),
            f"{rule}: every tensor": make_case(
                [g for g, _ in solid], [e for _, e in solid], rule, counts=[1 + g.numel() // 100 for g, _ in solid]
            ),
            f"{rule}: few non-zeros in all": make_case(few, [e * 0 for e in residuals], rule, counts=[400]),
            f"{rule}: few non-zeros in each": make_case(
                few_solid, [g * 0 for g in few_solid], rule, counts=[1 + g.numel() // 9 for g in few_solid]
            ),
            f"{rule}: mixed sources": make_case(mixed, mixed_residuals, rule, counts=[90] * 8, memory=(0x40533333, 9)),
            f"{rule}: many tensors": make_case([gradient[:8]] * 150, [residual[:8]] * 150, rule, counts=[60]),
        }
        for bound in (1, 2**20, 0x3F800000, 0x40600000, 0x7F7FFFFF, 0x7F800000, -1, -(2**31), 12345):
            special[f"{rule}: memory {bound}"] = make_case(gradient, residual, rule, memory=(bound, bound // 7))
            special[f"{rule}: sparse, memory {bound}"] = make_case(
                gradient * (gradient > 2.4), residual * 0, rule, memory=(bound, -(bound // 3))
            )
        for offset in (1, 2, 3):
            special[f"{rule}: views at {offset}"] = make_case(gradient, shifted(residual, offset), rule)
            special[f"{rule}: gradient at {offset}"] = make_case(
                shifted(gradient.to(torch.bfloat16), offset), residual, rule
            )
    # So many ends of tensors that a sample of a long vector meets some.
    short, kept = ([normal(61, seed + index) for index in range(4400)] for seed in (400, 5400))
    for rule in ("top_k", "gaussian_k"):
        special[f"{rule}: zeros that come late"] = make_case(nothing, late, rule, counts=[1000], memory=(1, 9))
        special[f"{rule}: long, of short tensors"] = make_case(short, kept, rule, counts=[2700])
    for level in range(14):
        # Two numbers that cancel where their subtrees meet, after swallowing what is small beside them: the mean,
        # which is the threshold here, tells in which order was added.
        places = [6] if level > 8 else range(6, size - 512, 512)
        large = gradient + 0.5
        for place in places:
            large = spotted(large, {place: 2.0**60, place ^ 1 << level: -(2.0**60)})
        special[f"released, order at level {level}"] = make_case(
            large, residual * 0, "gaussian_k_released", density=0.6, parameter=0.0
        )
    for parameter in (0.0, 1e-45, 2.5, 3e38, 1e300):
        special[f"threshold {parameter}"] = make_case(gradient.round(), residual * 0, "threshold", parameter=parameter)
    for parameter in (-3.0, 0.0, 50.0, math.inf):
        special[f"released, z = {parameter}"] = make_case(
            gradient.relu(), (residual + 1.0) * (gradient > 0), "gaussian_k_released", parameter=parameter
        )
    # The chunked rule remembers nothing.
    repeated = ("chunked_top_k: memory", "chunked_top_k: sparse, memory", "chunked_top_k: long, listed")
    return plain | {name: case for name, case in special.items() if not name.startswith(repeated)}


CASES = all_cases() | edge_cases()


@functools.cache
def expected(name: str) -> list[Tensor]:
    """Computed once in a process; not to be changed."""
    return outcome(feedback_select_, CASES[name])
