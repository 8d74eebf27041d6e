"""Why is distance correlation large between wide independent samples, and what does U-centring mend?

Paired samples of n examples have the distances a_ij and b_ij. V(a, b) is the mean of the products of all n² doubly
centred distances (Székely, Rizzo and Bakirov 2007), U(a, b) the sum of those of U-centred ones over n(n − 3) (Székely
and Rizzo 2014). NoPeek (Vepakomma et al. 2020) trains with √(V(a, b)/√(V(a, a)V(b, b))). All permutations of the second
sample, equally likely, are independence as exactly as data can show it; averages over them need no law. That U has the
mean zero then is Székely and Rizzo's; the averages in this form, and the proofs, are ours.

Sums are written by S₁ = Σ a_ij b_ij, S₂ = Σ a_i· b_i· and the totals R and S, a dot for the sum over an index.
"""

from __future__ import annotations

from itertools import product

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    centred_distance,
    corrected_covariance,
    covariance_slope,
    distance_covariance,
    first_distance,
    first_excess,
    permuted_correlation,
    permuted_covariance,
    permuted_square,
    row_covariance,
    sample_size,
    second_distance,
    second_excess,
    squared_correlation,
)
from sparsync.theory.learning.centred_sums import (
    OTHER,
    OTHER_B,
    ROW,
    ROW_B,
    S1,
    S2,
    TOTAL,
    TOTAL_B,
    A,
    B,
    centred_b,
    double_centring_step,
    doubly_centred_form,
    over_permutations,
    slope_in_a_distance,
    symmetric_matrix,
    totals,
    u_centred,
    u_centred_form,
    u_centred_sum,
)

SAMPLES = (
    r"$a_{ij}$ and $b_{ij}$ are distances of $n$ paired examples: symmetric, zero for $i=j$",
    r"$\bar{a}$ and $\bar{b}$ are their means over $i\neq j$, both positive",
)


def equal_distance_correlation() -> Statement:
    """V(a, b)² = V(a, a)V(b, b) where all distances within a sample are equal: the biased form is 1, the other 0/0.

    So it is for the vertices of a simplex, whatever is paired with what, and nearly so for samples of many dimensions,
    whose distances are nearly equal.

    Source: ours.
    """
    bound = sympy.Integer(1)
    return Statement(
        label="equal_distance_correlation",
        title="Biased distance correlation of equal distances",
        assumptions=(r"all $a_{ij}$ with $i\neq j$ are equal and positive", r"all $b_{ij}$ with $i\neq j$ likewise"),
        relation=sympy.Eq(squared_correlation, bound, evaluate=False),
        domain=(sympy.Ge(sample_size, 2),),
        source="ours",
        derivation=(
            double_centring_step(),
            Step(
                "equal distances a and b make V(a, b) = (n − 1)ab/n²",
                lambda: _equal_covariance() - permuted_distance_covariance().bound,
            ),
            Step("V(a, b)² = V(a, a) V(b, b)", lambda: _equal_quotient() - bound, concludes=bound),
            Step("U-centred, equal distances are all zero", _equal_u_centred),
        ),
    )


def permuted_distance_covariance() -> Statement:
    """The mean of V over all pairings is (n − 1)āb̄/n²: what equal distances of the same mean have.

    It is the bias of the biased form: of independent samples E V(a, b) is (n − 1)/n² times the product of the expected
    distances.

    Source: ours; for independent samples the expectation is in Székely and Rizzo 2014.
    """
    bound = (sample_size - 1) * first_distance * second_distance / sample_size**2
    return Statement(
        label="permuted_distance_covariance",
        title="Biased distance covariance of samples paired at random",
        assumptions=SAMPLES,
        relation=sympy.Eq(permuted_covariance, bound),
        domain=(sympy.Ge(sample_size, 2),),
        source="ours; for independent samples Székely and Rizzo 2014",
        derivation=(
            double_centring_step(),
            Step(
                "over all permutations b_σ(i)σ(j) has the mean S/(n(n − 1)) and b_σ(i)· the mean S/n",
                _three_examples_permuted,
                argued="for other numbers of examples than three",
            ),
            Step(
                "with S₁ and S₂ at their means RS/(n(n − 1)) and RS/n, and R = n(n − 1)ā",
                lambda: _permuted_mean() - bound,
                concludes=bound,
            ),
            Step("which equal distances attain without any mean", lambda: _equal_covariance() - bound),
        ),
    )


