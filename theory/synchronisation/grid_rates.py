"""How fast does training converge whose workers average in rows and columns of a grid? The golden ratio enters.

Divide-and-shuffle synchronisation (Wang, Zhang, Yang et al. 2022, as we understand it) averages parameters in small
groups that change. On a grid the row part of a gradient is averaged away at once, or one round later, and so is its
column part: the largest factor from gradients to disagreement, over all steps, is the golden ratio φ. Ours.
"""

from collections import Counter

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.feedback.residual import jensen_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    dissimilarity,
    eta,
    gap,
    mean_disagreement,
    mean_gradient_energy,
    mean_spread,
    n,
    variance,
)
from sparsync.theory.synchronisation.mixing import GRID

ALTERNATING = (
    GRID,
    r"$x_{t+1}=W_t x_t-\eta g_t$, $W_t$ averages in rows for even $t$, in columns for odd $t$; all start alike",
)
SPREAD = Given(
    "spread",
    r"\frac{1}{nT}\sum_t\sum_i\mathbb{E}\,\lVert g_i-\bar{g}\rVert^{2}",
    "≤",
    mean_spread,
    words="{} over $T$ steps",
)
TRAINING = (
    Given(
        "smoothness",
        r"\lVert\nabla f_i(x)-\nabla f_i(y)\rVert/\lVert x-y\rVert",
        "≤",
        L,
        words=r"$f=\frac{1}{n}\sum_i f_i\geq f^{*}$, {} for all $x\neq y$",
    ),
    Given(
        "dissimilarity",
        r"\frac{1}{n}\sum_i\lVert\nabla f_i-\nabla f\rVert^{2}",
        "≤",
        dissimilarity,
        words=r"{} at every $\bar{x}_t$",
    ),
    Given(
        "variance",
        r"\mathbb{E}\,\lVert g_i-\nabla f_i(x_i)\rVert^2",
        "≤",
        variance,
        words="$g_i$ is $\\nabla f_i(x_i)$ and noise of mean $0$, independent of all else, {}",
    ),
)
GOLDEN = (1 + sympy.sqrt(5)) / 2
"""φ."""
FOLLOWED_STEPS = 6
"""Steps whose gradients are followed part by part."""

Combination = dict[str, int]
"""Of I, the averages W in rows and V in columns, and J over all: their factors."""

_PHI = sympy.Symbol("phi", positive=True)
_EARLIER, _LATER = sympy.symbols("r s", real=True)
"""Column parts of the gradients of an even step and of the odd step after it."""


def grid_mean_disagreement() -> Statement:
    """The mean disagreement over the steps is at most φ²η² times the mean spread of the gradients, φ = (1 + √5)/2.

    `grid_disagreement`, with 4 for φ² ≈ 2.62, is attained in every other step only. Column parts whose ratio in even
    and odd steps is φ attain it, for every even number of steps on two columns or more.

    Source: ours.
    """
    bound = GOLDEN**2 * eta**2 * mean_spread
    return Statement(
        label="grid_mean_disagreement",
        title="Mean disagreement of workers that mix on a grid",
        assumptions=(
            *ALTERNATING,
            SPREAD,
        ),
        relation=sympy.Le(mean_disagreement, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "W − J, V − J and I − W − V + J are orthogonal, for WW = W = Wᵀ, VV = V = Vᵀ and WV = VW = J as in "
                "`grid_mixing`",
                _parts_are_orthogonal,
            ),
            Step("averaging by W keeps the first of these parts and the mean, averaging by V the second", _keep),
            Step(
                "so of two second parts r and s, of an even step and the next, first r and then r + s are left, and "
                "neither later; of first parts the same one step later; of the rest each once",
                _followed,
                argued=f"beyond {FOLLOWED_STEPS} steps",
            ),
            Step("φ²(r² + s²) − r² − (r + s)² = (r − φs)²/φ where φ² = φ + 1", _block_is_a_square),
            Step("(1 + √5)/2 is one such number, and φ² ≥ 1 for what is left once", _golden_ratio),
            Step(
                "r = φs attains it: (r² + (r + s)²)/(r² + s²) is the factor", lambda: _attained(bound), concludes=bound
            ),
        ),
    )


