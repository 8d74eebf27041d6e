"""What do whole blocks of many rows lose in the damped inverse, and in a step? Random matrices, in floating point.

Two blocks attain the bounds of `theory/learning/curvature.py`: in norm, and for the worst gradient, which a singular
vector of the coupling gives. More blocks obey them where their coupling is below 1. Ours.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy
from numpy.typing import NDArray

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Outcome, Profile

Array = NDArray[numpy.float64]

SEED = 20
CASE_COUNT = 40
LARGEST_BLOCK = 6
DAMPING = 0.5
LARGEST_COUPLING = 0.95
ROUNDING = 1e-10
"""Twelve roundings of 2⁻⁵³ by 18 rows, times 1/(1 − ρ)² ≤ 400 of the coupling and 100 of the roots, are 10⁻¹⁰."""


def coupled(generator: numpy.random.Generator, sizes: Sequence[int]) -> tuple[Array, Array]:
    """A matrix F without negative eigenvalues, [rows, rows], with its diagonal blocks."""
    rows = sum(sizes)
    half = generator.standard_normal((rows, rows + 2))
    full = half @ half.T / rows
    ends = numpy.cumsum([0, *sizes])
    blocks = numpy.zeros_like(full)
    for first, end in pairwise(ends):
        blocks[first:end, first:end] = full[first:end, first:end]
    return full, blocks


def scaled_coupling(full: Array, blocks: Array) -> Array:
    """N = (D + γI)^(−1/2) (F − D) (D + γI)^(−1/2)."""
    values, vectors = numpy.linalg.eigh(blocks + DAMPING * numpy.eye(len(blocks)))
    root = (vectors / numpy.sqrt(values)) @ vectors.T
    found: Array = root @ (full - blocks) @ root
    return found


def relative_error(full: Array, blocks: Array) -> float:
    """‖(D + γI)^(1/2) ((F + γI)⁻¹ − (D + γI)⁻¹) (D + γI)^(1/2)‖, from both inverses."""
    unit = numpy.eye(len(blocks))
    values, vectors = numpy.linalg.eigh(blocks + DAMPING * unit)
    root = (vectors * numpy.sqrt(values)) @ vectors.T
    change = numpy.linalg.inv(full + DAMPING * unit) - numpy.linalg.inv(blocks + DAMPING * unit)
    return float(numpy.linalg.norm(root @ change @ root, 2))


def decrease_share(full: Array, blocks: Array, gradient: Array) -> float:
    """The best step along (D + γI)⁻¹∇ against the whole damped step."""
    unit = numpy.eye(len(blocks))
    direction = numpy.linalg.solve(blocks + DAMPING * unit, gradient)
    whole = gradient @ numpy.linalg.solve(full + DAMPING * unit, gradient)
    return float((gradient @ direction) ** 2 / (direction @ (full + DAMPING * unit) @ direction) / whole)


def worst_gradient(full: Array, blocks: Array, first_size: int) -> Array:
    """Of two blocks: (D + γI)^(1/2) times the left singular vector of N's coupling, in the first block."""
    coupling = scaled_coupling(full, blocks)[:first_size, first_size:]
    left = numpy.zeros(len(blocks))
    left[:first_size] = numpy.linalg.svd(coupling)[0][:, 0]
    values, vectors = numpy.linalg.eigh(blocks + DAMPING * numpy.eye(len(blocks)))
    found: Array = (vectors * numpy.sqrt(values)) @ vectors.T @ left
    return found


def error_room(full: Array, blocks: Array, _first_size: int, _generator: numpy.random.Generator) -> float:
    """The bound on the error less the error."""
    coupling = float(numpy.linalg.norm(scaled_coupling(full, blocks), 2))
    return STATEMENTS["block_diagonal_error"].evaluate(coupling=coupling) - relative_error(full, blocks)


def step_room(full: Array, blocks: Array, first_size: int, generator: numpy.random.Generator) -> float:
    """The smallest share of the worst gradient of two blocks, and of a drawn one, less the bound."""
    coupling = float(numpy.linalg.norm(scaled_coupling(full, blocks), 2))
    gradients = [worst_gradient(full, blocks, first_size), generator.standard_normal(len(full))]
    share = min(decrease_share(full, blocks, gradient) for gradient in gradients)
    return share - STATEMENTS["block_diagonal_step"].evaluate(coupling=coupling)


Room = Callable[[Array, Array, int, numpy.random.Generator], float]


def block_check(room: Room) -> Check:
    """The grade `numeric`: no room is negative, and that of two blocks is none, up to roundings."""

    def check(_profile: Profile) -> Outcome:
        generator = numpy.random.default_rng(SEED)
        rooms: dict[int, list[float]] = {2: [], 3: []}
        for _ in range(CASE_COUNT):
            for count, found in rooms.items():
                sizes = [int(size) for size in generator.integers(1, LARGEST_BLOCK + 1, count)]
                full, blocks = coupled(generator, sizes)
                if numpy.linalg.norm(scaled_coupling(full, blocks), 2) <= LARGEST_COUPLING:
                    found.append(room(full, blocks, sizes[0], generator))
        two, three = rooms[2], rooms[3]
        return Outcome(
            earned=bool(two and three) and max(map(abs, two)) <= ROUNDING and min(three) >= -ROUNDING,
            detail={
                "two_blocks_count": len(two),
                "three_blocks_count": len(three),
                "largest_room_of_two": max(map(abs, two)),
                "smallest_room_of_three": min(three),
            },
        )

    return check
