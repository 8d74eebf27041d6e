"""What does it cost to compress both ways, from the workers and from the server? An identity and a rate.

The server keeps x̃, of which the workers know w; EF21-P (Gruntkowska, Tyurin and Richtárik 2023) tells them C(x̃ − w),
and EF21 (Richtárik, Sokolov and Fatkhullin 2021) is what they answer. That EF21-P alone is error feedback of one
worker is known, and written out; the rate of both, and how large a step may be, are ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    delta_down,
    delta_up,
    eta,
    exact_model,
    gap,
    known_model,
    residual,
    server_energy,
)

DOWN, UP = sympy.symbols("a c", positive=True)
"""a = √(1 − δ↓) and c = √(1 − δ↑)."""
_KEPT_DOWN, _KEPT_UP = sympy.sqrt(1 - delta_down), sympy.sqrt(1 - delta_up)


def gain(down: sympy.Expr, up: sympy.Expr) -> sympy.Expr:
    """K: the error of the direction is at most ηLK times the direction, both as roots of sums of squares."""
    return (down + up) / ((1 - down) * (1 - up))


_SHARE = eta * L * gain(_KEPT_DOWN, _KEPT_UP)
_EVERY = r"{} for every $v\neq0$; of $0$ it keeps nothing"
_P, _Q, _M, _E = sympy.symbols("p q m e", nonnegative=True)
_G, _W, _X, _D, _R = sympy.symbols("g w x D r", real=True)


def server_feedback() -> Statement:
    """x̃_t = x_t − e_t: EF21-P is error feedback of one worker, whose model x_t is what the workers know.

    So all that is stated of one worker with exact gradients holds for EF21-P: `ef_tight_rate`, `ef_tight_step` and
    `descent_without_bounded_gradients`, at the model w_t = x_t at which gradients are taken. Created is sent and kept:
    x̃_t is w_0 with all that was sent, and what is still kept.

    Source: known (Gruntkowska, Tyurin and Richtárik 2023); error feedback: Seide et al. 2014; this form ours.
    """
    bound = known_model - residual
    return Statement(
        label="server_feedback",
        title="EF21-P is error feedback",
        assumptions=(
            r"EF21-P: $\tilde{x}^{+}=\tilde{x}-\eta\nabla f(w)$, $w^{+}=w+C(\tilde{x}^{+}-w)$",
            r"error feedback: $x^{+}=x-D(u)$, $e^{+}=u-D(u)$ with $u=e+\eta\nabla f(x)$ and $D(u)=-C(-u)$",
            r"$x_0=w_0$, $e_0=w_0-\tilde{x}_0$",
        ),
        relation=sympy.Eq(exact_model, bound),
        domain=(),
        source="known: Gruntkowska, Tyurin and Richtárik 2023; error feedback: Seide et al. 2014; this form: ours",
        derivation=(
            Step(
                "at the start it holds, and w_0 = x_0", lambda: known_model - (known_model - exact_model) - exact_model
            ),
            Step("where w = x and x̃ = x − e, x̃⁺ − w is −u: C is given the negative of what D is", _given),
            Step("so w⁺ = w + C(−u) is x − D(u) = x⁺", _same_model),
            Step(
                "and x̃⁺ = x̃ − η∇f(w) is x⁺ − e⁺",
                lambda: _same_exact(bound),
                concludes=bound,
            ),
            Step("‖D(u) − u‖ = ‖C(−u) − (−u)‖: D contracts as C does", _same_contraction),
        ),
    )


def bidirectional_rate() -> Statement:
    """min_{t<T} ‖∇f(x_t)‖² ≤ 2(f(x_0) − f*)/(ηT) for (ηLK)² + ηL ≤ 1, K = (a + c)/((1 − a)(1 − c)).

    a = √(1 − δ↓), c = √(1 − δ↑). η = (1 − a)(1 − c)/(L(1 + ac)) obeys it: 2L(f(x_0) − f*)(1 + ac)/((1 − a)(1 − c)T),
    which is 16L(f(x_0) − f*)/(δ↓δ↑T) for small δ; 4L(f(x_0) − f*)/(δT) for one way only, 40 times `erased_gradient`.
    The product of both is no weakness of the proof: at η = 2(1 − a)(1 − c)/(L(1 + a)(1 + c)), larger by a factor of
    at most 2, which tends to 1 as δ↓ and δ↑ → 0, f = Lx²/2 does not converge. Workers whose compressors are unbiased
    are not covered; their errors need not multiply. If the compressors are random, both sides are means.

    Source: ours.
    """
    bound = 2 * gap / (eta * T)
    return Statement(
        label="bidirectional_rate",
        title="EF21 both ways, smooth functions",
        assumptions=(
            r"$f=\frac{1}{n}\sum_i f_i$, every $\nabla f_i$ is $L$-Lipschitz, $f\ge f^{*}$",
            r"$x^{+}=x-\frac{\eta}{n}\sum_i d_i$, $w^{+}=w+C(x^{+}-w)$, $d_i^{+}=d_i+C_i(\nabla f_i(w^{+})-d_i)$, "
            r"at first $w=x$ and $d_i=\nabla f_i(x)$",
            Given("kept_down", r"\lVert v-C(v)\rVert^{2}/\lVert v\rVert^{2}", "≤", 1 - delta_down, words=_EVERY),
            Given("kept_up", r"\lVert v-C_i(v)\rVert^{2}/\lVert v\rVert^{2}", "≤", 1 - delta_up, words=_EVERY),
        ),
        relation=sympy.Le(server_energy, bound, evaluate=False),
        domain=(
            sympy.Le(delta_down, 1),
            sympy.Le(delta_up, 1),
            sympy.Le(_SHARE**2 + eta * L, 1),
        ),
        source="ours; methods: Richtárik, Sokolov and Fatkhullin 2021; Gruntkowska, Tyurin and Richtárik 2023",
        derivation=_rate_steps(bound),
    )


def _rate_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The errors of both ways as gains, summed; then how large a step may be."""
    return (
        Step(
            "the descent lemma at x with the mean direction d: −η⟨∇f, d⟩ + ηD²/2 with D = d − ∇f is "
            "−η(‖∇f‖² + ‖d‖²)/2 + ηD², of which ηD²/2 is the error's",
            _descent,
        ),
        Step(
            "p = ‖x − w‖, m = ‖d‖, v = ‖x⁺ − w‖ ≤ p + ηm, p⁺ ≤ av: v² ≤ p²/a + η²m²/(1 − a), the difference to "
            "(p + ηm)² being ((1 − a)p − aηm)²/(a(1 − a))",
            lambda: _split_square(DOWN, _P, eta * _M),
        ),
        Step(
            "so Σp² ≤ (aη/(1 − a))²Σm² and Σv² ≤ (η/(1 − a))²Σm²",
            _sum_down,
            argued="that a sum of p_{t+1}² over t < T − 1 is that of p_t², as p_0 = 0",
        ),
        Step(
            "q² = mean ‖∇f_i(w) − d_i‖², ‖w⁺ − w‖ ≤ (1 + a)v: q⁺ ≤ c(q + L(1 + a)v), and by the same square "
            "Σq² ≤ (cL(1 + a)η/((1 − a)(1 − c)))²Σm²",
            _sum_up,
            argued="that roots of sums and means of squares obey the triangle inequality (Minkowski)",
        ),
        Step("‖∇f(x) − d‖ ≤ Lp + q, and LηA + LηB with the two factors A, B is ηLK", _gain),
        Step(
            "summed: (η/2)Σ‖∇f(x_t)‖² ≤ f(x_0) − f* − (η/2)(1 − ηL − (ηLK)²)Σm²",
            lambda: _summed(bound),
            concludes=bound,
        ),
        Step(
            "1 + K = (1 + ac)/((1 − a)(1 − c)), and ηL = 1/(1 + K) leaves 1 − ηL − (ηLK)² = K/(1 + K)²",
            _simple_step,
        ),
        Step("(1 + ac)/((1 − a)(1 − c)) times δ↓δ↑ tends to 8, and for a = 0 times δ↑ to 2", _small),
        Step(
            "f = Lx²/2, C(v) = (1 + a)v, C_i(v) = (1 + c)v: at η = 2(1 − a)(1 − c)/(L(1 + a)(1 + c)) the update of "
            "(x, w, d) has the eigenvalue −1",
            _limit,
        ),
        Step(
            "2(1 + ac) − (1 + a)(1 + c) = (1 − a)(1 − c): that step is at least ηL = 1/(1 + K), and tends to it",
            _ratio,
        ),
    )


