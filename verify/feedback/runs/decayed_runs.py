"""Which runs test what is stated of a decaying memory and of local steps? Exact ones, in fractions, and some extreme.

f_i = Lx²/2 + b_i x, Σ b_i = 0, H local steps without noise, and C_i(u) = (1 − λ_i)u with any λ_i in [−a, a] at every
step. A `Resting` run is one in which nothing moves: slopes ±σ that the compressors keep in balance, from the first step
on, since without a memory there is nothing to build up. Numbers in assumptions are read from the statement. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import sympy

from sparsync.theory.language.symbols import L, delta, dissimilarity, sigma_squared, variance
from sparsync.theory.statements import STATEMENTS

ZERO, ONE = Fraction(0), Fraction(1)
ROUNDED_UP = 1 + Fraction(1, 2**52)
"""A float that is the correctly rounded bound, times this, is no less than the bound."""
_USUAL: dict[str, sympy.Expr] = {
    "kept_back": 1 - delta,
    "second_moment": sigma_squared,
    "change_energy": sympy.Symbol("step_size", positive=True) ** 2 * sigma_squared,
    "lipschitz": L,
    "spread": dissimilarity,
    "noise": variance,
}
"""What the assumptions bound by, as the runs below understand it."""

Numbers = dict[str, Fraction | int]


def scale(label: str, name: str) -> Fraction:
    """By what factor the statement's assumption of this name differs from what a run obeys: 1, unless it is wrong.

    Raises:
        ValueError: it differs by more than a factor.
    """
    quotient = sympy.cancel(STATEMENTS[label].given(name) / _USUAL[name])
    if not isinstance(quotient, sympy.Rational):
        raise ValueError(f"{label}: the assumption {name!r} is {STATEMENTS[label].given(name)}")
    return Fraction(int(quotient.p), int(quotient.q))


def contraction(label: str, root: Fraction) -> Fraction:
    """The δ with which a compressor that keeps back the share a of every vector is admitted."""
    return 1 - root**2 / scale(label, "kept_back")


def bound_above(label: str, **numbers: Fraction | int) -> Fraction:
    """The bound, or a little more where it is irrational."""
    return Fraction(STATEMENTS[label].evaluate(**numbers)) * ROUNDED_UP


@dataclass(frozen=True)
class LocalRun:
    """A run of n workers on f_i = Lx²/2 + b_i x.

    Args:
        root: a = √(1 − δ).
        decay: β.
        step: η.
        local_count: H.
        smoothness: L.
        start: x_0.
        offsets: b_1, …, b_n, of sum zero.
        actions: at every step λ_i/a in [−1, 1] for every worker.
    """

    root: Fraction
    decay: Fraction
    step: Fraction
    local_count: int
    smoothness: Fraction
    start: Fraction
    offsets: Sequence[Fraction]
    actions: Sequence[Sequence[Fraction]]

    @cached_property
    def history(self) -> tuple[list[Fraction], list[Fraction]]:
        """|f'(x_t)|² for t < T, and the largest |g|² of the local steps of each."""
        x, residuals, energies, moments = self.start, [ZERO] * len(self.offsets), [], []
        for shares in self.actions:
            energies.append((self.smoothness * x) ** 2)
            changes, slopes = zip(*(self.change(x, offset) for offset in self.offsets), strict=True)
            moments.append(max(slopes))
            corrected = [self.decay * e + change for e, change in zip(residuals, changes, strict=True)]
            kept = [self.root * share * u for share, u in zip(shares, corrected, strict=True)]
            x -= (sum(corrected, ZERO) - sum(kept, ZERO)) / len(kept)
            residuals = kept
        return energies, moments

    def change(self, x: Fraction, offset: Fraction) -> tuple[Fraction, Fraction]:
        """Δ_i of H local steps from x, and the largest |g|² among them."""
        place, largest = x, ZERO
        for _ in range(self.local_count):
            slope = self.smoothness * place + offset
            largest = max(largest, slope**2)
            place -= self.step / self.local_count * slope
        return x - place, largest

    @property
    def smallest_energy(self) -> Fraction:
        """min_t |f'(x_t)|²."""
        return min(self.history[0])

    @property
    def second_moment(self) -> Fraction:
        """σ²."""
        return max(self.history[1])

    @property
    def gap(self) -> Fraction:
        """f(x_0) − f*."""
        return self.smoothness * self.start**2 / 2

    @property
    def update_count(self) -> int:
        """T."""
        return len(self.actions)


@dataclass(frozen=True)
class Resting:
    """Slopes ±σ, no memory, one local step: the shares (1 ± a)/2 of the workers balance, and f' = aσ for ever.

    Args:
        root: a.
        slope: σ.
        step: η.
        smoothness: L of f, of which only the gap depends.
        update_count: T.
    """

    root: Fraction
    slope: Fraction
    step: Fraction
    smoothness: Fraction
    update_count: int
    decay: Fraction = ZERO
    local_count: int = 1

    @property
    def smallest_energy(self) -> Fraction:
        """|f'|², from the balance: (1 − λ)u is sent, λ = ±a, and p(1 − a) = (1 − p)(1 + a)."""
        plus = (1 + self.root) / 2
        if plus * (1 - self.root) != (1 - plus) * (1 + self.root):
            raise ValueError(f"the shares are not in balance at a = {self.root}")
        return ((2 * plus - 1) * self.slope) ** 2

    @property
    def second_moment(self) -> Fraction:
        """σ²."""
        return self.slope**2

    @property
    def dissimilarity(self) -> Fraction:
        """ζ²."""
        return self.second_moment - self.smallest_energy

    @property
    def gap(self) -> Fraction:
        """f(x_0) − f* of f = Lx²/2."""
        return self.smallest_energy / (2 * self.smoothness)


def parameters(label: str, run: LocalRun | Resting) -> Numbers:
    """The numbers that `local_feedback_rate` is stated with, σ² and L as the assumptions of the statement read."""
    return {
        "delta": contraction(label, run.root),
        "residual_decay": run.decay,
        "step_size": run.step,
        "local_count": run.local_count,
        "smoothness": run.smoothness / scale(label, "lipschitz"),
        "second_moment": run.second_moment / scale(label, "second_moment"),
        "gap": run.gap,
        "T": run.update_count,
    }
