"""What is left of the differences between workers that mix their parameters in small groups? And of their mean?

Workers on a grid average in their row, then in their column (divide-and-shuffle synchronisation, Wang, Zhang, Yang et
al. 2022, as we understand it, alternates groups so). Compressed differences of public copies: Koloskova, Stich and
Jaggi 2019 (CHOCO). Two rounds on a grid, the constants and the proofs are ours.
"""

from collections.abc import Callable

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.feedback.residual import jensen_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    digit_entry,
    disagreement,
    eta,
    gradient,
    gradient_spread,
    grid_columns,
    grid_rows,
    mixing_entry,
    n,
    next_replica_mean,
    replica_mean,
)

GRID = "the $n=RC$ workers stand on a grid of $R$ rows and $C$ columns"
ROUNDS = (
    r"$x_{t+1}=W_t x_t-\eta g_t$, $W_t$ averages in rows for even $t$, in columns for odd $t$; two rounds or more",
    Given(
        "spread",
        r"\frac{1}{n}\sum_i\mathbb{E}\,\lVert g_i-\bar{g}\rVert^{2}",
        "≤",
        gradient_spread,
        words="{} in every step",
    ),
)
PUBLIC = (
    r"$x_i^{+}=x_i-\eta g_i+\gamma\sum_j w_{ij}(\hat{x}_j-\hat{x}_i)$ with any copies $\hat{x}_i$ that all have",
    r"all rows and all columns of $w$ have the same sum; $g_t$ is the mean of the $g_i$",
)
LARGEST_WRITTEN = 3
"""Rows, and columns, up to which the matrices are also written out."""
FIRST, SECOND, ALL = sympy.symbols("W V J", commutative=False)
"""The mixing matrices of two rounds, the later one first, and the one that gives everybody the mean."""
_SUMS = sympy.symbols("r c", real=True)
"""What each row, and each column, of a mixing matrix sums to."""
BASES = (2, 3, 2)
"""Of the digits for which the matrices are also written out."""
_COUNT, _BASE = sympy.symbols("c g", integer=True, positive=True)
"""The product of the bases of digits that were averaged in, and the base of another one."""
_SENDER, _READER = sympy.symbols("j i", integer=True, positive=True)
_WEIGHT, _COPY = sympy.IndexedBase("w", real=True), sympy.IndexedBase("copy", real=True)

Place = tuple[sympy.Expr, sympy.Expr]
"""Row and column of a worker."""
Round = Callable[[Place, Place], sympy.Expr]
"""The weight of one worker for another in a round of mixing."""


def grid_mixing() -> Statement:
    """Averaging in rows and then in columns is averaging over all: every entry of the product is 1/(RC).

    So groups of size √n reach the exact mean of n workers in two rounds, in either order; `digit_mixing` has more.

    Source: classical; as a pair of rounds of training ours.
    """
    bound = 1 / (grid_rows * grid_columns)
    return Statement(
        label="grid_mixing",
        title="Two rounds of mixing on a grid",
        assumptions=(GRID, "one round averages in every row, the next in every column"),
        relation=sympy.Eq(mixing_entry, bound),
        domain=(),
        source="classical",
        kind="definition",
        derivation=(
            Step(
                "from (a, b) to (c, d): Σ_e Σ_f [a = e]/C · [f = d]/R over the workers (e, f) between",
                lambda: _through_all(_in_rows, _in_columns) - bound,
                concludes=bound,
            ),
            Step("the same with columns first", lambda: _through_all(_in_columns, _in_rows) - bound),
            Step(f"the matrices are multiplied, too, for R, C ≤ {LARGEST_WRITTEN}", _multiplied),
        ),
    )


