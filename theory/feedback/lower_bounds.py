"""How well can any method do, if messages are lost or gradients are noisy? Lower bounds with explicit constants.

A message arrives with probability δ and is nothing otherwise, which is a contraction of factor δ in the mean. On a
chain (`chains.py`) a message shows one coordinate more, so that as many are known as messages have arrived. The
argument of Nesterov 2004, Arjevani, Carmon, Duchi et al. 2019 (noise) and Huang, Chen, Yin and Yuan 2022 (compression);
the form of the bounds, the chain of pieces and all constants are ours. Other compressors may be kinder: Top-k sends
such a message whole.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.feedback.chains import RATIO, SMOOTHNESS, piecewise_chain_steps, quadratic_chain_steps
from sparsync.theory.feedback.rates import VARIANCE_RATE
from sparsync.theory.feedback.residual import DELTA_DOMAIN, ROOT, at_root
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    chain_length,
    d,
    delta,
    distance_share,
    eta,
    gap,
    gradient_energy,
    mu,
    n,
    tolerance,
    variance,
)

ERASURES = Given(
    "arrival", r"\Pr\{C(u)=u\}", "=", delta, words=r"in every round {}, and $C(u)=0$ otherwise, whatever came before"
)
METHODS = (
    r"any method with $x_0=0$ whose message $u_t$ is $0$ in every coordinate in which all of "
    r"$\nabla f(x_0),\dots,\nabla f(x_t)$ are, and whose $x_{t+1}$ is $0$ where all of $C(u_0),\dots,C(u_t)$ are"
)
NOISY_METHODS = (
    r"any method with $x_0=0$ whose $x_{t+1}$ is $0$ in every coordinate in which all stochastic gradients of all $n$ "
    r"workers at $x_0,\dots,x_t$ are"
)
HARD = r"the worst $f$ with an $L$-Lipschitz gradient and the gap $f(x_0)-f^{*}$"

_KNOWN = sympy.Symbol("j", integer=True, nonnegative=True)
_SLOPE_SQUARE = 6 * L * gap / (5 * (12 * chain_length - 1))
"""φ²: the least ‖∇f‖² while the last coordinate of a chain of N is 0."""
_ARRIVING = sympy.Symbol("pi", positive=True)
"""Probability of one more coordinate in a round."""
_MEAN, _MORE = sympy.symbols("M nu", positive=True)
_Q = sympy.Symbol("q", positive=True)


def erased_distance() -> Statement:
    """E‖x_T − x*‖²/‖x_0 − x*‖² ≥ ((1 − δ(1 − q²))^T − q^(2d))/(1 − q^(2d)), q = (√L − √μ)/(√L + √μ).

    It is an equality for T ≤ d and the method that puts x_i = q^(i−1) for every coordinate that it knows, so that for
    this function no more can be said; as d → ∞ it is (1 − 4δ√(Lμ)/(√L + √μ)²)^T. `ef_small_delta` has more steps, for
    small δ by a factor of 4√κ(κ + 1)/(√κ + 1)², κ = L/μ: 2 for κ = 1, and 4√κ for large κ. Whether any method
    accelerates with every contraction is open here. A message before the first round, as d_0 = ∇f(x_0) in EF21, is one
    round more.

    Source: the argument of Nesterov 2004; with erasures ours.
    """
    known = 1 - delta * (1 - RATIO**2)
    bound = (known**T - RATIO ** (2 * d)) / (1 - RATIO ** (2 * d))
    return Statement(
        label="erased_distance",
        title="no method, strongly convex quadratics, messages that may not arrive",
        assumptions=(
            METHODS,
            ERASURES,
            r"the worst $L$-smooth $\mu$-strongly convex quadratic $f$ of $d$ variables",
        ),
        relation=sympy.Ge(distance_share, bound, evaluate=False),
        domain=(sympy.Le(mu, L), *DELTA_DOMAIN),
        source="argument of Nesterov 2004; with erasures, and constants: ours",
        derivation=(
            _erasure_step(),
            *quadratic_chain_steps(),
            Step(
                "so x_t is 0 from coordinate j + 1 on if j messages have arrived, and ‖x_t − x*‖² is at least the "
                "tail Σ_{i>j} q^(2i−2), which is (q^(2j) − q^(2d))/(1 − q^(2d)) of ‖x*‖²",
                _tail,
                argued="that each message that arrives shows one coordinate at most, by induction over the rounds",
            ),
            Step("one more round takes E q^(2j) to (1 − δ(1 − q²))E q^(2j)", _one_more_round),
            Step(
                "after T rounds from j = 0 that is the bound",
                lambda: _after_rounds(bound),
                concludes=bound,
            ),
            Step(
                "steps to a tolerance, of `ef_small_delta` and of this as d → ∞: their ratio tends to "
                "4(L + μ)√L/(√μ(√L + √μ)²) as δ → 0, which is 2 for L = μ and 4√(L/μ) to first order for large L/μ",
                _ratio_of_steps,
            ),
        ),
    )


def erased_gradient() -> Statement:
    """min_{t<T} E‖∇f(x_t)‖² ≥ 6L(f(x_0) − f*)/(5(12N − 1)) · P(j < N), j binomial of T − 1 and δ, for every N ≤ T.

    On the chain of N it is an equality for the method that puts x_i at 6/5 of the chain's unit for every coordinate
    that it knows. As T → ∞ the best N gives L(f(x_0) − f*)/(10δT), and N = 2δ(T − 1) a quarter of it for all T. Error
    feedback without noise, `descent_without_bounded_gradients`, is at 8L(f(x_0) − f*)/(δT) for small δ: a factor of 80,
    of which the chain's own slack, L = 25/3 where a search finds 7, is 1.2. A run with many workers whose messages are
    lost together is no better.

    Source: the argument of Carmon, Duchi, Hinder and Sidford 2020 and Huang, Chen, Yin and Yuan 2022; constants ours.
    """
    bound = _SLOPE_SQUARE * _fewer_than_all(delta)
    return Statement(
        label="erased_gradient",
        title="no method, smooth functions, messages that may not arrive",
        assumptions=(METHODS, ERASURES, HARD, r"any length $N$ of the chain"),
        relation=sympy.Ge(gradient_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Le(chain_length, T)),
        source="arguments of Carmon et al. 2020 and Huang, Chen, Yin and Yuan 2022; chain and constants: ours",
        derivation=(
            _erasure_step(),
            *piecewise_chain_steps(),
            _scaling_step(),
            _binomial_step(),
            Step(
                "so min_{t<T} E‖∇f(x_t)‖² is at least φ² times the probability that fewer than N of the first T − 1 "
                "messages arrive",
                lambda: bound - _SLOPE_SQUARE * _fewer_than_all(delta),
                concludes=bound,
                argued="that each message that arrives shows one coordinate at most, by induction over the rounds",
            ),
            Step("P(j ≥ N) ≤ δ(T − 1)/N: N = 2δ(T − 1) leaves L(f(x_0) − f*)/(40δ(T − 1)) at least", _by_markov),
            _chebyshev_step(),
            Step(
                "without noise `descent_without_bounded_gradients` at η = (1 − a)/(L(1 + a)) is, times "
                "δT/(L(f(x_0) − f*)), 2(1 + a)², which tends to 8: 80 times 1/10",
                _ratio_to_upper,
            ),
        ),
    )


def noisy_gradient() -> Statement:
    """min_{t<T} E‖∇f(x_t)‖² ≥ φ² P(j < N), j binomial of T − 1 and 1 − (σ₀²/(φ² + σ₀²))^n.

    Here φ² = 6L(f(x_0) − f*)/(5(12N − 1)). As T → ∞ the best N gives √(Lσ₀²(f(x_0) − f*)/(10nT)): no compressor and no
    method takes the factor 1/√(nT) away. `descent_of_workers` at δ = 1 and its best η is
    √(2Lσ₀²(f(x_0) − f*)/(nT)): a factor of √20. With erasures, the larger one of this and `erased_gradient` holds: what
    a worker has found waits until a message arrives.

    Source: the argument of Arjevani, Carmon, Duchi, Foster, Srebro and Woodworth 2019; constants ours.
    """
    bound = _SLOPE_SQUARE * _fewer_than_all(_found())
    return Statement(
        label="noisy_gradient",
        title="no method, smooth functions, n workers with noise",
        assumptions=(
            NOISY_METHODS,
            HARD + r", the same for all workers",
            Given(
                "variance",
                r"\mathbb{E}\,\lVert g_i-\nabla f(x)\rVert^{2}",
                "≤",
                variance,
                words=r"the worst unbiased gradients $g_i$ with {}, drawn independently by every worker in every round",
            ),
            r"any length $N$ of the chain",
        ),
        relation=sympy.Ge(gradient_energy, bound, evaluate=False),
        domain=(sympy.Le(chain_length, T), sympy.Lt(0, gap + variance)),
        source="argument of Arjevani et al. 2019; chain and constants: ours",
        derivation=_noisy_steps(bound),
    )


def _noisy_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The chain, noise that hides its next entry, and how often some worker sees it."""
    return (
        *piecewise_chain_steps(),
        _scaling_step(),
        Step(
            "the entry that is shown next, g with |g| ≤ φ, becomes g/p with probability p = φ²/(φ² + σ₀²) and 0 "
            "otherwise: mean g, variance g²(1 − p)/p ≤ σ₀²",
            _noise,
        ),
        Step("some worker sees it with probability 1 − (1 − p)^n, 1 − p = σ₀²/(φ² + σ₀²)", _some_worker),
        _binomial_step(),
        Step(
            "so min_{t<T} E‖∇f(x_t)‖² is at least φ² times the probability that it is seen in fewer than N of the "
            "first T − 1 rounds",
            lambda: bound - _SLOPE_SQUARE * _fewer_than_all(_found()),
            concludes=bound,
            argued="that a round shows one coordinate at most, by induction over the rounds",
        ),
        _chebyshev_step(),
        Step("1 − np ≤ (1 − p)^n: (1 − p)(1 − np) − (1 − (n + 1)p) = np² ≥ 0", _bernoulli),
        Step(
            "N² = (1 + ν)nT·L(f(x_0) − f*)/(10σ₀²) makes nTp/N tend to 1/(1 + ν) as N → ∞, and φ² times "
            "√(nT/(Lσ₀²(f(x_0) − f*))) to 1/√(10(1 + ν))",
            _best_length,
        ),
        Step("F/(ηT) + ηLσ₀²/(2n) is √(2Lσ₀²F/(nT)) at its best η, √20 times √(Lσ₀²F/(10nT))", _noise_ratio),
    )


