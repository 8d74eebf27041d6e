"""Which run of error feedback nearly attains its rates? One in which the gradient never becomes smaller.

f' is Lx cut off at ±σ. The compressor first keeps back all it may, until x̃ = x − e is half a step from the minimiser;
from then on C(u) = (1 + b)u throws x from one side to the other, and |f'| is σ each time. Ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

GRID = 256
"""Residuals are multiples of ησ/GRID, so that a run stays in small fractions."""


@dataclass(frozen=True)
class SaturatedRun:
    """A run without noise in which |f'(x_t)| = σ at every t.

    Args:
        root: a = √(1 − δ).
        step: η.
        slope: σ, the largest |f'|.
        cycle_count: pairs of updates once the residual is built.
    """

    root: Fraction
    step: Fraction
    slope: Fraction
    cycle_count: int

    @cached_property
    def building(self) -> tuple[Fraction, ...]:
        """e/(ησ) while the residual is built: from 0 by e⁺ ≤ a(e + 1), rounded down to the grid, until it rests."""
        path = [Fraction(0)]
        while (following := Fraction(int(GRID * self.root * (path[-1] + 1)), GRID)) > path[-1]:
            path.append(following)
        return tuple(path)

    @property
    def start(self) -> Fraction:
        """x_0: from here x̃ comes to half a step, ησ/2, when the residual is built."""
        return self.step * self.slope * (len(self.building) - Fraction(1, 2))

    @property
    def smoothness(self) -> Fraction:
        """L such that |f'| just reaches σ at the two points of the cycle, ±(ησ/2 + e)."""
        return 1 / (self.step * (Fraction(1, 2) + self.building[-1]))

    def kept_shares(self, *, cycle_count: int) -> list[Fraction]:
        """λ of C(u) = (1 − λ)u at every update: between 0 and a while the residual is built, above −a in the cycles."""
        last = self.building[-1]
        return [after / (before + 1) for before, after in pairwise(self.building)] + [-last / (last + 1)] * (
            2 * cycle_count
        )

    @cached_property
    def slopes(self) -> tuple[Fraction, ...]:
        """|f'| at every update until the cycle is closed; from then on it repeats.

        Raises:
            ValueError: two updates do not return to the state before them.
        """
        x, residual = self.start, Fraction(0)
        slopes: list[Fraction] = []
        states: list[tuple[Fraction, Fraction]] = []
        for kept in self.kept_shares(cycle_count=1):
            states.append((x, residual))
            pull = max(-self.slope, min(self.slope, self.smoothness * x))
            corrected = residual + self.step * pull
            x, residual = x - (1 - kept) * corrected, kept * corrected
            slopes.append(abs(pull))
        if (x, residual) != states[-2]:
            raise ValueError(f"two updates lead from {states[-2]} to {(x, residual)}")
        return tuple(slopes)

    def smallest_energy(self) -> Fraction:
        """min_t |f'(x_t)|²."""
        return min(self.slopes) ** 2

    @property
    def gap(self) -> Fraction:
        """f(x_0) − f*."""
        return self.slope * self.start - self.slope**2 / (2 * self.smoothness)

    def parameters(self, *, bounded: str) -> dict[str, Fraction | int]:
        """The numbers of a statement that bounds the second moment, here the largest |f'|².

        Raises:
            ValueError: something else is bounded, where the step size is beyond the limit.
        """
        if bounded != "second moment":
            raise ValueError(f"the saturated run has a bounded second moment only, asked for {bounded}")
        return {
            "delta": 1 - self.root**2,
            "step_size": self.step,
            "smoothness": self.smoothness,
            "second_moment": max(self.slopes) ** 2,
            "gap": self.gap,
            "T": len(self.building) - 1 + 2 * self.cycle_count,
        }
