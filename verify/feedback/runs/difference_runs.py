"""Which runs of EF21 come to its rate? One on three coordinates in which compression hides the whole gradient.

The noise is on the second and third coordinate in turn. The compressor knows the old noise, which its estimate still
holds, from the new one by its size: it sends the old one, and the new one enlarged, and keeps back the gradient. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sparsync.verify.feedback.runs.linear_moments import LinearCase, Row, combined, mean

Vector = tuple[Fraction, Fraction, Fraction]


def difference_update(
    case: LinearCase, state: Sequence[Row], noises: Sequence[Row], kept: Sequence[Fraction]
) -> list[Row]:
    """EF21: the state is 1, x and every worker's estimate h_i."""
    estimates = [
        combined((share, state[2 + worker]), (1 - share, case.gradient(worker, state, noises)))
        for worker, share in enumerate(kept)
    ]
    return [state[0], combined((Fraction(1), state[1]), (-case.step, mean(estimates))), *estimates]


def averaged_update(
    case: LinearCase, state: Sequence[Row], noises: Sequence[Row], kept: Sequence[Fraction]
) -> list[Row]:
    """EF21 with momentum α, the case's weight: the state is 1, x, every worker's h_i, and every worker's v_i."""
    count = len(kept)
    old, averages = state[2 : 2 + count], state[2 + count :]
    x = combined((Fraction(1), state[1]), (-case.step, mean(old)))
    moved = [state[0], x]
    new = [
        combined((1 - case.weight, average), (case.weight, case.gradient(worker, moved, noises)))
        for worker, average in enumerate(averages)
    ]
    estimates = [
        combined((share, estimate), (1 - share, average))
        for share, estimate, average in zip(kept, old, new, strict=True)
    ]
    return [*moved, *estimates, *new]


def hiding(corrected: Vector, *, delta: Fraction) -> Vector:
    """C(u): the larger of the last two entries, and the smaller as large; all of u where that does not contract."""
    first, second, third = corrected
    size = max(abs(second), abs(third))
    sent = (Fraction(0), _sized(second, size), _sized(third, size))
    lost = first**2 + (second - sent[1]) ** 2 + (third - sent[2]) ** 2
    return sent if lost <= (1 - delta) * (first**2 + second**2 + third**2) else corrected


def _sized(entry: Fraction, size: Fraction) -> Fraction:
    return size if entry > 0 else -size if entry < 0 else entry


@dataclass(frozen=True)
class FloorRun:
    """A run of EF21 on f_i = Lx_1²/2, x in three dimensions, from the state in which it rests.

    Args:
        odds: m in (0, 1]: δ = 2m/(1 + m²), so that √(1 − δ²) is rational.
        noise: σ₀.
        step: η.
        smoothness: L.
        signs: of the noise at every step, for every worker; the first are of the noise before.
        start: f' at first, where it is not b.
        held: the size of the estimates at first, where it is not σ₀/δ.
    """

    odds: Fraction
    noise: Fraction
    step: Fraction
    smoothness: Fraction
    signs: Sequence[Sequence[int]]
    start: Fraction | None = None
    held: Fraction | None = None

    @property
    def delta(self) -> Fraction:
        """δ."""
        return 2 * self.odds / (1 + self.odds**2)

    @property
    def slope(self) -> Fraction:
        """b = σ₀√(1 − δ²)/δ."""
        return self.noise * (1 - self.odds**2) / (2 * self.odds)

    def gradient_energies(self) -> list[Fraction]:
        """|∇f(x_t)|² at every step, and after the last."""
        start = self.slope if self.start is None else self.start
        held = self.noise / self.delta if self.held is None else self.held
        x: Vector = (start / self.smoothness, Fraction(0), Fraction(0))
        estimates: list[Vector] = [(Fraction(0), sign * held, Fraction(0)) for sign in self.signs[0]]
        energies = [(self.smoothness * x[0]) ** 2]
        for place, signs in enumerate(self.signs[1:]):
            noises = [
                (Fraction(0), sign * self.noise * (place % 2), sign * self.noise * ((place + 1) % 2)) for sign in signs
            ]
            estimates = [self._after(x, estimate, noise) for estimate, noise in zip(estimates, noises, strict=True)]
            count = len(estimates)
            moves = [
                self.step * sum((estimate[axis] for estimate in estimates), Fraction(0)) / count for axis in range(3)
            ]
            x = (x[0] - moves[0], x[1] - moves[1], x[2] - moves[2])
            energies.append((self.smoothness * x[0]) ** 2)
        return energies

    def parameters(self, *, share: Fraction, update_count: int) -> dict[str, Fraction | int]:
        """The numbers of `ef21_rate` for a run of this length: it rests, so that every length has the same gradient."""
        return {
            "delta": self.delta,
            "step_size": self.step,
            "smoothness": self.smoothness,
            "mean_smoothness": self.smoothness,
            "gap": self.slope**2 / (2 * self.smoothness),
            "estimate_energy": self.slope**2 + (self.noise / self.delta) ** 2,
            "T": update_count,
            "variance": self.noise**2,
            "free_share": share,
        }

    def _after(self, x: Vector, estimate: Vector, noise: Vector) -> Vector:
        gradient = (self.smoothness * x[0] + noise[0], noise[1], noise[2])
        corrected = (gradient[0] - estimate[0], gradient[1] - estimate[1], gradient[2] - estimate[2])
        sent = hiding(corrected, delta=self.delta)
        return (estimate[0] + sent[0], estimate[1] + sent[1], estimate[2] + sent[2])
