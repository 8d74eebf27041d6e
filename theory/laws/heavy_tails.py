"""How much of the energy does Top-k send at small densities where the tails fall like a power?

For Student's t it is a power of κ, with the constant, between two bounds that hold for every density. Tails that fall
like e^(−|u|^β) are in `theory/laws/stretched_tails.py` and `theory/laws/weibull_tails.py`. Ours.
"""

from collections.abc import Callable

import sympy

from sparsync.theory.language.powers import RealPower
from sparsync.theory.language.quantiles import LEVEL, RegularisedBeta
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import delta, df, kappa
from sparsync.theory.laws.gaussian_tails import gain_statement, is_nonnegative
from sparsync.theory.laws.magnitudes import HALF, STUDENT_T, share_step, vanishes

SHARE = sympy.Symbol("x", positive=True)
"""x = ν/(ν + z²), in (0, 1): the variable in which Student tails are incomplete beta functions."""
STUDENT = r"$u$ is Student's $t$ with $\nu$ degrees of freedom, times a scale"


def student_t_tail_upper() -> Statement:
    """δ ≤ min(1, C κ^(1 − 2/ν)) with C = ν(ν B(ν/2, 1/2)/2)^(−2/ν), for Student's t with ν > 2 degrees of freedom.

    Source: ours.
    """
    bound = _student_constant() * RealPower(kappa, 1 - 2 / df)
    return gain_statement(
        "student_t_tail_upper",
        "Student's t: the energy sent is at most C κ^(1 − 2/ν)",
        sympy.Le(delta, sympy.Min(1, bound), evaluate=False),
        law=STUDENT,
        domain=(sympy.Gt(df, 2),),
        derivation=(
            *_student_tails(),
            Step("κ ≥ A x^a with A = 1/(a B(a, 1/2)), since (1 − x)^(−1/2) ≥ 1", _share_lower),
            Step("δ ≤ D x^(a−1) with D = 2/B(a, 1/2), since (1 − x)^(1/2) ≤ 1", _energy_upper),
            Step(
                "x = (κ/A)^(1/a) turns D x^(a−1) into C κ^(1−1/a)",
                lambda: _with_symbolic_beta(_eliminated() - bound),
            ),
            share_step(STUDENT_T, sympy.Min(1, bound)),
        ),
    )


def student_t_tail_lower() -> Statement:
    """δ ≥ C κ^(1 − 2/ν) max(0, 1 − (κ ν B(ν/2, 1/2)/2)^(2/ν)), for Student's t.

    With the upper bound, δ ~ C κ^(1 − 2/ν).

    Source: ours.
    """
    bound = _student_constant() * RealPower(kappa, 1 - 2 / df) * (1 - RealPower(kappa / _share_constant(), 2 / df))
    return gain_statement(
        "student_t_tail_lower",
        "Student's t: the energy sent is C κ^(1 − 2/ν) for small κ",
        sympy.Ge(delta, sympy.Max(0, bound), evaluate=False),
        law=STUDENT,
        domain=(sympy.Gt(df, 2),),
        derivation=(
            *_student_tails(),
            Step("κ ≤ A x^a (1 − x)^(−1/2)", _share_upper),
            Step("δ ≥ D x^(a−1) (1 − x)^(1/2)", _energy_lower),
            Step("hence δ ≥ C κ^(1−1/a) (1 − x)^(1−1/(2a)), and that power is at least 1 − x", _powers_of_root),
            Step("κ ≥ A x^a, since (1 − x)^(−1/2) ≥ 1: 1 − x ≥ 1 − (κ/A)^(1/a)", _share_lower),
            Step(
                "which makes the bound",
                lambda: _with_symbolic_beta(_eliminated() * (1 - _largest_share()) - bound),
            ),
            share_step(STUDENT_T, sympy.Max(0, bound)),
        ),
    )


def _share_constant() -> sympy.Expr:
    """A = 1/(a B(a, 1/2)), a = ν/2."""
    return 2 / (df * _beta(df / 2))