def permuted_distance_correlation() -> Statement:
    """The mean square of the biased form over all pairings is 1/√((1 + ψ_a)(1 + ψ_b)), at least 2/(2 + ψ_a + ψ_b).

    ψ_a ≥ 0 says how unequal a sample's distances are: n²V(a, a) = (1 + ψ_a)(n − 1)ā², and zero if they are equal. In
    many dimensions distances concentrate, ψ falls, and the biased form goes to one for samples that have nothing to do
    with each other. More examples mend it slowly: ψ_a grows in proportion to n.

    Source: ours.
    """
    bound = 2 / (2 + first_excess + second_excess)
    return Statement(
        label="permuted_distance_correlation",
        title="Biased distance correlation of samples paired at random",
        assumptions=(*SAMPLES, r"$n^{2}V(a,a)=(1+\psi_a)(n-1)\bar{a}^{2}$, and $\psi_b$ likewise"),
        relation=sympy.Ge(permuted_correlation, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "ψ_a ≥ 0: the diagonal of A has the sum −(n − 1)ā, the rest the opposite, and squares add",
                _floor,
                argued="that squares add up to the square of a sum over the number of its terms, or more",
            ),
            Step(
                "pairings change no variance, so that the mean is (n − 1)āb̄/(n²√(V(a, a)V(b, b)))",
                _mean_over_variances,
            ),
            Step("√(xy) ≤ (x + y)/2 for x, y ≥ 0", _geometric_below_arithmetic),
            Step(
                "with x = 1 + ψ_a and y = 1 + ψ_b",
                lambda: 1 / ((1 + first_excess + 1 + second_excess) / 2) - bound,
                concludes=bound,
            ),
        ),
    )


def distance_covariance_bias() -> Statement:
    """V(a, b) = (1 − 3/n)U(a, b) + 4(n − 1)²C/(n²(n − 2)) + (n − 1)āb̄/n², for every pair of samples.

    C is the covariance of the examples' mean distances. Only the last term knows nothing of the pairing: it is what
    `permuted_distance_covariance` says is left of V there, as U and C have the mean zero.

    Source: ours.
    """
    bound = (
        (1 - 3 / sample_size) * corrected_covariance
        + 4 * (sample_size - 1) ** 2 * row_covariance / (sample_size**2 * (sample_size - 2))
        + (sample_size - 1) * first_distance * second_distance / sample_size**2
    )
    return Statement(
        label="distance_covariance_bias",
        title="Biased and corrected distance covariance",
        assumptions=(
            *SAMPLES,
            r"$C=\frac{1}{n}\sum_i(\bar{a}_i-\bar{a})(\bar{b}_i-\bar{b})$ with $\bar{a}_i=\frac{1}{n-1}\sum_j a_{ij}$",
        ),
        relation=sympy.Eq(distance_covariance, bound),
        domain=(sympy.Ge(sample_size, 4),),
        source="ours",
        derivation=(
            double_centring_step(),
            Step(
                "of U-centred distances Σ_{i≠j} is S₁ − 2S₂/(n − 2) + RS/((n − 1)(n − 2))",
                lambda: u_centred_sum() - u_centred_form(),
            ),
            Step(
                "S₁ from U, S₂ = n(n − 1)²C + RS/n, and R = n(n − 1)ā",
                lambda: _biased_by_corrected() - bound,
                concludes=bound,
            ),
            Step(
                "C, too, has the mean zero over all permutations",
                _row_covariance_vanishes,
                argued="for other numbers of examples than three",
            ),
        ),
    )


