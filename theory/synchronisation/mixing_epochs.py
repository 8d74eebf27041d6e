"""How much do workers agree after an epoch, in which every link of a connected graph was used once at least?

Dynamic backup workers (Xiong, Yan, Singh and Li 2021, as described to us) mix with those neighbours alone that have
finished, and see to it that the links used in an epoch connect everybody. That disagreement then falls by a factor was
shown by Nedic, Olshevsky, Ozdaglar and Tsitsiklis 2009; the constant, for links used both ways, and the proof are ours.
"""

from itertools import permutations

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.feedback.residual import jensen_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import epoch_factor, least_weight, n

LARGEST_WRITTEN = 4
"""Workers up to which every order of the links of a path is multiplied out."""
LINKS = (
    r"$x^{+}=W_B\dots W_1x$ with doubly stochastic $W_t$",
    Given(
        "least",
        "w",
        "≥",
        least_weight,
        words="every $w_{ii}$, and $w_{ij}$ and $w_{ji}$ where workers $i$ and $j$ mix in a step, is some {}, and all "
        "others are $0$",
    ),
    "all pairs that mix in some step of the epoch connect the workers",
)

_SENDER, _READER = sympy.symbols("j i", integer=True, positive=True)
_WEIGHT = sympy.IndexedBase("w", real=True)
_CUT = sympy.Symbol("d", integer=True, positive=True)
"""Workers below a gap, in ascending order of their parameters."""


def epoch_disagreement() -> Statement:
    """Σ_i ‖x_i⁺ − x̄‖² ≤ (1 − 16a(1 − a)/n²) Σ_i ‖x_i − x̄‖² over an epoch, however long it is.

    Metropolis weights have a = 1/n, so that the factor is 1 − 16(n − 1)/n⁴; on a ring a = 1/3, and it is 1 − 32/(9n²).
    Two workers attain it: they agree after one step. The range max x − min x need not fall in an epoch at all: 0, 0, 1
    and 1 on a path whose middle link comes last.

    Source: ours; with 1 − a/(2n²), for weights of one direction: Nedic, Olshevsky, Ozdaglar and Tsitsiklis 2009, as we
    understand them.
    """
    bound = 1 - 16 * least_weight * (1 - least_weight) / n**2
    return Statement(
        label="epoch_disagreement",
        title="Disagreement after an epoch that connects the workers",
        assumptions=(*LINKS, r"the $x_i$ are not all equal"),
        relation=sympy.Le(epoch_factor, bound, evaluate=False),
        domain=(sympy.Le(least_weight, sympy.Rational(1, 2)), sympy.Ge(n, 2)),
        source="ours; form: Nedic, Olshevsky, Ozdaglar and Tsitsiklis 2009",
        derivation=(
            Step("rows and columns of v = WᵀW sum to 1", lambda: _row_of_product() - 1),
            Step(
                "so Σ_i x_i² − Σ_k (Σ_i w_ki x_i)² = Σ_i x_i² − Σ_{i,j} v_ij x_i x_j = Σ_{i,j} v_ij(x_i − x_j)²/2",
                _lost_in_a_step,
            ),
            Step(
                "Σ v_ij over i in a set S and j not in it is Σ_k y_k(1 − y_k), y_k = Σ_{i∈S} w_ki", _weight_across_a_set
            ),
            Step("a ≤ y_k ≤ 1 − a for both ends k of a link across S: y_k(1 − y_k) ≥ a(1 − a)", _ends_of_a_link),
            Step("(x_j − x_i)² is no less than the sum of the squares of the gaps between", _square_of_gaps),
            Step(
                "so a step takes 2a(1 − a) times the squares of all gaps that its links cross; a gap of the start is "
                "there until then, for sides that do not mix keep apart",
                _sides_keep_apart,
                argued="for means of more than two values",
            ),
            jensen_step("a weight of 1 for each gap between two workers"),
            Step(
                "Σ_i (x_i − x̄)² = (1/n)Σ_{i<j} (x_i − x_j)² ≤ Σ_d d(n − d)/2 · gap_d²",
                lambda: _pairs_across() - n * _CUT * (n - _CUT) / 2,
            ),
            Step(
                "d(n − d) ≤ n²/4",
                lambda: decided(sympy.expand(n**2 / 4 - _CUT * (n - _CUT) - (n / 2 - _CUT) ** 2) == 0),
            ),
            Step(
                "1 − 2a(1 − a)/(n²/8) is the bound",
                lambda: 1 - _taken_per_gap() / _most_per_gap() - bound,
                concludes=bound,
            ),
            Step(
                "two workers that average agree: a = 1/2",
                lambda: bound.subs({n: 2, least_weight: sympy.Rational(1, 2)}),
            ),
            Step(
                "Metropolis weights: with k neighbours a worker keeps at least 1 − k/(1 + k) = 1/(1 + k) ≥ 1/n",
                _metropolis,
            ),
            Step(
                f"all orders of the links of a path obey it, up to {LARGEST_WRITTEN} workers",
                lambda: _paths_obey(bound),
            ),
            Step("0, 0, 1, 1 on a path, the middle link last: the range stays 1", _range_stays),
        ),
    )


def _row_of_product() -> sympy.Expr:
    """Σ_j Σ_k w_ki w_kj, where rows and columns of W sum to 1."""
    between = sympy.Symbol("k", integer=True, positive=True)
    by_sender = sympy.Sum(_WEIGHT[between, _READER] * _WEIGHT[between, _SENDER], (_SENDER, 1, n)).factor()
    row = sympy.Sum(_WEIGHT[between, _SENDER], (_SENDER, 1, n))
    column = sympy.Sum(_WEIGHT[between, _READER], (between, 1, n))
    return sympy.Sum(by_sender.xreplace({row: sympy.S.One}), (between, 1, n)).xreplace({column: sympy.S.One})