def _erasure_step() -> Step:
    def remainder() -> sympy.Expr:
        square = sympy.Symbol("u^2", positive=True)
        return sympy.expand(delta * 0 + (1 - delta) * square - (1 - delta) * square)

    return Step("E‖u − C(u)‖² = δ·0 + (1 − δ)‖u‖²: a contraction of factor δ in the mean", remainder)


def _scaling_step() -> Step:
    """f(x) = (3Lλ²/25)F(x/λ)."""

    def remainder() -> sympy.Basic:
        unit = sympy.Symbol("unit", positive=True)
        height = L * unit**2 / SMOOTHNESS
        smooth, slope, drop = height / unit**2 * SMOOTHNESS, height / unit, height * (12 * chain_length - 1) / 10
        (found,) = sympy.solve(sympy.Eq(drop, gap), unit)
        return decided(
            sympy.cancel(smooth - L) == 0 and sympy.cancel(slope.subs(unit, found) ** 2 - _SLOPE_SQUARE) == 0
        )

    return Step(
        "f(x) = (3Lλ²/25)F(x/λ) is L-smooth; with λ such that its gap is f(x_0) − f*, its slope is φ with "
        "φ² = 6L(f(x_0) − f*)/(5(12N − 1))",
        remainder,
    )


def _binomial_step() -> Step:
    """Pascal's rule, and the start."""

    def remainder() -> sympy.Expr:
        rounds, known = sympy.symbols("t j", integer=True, positive=True)

        def chance(count: sympy.Expr, arrived: sympy.Expr) -> sympy.Expr:
            power = _ARRIVING**arrived * (1 - _ARRIVING) ** (count - arrived)
            return sympy.binomial(count, arrived) * power

        following = (1 - _ARRIVING) * chance(rounds, known) + _ARRIVING * chance(rounds, known - 1)
        return sympy.combsimp(sympy.simplify(following / chance(rounds + 1, known))) - 1

    return Step(
        "if a round shows one coordinate more with probability π, whatever came before, j of t rounds do with "
        "probability C(t, j)π^j(1 − π)^(t−j)",
        remainder,
    )


