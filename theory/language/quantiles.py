"""Above which magnitude does a share κ of a law lie? Upper quantiles without a closed form, as sympy functions.

Each is defined by its mass, z ↦ P(|u| ≤ z): the quantile is the z at which the mass is 1 − κ. Derivatives follow from
the inverse-function rule, numbers from a bracketed Newton iteration in ln z at the precision asked for. The masses of
gamma and Student laws need the regularised incomplete gamma and beta functions, as sympy functions here too. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

import mpmath
import sympy
from mpmath.libmp import NoConvergence
from sympy.core.function import ArgumentIndexError

from sparsync.theory.language.incomplete_functions import (
    gamma,
    gamma_tail,
    regularised_beta,
    regularised_gamma,
)

GUARD_BITS = 60
"""Working bits beyond those asked for: a mass is a handful of roundings away from the numbers it is made of."""
LARGEST_BITS = 2**14
"""With which the distance of a level from 1 is sought."""
LARGEST_STEP_COUNT = 1000
"""Steps after which a quantile is given up; bisection alone gains one bit in each."""
PRECISION_STEP = 192
"""Quantiles are found at a multiple of this many bits: sympy asks for a dozen slightly different precisions."""

LEVEL = sympy.Symbol("z", positive=True)
"""The magnitude above which a coordinate is sent."""


class RegularisedGamma(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """P(a, x) = γ(a, x)/Γ(a), the lower incomplete gamma function divided by its limit.

    Unlike `sympy.lowergamma` it stays one symbol at integer a, where the expansion loses digits.
    """

    nargs = 2

    @classmethod
    def eval(cls, *arguments: sympy.Expr) -> sympy.Expr | None:
        """P(a, 0) = 0 and P(a, ∞) = 1."""
        return _end_value(arguments[-1], last=sympy.oo)

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        """∂P/∂x = x^(a−1) e^(−x)/Γ(a).

        Raises:
            ArgumentIndexError: the derivative in a, which no statement needs.
        """
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        order, level = self.args
        return level ** (order - 1) * sympy.exp(-level) / sympy.gamma(order)

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        return _evaluated(self, regularised_gamma, prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _printed("P", self.args, printer, exp)


class RegularisedBeta(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """I(a, b, y) = I_y(a, b), the incomplete beta function divided by its value at 1."""

    nargs = 3

    @classmethod
    def eval(cls, *arguments: sympy.Expr) -> sympy.Expr | None:
        """I_0 = 0 and I_1 = 1."""
        return _end_value(arguments[-1], last=sympy.Integer(1))

    def fdiff(self, argindex: int = 3) -> sympy.Expr:
        """∂I/∂y = y^(a−1) (1 − y)^(b−1)/B(a, b).

        Raises:
            ArgumentIndexError: the derivative in a or b, which no statement needs.
        """
        if argindex != 3:
            raise ArgumentIndexError(self, argindex)
        first, second, level = self.args
        beta = sympy.gamma(first) * sympy.gamma(second) / sympy.gamma(first + second)
        return level ** (first - 1) * (1 - level) ** (second - 1) / beta

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        # Above the mean the complement is computed, which is small where 1 − y is.
        return _evaluated(self, regularised_beta, prec, more_bits=partial(_leading_zeros_below_one, self.args[-1]))

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        first, second, level = self.args
        return _printed(f"I_{{{printer._print(level)}}}", (first, second), printer, exp)


_GAMMA_TAIL = sympy.Function("gamma_tail")
"""Q(a, x) = 1 − P(a, x), only ever computed."""


class UpperQuantile(sympy.Function):  # type: ignore[misc]  # sympy has no annotations
    """z(parameters, κ) with mass(z, parameters) = 1 − κ: the base of the quantiles below, each of which is its mass."""

    latex_name = "z"

    @classmethod
    def mass(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """P(|u| ≤ z), increasing from 0 at z = 0 to 1."""
        raise NotImplementedError

    @classmethod
    def tail(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """P(|u| > z); digits of it may cancel."""
        return 1 - cls.mass(level, *parameters)

    @classmethod
    def eval(cls, *arguments: sympy.Expr) -> sympy.Expr | None:
        """z = 0 where κ = 1: everything is above it."""
        return sympy.Integer(0) if arguments[-1] == 1 else None

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """∂z/∂κ = −1/mass'(z) and ∂z/∂parameter = −(∂mass/∂parameter)/mass'(z)."""
        parameters = self.args[:-1]
        slope = sympy.diff(self.mass(LEVEL, *parameters), LEVEL).subs(LEVEL, self)
        if argindex == len(self.args):
            return -1 / slope
        moving = sympy.Dummy("moving", positive=True)
        moved = (*parameters[: argindex - 1], moving, *parameters[argindex:])
        change = sympy.diff(self.mass(LEVEL, *moved), moving)
        return -change.subs({moving: parameters[argindex - 1], LEVEL: self}) / slope

    def _eval_is_extended_real(self) -> bool:
        return True

    def _eval_is_nonnegative(self) -> bool:
        return True

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        if not all(argument.is_number for argument in self.args):
            return None
        # Of type Any because type checkers do not see that sympy's classes are hashable.
        quantile: Any = type(self)
        bits = PRECISION_STEP * math.ceil(prec / PRECISION_STEP)
        return sympy.Expr._from_mpmath(_level(quantile, self.args, bits), prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _printed(self.latex_name, self.args, printer, exp)


class NormalQuantile(UpperQuantile):
    """z(κ) = Φ⁻¹(1 − κ/2), the magnitude that a standard Gaussian exceeds with probability κ."""

    nargs = 1

    @classmethod
    def mass(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """P(|N(0, 1)| ≤ z) = erf(z/√2)."""
        return sympy.erf(level / sympy.sqrt(2), *parameters)

    @classmethod
    def tail(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """erfc(z/√2)."""
        return sympy.erfc(level / sympy.sqrt(2), *parameters)


class GammaQuantile(UpperQuantile):
    """q(a, κ), the value that a gamma variable of shape a and scale 1 exceeds with probability κ."""

    nargs = 2
    latex_name = "q"

    @classmethod
    def mass(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """P(a, z)."""
        (order,) = parameters
        return RegularisedGamma(order, level)

    @classmethod
    def tail(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """Q(a, z)."""
        (order,) = parameters
        return _GAMMA_TAIL(order, level)


class StudentQuantile(UpperQuantile):
    """z(ν, κ), the magnitude that Student's t with ν degrees of freedom exceeds with probability κ.

    Of many degrees the series of the mass is short, that of the tail is not.
    """

    nargs = 2

    @classmethod
    def mass(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """I_y(1/2, ν/2) at y = z²/(ν + z²)."""
        (degrees,) = parameters
        return RegularisedBeta(sympy.Rational(1, 2), degrees / 2, level**2 / (degrees + level**2))


class ShiftedNormalQuantile(UpperQuantile):
    """z(m, κ), the magnitude that N(m, 1) exceeds with probability κ."""

    nargs = 2

    @classmethod
    def mass(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """P(|N(m, 1)| ≤ z) = (erf((z − m)/√2) + erf((z + m)/√2))/2."""
        (mean,) = parameters
        return (sympy.erf((level - mean) / sympy.sqrt(2)) + sympy.erf((level + mean) / sympy.sqrt(2))) / 2

    @classmethod
    def tail(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """(erfc((z − m)/√2) + erfc((z + m)/√2))/2."""
        (mean,) = parameters
        return (sympy.erfc((level - mean) / sympy.sqrt(2)) + sympy.erfc((level + mean) / sympy.sqrt(2))) / 2


class MixtureQuantile(UpperQuantile):
    """z(ω, s, κ), the magnitude exceeded with probability κ by N(0, s²) with weight ω and N(0, 1) with weight 1 − ω."""

    nargs = 3

    @classmethod
    def mass(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """ω erf(z/(s√2)) + (1 − ω) erf(z/√2)."""
        share, scale = parameters
        return share * sympy.erf(level / (scale * sympy.sqrt(2))) + (1 - share) * sympy.erf(level / sympy.sqrt(2))

    @classmethod
    def tail(cls, level: sympy.Expr, *parameters: sympy.Expr) -> sympy.Expr:
        """ω erfc(z/(s√2)) + (1 − ω) erfc(z/√2)."""
        share, scale = parameters
        return share * sympy.erfc(level / (scale * sympy.sqrt(2))) + (1 - share) * sympy.erfc(level / sympy.sqrt(2))


MEANINGS: dict[Any, str] = {
    NormalQuantile: r"$z(\kappa)=\Phi^{-1}(1-\kappa/2)$",
    StudentQuantile: r"Student's $t$ without a scale exceeds $z(\nu,\kappa)$ in magnitude with chance $\kappa$",
    ShiftedNormalQuantile: r"$\mathcal{N}(m,1)$ exceeds $z(m,\kappa)$ in magnitude with chance $\kappa$",
    MixtureQuantile: r"$|u|$ exceeds $z(\omega,s,\kappa)$ with chance $\kappa$",
    GammaQuantile: r"a gamma variable of shape $a$ and scale $1$ exceeds $q(a,\kappa)$ with chance $\kappa$",
    RegularisedGamma: r"$P(a,x)=\gamma(a,x)/\Gamma(a)$ is the regularised incomplete gamma function",
    RegularisedBeta: r"$I_y(a,b)$ is the regularised incomplete beta function",
}
"""What each function means, as an assumption prints it."""


def meanings(expression: sympy.Basic) -> tuple[str, ...]:
    """What the functions of this file mean that an expression holds."""
    return tuple(text for function, text in MEANINGS.items() if expression.has(function))


Compiled = Callable[..., mpmath.mpf]
"""A function of mpmath numbers."""


def _end_value(level: sympy.Expr, *, last: sympy.Expr) -> sympy.Expr | None:
    if level.is_zero:
        return sympy.Integer(0)
    return sympy.Integer(1) if level == last else None


def _evaluated(
    function: sympy.Function, compiled: Compiled, precision: int, *, more_bits: Callable[[], int] = lambda: 0
) -> sympy.Expr | None:
    if not all(argument.is_number for argument in function.args):
        return None
    bits = precision + GUARD_BITS + _largest_exponent(function.args) + more_bits()
    with mpmath.workprec(bits):
        value = compiled(*(argument._to_mpmath(bits) for argument in function.args))
    return sympy.Expr._from_mpmath(value, precision)


def _largest_exponent(numbers: tuple[sympy.Expr, ...]) -> int:
    """How many bits the largest number has before the point: a power with it as exponent loses so many."""
    return max(0, *(int(mpmath.frexp(number._to_mpmath(53))[1]) for number in numbers))


def _leading_zeros_below_one(level: sympy.Expr) -> int:
    """How many binary places 1 − level has before its first digit, so many bits its difference from 1 loses."""
    bits = GUARD_BITS
    while bits <= LARGEST_BITS:
        with mpmath.workprec(bits):
            rest = 1 - level._to_mpmath(bits)
        zeros = -mpmath.frexp(rest)[1]
        if rest > 0 and zeros < bits // 2:
            return max(0, int(zeros))
        bits *= 2
    raise ValueError(f"{level} differs from 1 by less than 2^-{LARGEST_BITS // 2}")


def _printed(name: str, arguments: tuple[sympy.Expr, ...], printer: Any, power: str | None) -> str:
    inside = ", ".join(printer._print(argument) for argument in arguments)
    return rf"{name}{f'^{{{power}}}' if power else ''}\left({inside}\right)"


@lru_cache(maxsize=256)
def _level(quantile: Any, arguments: tuple[sympy.Expr, ...], precision: int) -> mpmath.mpf:
    """The quantile at numbers; remembered, because one formula asks for it several times."""
    share = arguments[-1]
    if not (share.is_positive and (1 - share).is_positive):
        raise ValueError(f"{quantile.__name__}: the share must lie in (0, 1], got {share}")
    # The mass may be a difference of numbers near 1, and a tail too, unless it has a formula of its own.
    smallest = 1 - share if "tail" in vars(quantile) else min(share, 1 - share)
    leading_zeros = max(0, -mpmath.frexp(smallest._to_mpmath(53))[1])
    bits = precision + GUARD_BITS + leading_zeros + _largest_exponent(arguments)
    with mpmath.workprec(bits):
        numbers = tuple(argument._to_mpmath(bits) for argument in (*arguments, 1 - share))
        return _solve(_compiled(quantile), numbers, tolerance=mpmath.ldexp(1, -precision - 10))


@cache
def _compiled(quantile: type[UpperQuantile]) -> tuple[Compiled, Compiled, Compiled]:
    """The mass, the tail and the slope of the mass in z, as mpmath functions of z and the parameters."""
    count = next(iter(quantile.nargs)) - 1
    symbols = (LEVEL, *sympy.symbols(f"parameter_:{count}", positive=True))
    mass = quantile.mass(*symbols)
    functions = (regularised_gamma, regularised_beta, gamma_tail, gamma)
    names = ("RegularisedGamma", "RegularisedBeta", "gamma_tail", "gamma")
    modules = [dict(zip(names, functions, strict=True)), "mpmath"]
    mass_of, tail_of, slope_of = (
        sympy.lambdify(symbols, each, modules) for each in (mass, quantile.tail(*symbols), sympy.diff(mass, LEVEL))
    )
    return mass_of, tail_of, slope_of


def _solve(
    compiled: tuple[Compiled, Compiled, Compiled], numbers: tuple[mpmath.mpf, ...], *, tolerance: mpmath.mpf
) -> mpmath.mpf:
    """The z with mass(z) = 1 − κ, to a relative tolerance, by Newton's method in y = ln z inside a shrinking bracket.

    The equation is ln(tail) = ln κ, or ln mass = ln(1 − κ) where κ > 1/2: both are linear or concave far out.
    """
    mass, tail, slope = compiled
    *parameters, share, kept = numbers

    def excess(height: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
        """A function of y that falls through zero at ln z, and its derivative."""
        level = mpmath.exp(height)
        part = (mass if share > kept else tail)(level, *parameters)
        # Where nothing is left at the working precision the sign is known, the distance is not.
        if part <= 0:
            return mpmath.mpf(1 if share > kept else -1), mpmath.mpf(0)
        distance = mpmath.log(kept / part) if share > kept else mpmath.log(part / share)
        return distance, -level * slope(level, *parameters) / part

    lower, upper = _bracket(lambda height: excess(height)[0])
    height = (lower + upper) / 2
    for _ in range(LARGEST_STEP_COUNT):
        value, derivative = excess(height)
        lower, upper = (height, upper) if value > 0 else (lower, height)
        step = -value / derivative if derivative != 0 else mpmath.inf
        # In the end Newton's step is within rounding of no step, perhaps onto an end of the bracket or past it.
        inside = lower < height + step < upper or abs(step) < tolerance
        following = height + step if inside else (lower + upper) / 2
        if value == 0 or abs(following - height) < tolerance:
            return mpmath.exp(following if value != 0 else height)
        height = following
    raise NoConvergence(f"no quantile within {LARGEST_STEP_COUNT} steps for {[str(number) for number in numbers]}")


def _bracket(excess: Callable[[mpmath.mpf], mpmath.mpf]) -> tuple[mpmath.mpf, mpmath.mpf]:
    """An interval of ln z on which a decreasing function changes sign, found by doubling steps away from z = 1."""
    step = mpmath.mpf(1) / 2
    direction = 1 if excess(mpmath.mpf(0)) > 0 else -1
    near, far = mpmath.mpf(0), direction * step
    while (excess(far) > 0) == (direction > 0):
        step *= 2
        near, far = far, far + direction * step
    return (near, far) if direction > 0 else (far, near)
