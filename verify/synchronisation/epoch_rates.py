"""What evidence is there for disagreement and rate of workers that mix in epochs, besides their derivations?

Runs in exact fractions, of pairs that agree by a given factor in each epoch and of paths whose links take turns; both
parts of the rate for all real values; and training runs whose expectations are known. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import isqrt

import numpy
import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import (
    L,
    T,
    dissimilarity,
    epoch_length,
    epoch_root,
    eta,
    gap,
    mean_spread,
    n,
    variance,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.synchronisation.mixing import VALUES, spread
from sparsync.verify.synchronisation.mixing_epochs import Epoch, after, stated_factor
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

STEADY_STEPS = 160
"""Of a pair whose gradients stay the same."""
EARLY_THEN_LATE = ((0, 1), 2, tuple(map(Fraction, (0, 2, 1, 0))))
"""Where a pair mixes in its two epochs, B, and gradients of which more is left than of any that meet whole epochs."""
PATH_WORKERS = 3
"""Workers on the paths whose links take turns."""
PATH_EPOCHS = 3
"""Epochs of each of their runs."""
ROOT_DIGITS = 10**12
"""Denominator of a root that is rounded up."""
STUCK_RUNS = ((0.004, Fraction(1, 2), 100_000), (0.002, Fraction(3, 4), 100_000))
"""(ηL, r, steps) of two workers whose gradients cancel."""
NOISY_RUNS = ((0.05, Fraction(0), 0.0, 40), (0.2, Fraction(1, 4), 1.0, 400), (0.02, Fraction(1, 2), 4.0, 4000))
"""(ηL, r, σ₀², steps) of two workers with quadratics and noise."""

SPEED_UP_RUNS = ((Fraction(0), 0.02, 100), (Fraction(1, 4), 1.0, 400), (Fraction(1, 2), 4.0, 4000))
"""(r, σ₀², steps) of two workers with quadratics, noise and the step of the speed-up; that of the first is 1/L."""


def root_above(square: Fraction) -> Fraction:
    """A rational number that is not below the root, by 10⁻¹² at most."""
    scaled = square * ROOT_DIGITS**2
    return Fraction(isqrt(scaled.numerator // scaled.denominator) + 1, ROOT_DIGITS)


def disagreement_margin(root: Fraction, length: int, steps: Sequence[tuple[Sequence[Fraction], Epoch]]) -> Fraction:
    """The bound times T minus the sum of the disagreements, for a step size of 1.

    Args:
        root: r of every epoch.
        length: B.
        steps: of each step the gradients, and the links that are used after it; see `after`.
    """
    parameters = [Fraction(0)] * len(steps[0][0])
    left, spreads = Fraction(0), Fraction(0)
    for gradients, links in steps:
        moved = [value - own for value, own in zip(parameters, gradients, strict=True)]
        parameters = after(len(moved), links, moved)
        left += spread(parameters)
        spreads += spread(gradients)
    return _stated(root, length, spreads) - left


def pair_margin(root: Fraction, places: Sequence[int], length: int, gradients: Sequence[Fraction]) -> Fraction:
    """The same for two workers with opposite gradients that agree by the factor r after one step of each epoch."""
    left = total = square = Fraction(0)
    kept = root * assumed_share("epoch_mean_disagreement", "factor", epoch_root)
    for number, own in enumerate(gradients):
        left -= own
        if number % length == places[number // length % len(places)] % length:
            left *= kept
        total += left**2
        square += own**2
    return _stated(root, length, square) - total


def _stated(root: Fraction, length: int, spreads: Fraction) -> Fraction:
    label = "epoch_mean_disagreement"
    assumed = spreads / assumed_share(label, "spread", mean_spread)
    return STATEMENTS[label].fraction(step_size=1, mean_spread=assumed, epoch_length=length, epoch_root=root)


def path_margins() -> list[Fraction]:
    """Paths whose links are used in all orders, and gradients of −1, 0 and 1 that repeat every other epoch."""
    links = list(pairwise(range(PATH_WORKERS)))
    margins = []
    for order in permutations(links):
        epoch = [[link] for link in order]
        root = root_above(stated_factor(PATH_WORKERS, epoch))
        for gradients in product((-1, 0, 1), repeat=PATH_WORKERS):
            taken = [[Fraction(value) for value in gradients], [Fraction(-value) for value in gradients[::-1]]]
            steps = [(taken[number // len(links) % 2], [used]) for number, used in enumerate(epoch * PATH_EPOCHS)]
            margins.append(disagreement_margin(root, len(links), steps))
    return margins


def steady_margins() -> list[Fraction]:
    """Pairs whose gradients stay the same: those that come near the bound; and one that mixes early, then late."""
    half = Fraction(1, 2)
    return [
        pair_margin(Fraction(0), *EARLY_THEN_LATE),
        pair_margin(half, [0], 1, [Fraction(1)] * STEADY_STEPS),
        pair_margin(1 - half**4, [1], 2, [Fraction(1)] * STEADY_STEPS * 10),
    ]


def runs_check(_profile: Profile) -> Outcome:
    """`rational`: no listed run has more disagreement than stated."""
    margins = [*steady_margins(), *path_margins()]
    return Outcome(earned=min(margins) >= 0, detail={"runs_count": len(margins), "smallest_margin": str(min(margins))})


def pair_cases() -> Members:
    """(r, where in each epoch the pair mixes, B, gradients), those that stay the same among them."""
    root = st.integers(0, 7).map(lambda eighths: Fraction(eighths, 8))
    places = st.lists(st.integers(0, 4), min_size=1, max_size=4)
    drawn = st.lists(VALUES, min_size=1, max_size=12)
    arbitrary = st.tuples(root, places, st.integers(1, 4), drawn)
    steady = st.integers(1, 3).map(lambda scale: (Fraction(1, 2), [0], 1, [Fraction(scale)] * STEADY_STEPS))
    return arbitrary | steady | root.map(lambda kept: (kept, *EARLY_THEN_LATE))


def rate_queries() -> tuple[Query, ...]:
    """For η = T = 1 and r = 0: the descent's sum and the disagreement's bound give the rate."""
    smoothness, start, noise, apart, share, left, energy, reach = sympy.symbols(
        "L gap noise zeta share left energy c", real=True
    )
    numbers = {eta: sympy.S.One, T: sympy.S.One, L: smoothness, n: 1 / share, epoch_root: sympy.S.Zero}
    numbers |= {gap: start, variance: noise, dissimilarity: apart, epoch_length: reach / 2 + 1}
    smooth, differs, noisy = _assumed("epoch_rate", smoothness, apart, noise)
    common = (1 - reach * smoothness) ** 2
    mixed = sympy.expand((1 - reach * smooth) ** 2 * left)
    right = sympy.expand(sympy.cancel(sympy.expand(STATEMENTS["epoch_rate"].bound.xreplace(numbers)) * common))
    premises = (
        *(symbol >= 0 for symbol in (start, noise, apart, left, reach)),
        *(smoothness > 0, smoothness <= 1, share > 0, share <= 1),
        sympy.Lt(reach * smoothness, 1),
        sympy.Le(energy, 2 * start + smooth * noisy * share + smooth**2 * left),
        sympy.Le(mixed, sympy.expand(reach**2 * (noisy + differs))),
    )
    return (_query("sum of descent and disagreement", premises, sympy.expand(energy * common), right),)


def _assumed(
    label: str, smoothness: sympy.Expr, apart: sympy.Expr, noise: sympy.Expr
) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """What is assumed of a run where these are stated."""
    named = (("smoothness", L, smoothness), ("dissimilarity", dissimilarity, apart), ("variance", variance, noise))
    smooth, differs, noisy = (
        value * sympy.Rational(assumed_share(label, name, symbol)) for name, symbol, value in named
    )
    return smooth, differs, noisy


def speed_up_queries() -> tuple[Query, ...]:
    """For L = σ₀ = 1, r = 0 and the step η, which makes the gap η²T/(2n): the rate is at most the speed-up."""
    # Roots are drawn for positive numbers; the solvers are told what is positive.
    step, apart, workers, reach, updates = sympy.symbols("eta zeta n c T", positive=True)
    energy, *named = sympy.symbols("energy eta zeta n c", real=True)
    real = dict(zip((step, apart, workers, reach), named, strict=True))
    numbers = {L: sympy.S.One, variance: sympy.S.One, epoch_root: sympy.S.Zero, epoch_length: reach / 2 + 1}
    numbers |= {gap: step**2 * updates / (2 * workers), dissimilarity: apart, n: workers, T: updates}
    stated = sympy.simplify(STATEMENTS["epoch_speed_up"].bound.xreplace(numbers))
    smooth, differs, noisy = _assumed("epoch_speed_up", sympy.S.One, apart, sympy.S.One)
    taken = sympy.simplify(STATEMENTS["epoch_speed_up"].given("step_size").xreplace(numbers))
    run = numbers | {eta: taken, L: smooth, dissimilarity: differs, variance: noisy}
    rate = sympy.simplify(STATEMENTS["epoch_rate"].bound.xreplace(run))
    # Both are polynomials times this.
    common = workers * (1 - smooth * reach * taken) ** 2
    left, right = (sympy.expand(sympy.cancel(side * common)).xreplace(real) for side in (rate, stated))
    scaled = sympy.expand(energy * common.xreplace(real))
    premises = (
        *(symbol > 0 for symbol in (energy, *named)),
        *(real[workers] >= 1, real[step] <= 1, sympy.Le(2 * real[reach] * real[step], 1)),
        sympy.Le(scaled, left),
    )
    return (_query("rate with the step of the speed-up", premises, scaled, right),)


def _query(claim: str, premises: tuple[sympy.Basic, ...], left: sympy.Expr, right: sympy.Expr) -> Query:
    return Query(
        claim=claim,
        premises=premises,
        conclusion=sympy.Le(left, right),
        false_twin=sympy.Le(left, sympy.expand(right * sympy.Rational(7, 8))),
    )


def stuck_share(step: float, root: Fraction, steps: int) -> float:
    """Mean of ‖∇f(x̄_t)‖² over the bound where ∇f_1 = p + 1 + x, ∇f_2 = p − 1 − x: the mean of both at x_1, x_2 is ≈ 0.

    So f falls with the slope p as far as a worker comes, and beyond with less and less, at the rate L = 1, to its end.
    """
    keep = float(root)
    # What is left of gradients of ±1.
    slope = step * keep / (1 - keep)
    first = second = farthest = largest = 0.0
    for _ in range(steps):
        largest = max(largest, abs(1 + (first + second) / 2))
        first, second = first - step * (slope + 1 + first), second - step * (slope - 1 - second)
        middle, half = (first + second) / 2, (first - second) / 2 * keep
        first, second = middle + half, middle - half
        farthest = max(farthest, abs(first), abs(second))
    bound = STATEMENTS["epoch_rate"].evaluate(
        n=2,
        T=steps,
        step_size=step,
        smoothness=1,
        variance=0,
        dissimilarity=largest**2,
        gap=slope * farthest + slope**2 / 2,
        epoch_length=1,
        epoch_root=root / assumed_share("epoch_rate", "factor", epoch_root),
    )
    return slope**2 / bound


def mean_energy(step: float, root: Fraction, noise: float, steps: int) -> float:
    """Mean of E‖∇f(x̄_t)‖²: quadratics of curvature 1 and minimisers ±1, from 1, by mean and covariance."""
    keep = (1 + float(root)) / 2
    mixing = numpy.array([[keep, 1 - keep], [1 - keep, keep]])
    minimisers = numpy.array([1.0, -1.0])
    means, covariance = numpy.ones(2), numpy.zeros((2, 2))
    total = 0.0
    for _ in range(steps):
        total += float(means.mean() ** 2 + covariance.mean())
        means = mixing @ (means - step * (means - minimisers))
        covariance = mixing @ ((1 - step) ** 2 * covariance + step**2 * noise * numpy.eye(2)) @ mixing.T
    return total / steps


def noisy_share(step: float, root: Fraction, noise: float, steps: int) -> float:
    """The mean energy over the bound of `epoch_rate`."""
    bound = STATEMENTS["epoch_rate"].evaluate(**_pair(root, noise, steps), step_size=step)
    return mean_energy(step, root, noise, steps) / bound


def speed_up_share(root: Fraction, noise: float, steps: int) -> float:
    """The mean energy with the step of `epoch_speed_up` over its bound."""
    statement, numbers = STATEMENTS["epoch_speed_up"], _pair(root, noise, steps)
    chosen = statement.given("step_size")
    step = chosen.subs({symbol: sympy.Rational(str(numbers[symbol.name])) for symbol in chosen.free_symbols})
    return mean_energy(float(step), root, noise, steps) / statement.evaluate(**numbers)


def _pair(root: Fraction, noise: float, steps: int) -> dict[str, Fraction | float | int]:
    # f = x²/2 but for a constant.
    return {
        "n": 2, "T": steps, "smoothness": 1, "variance": noise, "dissimilarity": 1, "gap": 0.5, "epoch_length": 1,
        "epoch_root": root,
    }  # fmt: skip


def training_check(_profile: Profile) -> Outcome:
    """`numeric`: no run is above the bound; those whose gradients cancel come near it."""
    shares = [*(noisy_share(*run) for run in NOISY_RUNS), *(stuck_share(*run) for run in STUCK_RUNS)]
    return Outcome(earned=max(shares) <= 1, detail={"shares_of_the_bound": shares})


def speed_up_check(_profile: Profile) -> Outcome:
    """`numeric`: no run is above the bound; that whose step is 1/L, and which mixes at once, comes near it."""
    shares = [speed_up_share(*run) for run in SPEED_UP_RUNS]
    return Outcome(earned=max(shares) <= 1, detail={"shares_of_the_bound": shares})


_NUMBERS: dict[str, Fraction | int] = {
    "T": 1,
    "dissimilarity": 0,
    "epoch_length": 1,
    "gap": Fraction(1, 2),
    "n": 1,
    "smoothness": 1,
    "variance": 0,
}
_WITHOUT_MIXING = Unneeded(
    "epoch_root < 1", "r ≥ 1 is true of all W: then c is infinite or negative, and bounds nothing"
)
SLACK = {
    "epoch_speed_up": {
        "factor": "r is in c alone, as in epoch_rate, whose run notices it; 4(cηL)² has 1 to 4 times that term"
    }
}
"""Assumed numbers that may be a little other, and why."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "epoch_mean_disagreement": (
        Edge("epoch_root < 1", {"epoch_length": 3, "epoch_root": 1, "mean_spread": 1, "step_size": 1}),
    ),
    "epoch_rate": (
        _WITHOUT_MIXING,
        # One worker on f = x²/2 from 1: its first gradient is 1.
        Edge("smoothness*step_size <= 1", {**_NUMBERS, "step_size": Fraction(17, 16), "epoch_root": 0}, left=lambda: 1),
        Edge(
            "smoothness*step_size*(epoch_length + epoch_length/(1 - epoch_root) - 2) < 1",
            {**_NUMBERS, "step_size": 1, "epoch_root": Fraction(1, 2), "variance": 1},
        ),
    ),
    "epoch_speed_up": (
        _WITHOUT_MIXING,
        Edge("0 < variance", {**_NUMBERS, "gap": 0, "epoch_root": 0}),
        Unneeded("0 < variance", "a share of itself more leaves a variance of 0 where it is, beyond", widened=True),
        # The same worker, whose noise may be 0: then the step is √8.
        Edge(
            "T*variance >= 2*gap*n*smoothness",
            {**_NUMBERS, "variance": Fraction(1, 8), "epoch_root": 0},
            left=lambda: 1,
        ),
        Unneeded(
            "T*variance >= 2*gap*n*smoothness",
            "false where the step is 2/L or longer; the bound has twice what one worker needs for shorter ones",
            widened=True,
        ),
        Unneeded(
            "T*variance >= 8*gap*n*smoothness*(epoch_length + epoch_length/(1 - epoch_root) - 2)**2",
            "a shorter run has the longer formula of epoch_rate, and from cηL = 1 on no run is known that breaks this",
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "epoch_mean_disagreement": {"rational": runs_check, "property": property_check(pair_cases, pair_margin)},
    "epoch_rate": {"smt": smt_check(rate_queries), "numeric": training_check},
    "epoch_speed_up": {"smt": smt_check(speed_up_queries), "numeric": speed_up_check},
}
"""Every check of these statements, by label and grade."""