def ds_sync_rate() -> Statement:
    """(1/T) Σ E‖∇f(x̄_t)‖² ≤ 2(f(x_0) − f*)/(ηT) + ηLσ₀²/n + (φηL/(1 − φηL))²(σ₀² + ζ²), φ = (1 + √5)/2.

    The first two terms are those of one worker with all data: the price of small groups is of second order in η, and
    does not grow with their number. η ∝ √(n/T) gives 1/√(nT) for long training.

    Source: ours; groups that change: Wang, Zhang, Yang et al. 2022, whose rate we have not read.
    """
    bound = 2 * gap / (eta * T) + eta * L * variance / n + _mixing_term()
    return Statement(
        label="ds_sync_rate",
        title="Rate of workers that average on a grid",
        assumptions=(*ALTERNATING, *TRAINING),
        relation=sympy.Le(mean_gradient_energy, bound, evaluate=False),
        domain=(sympy.Lt(GOLDEN * eta * L, 1),),
        source="ours; groups that change: Wang et al. 2022",
        derivation=(
            Step("−ηab + Lη²b²/2 = −ηa²/2 + η(a − b)²/2 − η(1 − ηL)b²/2 in each coordinate", descent_of_mean),
            Step("φ > 1: ηL < 1/φ is below 1, so that the last term is ≤ 0", _step_is_short),
            jensen_step("1/n for every worker"),
            Step(
                "with a = ∇f(x̄), b the mean of the ∇f_i(x_i): ηa²/2 ≤ f_t − f_{t+1} + ηL²X²/2 + Lη²σ₀²/(2n), summed",
                lambda: summed_descent() - (2 * gap / (eta * T) + eta * L * variance / n + LEFT**2 * L**2),
            ),
            Step("the spread is (LX + ζ)² + σ₀² at most, and this (LX + √(ζ² + σ₀²))²", noisy_spread),
            Step(
                "X ≤ φη(LX + √(ζ² + σ₀²)) by `grid_mean_disagreement`: X is at most its fixed point",
                _fixed_point_is_largest,
            ),
            Step(
                "X at its largest gives the bound",
                lambda: summed_descent().subs(LEFT, _level()) - bound,
                concludes=bound,
            ),
        ),
    )


LEFT = sympy.Symbol("X", nonnegative=True)
"""Root of the mean disagreement."""


def _mixing_term() -> sympy.Expr:
    reach = GOLDEN * eta * L
    return (reach / (1 - reach)) ** 2 * (variance + dissimilarity)


def _projections() -> tuple[Combination, ...]:
    """On the part of W, of V, the rest of what differs from the mean, and the mean."""
    return {"W": 1, "J": -1}, {"V": 1, "J": -1}, {"I": 1, "W": -1, "V": -1, "J": 1}, {"J": 1}


def _product(first: Combination, second: Combination) -> Combination:
    """By WW = W, VV = V, and J for all other products of two that are not I."""
    total: Counter[str] = Counter()
    for left, factor in first.items():
        for right, other in second.items():
            letter = right if left == "I" else left if right in ("I", left) else "J"
            total[letter] += factor * other
    return {letter: factor for letter, factor in total.items() if factor}


def _parts_are_orthogonal() -> sympy.Basic:
    parts = _projections()
    products = [
        _product(first, second) == (first if place == other else {})
        for place, first in enumerate(parts)
        for other, second in enumerate(parts)
    ]
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return decided(all(products) and {letter: factor for letter, factor in total.items() if factor} == {"I": 1})