def _student_constant() -> sympy.Expr:
    """C = ν(ν B(ν/2, 1/2)/2)^(−2/ν)."""
    return df / RealPower(1 / _share_constant(), 2 / df)


def _student_tails() -> tuple[Step, ...]:
    odds = df / (df + LEVEL**2)
    share = RegularisedBeta(df / 2, HALF, odds) - (1 - STUDENT_T.mass)
    kept = RegularisedBeta(df / 2 - 1, 3 * HALF, odds) - (1 - STUDENT_T.energy)
    return (
        Step("κ = I_x(a, 1/2) with a = ν/2, x = ν/(ν + z²)", lambda: vanishes(share)),
        Step("δ = I_x(a − 1, 3/2)", lambda: vanishes(kept)),
    )


def _share_lower() -> sympy.Basic:
    return _grows(lambda a: RegularisedBeta(a, HALF, SHARE) - SHARE**a / (a * _beta(a)))


def _share_upper() -> sympy.Basic:
    return _grows(lambda a: SHARE**a / (a * _beta(a)) / sympy.sqrt(1 - SHARE) - RegularisedBeta(a, HALF, SHARE))


def _energy_upper() -> sympy.Basic:
    return _grows(lambda a: 2 / _beta(a) * SHARE ** (a - 1) - RegularisedBeta(a - 1, 3 * HALF, SHARE))


def _energy_lower() -> sympy.Basic:
    return _grows(
        lambda a: RegularisedBeta(a - 1, 3 * HALF, SHARE) - 2 / _beta(a) * SHARE ** (a - 1) * sympy.sqrt(1 - SHARE)
    )


def _beta(order: sympy.Expr) -> sympy.Expr:
    """B(a, 1/2) in gamma functions."""
    return sympy.sqrt(sympy.pi) * sympy.gamma(order) / sympy.gamma(order + HALF)


def _grows(function: Callable[[sympy.Expr], sympy.Expr]) -> sympy.Basic:
    """True iff a function of x in (0, 1) is 0 at 0 and has a slope ≥ 0, for every a > 1.

    Written in c = a − 1 > 0 and 1/√(1 − x) = 1 + e with e ≥ 0; the slope is divided by x^(c−1), which is positive.
    """
    beyond, excess = sympy.Symbol("c", positive=True), sympy.Symbol("e", nonnegative=True)
    of_share = function(1 + beyond)
    slope = sympy.powsimp(sympy.expand(sympy.diff(of_share, SHARE) / SHARE ** (beyond - 1)))
    signed = sympy.gammasimp(sympy.simplify(slope.subs(SHARE, 1 - (1 + excess) ** -2)))
    return sympy.And(sympy.Eq(of_share.subs(SHARE, 0), 0), is_nonnegative(signed))


def _eliminated() -> sympy.Expr:
    """D x^(a−1) at the x with A x^a = κ."""
    return 2 / _beta(df / 2) * _largest_share() ** (df / 2 - 1)


def _with_symbolic_beta(expression: sympy.Expr) -> sympy.Expr:
    """Plain powers, and B(ν/2, 1/2) as one positive symbol, so that they combine."""
    known = sympy.Symbol("B", positive=True) * sympy.gamma((df + 1) / 2) / sympy.sqrt(sympy.pi)
    return sympy.simplify(expression.rewrite(sympy.Pow).subs(sympy.gamma(df / 2), known))


def _largest_share() -> sympy.Expr:
    """(κ/A)^(1/a), which x is at most."""
    return (kappa / _share_constant()) ** (2 / df)


def _powers_of_root() -> sympy.Basic:
    order, excess = sympy.Symbol("a", positive=True), sympy.Symbol("e", nonnegative=True)
    root, share = 1 / (1 + excess), sympy.Symbol("kappa_over_A", positive=True)
    proved = root * (share * root) ** (1 - 1 / order)
    needed = share ** (1 - 1 / order) * root**2
    return is_nonnegative(sympy.expand_log(sympy.log(proved) - sympy.log(needed), force=True))


STATEMENTS = by_label(__name__, student_t_tail_lower, student_t_tail_upper)
"""The statements of this file."""
