"""Networks of workers whose spectrum is rational, and a step of gossip on them in exact fractions. Ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sparsync.verify.tight_rates.search import Pair, Turn

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Network:
    """Weights w on the links between workers, W = I − wΛ for the Laplacian Λ.

    Args:
        links: pairs of workers.
        weight: w.
        slow: an eigenvector of Λ for its smallest eigenvalue but 0.
        fast: the same for its largest.
    """

    links: tuple[tuple[int, int], ...]
    weight: Fraction
    slow: tuple[int, ...]
    fast: tuple[int, ...]

    @cached_property
    def gaps(self) -> tuple[Fraction, Fraction]:
        """ρ and β, as their eigenvectors show."""
        found = []
        for vector in (self.slow, self.fast):
            image = self.differences([(Fraction(value), ZERO) for value in vector])
            place = next(place for place, value in enumerate(vector) if value)
            found.append(image[place][0] / vector[place])
        return found[0], found[1]

    @property
    def spread(self) -> Fraction:
        """r."""
        low, high = self.gaps
        return (high - low) / (high + low)

    def differences(self, vectors: Sequence[Pair]) -> list[Pair]:
        """(I − W)x."""
        found = [(ZERO, ZERO)] * len(vectors)
        for one, other in self.links:
            first, second = (a - b for a, b in zip(vectors[one], vectors[other], strict=True))
            found[one] = found[one][0] + self.weight * first, found[one][1] + self.weight * second
            found[other] = found[other][0] - self.weight * first, found[other][1] - self.weight * second
        return found


NETWORKS = (
    Network(((0, 1),), Fraction(1, 3), (1, -1), (1, -1)),
    Network(((0, 1), (1, 2)), Fraction(1, 3), (1, 0, -1), (1, -2, 1)),
    Network(((0, 1), (1, 2), (2, 3), (3, 0)), Fraction(1, 4), (1, 0, -1, 0), (1, -1, 1, -1)),
    Network(((0, 1), (0, 2), (0, 3)), Fraction(1, 4), (0, 1, -1, 0), (3, -1, -1, -1)),
    Network(
        ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)), Fraction(1, 3), (2, 1, -1, -2, -1, 1), (1, -1, 1, -1, 1, -1)
    ),
)
"""Two workers, a path, a square, a star and a ring of six."""


@dataclass(frozen=True)
class State:
    """What workers have and what of it is known: x_i and e_i = x_i − x̂_i."""

    models: tuple[Pair, ...]
    errors: tuple[Pair, ...]

    def value(self, s: Fraction) -> Fraction:
        """V."""
        mean = total(self.models)
        count = len(self.models)
        away = [(x[0] - mean[0] / count, x[1] - mean[1] / count) for x in self.models]
        return squares(away) + squares(self.errors) / s


def total(vectors: Sequence[Pair]) -> Pair:
    """Σ_i x_i."""
    return sum((x[0] for x in vectors), ZERO), sum((x[1] for x in vectors), ZERO)


def squares(vectors: Sequence[Pair]) -> Fraction:
    """Σ_i ‖x_i‖²."""
    return sum((x[0] ** 2 + x[1] ** 2 for x in vectors), ZERO)


def compression(network: Network, theta: Fraction) -> Fraction:
    """s, such that θ is the root for this network."""
    return theta * (theta - network.spread) / (1 - network.spread * theta)


def step(network: Network, state: State, strength: Fraction, kept: Sequence[Turn], s: Fraction) -> State:
    """One step; of v the compressor of a worker keeps s times a turned and shortened v."""
    known = [(x[0] - e[0], x[1] - e[1]) for x, e in zip(state.models, state.errors, strict=True)]
    moves = network.differences(known)
    models = tuple((x[0] - strength * m[0], x[1] - strength * m[1]) for x, m in zip(state.models, moves, strict=True))
    lacking = [(x[0] - k[0], x[1] - k[1]) for x, k in zip(models, known, strict=True)]
    turned = [turn(vector) for turn, vector in zip(kept, lacking, strict=True)]
    return State(models, tuple((s * e[0], s * e[1]) for e in turned))


def slowest(network: Network, theta: Fraction, *, fast: bool) -> State:
    """The state that C(v) = (1 + s)v multiplies by θ, or by −θ on the fastest vector.

    From (1 − t)y + te = ±θy: with t = h(1 ∓ r), e = (±θ − 1 + t)y/t.
    """
    s = compression(network, theta)
    sign = -1 if fast else 1
    scaled = (1 - s) / (1 + s) * (1 - sign * network.spread)
    share = (sign * theta - 1 + scaled) / scaled
    vector = network.fast if fast else network.slow
    models = tuple((Fraction(value), ZERO) for value in vector)
    return State(models, tuple((share * x[0], ZERO) for x in models))


REVERSED = Turn(half_tangent=ZERO, reflected=False, length=-ONE)
