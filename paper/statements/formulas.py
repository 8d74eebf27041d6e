r"""How does a formula of `theory/` read in the paper? As sympy prints it, but every term where a reader expects it.

Letters are ordered as they print (L before μ), a sum never begins with a minus sign where it has a positive term, and a
constant stands first beside shares, quotients and functions, last in a polynomial: `1 - \kappa`, `2 b - s_{0} - 1`.
"""

from __future__ import annotations

import re
from functools import cache

import sympy
from sympy.core.relational import Relational
from sympy.printing.latex import LatexPrinter

from sparsync.theory.language import symbols
from sparsync.theory.language.symbols import LATEX_NAMES

SHARES = frozenset(
    {symbols.kappa, symbols.delta, symbols.epsilon, symbols.share, symbols.balance, symbols.beta, symbols.deviation}
)
"""Symbols that are small beside one: a sum of them begins with its constant, `1 + 2 \\kappa`."""

_SQUARE = re.compile(r"(\\[a-z]+(?:_0)?)\^\{2\}")
ROOTS = {symbol: match[1] for symbol, name in LATEX_NAMES.items() if (match := _SQUARE.fullmatch(name))}
"""How the square root of a symbol that prints as a square prints: σ for σ²."""
_SIGNS = {"==": "=", "<=": r"\leq", ">=": r"\geq", "<": "<", ">": ">", "!=": r"\neq"}


@cache
def formula(expression: sympy.Basic) -> str:
    r"""The LaTeX of an expression or condition, without mathematics mode: `1 - \frac{k}{d}`."""
    sortable = {symbol: _sortable(symbol) for symbol in expression.atoms(sympy.Symbol) if symbol in LATEX_NAMES}
    names = {renamed: LATEX_NAMES[symbol] for symbol, renamed in sortable.items()}
    shares = {sortable.get(symbol, symbol) for symbol in SHARES}
    roots = {sortable[symbol]: root for symbol, root in ROOTS.items() if symbol in sortable}
    printer = _Printer(names, shares=shares, roots=roots)
    if isinstance(expression, Relational):
        # A relation evaluates itself when it is built again, a side does not change.
        sides = (printer.doprint(side.xreplace(sortable)) for side in (expression.lhs, expression.rhs))
        return f" {_SIGNS[expression.rel_op]} ".join(sides)
    return str(printer.doprint(expression.xreplace(sortable)))


def _sortable(symbol: sympy.Symbol) -> sympy.Symbol:
    """The symbol with its printed letter in front of its name, by which sympy orders terms and factors."""
    return sympy.Symbol(f"{LATEX_NAMES[symbol].lstrip(chr(92))} {symbol.name}", **symbol.assumptions0)


class _Printer(LatexPrinter):  # type: ignore[misc]  # sympy has no annotations
    """sympy's printer with our order of terms, our names and ln for the natural logarithm."""

    def __init__(
        self, names: dict[sympy.Symbol, str], *, shares: set[sympy.Symbol], roots: dict[sympy.Symbol, str]
    ) -> None:
        super().__init__({"symbol_names": names, "ln_notation": True})
        self._shares, self._roots = shares, roots

    def doprint(self, expr: sympy.Basic) -> str:
        # The mathematics of web pages has no \operatorname.
        return str(super().doprint(expr)).replace(r"\operatorname{", r"\mathrm{")

    def _as_ordered_terms(self, expr: sympy.Expr, order: str | None = None) -> list[sympy.Expr]:
        terms = list(super()._as_ordered_terms(expr, order=order))
        constants = [term for term in terms if term.is_Rational and term.is_positive]
        others = [term for term in terms if term not in constants]
        rest = sympy.Add(*others)
        if constants and others and self._stands_after_a_constant(rest, others[0]):
            return constants + (others[::-1] if rest.is_polynomial(*rest.free_symbols) else others)
        leading = next((term for term in terms if not term.could_extract_minus_sign()), terms[0])
        return [leading, *(term for term in terms if term is not leading)]

    def _stands_after_a_constant(self, others: sympy.Expr, first: sympy.Expr) -> bool:
        polynomial = others.is_polynomial(*others.free_symbols)
        return first.could_extract_minus_sign() or not polynomial or others.free_symbols <= self._shares

    def _print_Pow(self, expr: sympy.Expr) -> str:  # noqa: N802  # sympy's name
        root = self._roots.get(expr.base) if expr.exp == sympy.Rational(1, 2) else None
        return root if root is not None else str(super()._print_Pow(expr))

    def _print_log(self, expr: sympy.Expr, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        argument = expr.args[0]
        if argument.is_Atom:
            return rf"\ln{power} {self._print(argument)}"
        return rf"\ln{power}\left({self._print(argument)}\right)"

    def _print_betainc_regularized(self, expr: sympy.Expr, exp: str | None = None) -> str:
        shape, other_shape, lower, upper = expr.args
        if lower != 0 or exp is not None:
            return str(super()._print_betainc_regularized(expr, exp))
        end, pair = self._print(upper), ", ".join(self._print(argument) for argument in (shape, other_shape))
        return rf"I_{{{end}}}\left({pair}\right)"