def _chebyshev_step() -> Step:
    """The variance of a binomial number is at most its mean M."""

    def remainder() -> sympy.Basic:
        length = (1 + _MORE) * _MEAN
        missing = _MEAN / (length - _MEAN) ** 2
        factor = 10 * _MEAN * (_SLOPE_SQUARE / (L * gap)).subs(chain_length, length) * (1 - missing)
        return sympy.Eq(sympy.limit(factor, _MEAN, sympy.oo), 1 / (1 + _MORE))

    return Step(
        "for N = (1 + ν)M, M the mean of j, P(j ≥ N) ≤ M/(N − M)² vanishes as M → ∞, and 10M/(L(f(x_0) − f*)) times "
        "the bound tends to 1/(1 + ν), for every ν > 0",
        remainder,
    )


def _fewer_than_all(chance: sympy.Expr) -> sympy.Expr:
    """P(j < N) for j binomial of T − 1 rounds."""
    term = sympy.binomial(T - 1, _KNOWN) * chance**_KNOWN * (1 - chance) ** (T - 1 - _KNOWN)
    return sympy.Sum(term, (_KNOWN, 0, chain_length - 1))


def _found() -> sympy.Expr:
    """The probability that some worker sees the next entry."""
    return 1 - (variance / (_SLOPE_SQUARE + variance)) ** n


