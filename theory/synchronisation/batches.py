"""What does an update gain from weights in proportion to the batches, where reports are on batches of several sizes?

And how are examples divided so that all finish early? Load-balanced BSP (Chen, Weng, Wang, Li and Li 2020) gives faster
workers larger batches and weighs reports by them, as described to us; DeDLOC (Diskin et al. 2021, recalled) weighs by
what each peer has contributed. Statements and proofs are ours; the identity behind the first is classical (stratified
sampling), and so is the greedy rule (Gross 1956, not read).
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.feedback.residual import jensen_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    batch_spread,
    dissimilarity,
    fixed_examples,
    greedy_time,
    harmonic_batch,
    least_time,
    n,
    total_batch,
    total_rate,
    unweighted_error,
    variance,
    weighted_error,
)

REPORTS = (
    r"$g_i$ is the mean of the gradients of $b_i$ examples at one point, $i\leq n$, $\sum_i b_i=B$",
    r"examples are independent, of each other and of all $b_i$",
    r"those of report $i$ have the mean gradient $\nabla f_i$",
    r"$\nabla f=\sum_i\frac{b_i}{B}\nabla f_i$",
)

GREEDY = (
    "one after another, each of the examples goes to a worker below its cap who would finish it first",
    r"worker $i$ finishes $b$ examples in $t_i(b)$, which does not decrease with $b$",
)

_PLACE, _OTHER = sympy.symbols("i j", integer=True, positive=True)
_BATCH = sympy.IndexedBase("b", positive=True)
_MORE, _REST = sympy.symbols("more rest", nonnegative=True)
_NOISE = sympy.IndexedBase("v", nonnegative=True)
"""Variance of the gradient of one example."""
_SLOPE = sympy.IndexedBase("m", real=True)
"""One coordinate of ∇f_i − ∇f̄, ∇f̄ the mean of the n mean gradients."""


def batch_weighted_error() -> Statement:
    """E‖Σ_i (b_i/B)g_i − ∇f‖² = σ₀²/B: no bias, and the variance of one batch of B examples, whatever the b_i are.

    One batch of B examples that are drawn from report i's data with probability b_i/B has as much where all ∇f_i are
    equal, and Σ_i (b_i/B)‖∇f_i − ∇f‖²/B more where they are not. Reports need not be one for each worker.

    Source: classical (stratified sampling); as a round of LB-BSP, or an update of DeDLOC on one model, ours.
    """
    bound = variance / total_batch
    return Statement(
        label="batch_weighted_error",
        title="Reports weighed by their batches",
        assumptions=(
            *REPORTS,
            Given(
                "variance",
                r"\sum_i\frac{b_i}{B}\sigma_i^2",
                "=",
                variance,
                words=r"of their variances $\sigma_i^2$, {}",
            ),
        ),
        relation=sympy.Eq(weighted_error, bound),
        domain=(),
        source="classical; for LB-BSP and DeDLOC ours",
        derivation=(
            Step("every example of report i has the weight 1/B", lambda: _weight(_share()) - 1 / total_batch),
            Step("the weights 1/B of the b_i examples of all reports sum to 1", _weights_sum_to_one),
            Step(
                "E(Σ_k z_k)² = Σ_k E z_k² for independent z_k of mean 0: three, by their signs",
                _squares_add,
                argued="for more examples, and other laws",
            ),
            Step(
                "b_i examples of variance σ_i² and weight 1/B from each report make σ₀²/B",
                lambda: _noise_of(_share()).xreplace(_MEAN_NOISE).simplify() - bound,
                concludes=bound,
            ),
            Step(
                "an example that is drawn with its report has E(m_i + z − m)² = (m_i − m)² + E z²: more where m_i ≠ m",
                _mixed_example,
            ),
        ),
    )


def equal_weight_error() -> Statement:
    """E‖(1/n) Σ_i g_i − ∇f‖² ≤ c²ζ² + σ₀²/(nh): h is the batches' harmonic mean, c their coefficient of variation.

    An example of report i has the weight 1/(nb_i): the mean leans to reports on small batches, to (1/n) Σ_i ∇f_i for
    Σ_i (b_i/B)∇f_i. The bias is that of the bound where ∇f_i is a straight line in b_i. As nh ≤ B, the variance is not
    below that of `batch_weighted_error`, and equal for equal batches alone.

    Source: ours.
    """
    bound = batch_spread * dissimilarity + variance / (n * harmonic_batch)
    return Statement(
        label="equal_weight_error",
        title="Reports on unequal batches, weighed equally",
        assumptions=(
            *REPORTS,
            Given("variance", r"\sigma_i^2", "≤", variance, words="the variance of an example is {}"),
            Given(
                "dissimilarity",
                r"\frac{1}{n}\sum_i\lVert\nabla f_i-\frac{1}{n}\sum_j\nabla f_j\rVert^{2}",
                "≤",
                dissimilarity,
            ),
            r"$\frac{1}{h}=\frac{1}{n}\sum_i\frac{1}{b_i}$, $c^2=\frac{1}{n}\sum_i(\frac{n b_i}{B}-1)^2$",
        ),
        relation=sympy.Le(unweighted_error, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("(1/n) Σ m_i − Σ (b_i/B)m_i = Σ (1/n − b_i/B)(m_i − m̄), as 1/n − b_i/B sum to 0", _bias),
            cauchy_schwarz_step("coordinate"),
            Step("n Σ (1/n − b_i/B)² = c²", _spread_of_batches),
            Step("a report's example weighs 1/(nb_i), and b_i of them have σ₀²/(n²b_i)", _equal_noise),
            Step(
                "bias and noise in sum, with Σ 1/b_i = n/h and Σ ‖m_i − m̄‖² = nζ²",
                lambda: _bias_and_noise() - bound,
                concludes=bound,
            ),
            Step("batches of 1, 2 and 6 with m_i on a straight line attain the first term", _line_attains),
            jensen_step("the weights 1/b_i"),
            Step("with y_i = b_i it says n² ≤ B·n/h: so σ₀²/(nh) is not below σ₀²/B", _harmonic_is_below),
        ),
    )


def greedy_split() -> Statement:
    """No split of the examples that keeps to the caps finishes earlier than the greedy one, whatever the t_i are.

    So steps may be flat and then straight, as on a GPU that is not full, and caps may differ.

    Source: classical; in these terms ours.
    """
    bound = least_time
    return Statement(
        label="greedy_split",
        title="Examples that go where they are finished first",
        assumptions=(*GREEDY, "nobody can hold more than its cap; all together can hold the examples"),
        relation=sympy.Eq(greedy_time, bound),
        domain=(),
        source="classical; for LB-BSP ours",
        derivation=(
            Step(
                "in another split of as many examples some worker j has more: were none above the greedy b_i, and one "
                "below, they would be fewer",
                _fewer,
            ),
            Step(
                "j is below its cap, and was so when the example was given that is finished last, at t: t_j is t or "
                "more with one example more than it had then, and so with what it has in the other split",
                _not_sooner,
                argued="that greedy gave that example to nobody who had finished it sooner",
            ),
            Step("so t is the least of all", lambda: _least_of(bound, _MORE) - bound, concludes=bound),
        ),
    )


def greedy_split_time() -> Statement:
    """The greedy split is finished in (B + A + n − 1)/R; where all take part, parts of examples take (B + A)/R too.

    Whole examples cost less than a worker's example each, over the rate of all. Equal workers without fixed times that
    share one example more than a multiple of n attain it. Workers that are full take part in neither n nor B.

    Source: ours.
    """
    bound = (total_batch + fixed_examples + n - 1) / total_rate
    return Statement(
        label="greedy_split_time",
        title="Time of the greedy split where steps are straight lines",
        assumptions=(
            *GREEDY,
            r"$t_i(b)=c_i+m_ib$ for the $n$ workers that are below their caps in the end and have $B$ examples in all",
            "one of them is the last to finish",
            r"$R=\sum_i\frac{1}{m_i}$, $A=\sum_i\frac{c_i}{m_i}$",
        ),
        relation=sympy.Le(greedy_time, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "t_i(b_i + 1) ≥ t for everybody, the last example having gone elsewhere: m_i·b_i ≥ t − c_i − m_i", _next
            ),
            Step(
                "and m_j·b_j = t − c_j for the last, j: B ≥ tR − A − (n − 1)",
                lambda: _time_of(n - 1) - bound,
                concludes=bound,
            ),
            Step(
                "b_i ≤ (t − c_i)/m_i for everybody who takes part and is finished at t: B ≤ tR − A if those are all",
                _no_sooner,
            ),
            Step("with m_i = 1, c_i = 0 and B = qn + 1 the last takes q + 1", lambda: _equal_reach(bound)),
        ),
    )


def cauchy_schwarz_step(place: str) -> Step:
    """(Σ a_i y_i)² ≤ Σ a_i² Σ y_i², for any number of terms."""
    return Step(f"(Σ a_i y_i)² = Σ a_i² Σ y_i² − ½ Σ_i Σ_j (a_i y_j − a_j y_i)² in each {place}", _cauchy_schwarz)


def _share() -> sympy.Expr:
    """Weight of a report in proportion to its batch."""
    return _BATCH[_PLACE] / total_batch


def _weight(of_report: sympy.Expr) -> sympy.Expr:
    """Of one example of a report."""
    return of_report / _BATCH[_PLACE]


_MEAN_NOISE = {sympy.Sum(_BATCH[_PLACE] * _NOISE[_PLACE], (_PLACE, 1, n)): total_batch * variance}
_TOTAL = {sympy.Sum(_BATCH[_PLACE], (_PLACE, 1, n)): total_batch}


def _over_reports(term: sympy.Expr) -> sympy.Expr:
    return sympy.Sum(sympy.expand(term), (_PLACE, 1, n)).expand().factor()


def _weights_sum_to_one() -> sympy.Expr:
    return sympy.expand(_over_reports(_BATCH[_PLACE] * _weight(_share())).xreplace(_TOTAL) - 1)


def _noise_of(of_report: sympy.Expr) -> sympy.Expr:
    """The sum over the reports of b_i squared weights times σ_i²."""
    return _over_reports(_BATCH[_PLACE] * _weight(of_report) ** 2 * _NOISE[_PLACE])


def _squares_add() -> sympy.Expr:
    sizes = sympy.symbols("z_1:4", real=True)
    signs = [(one, two, three) for one in (1, -1) for two in (1, -1) for three in (1, -1)]
    squares = (sympy.Add(*(sign * size for sign, size in zip(row, sizes, strict=True))) ** 2 for row in signs)
    mean = sympy.expand(sympy.Add(*squares) / len(signs))
    return sympy.expand(mean - sympy.Add(*(size**2 for size in sizes)))


def _mixed_example() -> sympy.Basic:
    own, mean, noise = sympy.symbols("own mean noise", real=True)
    drawn = sympy.Add(*((own + sign * noise - mean) ** 2 for sign in (1, -1))) / 2
    more = sympy.factor(sympy.expand(drawn - noise**2))
    return decided(sympy.expand(more - (own - mean) ** 2) == 0 and more.is_nonnegative)


def _bias() -> sympy.Expr:
    centre = sympy.Symbol("centre", real=True)
    differs = (1 / n - _share()) * _SLOPE[_PLACE] - (1 / n - _share()) * (_SLOPE[_PLACE] - centre)
    return sympy.expand(sympy.simplify(_over_reports(differs).doit()).xreplace(_TOTAL))


def _cauchy_schwarz() -> sympy.Expr:
    weight, value = sympy.IndexedBase("a", real=True), sympy.IndexedBase("y", real=True)
    pair = (weight[_PLACE] * value[_OTHER] - weight[_OTHER] * value[_PLACE]) ** 2 / 2
    double = sympy.Sum(pair, (_PLACE, 1, n), (_OTHER, 1, n))
    terms = (term.factor() for term in sympy.Add.make_args(double.expand()))
    squares, values, product = (
        sympy.Sum(weight[_PLACE] ** power * value[_PLACE] ** (2 - power), (_PLACE, 1, n)) for power in (2, 0, 1)
    )
    return sympy.expand(sympy.Add(*terms).xreplace({_OTHER: _PLACE}) - (squares * values - product**2))


def _spread_of_batches() -> sympy.Expr:
    as_used = n * (1 / n - _share()) ** 2
    as_named = (n * _share() - 1) ** 2 / n
    return sympy.expand(as_used - as_named)


def _equal_noise() -> sympy.Expr:
    of_report = _BATCH[_PLACE] * _weight(1 / n) ** 2 * variance
    return sympy.expand(of_report - variance / (n**2 * _BATCH[_PLACE]))


def _bias_and_noise() -> sympy.Expr:
    # Σ a_i² = c²/n, Σ ‖m_i − m̄‖² = nζ² and Σ 1/b_i = n/h.
    return (batch_spread / n) * (n * dissimilarity) + variance / n**2 * (n / harmonic_batch)


def _line_attains() -> sympy.Basic:
    batches = [sympy.Integer(size) for size in (1, 2, 6)]
    slopes = [1 - 3 * size for size in batches]
    total, count = sum(batches), len(batches)
    centre = sum(slopes) / count
    bias = sum(slope * (sympy.Rational(1, count) - size / total) for slope, size in zip(slopes, batches, strict=True))
    spread = sum((slope - centre) ** 2 for slope in slopes) / count
    varied = sum((count * size / total - 1) ** 2 for size in batches) / count
    return decided(bias != 0 and bias**2 == spread * varied)


def _harmonic_is_below() -> sympy.Basic:
    # B·n/h = n² + more.
    more = sympy.Symbol("more", nonnegative=True)
    harmonic = n * total_batch / (n**2 + more)
    return decided(sympy.factor(variance / (n * harmonic) - variance / total_batch).is_nonnegative)


def _fewer() -> sympy.Basic:
    above, below = -_MORE, -1 - _REST
    return decided((above + below).is_negative)


def _not_sooner() -> sympy.Basic:
    # From what j had then to what it has in the end, and on to what it has in the other split.
    then, later, other = sympy.symbols("then later other", nonnegative=True)
    next_then = least_time + then
    return decided(sympy.expand(next_then + later + other - least_time).is_nonnegative)


def _least_of(attained: sympy.Expr, excess: sympy.Expr) -> sympy.Expr:
    return sympy.Min(attained, attained + excess)


def _examples_by(time: sympy.Expr, missing: sympy.Expr) -> sympy.Expr:
    """Σ_i (t − c_i)/m_i in terms of R and A, less what is missing of whole examples."""
    return sympy.expand(time * total_rate - fixed_examples - missing)


def _next() -> sympy.Expr:
    time, fixed, slope, given = sympy.symbols("t c m b", positive=True)
    (least,) = sympy.solve(sympy.Eq(fixed + slope * (given + 1), time), given)
    return sympy.expand(slope * least - (time - fixed - slope))


def _time_of(missing: sympy.Expr) -> sympy.Expr:
    """The time by which B examples are done, less what is missing."""
    time = sympy.Symbol("t", positive=True)
    (found,) = sympy.solve(sympy.Eq(total_batch, _examples_by(time, missing)), time)
    return found


def _no_sooner() -> sympy.Expr:
    return sympy.simplify(_time_of(sympy.Integer(0)) - (total_batch + fixed_examples) / total_rate)


def _equal_reach(bound: sympy.Expr) -> sympy.Expr:
    whole = sympy.Symbol("q", integer=True, nonnegative=True)
    equal = {fixed_examples: 0, total_rate: n, total_batch: whole * n + 1}
    return sympy.expand(bound.subs(equal, simultaneous=True) - (whole + 1))


STATEMENTS = by_label(__name__, batch_weighted_error, equal_weight_error, greedy_split, greedy_split_time)
"""The statements of this file."""
