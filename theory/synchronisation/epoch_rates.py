"""How fast do workers train that mix with some neighbours at a time? n times faster than one, after a while.

Dynamic backup workers (Xiong, Yan, Singh and Li 2021, as described to us and not read) mix with those neighbours that
have finished, so that the links used in an epoch connect everybody. Their result, as described to us, is a linear
speed-up; model, constants, the number of steps from which they hold, and the proofs are ours. The model lets every
worker take a gradient in every step; a policy in which fast workers take more of them is not covered.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.feedback.residual import jensen_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    dissimilarity,
    epoch_length,
    epoch_root,
    eta,
    gap,
    mean_disagreement,
    mean_gradient_energy,
    mean_spread,
    n,
    variance,
)
from sparsync.theory.synchronisation.batches import cauchy_schwarz_step
from sparsync.theory.synchronisation.grid_rates import (
    LEFT,
    SPREAD,
    TRAINING,
    descent_of_mean,
    noisy_spread,
    summed_descent,
)

EPOCHS = (
    r"$x_{t+1}=W_t(x_t-\eta g_t)$ with doubly stochastic $W_t$ that depend on no $g_t$; all start alike",
    Given(
        "factor",
        r"(\sum_i\lVert x_i^{+}-\bar{x}\rVert^{2}/\sum_i\lVert x_i-\bar{x}\rVert^{2})^{1/2}",
        "≤",
        epoch_root,
        words=r"{} for $x^{+}=W_{kB+B-1}\dots W_{kB}x$, all $k$ and all $x$ that differ",
    ),
)
LONGEST_COUNTED, EPOCHS_COUNTED = 4, 4
"""Steps of an epoch, and epochs, up to which whole epochs between two steps are counted one by one."""

_OFFSET = sympy.Symbol("o", integer=True, nonnegative=True)
"""Steps of its epoch before a step."""
_ROOT = sympy.Symbol("r", positive=True)
_PAST = sympy.Symbol("k", integer=True, nonnegative=True)


def epoch_mean_disagreement() -> Statement:
    """The mean disagreement over the steps is at most (B − 2 + B/(1 − r))²η² times the mean spread of the gradients.

    Links that connect all workers in each epoch have r² = 1 − 16a(1 − a)/n² by `epoch_disagreement`, so that
    1/(1 − r) ≤ n²/(8a(1 − a)). Gradients that stay the same come near it for B = 1, and for every B as r tends to 1.
    Nothing is left where each step averages over all, B = 1 and r = 0.

    Source: ours.
    """
    bound = _reach() ** 2 * eta**2 * mean_spread
    return Statement(
        label="epoch_mean_disagreement",
        title="Mean disagreement of workers that mix in epochs",
        assumptions=(
            *EPOCHS,
            SPREAD,
        ),
        relation=sympy.Le(mean_disagreement, bound, evaluate=False),
        domain=(sympy.Lt(epoch_root, 1),),
        source="ours",
        derivation=(
            Step("W(x − ηg) less its mean is W((x − Jx) − η(g − Jg)), for WJ = JW = J", _differences_mix),
            jensen_step("the weights of a row of W"),
            Step(
                "columns of W sum to 1: Σ_i Σ_j w_ij y_j² = Σ_j y_j², so that no step makes differences longer",
                _columns,
            ),
            Step(
                "between step o of an epoch and a step of the k-th epoch after it lie k − 1 whole epochs, and k for "
                f"o = 0: counted up to {LONGEST_COUNTED} steps",
                _whole_epochs,
                argued="for longer epochs",
            ),
            Step("1 + r + … + r^k = (1 − r^(k+1))/(1 − r) ≤ 1/(1 − r)", _geometric),
            Step(
                "so gradients of o steps of this epoch, and (B − 1)r^(k−1) + r^k of each before, are left in a step: "
                "B − 2 + B/(1 − r) at most",
                _left_in_a_step,
                argued="that the last step of an epoch has the most",
            ),
            Step("and as much at most is left of one gradient in all later steps", _left_of_a_gradient),
            jensen_step("what is left of each gradient"),
            Step(
                "summed over the steps: the product of both times η²Z̄²",
                lambda: sympy.expand(_most_in_a_step() * _most_of_a_gradient() * eta**2 * mean_spread - bound),
                concludes=bound,
            ),
            Step("B = 1: equal gradients ±Z of two workers end at ±ηZr/(1 − r), the bound", _steady_pair),
        ),
    )


def epoch_rate() -> Statement:
    """(1/T) Σ E‖∇f(x̄_t)‖² ≤ 2(f(x_0) − f*)/(ηT) + ηLσ₀²/n + (cηL/(1 − cηL))²(σ₀² + ζ²), c = B − 2 + B/(1 − r).

    The first two terms are those of one worker with all data. How the workers mix is in c alone, in a term of second
    order in η.

    Source: ours.
    """
    bound = 2 * gap / (eta * T) + eta * L * variance / n + _mixing_term()
    return Statement(
        label="epoch_rate",
        title="Rate of workers that mix in epochs",
        assumptions=(*EPOCHS, *TRAINING),
        relation=sympy.Le(mean_gradient_energy, bound, evaluate=False),
        domain=(sympy.Lt(epoch_root, 1), sympy.Le(eta * L, 1), sympy.Lt(_reach() * eta * L, 1)),
        source="ours",
        derivation=(
            Step("the mean of W(x − ηg) is that of x − ηg, as columns of W sum to 1", _columns),
            Step("−ηab + Lη²b²/2 = −ηa²/2 + η(a − b)²/2 − η(1 − ηL)b²/2 in each coordinate", descent_of_mean),
            jensen_step("1/n for every worker"),
            Step(
                "with a = ∇f(x̄), b the mean of the ∇f_i(x_i): ηa²/2 ≤ f_t − f_{t+1} + ηL²X²/2 + Lη²σ₀²/(2n), summed",
                lambda: summed_descent() - (2 * gap / (eta * T) + eta * L * variance / n + LEFT**2 * L**2),
            ),
            cauchy_schwarz_step("sum over workers or steps"),
            Step("so the spread is (LX + ζ)² + σ₀² at most, and this (LX + √(ζ² + σ₀²))²", noisy_spread),
            Step(
                "X ≤ cη(LX + √(ζ² + σ₀²)) by `epoch_mean_disagreement`: X is at most its fixed point",
                _fixed_point_is_largest,
            ),
            Step(
                "X at its largest gives the bound",
                lambda: summed_descent().subs(LEFT, _level()) - bound,
                concludes=bound,
            ),
        ),
    )


def epoch_speed_up() -> Statement:
    """(1/T) Σ E‖∇f(x̄_t)‖² ≤ 2√(2L(f(x_0) − f*)σ₀²/(nT)) + 8c²nL(f(x_0) − f*)(1 + ζ²/σ₀²)/T for the step that follows.

    η = √(2n(f(x_0) − f*)/(Lσ₀²T)) and c = B − 2 + B/(1 − r), as in `epoch_rate`. The second term is at most the first
    from T = 8c⁴n³L(f(x_0) − f*)(1 + ζ²/σ₀²)²/σ₀² on: the bound is then 4√(2L(f(x_0) − f*)σ₀²/(nT)), and n workers need
    an n-th of the steps of one. On a ring c is of order n² by `epoch_disagreement`, and that number of order n¹¹.

    Source: form: Xiong, Yan, Singh and Li 2021, not read; ours.
    """
    bound = 2 * _noise_term() + _transient()
    return Statement(
        label="epoch_speed_up",
        title="Linear speed-up of workers that mix in epochs",
        assumptions=(*EPOCHS, *TRAINING, Given("step_size", r"\eta", "=", _chosen_step())),
        relation=sympy.Le(mean_gradient_energy, bound, evaluate=False),
        domain=(
            sympy.Lt(epoch_root, 1),
            sympy.Lt(0, variance),
            sympy.Ge(T * variance, 2 * n * L * gap),
            sympy.Ge(T * variance, 8 * _reach() ** 2 * n * L * gap),
        ),
        source="form: Xiong et al. 2021, not read; ours",
        derivation=(
            Step(
                "2(f(x_0) − f*)/(ηT) = √(2L(f(x_0) − f*)σ₀²/(nT))",
                lambda: _at_step(2 * gap / (eta * T)) - _noise_term(),
            ),
            Step("ηLσ₀²/n is the same", lambda: _at_step(eta * L * variance / n) - _noise_term()),
            Step("ηL ≤ 1 iff Tσ₀² ≥ 2nL(f(x_0) − f*), and cηL ≤ 1/2 iff it is ≥ 8c²nL(f(x_0) − f*)", _step_conditions),
            Step("(y/(1 − y))² ≤ 4y² for 0 ≤ y ≤ 1/2", _half_is_enough),
            Step(
                "so the mixing term of `epoch_rate` is at most 4c²η²L²(σ₀² + ζ²)",
                lambda: _at_step(4 * (_reach() * eta * L) ** 2 * (variance + dissimilarity)) - _transient(),
            ),
            Step(
                "the sum of the three",
                lambda: _at_step(2 * gap / (eta * T) + eta * L * variance / n) + _transient() - bound,
                concludes=bound,
            ),
            Step(
                "from the stated T on, (8c²nL(f(x_0) − f*)(1 + ζ²/σ₀²)/T)² is at most that of the first term", _crossing
            ),
            Step("1 − r ≥ (1 − r²)/2", lambda: (1 - _ROOT) - (1 - _ROOT**2) / 2 - (1 - _ROOT) ** 2 / 2),
        ),
    )


def _reach() -> sympy.Expr:
    """c: from gradients to disagreement, over η."""
    return epoch_length - 2 + epoch_length / (1 - epoch_root)


def _mixing_term() -> sympy.Expr:
    reach = _reach() * eta * L
    return (reach / (1 - reach)) ** 2 * (variance + dissimilarity)


def _noise_term() -> sympy.Expr:
    return sympy.sqrt(2 * L * gap * variance / (n * T))


def _transient() -> sympy.Expr:
    return 8 * _reach() ** 2 * n * L * gap * (1 + dissimilarity / variance) / T


def _differences_mix() -> sympy.Expr:
    mixing, everybody, start, taken = sympy.symbols("W J x g", commutative=False)
    end = mixing * (start - eta * taken)
    product = sympy.expand((1 - everybody) * end).subs(everybody * mixing, everybody)
    stated = sympy.expand(mixing * ((1 - everybody) * start - eta * (1 - everybody) * taken))
    return sympy.expand(product - stated.subs(mixing * everybody, everybody))


def _columns() -> sympy.Expr:
    """Σ_i Σ_j w_ij y_j − Σ_j y_j, for squares or for parameters y_j."""
    sender, reader = sympy.symbols("j i", integer=True, positive=True)
    weight, value = sympy.IndexedBase("w", real=True), sympy.IndexedBase("y", real=True)
    by_sender = sympy.Sum(weight[reader, sender] * value[sender], (reader, 1, n)).factor()
    column = sympy.Sum(weight[reader, sender], (reader, 1, n))
    return sympy.expand(by_sender.xreplace({column: sympy.Integer(1)}) - value[sender])


def _left_between(offset: int, epochs_later: int) -> int:
    """Whole epochs between a step of an epoch and some step of a later one."""
    return epochs_later if offset == 0 else max(epochs_later - 1, 0)


def _whole_epochs() -> sympy.Basic:
    """The gradient of step s goes through W_s to W_{t−1}."""
    agree = []
    for length in range(1, LONGEST_COUNTED + 1):
        for taken in range(length):
            for later in range(taken + 1, EPOCHS_COUNTED * length):
                starts = range(0, EPOCHS_COUNTED * length, length)
                whole = sum(taken <= start and start + length <= later for start in starts)
                agree.append(whole == _left_between(taken, later // length))
    return decided(all(agree))


def _geometric() -> sympy.Basic:
    def partial(last: sympy.Expr) -> sympy.Expr:
        return (1 - _ROOT ** (last + 1)) / (1 - _ROOT)

    grows = sympy.simplify(partial(_PAST + 1) - partial(_PAST) - _ROOT ** (_PAST + 1))
    rest = sympy.simplify((1 / (1 - _ROOT) - partial(_PAST)) * (1 - _ROOT))
    return decided(sympy.simplify(partial(0) - 1) == 0 and grows == 0 and rest.is_positive)


def _most_in_a_step() -> sympy.Expr:
    """Of the last step of an epoch: all its gradients before, and all those of earlier epochs."""
    earlier = ((epoch_length - 1) + epoch_root) / (1 - epoch_root)
    return epoch_length - 1 + earlier


def _most_of_a_gradient() -> sympy.Expr:
    """Of the gradient of the second step of an epoch: B − 2 steps of its own, and then all others."""
    return epoch_length - 2 + epoch_length / (1 - epoch_root)


def _left_in_a_step() -> sympy.Expr:
    return sympy.simplify(_most_in_a_step() - _reach())


def _left_of_a_gradient() -> sympy.Basic:
    # With B = o + 1 + more: of a first gradient, and of another.
    more = sympy.Symbol("more", integer=True, nonnegative=True)
    first = (epoch_length - 1) + epoch_length * epoch_root / (1 - epoch_root)
    other = (epoch_length - 1 - _OFFSET) + epoch_length / (1 - epoch_root)
    room = sympy.simplify((_reach() - first).subs(epoch_length, 1 + more))
    second = sympy.simplify((_reach() - other).subs(_OFFSET, 1 + _PAST))
    return decided(room.is_nonnegative and second.is_nonnegative)


def _steady_pair() -> sympy.Expr:
    left = sympy.Symbol("left", real=True)
    keep = (1 + _ROOT) / 2
    # Of two workers that give 1 − keep to each other, the differences ±left less ±η are mixed.
    mixed = keep * (left + eta) - (1 - keep) * (left + eta)
    (steady,) = sympy.solve(sympy.Eq(mixed, left), left)
    return sympy.simplify(steady - eta * _reach().subs({epoch_length: 1, epoch_root: _ROOT}))


def _level() -> sympy.Expr:
    return _reach() * eta * sympy.sqrt(variance + dissimilarity) / (1 - _reach() * eta * L)


def _fixed_point_is_largest() -> sympy.Expr:
    # X − cη(LX + q) = (1 − cηL)(X − level): it is ≤ 0 iff X ≤ level.
    excess = LEFT - _reach() * eta * (L * LEFT + sympy.sqrt(variance + dissimilarity))
    return sympy.simplify(excess - (1 - _reach() * eta * L) * (LEFT - _level()))


def _chosen_step() -> sympy.Expr:
    return sympy.sqrt(2 * n * gap / (L * variance * T))


def _at_step(term: sympy.Expr) -> sympy.Expr:
    """A term with the chosen step, for positive gap and variance."""
    above, noise = sympy.symbols("above noise", positive=True)
    positive = {gap: above, variance: noise}
    put = sympy.simplify(term.subs(eta, _chosen_step()).subs(positive))
    return put.subs({above: gap, noise: variance})


def _step_conditions() -> sympy.Basic:
    # 1 − (ηL)² and 1/4 − (cηL)², times Tσ₀².
    square = sympy.simplify((_chosen_step() * L) ** 2 * T * variance)
    reach = sympy.Symbol("c", nonnegative=True)
    return decided(
        sympy.expand(square - 2 * n * L * gap) == 0
        and sympy.expand(4 * reach**2 * square - 8 * reach**2 * n * L * gap) == 0
    )


def _half_is_enough() -> sympy.Basic:
    below, above = sympy.Symbol("below", nonnegative=True), sympy.Symbol("above", positive=True)
    # y = 1/2 · below/(below + above): 2(1 − y) ≥ 1.
    share = below / (below + above) / 2
    return decided(sympy.factor(2 * (1 - share) - 1).is_nonnegative)


def _crossing() -> sympy.Expr:
    reach = sympy.Symbol("c", positive=True)
    second = _transient().subs(_reach(), reach)
    first = 2 * _noise_term()
    steps = 8 * reach**4 * n**3 * L * gap * (1 + dissimilarity / variance) ** 2 / variance
    # T² times the square of the second term is constant, T times that of the first: they meet once.
    constant = sympy.expand((second * T) ** 2 - steps * sympy.expand(first**2 * T))
    return sympy.simplify(constant)


STATEMENTS = by_label(__name__, epoch_mean_disagreement, epoch_rate, epoch_speed_up)
"""The statements of this file."""