def _lost_in_a_step() -> sympy.Basic:
    product, values = sympy.IndexedBase("v", real=True), sympy.IndexedBase("x", real=True)
    weight, own, other = product[_READER, _SENDER], values[_READER], values[_SENDER]
    by_row = sympy.Sum(weight * own**2, (_SENDER, 1, n)).factor().xreplace({sympy.Sum(weight, (_SENDER, 1, n)): 1})
    by_column = sympy.Sum(weight * other**2, (_READER, 1, n)).factor().xreplace({sympy.Sum(weight, (_READER, 1, n)): 1})
    pair = weight * (own - other) ** 2 / 2 - (weight * own**2 / 2 + weight * other**2 / 2 - weight * own * other)
    return decided(by_row == own**2 and by_column == other**2 and sympy.expand(pair) == 0)


def _weight_across_a_set() -> sympy.Expr:
    # One row k: Σ_{i∈S} Σ_{j∉S} w_ki w_kj, where Σ_{i∈S} w_ki = y and the row sums to 1.
    inside, outside = sympy.Symbol("y", real=True), sympy.Symbol("y_outside", real=True)
    by_pairs = sympy.Sum(_WEIGHT[_READER, _SENDER] * inside, (_SENDER, 1, n)).factor()
    others = sympy.Sum(_WEIGHT[_READER, _SENDER], (_SENDER, 1, n))
    return sympy.expand(by_pairs.xreplace({others: outside}).subs(outside, 1 - inside) - inside * (1 - inside))


def _ends_of_a_link() -> sympy.Basic:
    # y = a + more and 1 − y = a + rest, so a ≤ 1/2.
    more, rest = sympy.symbols("more rest", nonnegative=True)
    kept = (1 - more - rest) / 2
    inside = kept + more
    room = inside * (1 - inside) - kept * (1 - kept)
    return decided(sympy.expand(room - more * rest) == 0 and (more * rest).is_nonnegative)


def _square_of_gaps() -> sympy.Basic:
    # By induction: (sum + gap)² − (squares + gap²) ≥ 0 where sum² ≥ squares and both are ≥ 0.
    total, gap, excess = sympy.symbols("sum gap excess", nonnegative=True)
    room = (total + gap) ** 2 - ((total**2 - excess) + gap**2)
    return decided(sympy.expand(room).is_nonnegative)


def _sides_keep_apart() -> sympy.Basic:
    # A mean of values of at most "low", and one of values of at least "low + gap".
    weight, low, gap = (
        sympy.Symbol("share", nonnegative=True),
        sympy.Symbol("low", real=True),
        sympy.Symbol("gap", nonnegative=True),
    )
    below, further, above, beyond = sympy.symbols("below further above beyond", nonnegative=True)
    rest = sympy.Symbol("rest", nonnegative=True)
    shares = (weight / (weight + rest), rest / (weight + rest))
    lower = shares[0] * (low - below) + shares[1] * (low - further)
    upper = shares[0] * (low + gap + above) + shares[1] * (low + gap + beyond)
    left = sympy.cancel((upper - lower - gap) * (weight + rest))
    return decided(sympy.expand(left).is_nonnegative)


def _pairs_across() -> sympy.Expr:
    """Σ (j − i) over the pairs i ≤ d < j."""
    inner = sympy.summation(_SENDER - _READER, (_SENDER, _CUT + 1, n))
    return sympy.factor(sympy.summation(sympy.expand(inner), (_READER, 1, _CUT)))


def _taken_per_gap() -> sympy.Expr:
    return 2 * least_weight * (1 - least_weight)


def _most_per_gap() -> sympy.Expr:
    return sympy.Rational(1, 2) * n**2 / 4


def _metropolis() -> sympy.Basic:
    degree, larger = sympy.symbols("degree larger", integer=True, nonnegative=True)
    # Every neighbour has the weight 1/(1 + max of the degrees) or less.
    others = sympy.symbols("others", integer=True, nonnegative=True)
    kept = 1 - degree / (1 + degree)
    workers = degree + 1 + others
    on_link = 1 / (1 + degree + larger)
    return decided(
        sympy.factor(kept - 1 / workers).is_nonnegative
        and sympy.factor((on_link - 1 / workers).subs(others, larger + others)).is_nonnegative
    )


def _paths_obey(bound: sympy.Expr) -> sympy.Basic:
    half = sympy.Rational(1, 2)
    return decided(
        all(
            _contracts(workers, order, bound.subs({n: workers, least_weight: half}))
            for workers in range(2, LARGEST_WRITTEN + 1)
            for order in permutations(range(workers - 1))
        )
    )


def _contracts(workers: int, order: tuple[int, ...], factor: sympy.Expr) -> bool:
    """True iff averaging over the links of a path in this order has at most this factor, for all parameters."""
    product = sympy.eye(workers)
    for link in order:
        product = _averaging(workers, link) * product
    centring = sympy.eye(workers) - sympy.ones(workers) / workers
    room = factor * centring - centring * product.T * product * centring
    return bool(room.is_positive_semidefinite)


def _averaging(workers: int, link: int) -> sympy.Matrix:
    """The next two workers after `link` average."""
    matrix = sympy.eye(workers)
    matrix[link : link + 2, link : link + 2] = sympy.ones(2) / 2
    return matrix


def _range_stays() -> sympy.Basic:
    values = sympy.Matrix([0, 0, 1, 1])
    for link in (0, 2, 1):
        values = _averaging(4, link) * values
    return decided(max(values) - min(values) == 1)


STATEMENTS = by_label(__name__, epoch_disagreement)
"""The statements of this file."""
