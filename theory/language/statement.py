"""What is a statement? A bound with its assumptions, its domain, its source and a derivation that can be executed.

Every theorem is one `Statement`. Symbols and exact rationals stay exact; a float appears only in `evaluate`.
Conventions are ours: ε = 1 − δ is what is bounded, κ = k/d.
"""

import math
import numbers
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import mpmath
import sympy
from mpmath.libmp import NoConvergence, to_rational
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from sparsync.theory.language.binomials import kept_short
from sparsync.theory.language.digits import number as digits_of
from sparsync.theory.language.digits import sign
from sparsync.theory.language.given import Given
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import LATEX_NAMES

Kind = Literal["theorem", "definition"]
"""What a statement is: something proved, or a definition or mere substitution, which is not counted as a theorem."""

LONGEST_SUM = 1000
"""Terms of a sum that are added one by one to evaluate it; of more, it is found by the Euler–Maclaurin formula."""
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def written(expression: sympy.Expr) -> str:
    """An expression as a claim writes it: `(d − k)²(d − k + 1)/2`."""
    powers = re.sub(r"\*\*(\d+)", lambda match: match[1].translate(_RAISED), str(expression))
    return powers.replace("*", "").replace("-", "−")


@dataclass(frozen=True)
class Statement:
    """A bound `left side ≤ right side` (or `=`) under named assumptions, for every value of the symbols in the domain.

    Args:
        label: key in `STATEMENTS`.
        title: a line for tables.
        assumptions: hypotheses, one each: what is defined or of which kind it is, as LaTeX text; a number or an
            expression in it as `Given`, which the checks read.
        relation: what is stated; its left side is the bounded quantity, its right side the bound.
        domain: conditions on the symbols, in addition to the symbols' own assumptions.
        source: author, year and theorem, or "ours".
        derivation: the proof, in order; nothing runs before `Step.holds` is called.
        kind: a theorem, or a definition or mere substitution, which is not counted as one.
        module: where it is stated, by import name; `by_label` fills it in, and its checks are in the twin in `verify/`.
    """

    label: str
    title: str
    assumptions: tuple[str | Given, ...]
    relation: Relational
    domain: tuple[Boolean, ...]
    source: str
    derivation: tuple[Step, ...]
    kind: Kind = "theorem"
    module: str = ""

    @property
    def bound(self) -> sympy.Expr:
        """The right side, a sympy expression in the parameters."""
        return self.relation.rhs

    @property
    def parameters(self) -> tuple[sympy.Symbol, ...]:
        """The symbols that need a number, in alphabetical order."""
        symbols = set(self.bound.free_symbols).union(*(condition.free_symbols for condition in self.domain))
        return tuple(sorted(symbols, key=lambda symbol: str(symbol.name)))

    @property
    def assumption_texts(self) -> tuple[str, ...]:
        """The hypotheses as LaTeX text."""
        return tuple(str(assumption) for assumption in self.assumptions)

    def given(self, name: str) -> sympy.Expr:
        """The number or expression in the hypothesis of this name, for checks, which substitute numbers in it.

        Raises:
            ValueError: no hypothesis has the name.
        """
        found = {made.name: made.right for made in self.assumptions if isinstance(made, Given)}
        if name not in found:
            raise ValueError(f"{self.label}: no assumption is named {name!r}; named are {sorted(found)}")
        return found[name]

    def admits(self, **numbers_by_name: object) -> bool:
        """Whether the numbers lie in the domain, and are of the kinds that the symbols stand for.

        Raises:
            ValueError: a parameter is missing or unknown.
        """
        self._require_names(numbers_by_name)
        try:
            self._values(numbers_by_name)
        except ValueError:
            return False
        return True

    def exact(self, **numbers_by_name: object) -> sympy.Expr:
        """The bound at the given numbers, exact: a float is read as the shortest decimal that writes it, 0.08 as 2/25.

        Fractions and the numbers of mpmath and sympy are the rationals they are.

        Raises:
            ValueError: a parameter is missing, unknown, of the wrong type, or outside the domain; or no number can be
                found there, because a series does not converge or too many digits cancel.
        """
        bound = self._at(numbers_by_name)
        # To simplify, sympy asks for signs, and finds some of them by numbers.
        with self._naming(numbers_by_name):
            return bound.doit()

    def fraction(self, **numbers_by_name: object) -> Fraction:
        """The bound at the given numbers as a fraction, for exact comparisons.

        Raises:
            ValueError: see `exact`; or the bound is irrational at these numbers.
        """
        value = self.exact(**numbers_by_name)
        if not isinstance(value, sympy.Rational):
            raise ValueError(f"{self.label}: the bound is irrational at {numbers_by_name}: {value}")
        return Fraction(int(value.p), int(value.q))

    def evaluate(self, **numbers_by_name: object) -> float:
        """The bound at the given numbers as a float: correctly rounded if rational, else from 40 right digits.

        Integer parameters (k, d) accept `numbers.Integral` only, so 3.0 and True are refused. A bound below every
        positive float is 0; one with a sum of more than 1000 terms, or with a binomial coefficient C(n, k) where both k
        and n − k are larger, counts as irrational.

        Raises:
            ValueError: see `exact`.
            OverflowError: the bound is finite and larger than every float.
        """
        bound = self._at(numbers_by_name, form=kept_short)
        with self._naming(numbers_by_name):
            value = digits_of(_added(bound))
        try:
            number = int(value.p) / int(value.q) if isinstance(value, sympy.Rational) else float(value)
        except OverflowError:
            number = math.inf
        if math.isinf(number) and value.is_finite:
            raise OverflowError(f"{self.label}: the bound at {numbers_by_name} is larger than every float")
        return number

    def unproved_claims(self) -> tuple[str, ...]:
        """Execute the derivation; return the claims that do not hold (empty: proved).

        The last claim is that some step reaches the bound stated, so that a derivation cannot prove something else.
        """
        conclusions = (step.concludes for step in self.derivation if step.concludes is not None)
        reached = any(sympy.simplify(conclusion - self.bound) == 0 for conclusion in conclusions)
        failed = tuple(step.claim for step in self.derivation if not step.holds())
        return failed if reached else (*failed, f"some step concludes with the bound {self.bound}")

    def latex(self) -> str:
        """The statement and its assumptions as one LaTeX table cell."""
        formula = f"${sympy.latex(self.relation, order='none', symbol_names=LATEX_NAMES)}$"
        return f"{formula} if {'; '.join(self.assumption_texts)}" if self.assumptions else formula

    def _at(
        self, numbers_by_name: dict[str, object], *, form: Callable[[sympy.Expr], sympy.Expr] = lambda bound: bound
    ) -> sympy.Expr:
        """The bound, in the form given, with the numbers in place, and no more worked out than sympy does by itself."""
        values = self._values(numbers_by_name)
        with self._naming(numbers_by_name):
            return sympy.sympify(form(self.bound).xreplace(values))

    @contextmanager
    def _naming(self, numbers_by_name: dict[str, object]) -> Iterator[None]:
        """Says at which numbers no number was found."""
        try:
            yield
        except (NoConvergence, ArithmeticError, RecursionError, ValueError) as error:
            raise ValueError(f"{self.label}: no number at {numbers_by_name}: {error}") from error

    def _values(self, numbers_by_name: dict[str, object]) -> dict[sympy.Symbol, sympy.Rational]:
        by_name = self._require_names(numbers_by_name)
        values = {by_name[name]: self._number(by_name[name], numbers_by_name[name]) for name in by_name}
        for condition in self.domain:
            if not self._holds(condition, values, numbers_by_name):
                names = sorted(str(symbol.name) for symbol in condition.free_symbols)
                got = ", ".join(f"{name} = {numbers_by_name[name]}" for name in names)
                raise ValueError(f"{self.label}: {condition} is violated by {got}")
        return values

    def _require_names(self, numbers_by_name: Mapping[str, object]) -> dict[str, sympy.Symbol]:
        """The parameters by name, if these are the names of the numbers."""
        by_name = {str(symbol.name): symbol for symbol in self.parameters}
        if set(numbers_by_name) != set(by_name):
            message = f"{self.label}: expected the parameters {sorted(by_name)}, got {sorted(numbers_by_name)}"
            raise ValueError(message)
        return by_name

    def _holds(
        self, condition: Boolean, values: dict[sympy.Symbol, sympy.Rational], numbers_by_name: dict[str, object]
    ) -> bool:
        """Whether a condition of the domain holds; sympy finds the signs of cancelling roots by too few digits."""
        if type(condition) in _SIGNS:
            difference = kept_short(condition.lhs - condition.rhs).xreplace(values)
            with self._naming(numbers_by_name):
                return sign(difference) in _SIGNS[type(condition)]
        return bool(condition.xreplace(values) == sympy.true)

    def _number(self, symbol: sympy.Symbol, number: object) -> sympy.Rational:
        value = None if isinstance(number, bool) else _rational(number, integral=bool(symbol.is_integer))
        if value is None:
            kind = "an integer" if symbol.is_integer else "a finite real number"
            raise ValueError(f"{self.label}: {symbol} must be {kind}, got {number!r}")
        for fact, expected in symbol.assumptions0.items():
            if getattr(value, f"is_{fact}") is not expected:
                named = fact if expected else f"not {fact}"
                wanted = "positive" if symbol.is_positive else "at least 0" if symbol.is_nonnegative else named
                raise ValueError(f"{self.label}: {symbol} must be {wanted}, got {number!r}")
        return value


