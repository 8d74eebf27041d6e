"""How do the second moments of a linear update go on, exactly? The runs of several workers, in fractions.

On f_i = Lx²/2 + b_i x, Σ b_i = 0, and with C_i(u) = (1 − λ_i)u, |λ_i| ≤ a drawn at every step, every algorithm here is
a linear map of its state, 1 and x first. A vector of the state or of the noises is a `Row` of coefficients. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from hypothesis import strategies as st

LARGEST_STEP_COUNT = 5
"""Longest run that a search draws."""
LARGEST_WORKER_COUNT = 3
"""Largest n that a search draws."""
ROOT_GRID = 64
"""Square roots are rounded up to multiples of one over this."""

Row = tuple[Fraction, ...]
"""Coefficients of the state's entries and of the noises."""
Matrix = list[list[Fraction]]
Update = Callable[["LinearCase", Sequence[Row], Sequence[Row], Sequence[Fraction]], list[Row]]
"""A case, its state and noises as rows, and every worker's λ: the rows of the state after the update."""


@dataclass(frozen=True)
class LinearCase:
    """A run of n workers.

    Args:
        root: a = √(1 − δ).
        step: η.
        smoothness: L.
        start: x_0.
        offsets: b_1, …, b_n, of sum zero.
        actions: at every step λ_i/a in [−1, 1] for every worker, and the variance of every worker's noise.
        weight: another number of the algorithm, such as its momentum.
    """

    root: Fraction
    step: Fraction
    smoothness: Fraction
    start: Fraction
    offsets: Sequence[Fraction]
    actions: Sequence[tuple[Sequence[Fraction], Fraction]]
    weight: Fraction = Fraction(0)

    @property
    def gap(self) -> Fraction:
        """f(x_0) − f*."""
        return self.smoothness * self.start**2 / 2

    @property
    def variance(self) -> Fraction:
        """The largest variance of a worker's noise."""
        return max(noise for _, noise in self.actions)

    @property
    def gradients_square(self) -> Fraction:
        """mean |f_i'(x_0)|²: what an estimate of zero lacks."""
        slopes = [self.smoothness * self.start + offset for offset in self.offsets]
        return sum((slope**2 for slope in slopes), Fraction(0)) / len(slopes)

    @property
    def numbers(self) -> dict[str, Fraction | int]:
        """What a statement of such runs has for parameters; those of n workers have `n` besides."""
        return {
            "delta": 1 - self.root**2,
            "step_size": self.step,
            "smoothness": self.smoothness,
            "mean_smoothness": self.smoothness,
            "gap": self.gap,
            "estimate_energy": self.gradients_square,
            "T": len(self.actions),
            "variance": self.variance,
        }

    def gradient(self, worker: int, state: Sequence[Row], noises: Sequence[Row]) -> Row:
        """g_i = Lx + b_i + noise."""
        return combined((self.smoothness, state[1]), (self.offsets[worker], state[0]), (Fraction(1), noises[worker]))

    def moments(self, update: Update, entry_count: int) -> list[Matrix]:
        """The second moments of the state before every update and after the last; entries beyond 1 and x begin at 0."""
        size, count = entry_count, len(self.offsets)
        state = [Fraction(1), self.start, *(Fraction(0) for _ in range(size - 2))]
        found: list[Matrix] = [[[one * other for other in state] for one in state]]
        rows = [unit(size + count, place) for place in range(size + count)]
        for shares, noise in self.actions:
            after = update(self, rows[:size], rows[size:], [self.root * share for share in shares])
            found.append(_propagated(after, found[-1], noise))
        return found


def unit(size: int, place: int) -> Row:
    """A row with a one at a place."""
    return tuple(Fraction(int(other == place)) for other in range(size))


def combined(*terms: tuple[Fraction, Row]) -> Row:
    """Σ factor·row."""
    return tuple(sum((factor * row[place] for factor, row in terms), Fraction(0)) for place in range(len(terms[0][1])))