def _given() -> sympy.Expr:
    exact = _X - _E
    return sympy.expand((exact - eta * _G) - _X + (_E + eta * _G))


def _same_model() -> sympy.Expr:
    """C(−u) = −D(u)."""
    told = sympy.Symbol("D(u)", real=True)
    return sympy.expand((_X + (-told)) - (_X - told))


def _same_exact(bound: sympy.Expr) -> sympy.Expr:
    told = sympy.Symbol("D(u)", real=True)
    pushed = residual + eta * _G
    following = bound.subs({known_model: known_model - told, residual: pushed - told}, simultaneous=True)
    return sympy.expand(bound - eta * _G - following)


def _same_contraction() -> sympy.Expr:
    told, pushed = sympy.symbols("D(u) u", real=True)
    return sympy.expand((told - pushed) ** 2 - ((-told) - (-pushed)) ** 2)


def _descent() -> sympy.Expr:
    slope, direction = sympy.symbols("g d", real=True)
    fall = -eta * slope * direction
    return sympy.expand(fall + eta * (slope**2 + direction**2) / 2 - eta * (direction - slope) ** 2 / 2)


def _split_square(kept: sympy.Expr, first: sympy.Expr, second: sympy.Expr) -> sympy.Expr:
    room = first**2 / kept + second**2 / (1 - kept) - (first + second) ** 2
    return sympy.cancel(room - ((1 - kept) * first - kept * second) ** 2 / (kept * (1 - kept)))


