"""How do methods do on a chain, if messages are lost or gradients are noisy? Every way it may go, in exact fractions.

A method is run for every pattern of arrivals, and its energies are averaged with the patterns' probabilities. The
chains are written again here, from their formulas and not from the pieces of `theory/feedback/chains.py`. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Vector = tuple[Fraction, ...]
Gradient = Callable[[Vector], Vector]
ZERO, ONE = Fraction(0), Fraction(1)
FLAT = Fraction(6, 5)
"""From here on a link of the chain of pieces has fallen."""


@dataclass(frozen=True)
class QuadraticChain:
    """f = μ‖x‖²/2 + (L − μ)/8·B − (√L + √μ)²/4·x_1, whose minimiser is 1, q, q², ….

    Args:
        ratio: q in [0, 1).
        length: d.
    """

    ratio: Fraction
    length: int

    @property
    def smoothness(self) -> Fraction:
        """L, where √L + √μ = 2."""
        return (1 + self.ratio) ** 2

    @property
    def convexity(self) -> Fraction:
        """μ."""
        return (1 - self.ratio) ** 2

    @property
    def minimiser(self) -> Vector:
        """The entries q^(i−1)."""
        return tuple(self.ratio**place for place in range(self.length))

    def gradient(self, x: Vector) -> Vector:
        """∇f, of differences of neighbours."""
        width = (self.smoothness - self.convexity) / 4
        before = (ZERO, *x[:-1])
        pulls = [width * (here - other) for here, other in zip(x, before, strict=True)]
        back = [*(-pull for pull in pulls[1:]), width * (1 - self.ratio) * x[-1]]
        entries = [self.convexity * here + pull + end for here, pull, end in zip(x, pulls, back, strict=True)]
        return (entries[0] - 1, *entries[1:])

    def share(self, x: Vector) -> Fraction:
        """‖x − x*‖²/‖x*‖²."""
        away = sum(((here - best) ** 2 for here, best in zip(x, self.minimiser, strict=True)), ZERO)
        return away / energy(self.minimiser)


@dataclass(frozen=True)
class PieceChain:
    """f = cλ²F(x/λ), F = Σ P(x_i) − Φ(x_1) − Σ Ψ(x_{i−1})Φ(x_i).

    Args:
        length: N.
        height: c.
        unit: λ.
    """

    length: int
    height: Fraction
    unit: Fraction

    @property
    def smoothness(self) -> Fraction:
        """The constant that is claimed for the gradient."""
        return Fraction(25, 3) * self.height

    @property
    def gap(self) -> Fraction:
        """f(0) − f(6λ/5, …)."""
        return self.value((ZERO,) * self.length) - self.value(self.minimiser)

    @property
    def minimiser(self) -> Vector:
        """Where every link has fallen."""
        return (FLAT * self.unit,) * self.length

    @property
    def slope(self) -> Fraction:
        """‖∇f(0)‖."""
        return self.height * self.unit

    def value(self, x: Vector) -> Fraction:
        """f."""
        scaled = [here / self.unit for here in x]
        opened = [ONE, *(opening(here) for here in scaled)]
        total = sum((wall(here) - before * drop(here) for here, before in zip(scaled, opened, strict=False)), ZERO)
        return self.height * self.unit**2 * total

    def gradient(self, x: Vector) -> Vector:
        """∇f."""
        scaled = [here / self.unit for here in x]
        opened = [ONE, *(opening(here) for here in scaled)]
        behind = [*(drop(here) for here in scaled[1:]), ZERO]
        return tuple(
            self.slope * (wall_slope(here) - before * drop_slope(here) - opening_slope(here) * after)
            for here, before, after in zip(scaled, opened, behind, strict=False)
        )


Chain = QuadraticChain | PieceChain


def clipped(x: Fraction) -> Fraction:
    """x, moved into [0, 1]."""
    return min(max(x, ZERO), ONE)


def opening_slope(x: Fraction) -> Fraction:
    """Ψ': a trapezium of height 5/3 over (0, 1), with flanks of 2/5."""
    return max(ZERO, min(Fraction(5, 3), Fraction(25, 6) * x, Fraction(25, 6) * (1 - x)))


def opening(x: Fraction) -> Fraction:
    """Ψ, the area of the trapezium up to x."""
    inside = clipped(x)
    left, right = min(inside, Fraction(2, 5)), max(inside - Fraction(3, 5), ZERO)
    middle = inside - left - right
    return Fraction(25, 12) * left**2 + Fraction(5, 3) * (middle + right) - Fraction(25, 12) * right**2


def drop_slope(x: Fraction) -> Fraction:
    """Φ': 1 on [0, 1], with flanks of 1/5 on either side."""
    return max(ZERO, min(ONE, 1 + 5 * x, 6 - 5 * x))


def drop(x: Fraction) -> Fraction:
    """Φ, the area below Φ' up to x."""
    left, right = min(max(x, -FLAT + 1), ZERO) + FLAT - 1, min(max(x - 1, ZERO), FLAT - 1)
    return Fraction(5, 2) * left**2 + clipped(x) + right - Fraction(5, 2) * right**2


