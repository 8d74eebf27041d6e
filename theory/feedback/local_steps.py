"""How small do local steps and a sparse outer update with a decaying memory make the gradient?

Every worker makes H steps from x, u_i = βe_i + Δ_i of what they changed is compressed, the mean is applied, and the
rest is kept. The descent lemma is used at x − βē, which moves by −Δ̄ + (1 − β)ē⁺ (`decayed_virtual_iterate`): it pays
for what is kept back, for the drift of the local steps, and, which no undecayed memory does, for what is forgotten. The
form is that of Qsparse-local-SGD (Basu et al. 2019) at β = 1 and of SparseLoCo at β < 1; all constants are ours.
"""

import sympy

from sparsync.theory.feedback.decayed import DECAY_DOMAIN, KEPT, inside, recursion_steps
from sparsync.theory.feedback.rates import descent_step, nonconvex_rate_minkowski
from sparsync.theory.feedback.residual import DELTA_DOMAIN, KEPT_BACK, ROOT, at_root, jensen_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    eta,
    gap,
    gradient_energy,
    local_bias,
    local_count,
    residual_decay,
    sigma_squared,
)

LOCAL_STEPS = (
    r"$y_{i,0}=x$, $y_{i,h+1}=y_{i,h}-(\eta/H)g_{i,h}$, $\Delta_i=x-y_{i,H}$, and "
    r"$\mathbb{E}[g_{i,h}\mid\text{all before}]=\nabla f_i(y_{i,h})$"
)
OUTER_UPDATE = (
    r"$u_i=\beta e_i+\Delta_i$, $x^{+}=x-\frac{1}{n}\sum_i C_i(u_i)$, $e_i^{+}=u_i-C_i(u_i)$, at first $e_i=0$"
)
SMOOTH_WORKERS = Given(
    "lipschitz",
    r"\lVert\nabla f_i(x)-\nabla f_i(y)\rVert/\lVert x-y\rVert",
    "≤",
    L,
    r"$f=\frac{1}{n}\sum_i f_i\ge f^{*}$, and {} for all $x\neq y$",
)
SECOND_MOMENT = Given("second_moment", r"\mathbb{E}\,\lVert g_{i,h}\rVert^{2}", "≤", sigma_squared)

_DRIFT = (local_count - 1) / (2 * local_count)
"""j = (H − 1)/(2H): the mean of h/H over the H local steps."""
_SIGMA = sympy.sqrt(sigma_squared)
LINEAR_COST = _SIGMA * (eta * L * (residual_decay * KEPT + _DRIFT) + (1 - residual_decay) * KEPT)
"""K: what the bound on M costs per √M."""
CONSTANT_COST = gap / (eta * T) + eta * L * sigma_squared * (
    (1 + 2 * (1 - residual_decay) * KEPT + (1 - residual_decay**2) * KEPT**2) / 2
    + eta * L * residual_decay * KEPT * _DRIFT
)
"""B: what it costs besides."""

_G, _D, _B, _E = sympy.symbols("G D b e", real=True)
_RHO = sympy.Symbol("rho", nonnegative=True)
_S = sympy.Symbol("s", nonnegative=True)
"""σ."""
_M_ROOT, _K, _C = sympy.symbols("m K B", nonnegative=True)
_HALF_DRIFT = sympy.Symbol("j", nonnegative=True)