def permuted_corrected_square() -> Statement:
    """Over all pairings the corrected form has the mean 0 and the mean square 2/(n(n − 3)), whatever the samples are.

    So it is as wide as the square root of two over n: a value is read against that.

    Source: ours; that the mean is zero is Székely and Rizzo 2014.
    """
    bound = 2 / (sample_size * (sample_size - 3))
    return Statement(
        label="permuted_corrected_square",
        title="Corrected distance correlation of samples paired at random",
        assumptions=(SAMPLES[0], r"$U(a,a)$ and $U(b,b)$ are positive"),
        relation=sympy.Eq(permuted_square, bound),
        domain=(sympy.Ge(sample_size, 4),),
        source="ours; the mean Székely and Rizzo 2014",
        derivation=(
            Step(
                "rows of U-centred distances have the sum zero, and so has everything: the mean is zero",
                _rows_vanish,
                argued="that over all permutations every place has the same mean",
            ),
            Step(
                "with P = Σ A_ij², pairs that share one index have Σ A_ij A_il = −P in each of four patterns, and "
                "disjoint ones 2P, as all patterns have the sum zero",
                _patterns_of_four,
                argued="for more than four examples",
            ),
            Step(
                "a pattern has the mean of its sum for b over its places; all make 2P_a P_b/(n(n − 3)) together",
                lambda: _permuted_second_moment() - bound,
                concludes=bound,
                argued="that places of one pattern have one mean over all permutations",
            ),
        ),
    )


def distance_covariance_slope() -> Statement:
    """∂V(a, b)/∂a_ij = 2B_ij/n²: centring is its own adjoint, so that the way back needs the other's centred distances.

    Of U it is 2B̃_ij/(n(n − 3)), by the same steps.

    Source: ours.
    """
    bound = 2 * centred_distance / sample_size**2
    return Statement(
        label="distance_covariance_slope",
        title="Slope of the distance covariance in a distance",
        assumptions=(SAMPLES[0], r"$i\neq j$, and $a_{ji}$ moves with $a_{ij}$"),
        relation=sympy.Eq(covariance_slope, bound),
        domain=(sympy.Ge(sample_size, 2),),
        source="ours",
        derivation=(
            double_centring_step(),
            Step(
                "where a_ij and a_ji move by h, S₁ moves by 2h b_ij, S₂ by h(b_i· + b_j·), R by 2h",
                lambda: slope_in_a_distance(doubly_centred_form(), centred_b()) / sample_size**2 - bound,
                concludes=bound,
            ),
            Step(
                "of the sum of U-centred products the slope is 2B̃_ij",
                lambda: _u_slope() - 2 * centred_distance,
            ),
        ),
    )


def _equal_covariance() -> sympy.Expr:
    """V(a, b) where a_ij = ā and b_ij = b̄ for all i ≠ j."""
    both = first_distance * second_distance
    sums = {S1: sample_size * (sample_size - 1) * both, S2: sample_size * (sample_size - 1) ** 2 * both}
    return sympy.factor(doubly_centred_form().subs(sums).subs(totals()) / sample_size**2)


def _equal_quotient() -> sympy.Expr:
    """V(a, b)² over V(a, a) V(b, b)."""
    both = _equal_covariance()
    first, second = both.subs(second_distance, first_distance), both.subs(first_distance, second_distance)
    return sympy.cancel(both**2 / (first * second))


def _equal_u_centred() -> sympy.Expr:
    row = (sample_size - 1) * first_distance
    return u_centred(first_distance, row, row, sample_size * row)


def _permuted_mean() -> sympy.Expr:
    whole = TOTAL * TOTAL_B
    means = {S1: whole / (sample_size * (sample_size - 1)), S2: whole / sample_size}
    return doubly_centred_form().subs(means).subs(totals()) / sample_size**2


def _biased_by_corrected() -> sympy.Expr:
    s2 = sample_size * (sample_size - 1) ** 2 * row_covariance + TOTAL * TOTAL_B / sample_size
    whole = sample_size * (sample_size - 3) * corrected_covariance
    s1 = sympy.solve(sympy.Eq(u_centred_form(), whole), S1)[0]
    biased = doubly_centred_form().subs(S1, s1).subs(S2, s2)
    return biased.subs(totals()) / sample_size**2


def _three_examples_permuted() -> sympy.Basic:
    b = symmetric_matrix("b", 3)
    total = sympy.Add(*(entry for row in b for entry in row))
    entry = over_permutations(3, lambda order: b[order[0]][order[1]]) - total / 6
    row = over_permutations(3, lambda order: sympy.Add(*b[order[0]])) - total / 3
    return decided(sympy.expand(entry) == 0 and sympy.expand(row) == 0)