_SIGNS: dict[type[Boolean], tuple[int, ...]] = {
    sympy.StrictLessThan: (-1,),
    sympy.LessThan: (-1, 0),
    sympy.StrictGreaterThan: (1,),
    sympy.GreaterThan: (0, 1),
}
"""The signs that a difference has where such a condition holds."""


def _added(bound: sympy.Expr) -> sympy.Expr:
    """The bound with its sums added up, if none is too long."""
    sums = bound.atoms(sympy.Sum)
    long = [found for found in sums if any(last - first >= LONGEST_SUM for _, first, last in found.limits)]
    if any(found.function.has(sympy.floor, sympy.ceiling) for found in long):
        raise ValueError(f"a sum of more than {LONGEST_SUM} terms with whole parts is not added up")
    if long:
        return bound
    # By itself sympy adds a hundred terms at most; of more it looks for a formula, and writes that out.
    return bound.replace(lambda part: isinstance(part, sympy.Sum) and len(part.limits) == 1, _sum_of_terms).doit()


def _sum_of_terms(sum_: sympy.Sum) -> sympy.Expr:
    ((index, first, last),) = sum_.limits
    return sympy.Add(*(sum_.function.xreplace({index: sympy.Integer(place)}) for place in range(first, last + 1)))


def _rational(number: object, *, integral: bool) -> sympy.Rational | None:
    """The value of a number, of a float the decimal that writes it; None where its type or value is refused."""
    if isinstance(number, numbers.Integral):
        return sympy.Integer(int(number))
    if integral:
        return None
    if isinstance(number, numbers.Rational):
        return sympy.Rational(int(number.numerator), int(number.denominator))
    if not (isinstance(number, numbers.Real) and math.isfinite(number)):
        return None
    # Of more digits than a float has, none is left out.
    if isinstance(number, mpmath.mpf):
        # Type checkers do not see what mpmath's numbers have.
        binary: Any = number
        return sympy.Rational(*map(int, to_rational(binary._mpf_)))
    if isinstance(number, sympy.Float):
        return sympy.Rational(number)
    # Who writes 0.08 means 2/25, not the binary fraction next to it; numpy's floats have decimals of their own length.
    decimal = Fraction(float.__repr__(number) if isinstance(number, float) else str(number))
    return sympy.Rational(decimal.numerator, decimal.denominator)