def _sum_down() -> sympy.Basic:
    """S ≤ a²(S/a + η²M/(1 − a)) for S = Σp², M = Σm²; then the sum of v²."""
    total, moves = sympy.symbols("S M", nonnegative=True)
    (most,) = sympy.solve(sympy.Eq(total, DOWN**2 * (total / DOWN + eta**2 * moves / (1 - DOWN))), total)
    ahead = most / DOWN + eta**2 * moves / (1 - DOWN)
    first = sympy.cancel(most - (DOWN * eta / (1 - DOWN)) ** 2 * moves)
    second = sympy.cancel(ahead - (eta / (1 - DOWN)) ** 2 * moves)
    return decided(first == 0 and second == 0)


def _sum_up() -> sympy.Basic:
    total, moves = sympy.symbols("S M", nonnegative=True)
    push = (L * (1 + DOWN) * eta / (1 - DOWN)) ** 2 * moves
    (most,) = sympy.solve(sympy.Eq(total, UP**2 * (total / UP + push / (1 - UP))), total)
    stated = (UP * L * (1 + DOWN) * eta / ((1 - DOWN) * (1 - UP))) ** 2 * moves
    return decided(sympy.cancel(most - stated) == 0 and _split_square(UP, _Q, _P) == 0)


def _gain() -> sympy.Expr:
    down, up = DOWN / (1 - DOWN), UP * (1 + DOWN) / ((1 - DOWN) * (1 - UP))
    return sympy.cancel(down + up - gain(DOWN, UP))


def _summed(bound: sympy.Expr) -> sympy.Basic:
    """The mean of ‖∇f‖² if Σm² and the end of the run take nothing; both only lower it."""
    mean, end, moves, room = sympy.symbols("mean end M room", nonnegative=True)
    (found,) = sympy.solve(sympy.Eq(eta / 2 * T * mean, gap - end - eta / 2 * room * moves), mean)
    reached = sympy.simplify(found.subs({end: 0, moves: 0}) - bound)
    lowers = [sympy.diff(found, end).is_negative, sympy.expand(found - found.subs(moves, 0)).is_nonpositive]
    return decided(reached == 0 and all(lowers))


def _simple_step() -> sympy.Basic:
    factor = gain(DOWN, UP)
    whole = sympy.cancel(1 + factor - (1 + DOWN * UP) / ((1 - DOWN) * (1 - UP)))
    share = 1 / (1 + factor)
    left = sympy.cancel(1 - share - (share * factor) ** 2 - factor / (1 + factor) ** 2)
    return decided(whole == 0 and left == 0)


def _small() -> sympy.Basic:
    factor = (1 + DOWN * UP) / ((1 - DOWN) * (1 - UP))
    both = sympy.cancel(factor * (1 - DOWN**2) * (1 - UP**2)).subs({DOWN: 1, UP: 1})
    return decided(both == 8 and sympy.cancel(factor.subs(DOWN, 0) * (1 - UP**2)).subs(UP, 1) == 2)


def _limit() -> sympy.Basic:
    step = 2 * (1 - DOWN) * (1 - UP) / (L * (1 + DOWN) * (1 + UP))
    following = _X - step * _D
    known = _W + (1 + DOWN) * (following - _W)
    direction = _D + (1 + UP) * (L * known - _D)
    update = sympy.Matrix([following, known, direction]).jacobian([_X, _W, _D])
    return sympy.Eq(sympy.cancel((update + sympy.eye(3)).det()), 0)


def _ratio() -> sympy.Basic:
    excess = sympy.expand(2 * (1 + DOWN * UP) - (1 + DOWN) * (1 + UP) - (1 - DOWN) * (1 - UP))
    ratio = 2 * (1 + DOWN * UP) / ((1 + DOWN) * (1 + UP))
    return decided(excess == 0 and ratio.subs({DOWN: 1, UP: 1}) == 1)


STATEMENTS = by_label(__name__, server_feedback, bidirectional_rate)
"""The statements of this file."""