def _keep() -> sympy.Basic:
    first, second, rest, mean = _projections()
    kept = [[_product({letter: 1}, part) for part in (first, second, rest, mean)] for letter in ("W", "V")]
    return decided(kept == [[first, {}, {}, mean], [{}, second, {}, mean]])


def _followed() -> sympy.Basic:
    """Parts of what differs from the mean, for a step size of −1, step by step from nothing."""
    taken = {part: sympy.symbols(f"{part}_:{FOLLOWED_STEPS}") for part in ("row", "column", "rest")}
    kept_in = {"row": 0, "column": 1}
    agree = []
    for part, gradients in taken.items():
        left = sympy.Integer(0)
        for step, own in enumerate(gradients):
            is_kept = part in kept_in and step % 2 == kept_in[part]
            left = (left if is_kept else sympy.Integer(0)) + own
            before = gradients[step - 1] if is_kept and step else sympy.Integer(0)
            agree.append(left == before + own)
    return decided(all(agree))


def _block_is_a_square() -> sympy.Expr:
    block = _EARLIER**2 + (_EARLIER + _LATER) ** 2
    room = _PHI * (_PHI**2 * (_EARLIER**2 + _LATER**2) - block) - (_EARLIER - _PHI * _LATER) ** 2
    return sympy.rem(sympy.expand(room), _PHI**2 - _PHI - 1, _PHI)


def _golden_ratio() -> sympy.Basic:
    return decided(sympy.expand(GOLDEN**2 - GOLDEN - 1) == 0 and (sympy.expand(GOLDEN**2) - 1).is_positive)


def _attained(bound: sympy.Expr) -> sympy.Expr:
    largest = (_EARLIER**2 + (_EARLIER + _LATER) ** 2) / (_EARLIER**2 + _LATER**2)
    return sympy.simplify(largest.subs(_EARLIER, GOLDEN * _LATER) * eta**2 * mean_spread - bound)


def descent_of_mean() -> sympy.Expr:
    """What one step of x̄ gains, split into squares; the difference of both sides."""
    slope, mean = sympy.symbols("a b", real=True)
    split = -eta * slope**2 / 2 + eta * (slope - mean) ** 2 / 2 - eta * (1 - eta * L) * mean**2 / 2
    return sympy.expand(-eta * slope * mean + L * eta**2 * mean**2 / 2 - split)


def _step_is_short() -> sympy.Basic:
    return decided((GOLDEN - 1).is_positive)


def summed_descent() -> sympy.Expr:
    """2/(ηT) times the sum of f_t − f_{t+1} + ηL²X²/2 + Lη²σ₀²/(2n)."""
    return sympy.expand(2 / (eta * T) * (gap + T * (eta * L**2 * LEFT**2 / 2 + L * eta**2 * variance / (2 * n))))


def noisy_spread() -> sympy.Basic:
    """That (LX + ζ)² + σ₀² ≤ (LX + √(ζ² + σ₀²))²."""
    # With q² = ζ² + σ₀² and q = ζ + more.
    least, more = sympy.symbols("zeta more", nonnegative=True)
    root = least + more
    noise = root**2 - least**2
    room = (L * LEFT + root) ** 2 - ((L * LEFT + least) ** 2 + noise)
    return decided(sympy.expand(room).is_nonnegative)


def _level() -> sympy.Expr:
    return GOLDEN * eta * sympy.sqrt(variance + dissimilarity) / (1 - GOLDEN * eta * L)


def _fixed_point_is_largest() -> sympy.Expr:
    # X − φη(LX + q) = (1 − φηL)(X − level): it is ≤ 0 iff X ≤ level.
    excess = LEFT - GOLDEN * eta * (L * LEFT + sympy.sqrt(variance + dissimilarity))
    return sympy.simplify(excess - (1 - GOLDEN * eta * L) * (LEFT - _level()))


STATEMENTS = by_label(__name__, grid_mean_disagreement, ds_sync_rate)
"""The statements of this file."""
