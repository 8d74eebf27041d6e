"""What do sums of products of centred distances come to? Their algebra, for every number of examples.

Distances a_ij and b_ij are symmetric and zero for i = j; a_i· and b_i· are their row sums, R and S the totals. All sums
of products of two centred distances are made of S₁ = Σ a_ij b_ij, S₂ = Σ a_i· b_i· and RS. Ours; the two centrings are
those of Székely, Rizzo and Bakirov 2007 and of Székely and Rizzo 2014.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import centred_distance, first_distance, sample_size, second_distance

A, B, ROW, OTHER, ROW_B, OTHER_B = sympy.symbols("a_ij b_ij a_i a_j b_i b_j", real=True)
"""A distance of either sample, and the row sums of its two examples."""
S1, S2, TOTAL, TOTAL_B = sympy.symbols("S_1 S_2 R S", real=True)
"""Σ a_ij b_ij, Σ a_i· b_i·, and both totals."""


def centred_b() -> sympy.Expr:
    """B_ij, doubly centred."""
    return centred(B, ROW_B, OTHER_B, TOTAL_B)


def centred(entry: sympy.Expr, row: sympy.Expr, other: sympy.Expr, total: sympy.Expr) -> sympy.Expr:
    """A distance less the means of its row and column, plus that of all n²."""
    return entry - row / sample_size - other / sample_size + total / sample_size**2


def u_centred(entry: sympy.Expr, row: sympy.Expr, other: sympy.Expr, total: sympy.Expr) -> sympy.Expr:
    """A distance of i ≠ j less its row sums over n − 2, plus the total over (n − 1)(n − 2)."""
    whole = total / ((sample_size - 1) * (sample_size - 2))
    return entry - (row + other) / (sample_size - 2) + whole


def summed(term: sympy.Expr, *, with_diagonal: bool) -> sympy.Expr:
    """Σ over i and j of a product of two sums: every monomial by what it adds up to, a_ii = b_ii = 0."""
    rows = sample_size if with_diagonal else sample_size - 1
    crossed = TOTAL * TOTAL_B - (0 if with_diagonal else S2)
    sums = {
        A * B: S1,
        **dict.fromkeys((A * ROW_B, A * OTHER_B, ROW * B, OTHER * B), S2),
        **dict.fromkeys((ROW * ROW_B, OTHER * OTHER_B), rows * S2),
        **dict.fromkeys((ROW * OTHER_B, OTHER * ROW_B), crossed),
        A: TOTAL,
        B: TOTAL_B,
        **dict.fromkeys((ROW, OTHER), rows * TOTAL),
        **dict.fromkeys((ROW_B, OTHER_B), rows * TOTAL_B),
        sympy.S.One: sample_size * rows,
    }
    letters = (A, ROW, OTHER, B, ROW_B, OTHER_B)
    found = sympy.Poly(term, *letters).terms()
    monomials = [
        sympy.Mul(*(letter**power for letter, power in zip(letters, powers, strict=True))) for powers, _ in found
    ]
    return sympy.Add(*(factor * sums[monomial] for monomial, (_, factor) in zip(monomials, found, strict=True)))


def doubly_centred_sum() -> sympy.Expr:
    """Σ_ij of the products of doubly centred distances, monomial by monomial."""
    return summed(centred(A, ROW, OTHER, TOTAL) * centred_b(), with_diagonal=True)


def u_centred_sum() -> sympy.Expr:
    """Σ_{i≠j} of the products of U-centred distances, monomial by monomial."""
    both = u_centred(A, ROW, OTHER, TOTAL) * u_centred(B, ROW_B, OTHER_B, TOTAL_B)
    return summed(both, with_diagonal=False)


def doubly_centred_form() -> sympy.Expr:
    """S₁ − (2/n)S₂ + RS/n²."""
    return S1 - 2 * S2 / sample_size + TOTAL * TOTAL_B / sample_size**2


def double_centring_step() -> Step:
    """The step that both ways to write Σ A_ij B_ij agree."""
    return Step("Σ A_ij B_ij = S₁ − (2/n)S₂ + RS/n²", lambda: doubly_centred_sum() - doubly_centred_form())


def u_centred_form() -> sympy.Expr:
    """S₁ − 2S₂/(n − 2) + RS/((n − 1)(n − 2))."""
    whole = TOTAL * TOTAL_B / ((sample_size - 1) * (sample_size - 2))
    return S1 - 2 * S2 / (sample_size - 2) + whole


def totals() -> dict[sympy.Expr, sympy.Expr]:
    """R and S by the mean distances."""
    places = sample_size * (sample_size - 1)
    return {TOTAL: places * first_distance, TOTAL_B: places * second_distance}


def slope_in_a_distance(form: sympy.Expr, centred_entry: sympy.Expr) -> sympy.Expr:
    """Of a sum of products in a_ij and a_ji, with the centred b_ij for what it is made of."""
    moved = 2 * B * sympy.diff(form, S1) + (ROW_B + OTHER_B) * sympy.diff(form, S2) + 2 * sympy.diff(form, TOTAL)
    return moved.subs(B, sympy.solve(sympy.Eq(centred_entry, centred_distance), B)[0])


def symmetric_matrix(name: str, count: int) -> list[list[sympy.Expr]]:
    """Symmetric, with a zero diagonal."""
    return [
        [sympy.Symbol(f"{name}_{min(i, j)}{max(i, j)}", real=True) if i != j else sympy.S.Zero for j in range(count)]
        for i in range(count)
    ]


def over_permutations(count: int, value: Callable[[tuple[int, ...]], sympy.Expr]) -> sympy.Expr:
    """The mean of a value of all orders of so many examples."""
    orders = list(permutations(range(count)))
    return sympy.expand(sympy.Add(*(value(order) for order in orders)) / len(orders))
