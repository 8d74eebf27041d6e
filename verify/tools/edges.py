"""Which conditions of a statement are needed? Instances just beyond them that break it, or a word why there are none.

The domain of a statement says where it is claimed. An `Edge` is a point that violates one condition, by no more than
`widened` gives way, and at which the statement is false: so a statement that admits it is wrong. `verify/ledger` asks
that of every condition, and lists those that are `Unneeded` with the reason. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy
from mpmath.libmp import NoConvergence
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from sparsync.theory.language.statement import Statement

WIDENED_BY = Fraction(1, 16)
"""Share of its right side by which a condition on a real number gives way; on whole numbers it gives way by one."""
ROUNDING = Fraction(1, 2**40)
"""By how much, relative to the bound, a left side given as a float must break the statement."""


@dataclass(frozen=True)
class Edge:
    """A point just beyond one condition, at which the statement is false or its bound is no number.

    Args:
        condition: as the domain has it, in sympy's words: `str(condition)`.
        numbers: the parameters by name; they violate this condition and meet all others.
        left: finds what the statement bounds, at this point, without the bound; None where the bound is no real number
            there, or lies where no value of the left side can (below 0, of something that is not negative).
    """

    condition: str
    numbers: Mapping[str, object]
    left: Callable[[], Fraction | float | int | sympy.Expr] | None = None


@dataclass(frozen=True)
class Unneeded:
    """A condition without which, or beyond which, the statement is still true or says nothing.

    Args:
        condition: as the domain has it: `str(condition)`.
        reason: why it is there: what has no meaning beyond it, or what is true there.
        widened: whether only the widened condition is meant: an `Edge` farther beyond shows that some condition is
            needed, and the reason says from where on the statement fails.
    """

    condition: str
    reason: str
    widened: bool = False


Remark = Edge | Unneeded


def breaks(statement: Statement, edge: Edge) -> bool:
    """Whether the statement is false at the point, whatever its domain says."""
    everywhere = replace(statement, domain=())
    try:
        bound = everywhere.exact(**_of_parameters(everywhere, edge.numbers))
        value = sympy.N(bound, 30)
    except (ValueError, ArithmeticError, RecursionError, NoConvergence):
        return edge.left is None
    if edge.left is None:
        return value.is_extended_real is not True or value.is_finite is not True or _is_beyond(statement, value)
    left = sympy.sympify(edge.left())
    room = abs(sympy.N(bound, 30)) * sympy.Rational(ROUNDING.numerator, ROUNDING.denominator) if left.is_Float else 0
    over = sympy.N(left - bound, 30)
    if isinstance(statement.relation, sympy.LessThan):
        return bool(over > room)
    if isinstance(statement.relation, sympy.GreaterThan):
        return bool(-over > room)
    return bool(abs(over) > room)


def admitted(statement: Statement, remarks: tuple[Remark, ...]) -> tuple[str, ...]:
    """One line for each point at which the statement is false and which its domain lets in; empty: as it should be."""
    return tuple(
        f"it is false at {dict(edge.numbers)}, which the domain admits"
        for edge in remarks
        if isinstance(edge, Edge) and _is_admitted(statement, edge) and breaks(statement, edge)
    )


def widened(condition: Boolean) -> Boolean:
    """A condition that gives way: by one if both sides are whole numbers, else by a share of its right side, or of one.

    Raises:
        ValueError: the condition is no inequality.
    """
    if not isinstance(condition, Relational) or isinstance(condition, sympy.Eq | sympy.Ne):
        raise ValueError(f"only an inequality can be widened, got {condition}")
    whole = bool(condition.lhs.is_integer and condition.rhs.is_integer)
    share = sympy.Rational(WIDENED_BY.numerator, WIDENED_BY.denominator)
    step = sympy.Integer(1) if whole else share * (sympy.Abs(condition.rhs) if condition.rhs != 0 else 1)
    grows = isinstance(condition, sympy.LessThan | sympy.StrictLessThan)
    return type(condition)(condition.lhs, condition.rhs + step if grows else condition.rhs - step, evaluate=False)


def _is_admitted(statement: Statement, edge: Edge) -> bool:
    """Whether the numbers lie in the domain; a statement that has lost a parameter is asked about those it has."""
    return statement.admits(**_of_parameters(statement, edge.numbers))


def _of_parameters(statement: Statement, numbers: Mapping[str, object]) -> dict[str, object]:
    """The numbers of those parameters that a statement has."""
    names = {str(symbol.name) for symbol in statement.parameters}
    return {name: number for name, number in numbers.items() if name in names}


def _is_beyond(statement: Statement, bound: sympy.Expr) -> bool:
    """Whether a bound is one that the left side can never meet: negative, of something that is not."""
    is_signed = statement.relation.lhs.is_nonnegative is not True
    return not is_signed and not isinstance(statement.relation, sympy.GreaterThan) and bool(sympy.N(bound) < 0)
