"""What evidence is there for disagreement and rate on a grid over many steps, besides their derivations?

Runs in exact fractions, those that come near the bound among them; both parts of the rate for all real values; and
training runs whose expectations are known: quadratics with noise, and workers whose gradients cancel. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy
import sympy
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.theory.language.symbols import L, T, dissimilarity, eta, gap, mean_spread, n, variance
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.synchronisation.mixing import VALUES, Grid, averaged, groups, spread
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

DIGITS = 40
"""In which an irrational factor is taken, and lowered by a unit of the last but one."""
FIBONACCI = (Fraction(1597), Fraction(987))
"""Their ratio is the golden ratio but for 5·10⁻⁷."""
NOISY_RUNS = ((0.05, 0.0, 0.0, 40), (0.2, 1.0, 0.5, 400), (0.02, 0.1, 3.0, 4000))
"""(ηL, σ₀², spread of the minimisers, steps) of the quadratics on four workers."""
STUCK_RUN = (0.004, 100_000)
"""(ηL, steps) of the two workers whose gradients cancel."""


def golden_queries() -> tuple[Query, ...]:
    """All gradients of two steps that meet, where w² = 5."""
    earlier, later, root = sympy.symbols("r s w", real=True)
    stated = STATEMENTS["grid_mean_disagreement"].bound.xreplace({eta: sympy.S.One, mean_spread: sympy.S.One})
    factor = sympy.expand(stated).xreplace({sympy.sqrt(5): root})
    left = sympy.expand(earlier**2 + (earlier + later) ** 2)
    right = sympy.expand(factor * (earlier**2 + later**2))
    return (
        Query(
            claim="what is left of two parts",
            premises=(root > 0, sympy.Eq(root**2, 5)),
            conclusion=sympy.Le(left, right),
            false_twin=sympy.Le(left, sympy.expand(right * sympy.Rational(7, 8))),
        ),
    )


def lowered_factor() -> Fraction:
    """A rational number just below the stated factor of the mean spread, for a step size of 1."""
    stated = STATEMENTS["grid_mean_disagreement"].exact(step_size=1, mean_spread=1)
    return Fraction(str(sympy.N(stated, DIGITS))) - Fraction(10) ** (2 - DIGITS)


def mean_disagreement_cases() -> Members:
    """(grid, gradients of each step), column parts in the golden ratio among them."""

    def on_grid(grid: Grid) -> Members:
        rows, columns = grid
        workers = rows * columns
        own = st.lists(VALUES, min_size=workers, max_size=workers)
        column = [Fraction(1 if worker % columns else 1 - columns) for worker in range(workers)]
        pair = [[scale * value for value in column] for scale in FIBONACCI]
        return st.tuples(st.just(grid), st.lists(own, min_size=1, max_size=6) | st.sampled_from([pair, pair * 2]))

    return st.tuples(st.integers(1, 3), st.integers(2, 3)).flatmap(on_grid)


def mean_disagreement_margin(grid: Grid, gradients: Sequence[Sequence[Fraction]]) -> Fraction:
    """Just less than the bound times T, minus the sum of the disagreements after the steps."""
    parameters = [Fraction(0)] * (grid[0] * grid[1])
    left, spreads = Fraction(0), Fraction(0)
    for number, taken in enumerate(gradients):
        mixed = averaged(parameters, grid, by_rows=number % 2 == 0)
        parameters = [value - own for value, own in zip(mixed, taken, strict=True)]
        left += spread(parameters)
        spreads += spread(taken)
    spreads /= assumed_share("grid_mean_disagreement", "spread", mean_spread)
    return lowered_factor() * spreads - left if spreads else -left


def rate_queries() -> tuple[Query, ...]:
    """For η = T = 1: the descent's sum and the disagreement's bound give the rate, where w² = 5."""
    smoothness, start, noise, spread_of_gradients, share, left, energy, root = sympy.symbols(
        "L gap noise zeta share left energy w", real=True
    )
    numbers = {eta: sympy.S.One, T: sympy.S.One, L: smoothness, n: 1 / share}
    numbers |= {gap: start, variance: noise, dissimilarity: spread_of_gradients}
    stated = STATEMENTS["ds_sync_rate"].bound.xreplace(numbers).xreplace({sympy.sqrt(5): root})
    golden = (1 + root) / 2
    # The bound is a polynomial times this.
    common = (1 - golden * smoothness) ** 2
    right = sympy.expand(sympy.cancel(stated * common))
    smooth, apart, noisy = (
        factor * sympy.Rational(assumed_share("ds_sync_rate", name, symbol))
        for factor, name, symbol in (
            (smoothness, "smoothness", L),
            (spread_of_gradients, "dissimilarity", dissimilarity),
            (noise, "variance", variance),
        )
    )
    mixed = sympy.expand((1 - golden * smooth) ** 2 * left)
    premises = (
        *(symbol >= 0 for symbol in (start, noise, spread_of_gradients, left)),
        *(smoothness > 0, share > 0, share <= 1, root > 0),
        sympy.Eq(root**2, 5),
        sympy.Lt(sympy.expand(golden * smoothness), 1),
        sympy.Le(energy, 2 * start + smooth * noisy * share + smooth**2 * left),
        sympy.Le(mixed, sympy.expand(golden**2 * (noisy + apart))),
    )
    return (
        Query(
            claim="sum of descent and disagreement",
            premises=premises,
            conclusion=sympy.Le(sympy.expand(energy * common), right),
            false_twin=sympy.Le(sympy.expand(energy * common), sympy.expand(right * sympy.Rational(7, 8))),
        ),
    )


def _round_matrix(grid: Grid, *, by_rows: bool) -> NDArray[numpy.float64]:
    workers = grid[0] * grid[1]
    matrix = numpy.zeros((workers, workers))
    for group in groups(grid, by_rows=by_rows):
        matrix[numpy.ix_(group, group)] = 1 / len(group)
    return matrix


def noisy_share(step: float, noise: float, distance: float, steps: int) -> float:
    """Mean of E‖∇f(x̄_t)‖² over the bound: quadratics of curvature 1 on 2 by 2 workers, by mean and covariance."""
    minimisers = distance * numpy.array([1.0, -2.0, 3.0, -2.0])
    means, covariance = numpy.ones(4), numpy.zeros((4, 4))
    total = 0.0
    for number in range(steps):
        total += float(means.mean() ** 2 + covariance.mean())
        forward = _round_matrix((2, 2), by_rows=number % 2 == 0) - step * numpy.eye(4)
        means = forward @ means + step * minimisers
        covariance = forward @ covariance @ forward.T + step**2 * noise * numpy.eye(4)
    # f = x²/2 but for a constant: the minimisers are 0 in the mean.
    bound = STATEMENTS["ds_sync_rate"].evaluate(
        n=4,
        T=steps,
        step_size=step,
        smoothness=1,
        variance=noise,
        dissimilarity=float((minimisers**2).mean()),
        gap=0.5,
    )
    return total / steps / bound


def stuck_share(step: float, steps: int) -> float:
    """Mean of ‖∇f(x̄_t)‖² over the bound where ∇f_1 = p + 1 + x, ∇f_2 = p − 1 − x: the mean of both at x_1, x_2 is ≈ 0.

    So f falls with the slope p as far as a worker comes, and beyond with less and less, at the rate L = 1, to its end.
    """
    slope = 1.5 * step
    first = second = farthest = largest = 0.0
    for number in range(steps):
        largest = max(largest, abs(1 + (first + second) / 2))
        taken = slope + 1 + first, slope - 1 - second
        if number % 2 == 0:
            first = second = (first + second) / 2
        first, second = first - step * taken[0], second - step * taken[1]
        farthest = max(farthest, abs(first), abs(second))
    bound = STATEMENTS["ds_sync_rate"].evaluate(
        n=2,
        T=steps,
        step_size=step,
        smoothness=1,
        variance=0,
        dissimilarity=largest**2,
        gap=slope * farthest + slope**2 / 2,
    )
    return slope**2 / bound


def runs_check(_profile: Profile) -> Outcome:
    """`numeric`: no run is above the bound; that whose gradients cancel comes near it."""
    shares = [*(noisy_share(*run) for run in NOISY_RUNS), stuck_share(*STUCK_RUN)]
    return Outcome(earned=max(shares) <= 1, detail={"shares_of_the_bound": shares})


_LONG_STEP: dict[str, Fraction | int] = {
    "T": 1,
    "dissimilarity": 0,
    "gap": Fraction(1, 2),
    "n": 1,
    "smoothness": 1,
    "step_size": Fraction(17, 16),
    "variance": 0,
}

EDGES: dict[str, tuple[Remark, ...]] = {
    "ds_sync_rate": (
        # One worker on f = x²/2 from 1: its first gradient is 1.
        Edge("smoothness*step_size*(1/2 + sqrt(5)/2) < 1", _LONG_STEP, left=lambda: 1),
        Unneeded(
            "smoothness*step_size*(1/2 + sqrt(5)/2) < 1",
            "false from ηL = 1 on; between 1/φ and 1 the bound is large, and whether it is false is not known",
            widened=True,
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "grid_mean_disagreement": {
        "smt": smt_check(golden_queries),
        "property": property_check(mean_disagreement_cases, mean_disagreement_margin),
    },
    "ds_sync_rate": {"smt": smt_check(rate_queries), "numeric": runs_check},
}
"""Every check of these statements, by label and grade."""