def digit_mixing() -> Statement:
    """Averaging once in each digit of the workers' numbers is averaging over all: every entry of the product is 1/n.

    So groups of g reach the exact mean of g^d workers in d rounds, and in no fewer; bases may differ, as those of
    places in a rack and of racks. A round leads out of racks only where its digit is one of racks.

    Source: classical; as rounds of training ours.
    """
    bound = 1 / n
    return Statement(
        label="digit_mixing",
        title="Rounds of mixing by the digits of a worker's number",
        assumptions=(
            "the $n$ workers are numbered in $d$ digits, whose bases have the product $n$",
            "each of $d$ rounds averages among workers whose numbers differ in one digit, a digit for each round",
        ),
        relation=sympy.Eq(digit_entry, bound),
        domain=(),
        source="classical",
        derivation=(
            Step(
                "if two workers that agree in all other digits have the weight 1/c after some rounds, and others none, "
                "then one more round, in a digit of base g, makes that 1/(cg), whether they agree in this digit or not",
                lambda: _one_more_digit() - 1 / (_COUNT * _BASE),
            ),
            Step("before, everybody has the weight 1 for itself, and c = 1", lambda: (1 / _COUNT).subs(_COUNT, 1) - 1),
            Step(
                "after all rounds c is the product of all bases, and no digit is left to agree in",
                lambda: (1 / _COUNT).subs(_COUNT, n) - bound,
                concludes=bound,
            ),
            Step(
                "with bases 2, 3 and 2 the matrices are multiplied: all but one of them do not suffice",
                _digits_multiplied,
            ),
        ),
    )


def grid_disagreement() -> Statement:
    """(1/n) Σ_i E‖x_i − x̄‖² ≤ 4η²Z² from the second round on: only the last two gradients count, for every n.

    It is attained where rows of two or more are averaged last: gradients that are equal within rows, of mean 0, and the
    same in both steps. Mixing after the gradient step,
    x_{t+1} = W_t(x_t − ηg_t), leaves only the last gradient, and η²Z².

    Source: ours.
    """
    bound = 4 * eta**2 * gradient_spread
    return Statement(
        label="grid_disagreement",
        title="Disagreement of workers that mix on a grid",
        assumptions=(GRID, *ROUNDS),
        relation=sympy.Le(disagreement, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("W(Vx − ηg) − ηh less its mean is −η(W(g − Jg) + h − Jh), for WV = JW = JJ = J", _last_two_remain),
            jensen_step("the weights of a row of W"),
            Step("columns of W sum to 1: Σ_i Σ_j w_ij y_j² = Σ_j y_j²", _columns_keep_squares),
            Step("(y + z)² ≤ 2y² + 2z² in each coordinate of each worker", _square_of_sum),
            Step(
                "two gradients with spreads of at most Z² leave at most 2η²(Z² + Z²)",
                lambda: _two_spreads(bound),
                concludes=bound,
            ),
            Step(
                "gradients of ±Z by rows in both steps attain it when rows are averaged", lambda: _two_equal_rows(bound)
            ),
            Step("W(Vx − ηVg − ηh) less its mean is −ηW(h − Jh): mixing last leaves one", _last_one_remains),
        ),
    )


def mixing_mean() -> Statement:
    """x̄_{t+1} = x̄_t − ηḡ_t whatever the public copies are: the compressor that makes them cannot move the mean.

    Compressing the parameters themselves, x_i⁺ = Σ_j w_ij C(x_j), does move it.

    Source: Koloskova, Stich and Jaggi 2019.
    """
    bound = replica_mean - eta * gradient
    return Statement(
        label="mixing_mean",
        title="Mean of workers that mix compressed parameters",
        assumptions=PUBLIC,
        relation=sympy.Eq(next_replica_mean, bound),
        domain=(),
        source="Koloskova, Stich and Jaggi 2019",
        derivation=(
            Step(
                "Σ_i Σ_j w_ij(x̂_j − x̂_i) = cΣ_j x̂_j − rΣ_i x̂_i where rows of w sum to r and columns to c",
                lambda: _copies_in_sum(*_SUMS) - (_SUMS[1] - _SUMS[0]) * _sum_of_copies(),
            ),
            Step("for r = c the mean of n workers moves as stated", lambda: _mean_moves() - bound, concludes=bound),
            Step("Top-1 of (2, 1) and of (1, 2), averaged: the mean (3/2, 3/2) becomes (1, 1)", _plain_moves),
        ),
    )


def _in_rows(reader: Place, sender: Place) -> sympy.Expr:
    return sympy.KroneckerDelta(reader[0], sender[0]) / grid_columns


def _in_columns(reader: Place, sender: Place) -> sympy.Expr:
    return sympy.KroneckerDelta(reader[1], sender[1]) / grid_rows


