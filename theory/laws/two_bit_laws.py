"""How much do two levels lose of the values that Top-k selects from a known law? Exact for long blocks.

The selected magnitudes follow the law above its level z at density κ. The levels are their means below and above their
mean, and the threshold is halfway: one step of Lloyd's iteration from the mean, as in the code "int2". The worst block
is in `two_bit_values`. For the whole, 1 − δ(κ)(1 − q) of the energy is left, as `quantised_selection` says. Ours.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import sympy

from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import kappa, lost_share

LONG_BLOCK = (
    r"the magnitudes $|v_i|$ are independent and follow the law of $|u|$ above its level $z$, $\Pr(|u|>z)=\kappa$; "
    r"their number grows without bound"
)
TWO_LEVELS = r"$Q$ has the levels and the threshold of the code int2, not rounded"
DOMAIN = (sympy.Le(kappa, 1),)
PLACE = sympy.Symbol("x", positive=True)
"""A magnitude."""
_LOG = sympy.Symbol("l", nonnegative=True)
"""ln(1/κ)."""


class GaussianLoss(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """The bound of `two_bit_gaussian` as one symbol; a number by `gaussian_loss` at the level."""

    nargs = 1

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        (density,) = self.args
        if not density.is_number:
            return None
        # Differences of moments lose digits where little is selected: the error is the small rest of three terms.
        bits = 2 * prec
        with mpmath.workprec(bits):
            level = NormalQuantile(density)._to_mpmath(bits) if density != 1 else mpmath.mpf(0)
            return sympy.Expr._from_mpmath(_compiled_loss()(level), prec)

    def _latex(self, _printer: Any, exp: str | None = None) -> str:
        cells = r"\int_z^t(x-l)^2\varphi(x)\,dx+\int_t^\infty(x-h)^2\varphi(x)\,dx"
        fraction = rf"\frac{{{cells}}}{{\int_z^\infty x^2\varphi(x)\,dx}}"
        return rf"\left({fraction}\right)^{{{exp}}}" if exp else fraction


def two_bit_uniform() -> Statement:
    """q = κ²/(16(3 − 3κ + κ²)) for the uniform law: 1/16 without selection, little where the selected are alike.

    Source: ours.
    """
    bound = kappa**2 / (16 * (3 - 3 * kappa + kappa**2))
    return _statement(
        "two_bit_uniform",
        "Two levels, uniform",
        r"$u$ is uniform on $[-a,a]$",
        bound,
        (
            Step("the means are (1 − κ) + κ/4 and (1 − κ) + 3κ/4, halfway is their mean", _uniform_levels),
            Step("the error κ²/48 over the mean square 1 − κ + κ²/3", lambda: _uniform_loss() - bound, concludes=bound),
        ),
    )


def two_bit_laplace() -> Statement:
    """q = D/(ℓ² + 2ℓ + 2) with ℓ = ln(1/κ), for exponential magnitudes; D = 0.3943 is the error at mean 1.

    The levels above ℓ are 2 and (e − 2)/(e − 1), the threshold is halfway.

    Source: ours.
    """
    log = -sympy.log(kappa)
    bound = exponential_error() / (log**2 + 2 * log + 2)
    return _statement(
        "two_bit_laplace",
        "Two levels, Laplace",
        r"$|u|$ is exponential",
        bound,
        (
            Step("what is selected is ℓ plus an exponential variable: levels and threshold move by ℓ", _moves_along),
            Step("above and below the mean 1 the means are 2 and (e − 2)/(e − 1)", _exponential_levels),
            Step("E (ℓ + x)² = ℓ² + 2ℓ + 2", _shifted_square),
            Step(
                "D = ∫ (x − level)² e^(−x) dx over both cells",
                lambda: sympy.simplify(_integrated_error() - exponential_error()),
                concludes=bound,
            ),
        ),
    )


def two_bit_gaussian() -> Statement:
    """q = (∫_z^t (x − l)² φ(x) dx + ∫_t^∞ (x − h)² φ(x) dx)/∫_z^∞ x² φ(x) dx for N(0, σ²), in closed form by erfc.

    l and h are the means below and above the mean φ(z)/Φ(−z), t = (l + h)/2.

    Source: ours.
    """
    bound = GaussianLoss(kappa)
    return _statement(
        "two_bit_gaussian",
        "Two levels, Gaussian",
        r"$u\sim\mathcal{N}(0,\sigma^2)$; $l$ and $h$ are the means of $\mathcal{N}(0,1)$ between $z$ and the mean "
        r"above $z$, and above that mean; $t=(l+h)/2$",
        bound,
        (
            Step("Φ(−x) has the slope −φ(x), φ(x) the slope −xφ(x), Φ(−x) + xφ(x) the slope −x²φ(x)", _normal_slopes),
            Step("all three vanish at ∞", _normal_ends),
            Step(
                "the error of a cell is its second moment − 2·level·first moment + level² mass",
                _cell_error,
                concludes=bound,
                argued="the levels and cells are those of the code",
            ),
        ),
    )


@cache
def _compiled_loss() -> Callable[[mpmath.mpf], mpmath.mpf]:
    """`gaussian_loss` in mpmath."""
    level = sympy.Symbol("z", nonnegative=True)
    compiled: Callable[[mpmath.mpf], mpmath.mpf] = sympy.lambdify(level, gaussian_loss(level), "mpmath", cse=True)
    return compiled


def exponential_error() -> sympy.Expr:
    """D = ∫_0^t (x − l)² e^(−x) + ∫_t^∞ (x − 2)² e^(−x), l = (e − 2)/(e − 1), t = (l + 2)/2."""
    low, high = _exponential_pair()
    cut = (low + high) / 2
    # −((x − c)² + 2(x − c) + 2)e^(−x) has the derivative (x − c)² e^(−x).
    inner = low**2 - 2 * low + 2
    first, second = ((cut - level) ** 2 + 2 * (cut - level) + 2 for level in (low, high))
    return inner + (second - first) * sympy.exp(-cut)


def gaussian_loss(level: sympy.Expr) -> sympy.Expr:
    """The error over the second moment, both of N(0, 1) above the level."""
    mass, first, second = _upper_moments(level)
    mean = first / mass
    upper_mass, upper_first, _ = _upper_moments(mean)
    high, low = upper_first / upper_mass, (first - upper_first) / (mass - upper_mass)
    cut_mass, cut_first, cut_second = _upper_moments((low + high) / 2)
    below = (second - cut_second) - 2 * low * (first - cut_first) + low**2 * (mass - cut_mass)
    above = cut_second - 2 * high * cut_first + high**2 * cut_mass
    return (below + above) / second


def _statement(label: str, title: str, law: str, bound: sympy.Expr, steps: tuple[Step, ...]) -> Statement:
    return Statement(
        label=label,
        title=title,
        assumptions=(LONG_BLOCK, law, TWO_LEVELS),
        relation=sympy.Eq(lost_share, bound),
        domain=DOMAIN,
        source="ours",
        derivation=(
            Step("means of more and more values tend to those of the law", None, argued="the law of large numbers"),
            *steps,
        ),
    )


def _uniform_mean(first: sympy.Expr, last: sympy.Expr, power: int) -> sympy.Expr:
    """E of x^power over [first, last]."""
    return sympy.integrate(PLACE**power, (PLACE, first, last)) / (last - first)


def _uniform_levels() -> sympy.Basic:
    mean = _uniform_mean(1 - kappa, sympy.S.One, 1)
    low, high = _uniform_mean(1 - kappa, mean, 1), _uniform_mean(mean, sympy.S.One, 1)
    return sympy.And(
        sympy.Eq(sympy.simplify(low - (1 - kappa + kappa / 4)), 0),
        sympy.Eq(sympy.simplify(high - (1 - kappa + 3 * kappa / 4)), 0),
        sympy.Eq(sympy.simplify((low + high) / 2 - mean), 0),
    )


def _uniform_loss() -> sympy.Expr:
    middle = 1 - kappa / 2
    cells = ((1 - kappa, middle, 1 - kappa + kappa / 4), (middle, sympy.S.One, 1 - kappa + 3 * kappa / 4))
    error = sum(sympy.integrate((PLACE - level) ** 2, (PLACE, first, last)) for first, last, level in cells)
    return sympy.cancel(error / sympy.integrate(PLACE**2, (PLACE, 1 - kappa, 1)))


def _exponential_pair() -> tuple[sympy.Expr, sympy.Expr]:
    return (sympy.E - 2) / (sympy.E - 1), sympy.Integer(2)


def _integrated(power: int, first: sympy.Expr, last: sympy.Expr) -> sympy.Expr:
    return sympy.integrate(PLACE**power * sympy.exp(-PLACE), (PLACE, first, last))


def _exponential_levels() -> sympy.Basic:
    low, high = _exponential_pair()
    ends = ((0, 1, low), (1, sympy.oo, high))
    whole = sympy.Eq(_integrated(1, sympy.S.Zero, sympy.oo), 1)
    return sympy.And(
        whole,
        *(
            sympy.Eq(sympy.simplify(_integrated(1, first, last) / _integrated(0, first, last) - level), 0)
            for first, last, level in ends
        ),
    )


def _moves_along() -> sympy.Basic:
    """P(x > ℓ + y) = P(x > ℓ)P(x > y), and (x + ℓ) − (level + ℓ) = x − level."""
    more, level = sympy.symbols("y c", positive=True)
    memoryless = sympy.exp(-(_LOG + more)) - sympy.exp(-_LOG) * sympy.exp(-more)
    return sympy.And(sympy.Eq(sympy.simplify(memoryless), 0), sympy.Eq((PLACE + _LOG) - (level + _LOG), PLACE - level))


def _shifted_square() -> sympy.Expr:
    moments = [_integrated(power, sympy.S.Zero, sympy.oo) for power in (0, 1, 2)]
    return sympy.expand(_LOG**2 * moments[0] + 2 * _LOG * moments[1] + moments[2] - (_LOG**2 + 2 * _LOG + 2))


def _integrated_error() -> sympy.Expr:
    low, high = _exponential_pair()
    cut = (low + high) / 2
    cells = ((sympy.S.Zero, cut, low), (cut, sympy.oo, high))
    return sum(
        _integrated(2, first, last) - 2 * level * _integrated(1, first, last) + level**2 * _integrated(0, first, last)
        for first, last, level in cells
    )


def _upper_moments(level: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """∫ φ, ∫ xφ and ∫ x²φ above the level."""
    mass = sympy.erfc(level / sympy.sqrt(2)) / 2
    density = sympy.exp(-(level**2) / 2) / sympy.sqrt(2 * sympy.pi)
    return mass, density, mass + level * density


def _cell_error() -> sympy.Basic:
    """∫ (x − c)² φ from the three moments, differentiated at the lower end; c is a level."""
    level = sympy.Symbol("c", positive=True)
    mass, first, second = _upper_moments(PLACE)
    error = second - 2 * level * first + level**2 * mass
    density = sympy.exp(-(PLACE**2) / 2) / sympy.sqrt(2 * sympy.pi)
    return sympy.simplify(sympy.diff(error, PLACE) + (PLACE - level) ** 2 * density)


def _normal_slopes() -> sympy.Basic:
    _, density, _ = _upper_moments(PLACE)
    slopes = (sympy.diff(moment, PLACE) for moment in _upper_moments(PLACE))
    return sympy.And(
        *(sympy.Eq(sympy.simplify(slope + PLACE**power * density), 0) for power, slope in enumerate(slopes))
    )


def _normal_ends() -> sympy.Basic:
    return sympy.And(*(sympy.Eq(sympy.limit(moment, PLACE, sympy.oo), 0) for moment in _upper_moments(PLACE)))


STATEMENTS = by_label(__name__, two_bit_uniform, two_bit_laplace, two_bit_gaussian)
"""The statements of this file."""