def _tail() -> sympy.Expr:
    """q² = 1/(1 + y)."""
    place, told = sympy.symbols("i j", integer=True, nonnegative=True)
    square = 1 / (1 + sympy.Symbol("y", positive=True))
    tail = sympy.summation(square ** (place - 1), (place, told + 1, d))
    whole = sympy.summation(square ** (place - 1), (place, 1, d))
    return sympy.simplify(tail / whole - (square**told - square**d) / (1 - square**d))


def _one_more_round() -> sympy.Expr:
    value = sympy.Symbol("value")
    return sympy.expand((1 - delta) * value + delta * _Q**2 * value - (1 - delta * (1 - _Q**2)) * value)


def _after_rounds(bound: sympy.Expr) -> sympy.Expr:
    """The mean of q^(2j) by its recursion from 1, put into the tail."""
    rounds, factor = sympy.Symbol("t", integer=True), sympy.Symbol("factor", positive=True)
    mean = sympy.Function("mean")
    found = sympy.rsolve(mean(rounds + 1) - factor * mean(rounds), mean(rounds), {mean(0): 1})
    value = found.subs(rounds, T).subs(factor, 1 - delta * (1 - _Q**2))
    return (value - _Q ** (2 * d)) / (1 - _Q ** (2 * d)) - bound.subs(RATIO, _Q)