def _through_all(last: Round, first: Round) -> sympy.Expr:
    """Weight of one worker for another through all workers between, whose places are summed over."""
    # A place is given by the numbers of rows and columns on either side of it.
    above, below, left, right = sympy.symbols("above below left right", integer=True, nonnegative=True)
    row, column, other_row, other_column = sympy.symbols("e f a d", integer=True)
    sizes = {grid_rows: above + 1 + below, grid_columns: left + 1 + right}
    reader, sender = (above + 1, other_column), (other_row, left + 1)
    if last is _in_columns:
        reader, sender = (other_row, left + 1), (above + 1, other_column)
    weight = (last(reader, (row, column)) * first((row, column), sender)).subs(sizes)
    through_rows = sympy.summation(weight, (row, 1, sizes[grid_rows]))
    total = sympy.summation(through_rows, (column, 1, sizes[grid_columns]))
    return sympy.simplify(total).subs({above: grid_rows - 1 - below, left: grid_columns - 1 - right})


def _multiplied() -> sympy.Basic:
    sizes = [(rows, columns) for rows in range(1, LARGEST_WRITTEN + 1) for columns in range(1, LARGEST_WRITTEN + 1)]
    return decided(all(_product_is_constant(rows, columns) for rows, columns in sizes))


def _product_is_constant(rows: int, columns: int) -> bool:
    first, last = _matrix(_in_rows, rows, columns), _matrix(_in_columns, rows, columns)
    constant = sympy.ones(rows * columns) / (rows * columns)
    return bool(first * last == constant and last * first == constant)


def _matrix(weights: Round, rows: int, columns: int) -> sympy.Matrix:
    places = [(sympy.Integer(row), sympy.Integer(column)) for row in range(rows) for column in range(columns)]
    sizes = {grid_rows: rows, grid_columns: columns}
    return sympy.Matrix([[weights(reader, sender).subs(sizes) for sender in places] for reader in places])


def _one_more_digit() -> sympy.Expr:
    """Σ over the values of a digit of the weight 1/g of a round times 1/c where that is the sender's digit."""
    below, above = sympy.symbols("below above", integer=True, nonnegative=True)
    value, base = sympy.Symbol("value", integer=True), below + 1 + above
    weight = _in_digit(base) * sympy.KroneckerDelta(value, below + 1) / _COUNT
    found = sympy.simplify(sympy.summation(weight, (value, 1, base)))
    return found.subs(above, _BASE - 1 - below)


def _in_digit(base: sympy.Expr) -> sympy.Expr:
    """Weight of a worker for one that differs from it in one digit."""
    return 1 / base


def _digits_multiplied() -> sympy.Basic:
    matrices = []
    for place, base in enumerate(BASES):
        factors = [
            sympy.ones(base) * _in_digit(sympy.Integer(base)) if other == place else sympy.eye(size)
            for other, size in enumerate(BASES)
        ]
        matrices.append(sympy.kronecker_product(*factors))
    workers = sympy.prod(BASES)
    constant = sympy.ones(workers) / workers
    fewer = [sympy.prod(matrices[:place] + matrices[place + 1 :]) for place in range(len(BASES))]
    return decided(sympy.prod(matrices) == constant and all(product != constant for product in fewer))


def _without_mean(parameters: sympy.Expr) -> sympy.Expr:
    """(1 − J)x, with WV = J, JW = J and JJ = J."""
    product = sympy.expand((1 - ALL) * parameters)
    for matrices in (FIRST * SECOND, ALL * FIRST, ALL * ALL):
        product = sympy.expand(product.subs(matrices, ALL))
    return product


def _last_two_remain() -> sympy.Expr:
    start, earlier, later = sympy.symbols("x g h", commutative=False)
    end = FIRST * (SECOND * start - eta * earlier) - eta * later
    stated = -eta * (FIRST * earlier - ALL * earlier + later - ALL * later)
    # W(1 − J) = W − J, as WJ = J.
    return sympy.expand(_without_mean(end) - stated)


def _last_one_remains() -> sympy.Expr:
    start, earlier, later = sympy.symbols("x g h", commutative=False)
    end = FIRST * (SECOND * (start - eta * earlier) - eta * later)
    return sympy.expand(_without_mean(end) - -eta * (FIRST * later - ALL * later))


