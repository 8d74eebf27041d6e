"""What does Cannon's matrix product cost if its blocks are streamed, and is it bound by memory?

Outer blocks of two matrices are tokens; each pair is multiplied on a grid of processors by Cannon's algorithm while the
next pair is fetched. The setting is that of Buurlage, Bannink and Wits 2016, arXiv 1608.07200, which was not read; with
a last shift that brings every block back to where it was, N stands for N − 1. All laws here are ours.
"""

import sympy

from sparsync.theory.cost.hypersteps import STREAMED_SETTING
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    barrier_cost,
    block_side,
    cannon_balance,
    cannon_external_words,
    cannon_sent_words,
    cannon_time,
    fetch_cost,
    grid_side,
    matrix_side,
    outer_count,
    word_cost,
)

CANNON = (
    r"two matrices of $n$ rows have $M$ outer blocks a side, each of which is spread over a square of $N^{2}$ "
    r"processors, every block where its product begins; in a hyperstep two outer blocks are multiplied: $N$ times each "
    r"processor multiplies and adds its two blocks, and but for the last time sends one to each of two neighbours",
)
STREAMED_CANNON = (
    *CANNON,
    r"meanwhile the next two are fetched, $e$ a word, in the last the first again; the first two are there, and what "
    "is written does not count",
)
SIDE = sympy.Symbol("b", positive=True)
"""Rows of a processor's block, n/(NM)."""
_INDEX = sympy.Symbol("i", integer=True, positive=True)
_MORE = sympy.Symbol("more", nonnegative=True)


def streamed_cannon() -> Statement:
    """max(2n³/N² + 2(N − 1)Mn²g/N² + NM³l, 2Mn²e/N²): more outer blocks are fetched and sent more often.

    Where NM does not divide n, the largest block takes longer than this.

    Source: ours; the setting is that of Buurlage, Bannink and Wits 2016, which was not read.
    """
    area = outer_count * matrix_side**2 / grid_side**2
    computing = (
        2 * matrix_side**3 / grid_side**2
        + 2 * (grid_side - 1) * area * word_cost
        + grid_side * outer_count**3 * barrier_cost
    )
    bound = sympy.Max(computing, 2 * area * fetch_cost)
    return Statement(
        label="streamed_cannon",
        title="Time of Cannon's product over outer blocks",
        assumptions=STREAMED_CANNON,
        relation=sympy.Eq(cannon_time, bound),
        domain=(sympy.Eq(sympy.Mod(matrix_side, grid_side * outer_count), 0),),
        source=STREAMED_SETTING,
        kind="definition",
        derivation=(
            Step(
                "in turn t the processor in row i and column j holds the blocks A(i, m) and B(m, j), m = i + j + t up "
                "to multiples of N: each shift brings it its neighbours', whose m is one more",
                _neighbours_blocks,
            ),
            Step("for 0 ≤ t < u < N both m differ by 1 to N − 1: in N turns each is met once", _all_are_met),
            Step("a product of blocks of b rows, added to another block, takes 2b³", _block_operations),
            Step(
                "M³ pairs of outer blocks, with b = n/(NM): N products, N − 1 relations of 2b² words, and N barriers",
                lambda: _in_outer_blocks(_hyperstep()) - computing,
            ),
            Step(
                "of every pair 2b² words are fetched; all hypersteps are alike",
                lambda: sympy.Max(_in_outer_blocks(_hyperstep()), _in_outer_blocks(2 * SIDE**2 * fetch_cost)) - bound,
                concludes=bound,
            ),
        ),
    )


def cannon_words() -> Statement:
    """2(N − 1)Mn² words are sent by all processors: each outer block N − 1 times, in each of M hypersteps that it has.

    Source: ours.
    """
    bound = 2 * (grid_side - 1) * outer_count * matrix_side**2
    return Statement(
        label="cannon_words",
        title="Words sent in Cannon's product over outer blocks",
        assumptions=CANNON,
        relation=sympy.Eq(cannon_sent_words, bound),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "M³ times N − 1 relations, in which each of N² processors sends 2b² words",
                lambda: _in_outer_blocks(grid_side**2 * (grid_side - 1) * 2 * SIDE**2) - bound,
                concludes=bound,
            ),
        ),
    )


def cannon_tokens() -> Statement:
    """(2M + 1)n² words pass between processors and external memory: factors M times, the product once.

    Source: ours.
    """
    bound = (2 * outer_count + 1) * matrix_side**2
    return Statement(
        label="cannon_tokens",
        title="External words of Cannon's product over outer blocks",
        assumptions=(*CANNON, "each outer block of the product is written when its last term is added"),
        relation=sympy.Eq(cannon_external_words, bound),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "M³ times 2b² words of each of N² processors are read, M² times b² are written",
                lambda: sympy.expand(_in_outer_blocks(grid_side**2 * 2 * SIDE**2) + _written() - bound),
                concludes=bound,
            ),
        ),
    )