def mean(rows: Sequence[Row]) -> Row:
    """The mean of rows."""
    return combined(*((Fraction(1, len(rows)), row) for row in rows))


def energy(row: Row, moments: Matrix) -> Fraction:
    """E y² of a combination y of the state."""
    return _product(row, [_product(row, column) for column in zip(*moments, strict=True)])


def gradient_energies(case: LinearCase, found: Sequence[Matrix]) -> list[Fraction]:
    """E|f'(x_t)|² for t = 0, …, T − 1."""
    return [case.smoothness**2 * moments[1][1] for moments in found[:-1]]


def root_above(square: Fraction) -> Fraction:
    """A fraction not below the square root, nor above it by more than 1/64."""
    return Fraction(isqrt(square.numerator * ROOT_GRID**2 // square.denominator) + 1, ROOT_GRID)


SIZES = (Fraction(1, 4), Fraction(1), Fraction(3))
_SHARES = st.sampled_from([Fraction(-1), Fraction(1), Fraction(0), Fraction(1, 2)])
_NOISES = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 4)])


def linear_cases(
    largest_step: Callable[[Fraction, Fraction, Fraction], Fraction],
    weights: Sequence[Fraction],
    *,
    offset: int = 2,
    worker_count: int = LARGEST_WORKER_COUNT,
) -> st.SearchStrategy[LinearCase]:
    """Cases of one to three workers with a step size below the largest.

    Args:
        largest_step: a, L and the weight to the step size that no case exceeds.
        weights: of the algorithm.
        offset: the workers' gradients differ from that of f by as much, or a little more for the last.
        worker_count: the largest n.
    """

    def of_count(count: int) -> st.SearchStrategy[LinearCase]:
        actions = st.tuples(st.lists(_SHARES, min_size=count, max_size=count), _NOISES)
        return st.tuples(
            st.integers(0, 7).map(lambda numerator: Fraction(numerator, 8)),
            st.integers(1, 15).map(lambda numerator: Fraction(numerator, 16)),
            st.sampled_from(SIZES),
            st.sampled_from(SIZES),
            st.sampled_from(weights),
            st.lists(st.integers(-offset, offset), min_size=count - 1, max_size=count - 1),
            st.lists(actions, min_size=1, max_size=LARGEST_STEP_COUNT),
        ).map(lambda drawn: _case(largest_step, *drawn))

    return st.integers(1, worker_count).flatmap(of_count)


def _case(
    largest_step: Callable[[Fraction, Fraction, Fraction], Fraction],
    root: Fraction,
    share: Fraction,
    smoothness: Fraction,
    start: Fraction,
    weight: Fraction,
    offsets: list[int],
    actions: Sequence[tuple[Sequence[Fraction], Fraction]],
) -> LinearCase:
    return LinearCase(
        root=root,
        step=share * largest_step(root, smoothness, weight),
        smoothness=smoothness,
        start=start,
        offsets=[*map(Fraction, offsets), -Fraction(sum(offsets))],
        actions=actions,
        weight=weight,
    )


def single_case(*, step: Fraction, smoothness: Fraction, weight: Fraction = Fraction(0)) -> LinearCase:
    """One worker that sends everything once, without noise: |f'(x_0)|² = 2L(f(x_0) − f*)."""
    return LinearCase(
        root=Fraction(0),
        step=step,
        smoothness=smoothness,
        start=smoothness,
        offsets=[Fraction(0)],
        actions=[([Fraction(0)], Fraction(0))],
        weight=weight,
    )


def _propagated(rows: Sequence[Row], moments: Matrix, noise: Fraction) -> Matrix:
    """A S Aᵀ and the noise."""
    size = len(moments)
    half = [[_product(row[:size], column) for column in zip(*moments, strict=True)] for row in rows]
    return [
        [_product(part, other[:size]) + noise * _product(row[size:], other[size:]) for other in rows]
        for part, row in zip(half, rows, strict=True)
    ]


def _product(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True) if a and b), Fraction(0))