def local_gradient_bias() -> Statement:
    """E‖E_t[Δ̄]/η − ∇f(x)‖² ≤ (ηLσ(H − 1)/(2H))²: the mean of local steps is nearly the gradient where they start.

    It is attained for H = 2 by f = Lx²/2 without noise, and nearly for every H as ηL → 0.

    Source: ours; the argument is the common one of local SGD.
    """
    bound = (eta * L * _SIGMA * _DRIFT) ** 2
    return Statement(
        label="local_gradient_bias",
        title="what local steps change, and the gradient where they start",
        assumptions=(SMOOTH_WORKERS, LOCAL_STEPS, SECOND_MOMENT),
        relation=sympy.Le(local_bias, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(*drift_steps(), Step("L times that, squared", lambda: _bias(bound), concludes=bound)),
    )


def local_feedback_rate() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ (K + √(K² + 4B))²/4, of T outer steps with H local steps of size η/H each, n workers.

    K = σ(ηL(βρ + j) + (1 − β)ρ), B = (f(x_0) − f*)/(ηT) + ηLσ²((1 + 2(1 − β)ρ + (1 − β²)ρ²)/2 + ηLβρj), where
    ρ = a/(1 − βa), a = √(1 − δ), j = (H − 1)/(2H). It is at most 2B + K².

    β = 1 is the form of Qsparse-local-SGD, a term in ηL from the residual and one from the drift and no other; with
    H = 1 it is `nonconvex_rate_minkowski`, which is below `nonconvex_rate`, and is attained for every δ; with δ = 1 it
    is a rate of local SGD. For β < 1 the bound does not vanish with ηL: what is left is the floor ((1 − β)ρσ)². Of it
    `decayed_floor` reaches the share ((1 − βa)/(1 − βa²))², all of it at β = 0 and more than a quarter always; whether
    a better bound is true between is open.

    Source: ours; β = 1: the form of Basu, Data, Karakus and Diggavi 2019, whose constants we have not compared.
    """
    bound = (LINEAR_COST + sympy.sqrt(LINEAR_COST**2 + 4 * CONSTANT_COST)) ** 2 / 4
    return Statement(
        label="local_feedback_rate",
        title="local steps, sparse outer update, decaying memory, bounded second moments",
        assumptions=(SMOOTH_WORKERS, LOCAL_STEPS, OUTER_UPDATE, KEPT_BACK, SECOND_MOMENT),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, *DECAY_DOMAIN),
        source="form without a decay: Basu, Data, Karakus and Diggavi 2019; decay and constants: ours",
        derivation=(*_proof(bound), *_special_cases(bound)),
    )


def drift_steps() -> tuple[Step, ...]:
    """√E‖y_h − x‖² ≤ (η/H)hσ, whose mean over h is ησ(H − 1)/(2H)."""
    return (
        Step(
            "√E‖y_{h+1} − x‖² ≤ √E‖y_h − x‖² + (η/H)σ, so that √E‖y_h − x‖² ≤ (η/H)hσ",
            _local_recursion,
            argued="the first, by Minkowski's inequality",
        ),
        Step("the mean of h over h < H is (H − 1)/2", _mean_place),
        jensen_step("w_i = 1/n"),
    )


def _proof(bound: sympy.Expr) -> tuple[Step, ...]:
    return (
        *recursion_steps(),
        *drift_steps(),
        Step(
            "E‖Δ_i‖² ≤ η²σ²: H changes of (η/H)σ at most",
            lambda: local_count * eta / local_count * _S - eta * _S,
            argued="that lengths add, by Minkowski's inequality",
        ),
        Step("x̃ = x − βē has x̃⁺ = x̃ − Δ̄ + (1 − β)ē⁺, one coordinate and one worker", _moves),
        descent_step(),
        Step(
            "−(G + D)(G + b) + (G + D)λe: of G it is −G² − G(D + b) + λGe, and the rest is −Db + λDe",
            _products,
        ),
        Step(
            "‖Δ̄ − (1 − β)ē⁺‖ ≤ ησ(1 + (1 − β)ρ); with 2β(1 − β)ρ² from De it is 1 + 2(1 − β)ρ + (1 − β²)ρ²",
            _second_order,
        ),
        Step(
            "summed over t, with ‖D‖ ≤ Lβ‖ē‖ ≤ ηLβρσ, ‖b‖ ≤ ηLσj, ‖ē⁺‖ ≤ ηρσ: m² ≤ Km + B for the mean m² of q²",
            _summed,
            argued="that the mean of q is at most m, by Cauchy and Schwarz",
        ),
        Step("so m ≤ (K + √(K² + 4B))/2", _root, argued="that a parabola is ≤ 0 between its roots"),
        Step("with ρ = a/(1 − βa) and j = (H − 1)/(2H) it is the bound", lambda: _stated(bound), concludes=bound),
    )


def _special_cases(bound: sympy.Expr) -> tuple[Step, ...]:
    older = nonconvex_rate_minkowski().bound
    return (
        Step("it is at most 2B + K²: the difference is (√(K² + 4B) − K)²/4", _below_sum),
        Step(
            "β = 1, H = 1: `nonconvex_rate_minkowski`",
            lambda: sympy.simplify(at_root(bound.subs({residual_decay: 1, local_count: 1}) - older)),
        ),
        Step("δ = 1: K = ηLσj and B = (f(x_0) − f*)/(ηT) + ηLσ²/2, whatever β", _uncompressed),
        Step("K and B grow with H: j = (H − 1)/(2H) does, below 1/2", _grows_with_steps),
        Step("β = 1: K = ηLσ(a/(1 − a) + j)", _undecayed),
        Step("ηL = 0 leaves K² = ((1 − β)ρσ)², and B its start", _floor),
        Step("(1 − β)ρ ≤ a: forgetting everything costs most", _largest_floor),
    )


def _local_recursion() -> sympy.Basic:
    index = sympy.Symbol("h", integer=True, nonnegative=True)

    def length(at: sympy.Expr) -> sympy.Expr:
        return eta / local_count * at * _S

    moved = sympy.expand(length(index + 1) - length(index) - eta / local_count * _S)
    return sympy.And(sympy.Eq(moved, 0), sympy.Eq(length(sympy.Integer(0)), 0))


def _mean_place() -> sympy.Expr:
    index = sympy.Symbol("h", integer=True, nonnegative=True)
    mean = sympy.summation(index, (index, 0, local_count - 1)) / local_count
    return sympy.cancel(mean / local_count - _DRIFT)


def _bias(bound: sympy.Expr) -> sympy.Expr:
    return sympy.expand((L * eta * _SIGMA * _DRIFT) ** 2 - bound)


def _moves() -> sympy.Expr:
    x, change, sent = sympy.symbols("x Delta C", real=True)
    following = residual_decay * _E + change - sent
    moved = (x - sent) - residual_decay * following
    return sympy.expand(moved - ((x - residual_decay * _E) - change + (1 - residual_decay) * following))


def _products() -> sympy.Expr:
    share = sympy.Symbol("lambda", real=True)
    whole = -(_G + _D) * (_G + _B) + (_G + _D) * share * _E
    first = -(_G**2) - _G * (_D + _B) + share * _G * _E
    return sympy.expand(whole - first - (-_D * _B + share * _D * _E))


def _second_order() -> sympy.Expr:
    lost = 1 - residual_decay
    square = (1 + lost * _RHO) ** 2 + 2 * residual_decay * lost * _RHO**2
    return sympy.expand(square - (1 + 2 * lost * _RHO + (1 - residual_decay**2) * _RHO**2))


def _costs() -> tuple[sympy.Expr, sympy.Expr]:
    """K and B in ρ, j and σ."""
    lost = 1 - residual_decay
    linear = _S * (eta * L * (residual_decay * _RHO + _HALF_DRIFT) + lost * _RHO)
    square = (1 + 2 * lost * _RHO + (1 - residual_decay**2) * _RHO**2) / 2
    constant = gap / (eta * T) + eta * L * _S**2 * (square + eta * L * residual_decay * _RHO * _HALF_DRIFT)
    return linear, constant


def _summed() -> sympy.Basic:
    """The change of f at x̃ over T steps, over ηT; the end only helps."""
    lost, end = 1 - residual_decay, sympy.Symbol("f(x_T)-f*", nonnegative=True)
    far, bias, kept = eta * L * residual_decay * _RHO * _S, eta * L * _S * _HALF_DRIFT, eta * _RHO * _S
    step = -eta * _M_ROOT**2 + eta * _M_ROOT * (far + bias) + eta * far * bias
    step += lost * (_M_ROOT + far) * kept + L / 2 * (eta * _S * (1 + lost * _RHO)) ** 2
    linear, constant = _costs()
    left = sympy.expand((gap - end + T * step) / (eta * T))
    claimed = constant + linear * _M_ROOT - _M_ROOT**2 - end / (eta * T)
    return sympy.Eq(sympy.expand(left - claimed), 0)


def _root() -> sympy.Expr:
    root = (_K + sympy.sqrt(_K**2 + 4 * _C)) / 2
    return sympy.expand(root**2 - _K * root - _C)


def _stated(bound: sympy.Expr) -> sympy.Basic:
    values = {_RHO: KEPT, _HALF_DRIFT: _DRIFT, _S: _SIGMA}
    linear, constant = (cost.subs(values, simultaneous=True) for cost in _costs())
    stated = (_K + sympy.sqrt(_K**2 + 4 * _C)) ** 2 / 4
    same = bound - stated.subs({_K: LINEAR_COST, _C: CONSTANT_COST}, simultaneous=True)
    differences = (linear - LINEAR_COST, constant - CONSTANT_COST, same)
    return sympy.And(*(sympy.Eq(sympy.simplify(difference), 0) for difference in differences))


def _below_sum() -> sympy.Expr:
    outer = sympy.Symbol("outer", positive=True)
    constant = (outer**2 - _K**2) / 4
    return sympy.expand(2 * constant + _K**2 - (_K + outer) ** 2 / 4 - (outer - _K) ** 2 / 4)


def _uncompressed() -> sympy.Basic:
    linear = sympy.expand(LINEAR_COST.subs(delta, 1) - eta * L * _SIGMA * _DRIFT)
    constant = sympy.expand(CONSTANT_COST.subs(delta, 1) - gap / (eta * T) - eta * L * sigma_squared / 2)
    return sympy.And(sympy.Eq(linear, 0), sympy.Eq(constant, 0))


def _grows_with_steps() -> sympy.Basic:
    growth = sympy.cancel(_DRIFT.subs(local_count, local_count + 1) - _DRIFT)
    room = sympy.cancel(sympy.Rational(1, 2) - _DRIFT)
    slopes = [sympy.diff(cost, _HALF_DRIFT) for cost in _costs()]
    return sympy.sympify(all(part.is_nonnegative is True for part in (growth, room, *slopes)))


def _undecayed() -> sympy.Expr:
    plain = eta * L * _SIGMA * (ROOT / (1 - ROOT) + _DRIFT)
    return sympy.simplify(LINEAR_COST.subs(residual_decay, 1).subs(delta, 1 - ROOT**2) - plain)


def _floor() -> sympy.Basic:
    linear, constant = _costs()
    kept = linear.subs(L, 0) - (1 - residual_decay) * _RHO * _S
    return sympy.And(sympy.Eq(sympy.expand(kept), 0), sympy.Eq(sympy.expand(constant.subs(L, 0) - gap / (eta * T)), 0))


def _largest_floor() -> sympy.Basic:
    """a − (1 − β)ρ = aβ(1 − a)/(1 − βa)."""
    return inside(ROOT - (1 - residual_decay) * ROOT / (1 - residual_decay * ROOT))


STATEMENTS = by_label(__name__, local_gradient_bias, local_feedback_rate)
"""The statements of this file."""