def _ratio_of_steps() -> sympy.Basic:
    root, small = sympy.Symbol("root", positive=True), sympy.Symbol("small", positive=True)
    ratio = (root - 1) / (root + 1)
    share = sympy.factor(1 - ratio**2)
    upper = (root**2 + 1) * sympy.log(1 / tolerance) / small
    lower = sympy.log(1 / tolerance) / -sympy.log(1 - small * share)
    limit = sympy.cancel((root**2 + 1) * share)
    tends = sympy.limit(upper / lower, small, 0, "+")
    stated = 4 * root * (root**2 + 1) / (root + 1) ** 2
    return decided(
        sympy.simplify(tends - stated) == 0
        and sympy.cancel(limit - stated) == 0
        and stated.subs(root, 1) == 2
        and sympy.limit(stated / root, root, sympy.oo) == 4
    )


def _by_markov() -> sympy.Basic:
    left = _SLOPE_SQUARE.subs(chain_length, 2 * _MEAN) * (1 - _MEAN / (2 * _MEAN))
    above = sympy.Symbol("more", positive=True)
    room = sympy.cancel((left - L * gap / (40 * _MEAN)).subs(_MEAN, sympy.Rational(1, 24) + above))
    return decided(sympy.factor(room / gap).is_positive)


def _ratio_to_upper() -> sympy.Basic:
    rate = at_root(VARIANCE_RATE.subs(variance, 0)).subs(eta, (1 - ROOT) / (L * (1 + ROOT)))
    scaled = sympy.simplify(rate * (1 - ROOT**2) * T / (L * gap))
    limit = sympy.limit(scaled, ROOT, 1)
    return decided(sympy.simplify(scaled - 2 * (1 + ROOT) ** 2) == 0 and limit / sympy.Rational(1, 10) == 80)


def _noise() -> sympy.Basic:
    slope, entry = sympy.symbols("phi g", positive=True)
    chance = slope**2 / (slope**2 + variance)
    mean = chance * (entry / chance)
    spread = sympy.cancel(chance * (entry / chance) ** 2 - entry**2)
    at_most = sympy.cancel(variance - spread.subs(entry, slope))
    grows = sympy.cancel(spread / entry**2 - (1 - chance) / chance)
    return decided(sympy.cancel(mean - entry) == 0 and at_most == 0 and grows == 0)


def _some_worker() -> sympy.Expr:
    square = sympy.Symbol("phi^2", positive=True)
    missed = 1 - square / (square + variance)
    return sympy.simplify(_found() - (1 - missed**n).subs(square, _SLOPE_SQUARE))


def _bernoulli() -> sympy.Expr:
    chance = sympy.Symbol("p", positive=True)
    return sympy.expand((1 - chance) * (1 - n * chance) - (1 - (n + 1) * chance) - n * chance**2)


def _best_length() -> sympy.Basic:
    length, noise, start = sympy.symbols("N sigma^2 F", positive=True)
    square = (_SLOPE_SQUARE / gap * start).subs(chain_length, length)
    rounds = length**2 * 10 * noise / ((1 + _MORE) * n * L * start)
    mean = sympy.limit(n * rounds * square / (square + noise) / length, length, sympy.oo)
    scaled = sympy.limit(sympy.simplify(square**2 * n * rounds / (L * noise * start)), length, sympy.oo)
    return decided(sympy.simplify(mean - 1 / (1 + _MORE)) == 0 and sympy.simplify(scaled - 1 / (10 * (1 + _MORE))) == 0)


def _noise_ratio() -> sympy.Basic:
    noise, start = sympy.symbols("sigma^2 F", positive=True)
    rate = start / (eta * T) + eta * L * noise / (2 * n)
    (best,) = sympy.solve(sympy.diff(rate, eta), eta)
    value = sympy.simplify(rate.subs(eta, best) ** 2)
    lower = L * noise * start / (10 * n * T)
    return decided(sympy.simplify(value - 2 * L * noise * start / (n * T)) == 0 and sympy.simplify(value / lower) == 20)


STATEMENTS = by_label(__name__, erased_distance, erased_gradient, noisy_gradient)
"""The statements of this file."""
