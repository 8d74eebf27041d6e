import sympy

from sparsync.theory.language import symbols
from sparsync.theory.statements import STATEMENTS

SYMBOLS = [value for value in vars(symbols).values() if isinstance(value, sympy.Symbol)]


def test_no_two_symbols_share_a_letter() -> None:
    assert len({symbol.name for symbol in SYMBOLS}) == len(SYMBOLS)


def test_counts_and_dimension_are_positive_integers() -> None:
    assert all(symbol.is_integer and symbol.is_positive for symbol in (symbols.k, symbols.d))


def test_the_left_sides_have_a_latex_name_or_are_greek() -> None:
    left_sides = {statement.relation.lhs for statement in STATEMENTS.values()}
    unnamed = {side for side in left_sides if isinstance(side, sympy.Symbol)} - set(symbols.LATEX_NAMES)
    assert unnamed <= {symbols.epsilon, symbols.delta}


def test_only_our_symbols_have_a_latex_name() -> None:
    assert set(symbols.LATEX_NAMES) <= set(SYMBOLS)