def _row_covariance_vanishes() -> sympy.Expr:
    rows, others = ([sympy.Add(*row) for row in symmetric_matrix(name, 3)] for name in ("a", "b"))
    middles = [sympy.Add(*sums) / 3 for sums in (rows, others)]
    return over_permutations(
        3, lambda order: sympy.Add(*((rows[i] - middles[0]) * (others[order[i]] - middles[1]) for i in range(3)))
    )


def _u_slope() -> sympy.Expr:
    return slope_in_a_distance(u_centred_form(), u_centred(B, ROW_B, OTHER_B, TOTAL_B))


def _floor() -> sympy.Expr:
    """Σ A_ij² is at least (diagonal sum)²/n + (the rest's sum)²/(n(n − 1)), which is (n − 1)ā²."""
    letters = {B: A, ROW_B: ROW, OTHER_B: OTHER, TOTAL_B: TOTAL}
    own = centred_b().subs(letters)
    diagonal = own.subs({A: 0, OTHER: ROW}).subs(ROW, TOTAL / sample_size) * sample_size
    rest = -diagonal
    least = diagonal**2 / sample_size + rest**2 / (sample_size * (sample_size - 1))
    return sympy.simplify(least.subs(totals()) - (sample_size - 1) * first_distance**2)


def _mean_over_variances() -> sympy.Expr:
    mean = permuted_distance_covariance().bound
    variances = [
        (1 + excess) * (sample_size - 1) * distance**2 / sample_size**2
        for excess, distance in ((first_excess, first_distance), (second_excess, second_distance))
    ]
    wanted = 1 / ((1 + first_excess) * (1 + second_excess))
    return sympy.cancel(mean**2 / sympy.Mul(*variances)) - wanted


def _geometric_below_arithmetic() -> sympy.Basic:
    one, other = sympy.symbols("x y", nonnegative=True)
    return decided(sympy.factor(((one + other) / 2) ** 2 - one * other).is_nonnegative)


def _rows_vanish() -> sympy.Expr:
    """Σ_{j≠i} of the U-centred distances: a_ij sums to a_i·, a_j· to R − a_i·, and there are n − 1 of each else."""
    centred = sympy.expand(u_centred(A, ROW, OTHER, TOTAL))
    places = sample_size - 1
    parts = {A: ROW, OTHER: TOTAL - ROW, ROW: places * ROW, TOTAL: places * TOTAL}
    return sympy.Add(*(centred.coeff(letter) * part for letter, part in parts.items()))


def _patterns_of_four() -> sympy.Basic:
    """The sums of A_ij A_kl over ordered pairs, of four examples with any distances."""
    a = symmetric_matrix("a", 4)
    rows = [sympy.Add(*row) for row in a]
    total = sympy.Add(*rows)
    centred = [
        [u_centred(a[i][j], rows[i], rows[j], total).subs(sample_size, 4) if i != j else 0 for j in range(4)]
        for i in range(4)
    ]
    places = [(i, j) for i, j in product(range(4), repeat=2) if i != j]
    sums: dict[int, sympy.Expr] = dict.fromkeys(range(3), sympy.S.Zero)
    for (i, j), (k, last) in product(places, repeat=2):
        sums[len({i, j} & {k, last})] += centred[i][j] * centred[k][last]
    square = sympy.Add(*(centred[i][j] ** 2 for i, j in places))
    wanted = {2: 2 * square, 1: -4 * square, 0: 2 * square}
    return decided(all(sympy.expand(sums[shared] - wanted[shared]) == 0 for shared in sums))


def _permuted_second_moment() -> sympy.Expr:
    """Of U(a, b∘σ)/√(U(a, a)U(b, b)), P cancelling: patterns by how many indices two pairs share."""
    count = sample_size
    # Sum for a over P, sum for b over P, and ordered places, of all patterns with so many shared indices together.
    twice = 2 * sympy.S.One * 1 / (count * (count - 1))
    once = 4 * sympy.S.One * (-1) * (-1) / (count * (count - 1) * (count - 2))
    never = 2 * sympy.S.One * 2 / (count * (count - 1) * (count - 2) * (count - 3))
    return sympy.factor(twice + once + never)


STATEMENTS = by_label(
    __name__,
    equal_distance_correlation,
    permuted_distance_covariance,
    permuted_distance_correlation,
    distance_covariance_bias,
    permuted_corrected_square,
    distance_covariance_slope,
)
"""The statements of this file."""