def _columns_keep_squares() -> sympy.Expr:
    square = sympy.IndexedBase("y", real=True)[_SENDER] ** 2
    by_sender = sympy.Sum(_WEIGHT[_READER, _SENDER] * square, (_READER, 1, n)).factor()
    column = sympy.Sum(_WEIGHT[_READER, _SENDER], (_READER, 1, n))
    return sympy.expand(by_sender.xreplace({column: sympy.Integer(1)}) - square)


def _square_of_sum() -> sympy.Basic:
    first, second = sympy.symbols("y z", real=True)
    room = 2 * first**2 + 2 * second**2 - (first + second) ** 2
    return decided(sympy.factor(sympy.expand(room)).is_nonnegative)


def _two_spreads(bound: sympy.Expr) -> sympy.Basic:
    fewer, less = sympy.symbols("fewer less", nonnegative=True)
    left = 2 * eta**2 * ((gradient_spread - fewer) + (gradient_spread - less))
    return decided(sympy.expand(bound - left).is_nonnegative)


def _two_equal_rows(bound: sympy.Expr) -> sympy.Basic:
    spread = sympy.sqrt(gradient_spread)
    gradients = sympy.Matrix([spread, spread, -spread, -spread])
    rows, columns = _matrix(_in_rows, 2, 2), _matrix(_in_columns, 2, 2)
    end = rows * (columns * sympy.zeros(4, 1) - eta * gradients) - eta * gradients
    mean_square = sympy.Add(*(value**2 for value in end)) / 4
    return decided(sum(end) == 0 and sympy.expand(mean_square - bound) == 0)


def _copies_in_sum(row_sum: sympy.Expr, column_sum: sympy.Expr) -> sympy.Expr:
    """Σ_i Σ_j w_ij(x̂_j − x̂_i), with the sums of rows and columns put in."""
    from_senders = sympy.Sum(_WEIGHT[_READER, _SENDER] * _COPY[_SENDER], (_READER, 1, n)).factor()
    from_readers = sympy.Sum(_WEIGHT[_READER, _SENDER] * _COPY[_READER], (_SENDER, 1, n)).factor()
    columns = {sympy.Sum(_WEIGHT[_READER, _SENDER], (_READER, 1, n)): column_sum}
    rows = {sympy.Sum(_WEIGHT[_READER, _SENDER], (_SENDER, 1, n)): row_sum}
    by_worker = from_senders.xreplace(columns).xreplace({_SENDER: _READER}) - from_readers.xreplace(rows)
    return sympy.Sum(sympy.expand(by_worker), (_READER, 1, n)).expand().factor()


def _sum_of_copies() -> sympy.Expr:
    return sympy.Sum(_COPY[_READER], (_READER, 1, n))


def _mean_moves() -> sympy.Expr:
    own, local = sympy.IndexedBase("x", real=True), sympy.IndexedBase("g", real=True)
    strength = sympy.Symbol("gamma", real=True)
    total = sympy.Sum(own[_READER] - eta * local[_READER], (_READER, 1, n)).expand()
    means = {
        sympy.Sum(own[_READER], (_READER, 1, n)): n * replica_mean,
        sympy.Sum(local[_READER], (_READER, 1, n)): n * gradient,
    }
    mixed = strength * _copies_in_sum(_SUMS[0], _SUMS[0])
    return sympy.expand((total.factor(deep=True).expand() + mixed).xreplace(means) / n)


def _plain_moves() -> sympy.Basic:
    parameters = [sympy.Matrix([2, 1]), sympy.Matrix([1, 2])]
    sent = [vector.applyfunc(_only(max(vector))) for vector in parameters]
    before, after = (sum(vectors, sympy.zeros(2, 1)) / 2 for vectors in (parameters, sent))
    return decided(before == sympy.Matrix([3, 3]) / 2 and after == sympy.ones(2, 1))


def _only(largest: sympy.Expr) -> Callable[[sympy.Expr], sympy.Expr]:
    """Top-1: the largest coordinate is sent, the others are not."""
    return lambda value: value if value == largest else sympy.S.Zero


STATEMENTS = by_label(__name__, grid_mixing, digit_mixing, grid_disagreement, mixing_mean)
"""The statements of this file."""