def cannon_crossover() -> Statement:
    """Computing hides fetching iff e ≤ k + (N − 1)g + N³l/(2k²), k the rows of an outer block: a cubic in k.

    That is k³ − (e − (N − 1)g)k² + N³l/2 ≥ 0: small blocks are hidden by barriers, large ones by operations.

    Source: ours.
    """
    bound = block_side + (grid_side - 1) * word_cost + grid_side**3 * barrier_cost / (2 * block_side**2)
    return Statement(
        label="cannon_crossover",
        title="Where Cannon's product over outer blocks is bound by memory",
        assumptions=STREAMED_CANNON,
        relation=sympy.Eq(cannon_balance, bound),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "T − eC is 2/N² times the cubic, with b = k/N",
                lambda: sympy.expand(_hyperstep_slack() - 2 * _cubic() / grid_side**2),
            ),
            Step(
                "it is 0 at this e, and falls as e grows",
                lambda: _only_balance(bound),
                concludes=bound,
            ),
        ),
    )


def cannon_window() -> Statement:
    """No block is bound by memory if e ≤ (N − 1)g + (3/2)N l^{1/3}: the least of that over all k, at k = N l^{1/3}.

    For a larger e the cubic has two positive roots, and between them every block is.

    Source: ours.
    """
    bound = (grid_side - 1) * word_cost + sympy.Rational(3, 2) * grid_side * sympy.cbrt(barrier_cost)
    return Statement(
        label="cannon_window",
        title="Memory that is fast enough for every block",
        assumptions=STREAMED_CANNON,
        relation=sympy.Ge(cannon_balance, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "with a = N l^{1/3} the largest e exceeds it by (k − a)²(2k + a)/(2k²)",
                lambda: _excess() - sympy.expand(_excess_factored()),
            ),
            Step("which is not negative", lambda: decided(_excess_factored().is_nonnegative), concludes=bound),
            Step("by nothing at k = a", lambda: _excess_factored().subs(block_side, _turning_side())),
            Step("before k = a the largest e falls, after it it grows: two roots at most", _falls_then_grows),
        ),
    )


def _in_outer_blocks(each: sympy.Expr) -> sympy.Expr:
    """M³ times what a hyperstep has, in n, M and N."""
    return sympy.expand(outer_count**3 * each.subs(SIDE, matrix_side / (grid_side * outer_count)))


def _hyperstep() -> sympy.Expr:
    products = grid_side * 2 * SIDE**3
    return products + (grid_side - 1) * 2 * SIDE**2 * word_cost + grid_side * barrier_cost


def _written() -> sympy.Expr:
    side = matrix_side / (grid_side * outer_count)
    return outer_count**2 * grid_side**2 * side**2


def _held(row: sympy.Expr, column: sympy.Expr, turn: sympy.Expr) -> sympy.Matrix:
    """Row and column of the block of A, and of the block of B, that a processor holds, up to multiples of N."""
    middle = row + column + turn
    return sympy.Matrix([row, middle, middle, column])


def _neighbours_blocks() -> sympy.Expr:
    """By how much what a processor has after a shift differs from what it is to have, and m from m."""
    row, column, turn = sympy.symbols("i j t", integer=True)
    right, below = _held(row, column + 1, turn), _held(row + 1, column, turn)
    shifted = sympy.Matrix([*right[:2], *below[2:]])
    own = _held(row, column, turn + 1)
    return sympy.Add(*(sympy.Abs(sympy.expand(gap)) for gap in (*(shifted - own), own[1] - own[2])))


def _all_are_met() -> sympy.Basic:
    turn, later, behind = sympy.symbols("turn later behind", integer=True, nonnegative=True)
    other = turn + 1 + later
    side = other + 1 + behind
    apart = sympy.expand((_held(turn, turn, other) - _held(turn, turn, turn))[1])
    return decided(apart.is_positive and sympy.expand(side - apart).is_positive)


def _block_operations() -> sympy.Expr:
    rows = sympy.Symbol("rows", integer=True, positive=True)
    entry = sympy.summation(2, (_INDEX, 1, rows))
    return sympy.expand(rows**2 * entry - 2 * rows**3)


def _hyperstep_slack() -> sympy.Expr:
    return (_hyperstep() - 2 * SIDE**2 * fetch_cost).subs(SIDE, block_side / grid_side)


def _cubic() -> sympy.Expr:
    return block_side**3 - (fetch_cost - (grid_side - 1) * word_cost) * block_side**2 + grid_side**3 * barrier_cost / 2


def _only_balance(bound: sympy.Expr) -> sympy.Basic:
    is_zero = sympy.expand(_cubic().subs(fetch_cost, bound)) == 0
    return decided(is_zero and sympy.diff(_cubic(), fetch_cost).is_negative)


def _turning_side() -> sympy.Expr:
    return grid_side * sympy.cbrt(barrier_cost)


def _excess() -> sympy.Expr:
    return sympy.expand(cannon_crossover().bound - cannon_window().bound)


def _excess_factored() -> sympy.Expr:
    turning = _turning_side()
    return (block_side - turning) ** 2 * (2 * block_side + turning) / (2 * block_side**2)


def _falls_then_grows() -> sympy.Basic:
    """k³ times the slope is k³ − a³."""
    slope = sympy.expand(block_side**3 * sympy.diff(cannon_crossover().bound, block_side))
    before = sympy.diff(slope, block_side).is_positive
    return decided(before and sympy.expand(slope - (block_side**3 - _turning_side() ** 3)) == 0)


STATEMENTS = by_label(__name__, streamed_cannon, cannon_words, cannon_tokens, cannon_crossover, cannon_window)
"""The statements of this file."""