def wall_slope(x: Fraction) -> Fraction:
    """P'."""
    return max(-ONE, min(ZERO, 5 * x))


def wall(x: Fraction) -> Fraction:
    """P."""
    return Fraction(5, 2) * x**2 if -FLAT + 1 <= x < 0 else max(ZERO, -x - Fraction(1, 10))


def energy(x: Vector) -> Fraction:
    """‖x‖²."""
    return sum((value**2 for value in x), ZERO)


def known_count(x: Vector) -> int:
    """Coordinates up to the last one that is not 0."""
    return max((place + 1 for place, value in enumerate(x) if value), default=0)


@dataclass(frozen=True)
class Method:
    """What a method does with its messages: error feedback, EF21, or the best answer to what is known.

    Args:
        kind: "feedback", "feedback 21" or "greedy".
        step: η.
        momentum: share of its last move that the server repeats.
    """

    kind: str
    step: Fraction = ONE
    momentum: Fraction = ZERO

    def positions(self, chain: Chain, arrivals: Sequence[bool]) -> list[Vector]:
        """x_0, …, x_T, where message t arrives or does not."""
        x, kept, told = (ZERO,) * chain.length, (ZERO,) * chain.length, (ZERO,) * chain.length
        visited = [x]
        for arrives in arrivals:
            gradient = chain.gradient(x)
            message = _message(self, gradient, kept, told)
            sent = message if arrives else (ZERO,) * chain.length
            kept = tuple(one - other for one, other in zip(message, sent, strict=True))
            told = tuple(one + other for one, other in zip(told, sent, strict=True))
            following = self._answer(chain, x, sent=sent, told=told, before=visited[-2:][0])
            visited.append(following)
            x = following
        return visited

    def _answer(self, chain: Chain, x: Vector, *, sent: Vector, told: Vector, before: Vector) -> Vector:
        if self.kind == "greedy":
            known = max(known_count(x), known_count(sent))
            return (*chain.minimiser[:known], *(ZERO,) * (chain.length - known))
        move = sent if self.kind == "feedback" else tuple(self.step * value for value in told)
        return tuple(
            here - part + self.momentum * (here - earlier) for here, part, earlier in zip(x, move, before, strict=True)
        )


def _message(method: Method, gradient: Vector, kept: Vector, told: Vector) -> Vector:
    if method.kind == "feedback":
        return tuple(one + method.step * other for one, other in zip(kept, gradient, strict=True))
    return tuple(one - other for one, other in zip(gradient, told, strict=True))


def patterns(count: int, chance: Fraction) -> Iterator[tuple[tuple[bool, ...], Fraction]]:
    """Every outcome of independent events, with its probability."""
    for outcome in product((False, True), repeat=count):
        happened = sum(outcome)
        yield outcome, chance**happened * (1 - chance) ** (count - happened)


def mean_share(chain: QuadraticChain, method: Method, *, delta: Fraction, rounds: int) -> Fraction:
    """E‖x_T − x*‖²/‖x*‖²."""
    ends = ((method.positions(chain, arrivals)[-1], chance) for arrivals, chance in patterns(rounds, delta))
    return sum((chance * chain.share(end) for end, chance in ends), ZERO)


def least_mean_energy(chain: PieceChain, method: Method, *, delta: Fraction, rounds: int) -> Fraction:
    """min_{t<T} E‖∇f(x_t)‖²."""
    means = [ZERO] * rounds
    for arrivals, chance in patterns(rounds - 1, delta):
        for time, x in enumerate(method.positions(chain, arrivals)):
            means[time] += chance * energy(chain.gradient(x))
    return min(means)


def least_noisy_energy(
    chain: PieceChain, *, workers: int, chance: Fraction, rounds: int, step: Fraction | None
) -> Fraction:
    """min_{t<T} E‖∇f(x_t)‖² of gradient descent, or of the best answer to what is known where no step is given.

    The entry that is shown next is divided by its chance, or is 0; each worker draws for itself.
    """
    means = [ZERO] * rounds
    for seen, probability in patterns(workers * (rounds - 1), chance):
        x = (ZERO,) * chain.length
        for time in range(rounds):
            gradient = chain.gradient(x)
            means[time] += probability * energy(gradient)
            draws = seen[time * workers : (time + 1) * workers]
            x = _noisy_step(chain, x, gradient, share=Fraction(sum(draws), workers) / chance, step=step)
    return min(means)


def _noisy_step(chain: PieceChain, x: Vector, gradient: Vector, *, share: Fraction, step: Fraction | None) -> Vector:
    known = known_count(x)
    noisy = tuple(value * share if place == known else value for place, value in enumerate(gradient))
    if step is None:
        count = max(known, known_count(noisy))
        return (*chain.minimiser[:count], *(ZERO,) * (chain.length - count))
    return tuple(here - step * value for here, value in zip(x, noisy, strict=True))
