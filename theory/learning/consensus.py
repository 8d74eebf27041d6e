"""When does the augmented Lagrangian of consensus ADMM fall at every step, for least squares with the term ‖z‖²?

Distributed self-paced learning (Zhang, Zhao, Chen and Lu, IJCAI 2018, as the method was described to us) minimises
Σ_i f_i(w_i) + ‖z‖² with w_i = z this way. Here z is new first, then every w_i, then every α_i ← α_i + ρ(w_i − z), so
that ∇f_i(w_i) = −α_i after each step. Along an eigenvector of ∇²f_i with eigenvalue h everything is one number.
Statements and proofs are ours; that L falls for a large ρ is classical (Hong, Luo and Razaviyayn 2016, not read).
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    batch_curvature,
    consensus,
    consensus_energy,
    consensus_move,
    excess_lagrangian,
    lagrangian_change,
    least_penalty,
    mean_proposal,
    model_distance,
    model_move,
    models_first_change,
    n,
    penalty,
    printed_excess,
    proposal_energy,
)

LEAST_SQUARES = (
    r"$\mathcal{L}=\sum_{i\leq n}[f_i(w_i)+\alpha_i^{\top}(w_i-z)+\frac{\rho}{2}\lVert w_i-z\rVert^{2}]"
    r"+\lVert z\rVert^{2}$"
)
CURVED = Given(
    "curvature", r"\lVert\nabla^{2}f_i\rVert", "≤", batch_curvature, words="$f_i$ is a weighted squared loss with {}"
)
CONSISTENT = r"$\nabla f_i(w_i)=-\alpha_i$, as after every step"
Z_FIRST = (
    r"a step minimises $\mathcal{L}$ over $z$, then over all $w_i$, and then $\alpha_i\leftarrow\alpha_i+\rho(w_i-z)$"
)

_Z, _H, _LINEAR, _W, _A = sympy.symbols("z h b w a", real=True)
_SHARE = penalty * n / (2 + penalty * n)
"""θ: the part of the mean proposal that z is."""


def admm_consensus_step() -> Statement:
    """z = ρ Σ_i (w_i + α_i/ρ)/(2 + ρn) minimises L; the term ‖z‖² takes the part 2/(2 + ρn) of the mean away.

    Source: Zhang et al. 2018, as described to us; re-derived.
    """
    bound = penalty * n * mean_proposal / (2 + penalty * n)
    return Statement(
        label="admm_consensus_step",
        title="The consensus step of self-paced ADMM",
        assumptions=(LEAST_SQUARES, r"$\bar{u}=\frac{1}{n}\sum_i(w_i+\alpha_i/\rho)$"),
        relation=sympy.Eq(consensus, bound),
        domain=(),
        source="Zhang et al. 2018, as described to us",
        derivation=(
            Step(
                "−α_i·z + (ρ/2)(w_i − z)² is (ρ/2)(z − w_i − α_i/ρ)² and something without z",
                lambda: sympy.diff(
                    -_A * _Z + penalty / 2 * (_W - _Z) ** 2 - penalty / 2 * (_Z - _W - _A / penalty) ** 2, _Z
                ),
            ),
            Step(
                "so L is z² − ρnz·ū + (ρn/2)z² and something without z, and its slope vanishes there",
                lambda: _solved(_in_consensus(_Z)) - bound,
                concludes=bound,
            ),
            Step("L is convex in z", lambda: decided(sympy.diff(_in_consensus(_Z), _Z, 2).is_positive)),
        ),
    )


def admm_printed_step() -> Statement:
    """The mean of the proposals in z's place costs 2‖ū‖²/(2 + ρn): L rises at the optimum itself unless that is 0.

    It is the step of ADMM without the term ‖z‖², and ends where Σ_i α_i = 0: at a minimiser of Σ_i f_i.
    With one example x = 1, y = 2 and ρ = 2 the optimum has w = z = 1, α = 2 and L = 2; one printed step makes it 4.

    Source: ours; that the listing prints this step was described to us.
    """
    bound = 2 * proposal_energy / (2 + penalty * n)
    return Statement(
        label="admm_printed_step",
        title="What the printed consensus step costs",
        assumptions=(LEAST_SQUARES, r"$\bar{u}=\frac{1}{n}\sum_i(w_i+\alpha_i/\rho)$"),
        relation=sympy.Eq(printed_excess, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "L(ū) − L(θū), coordinate by coordinate",
                lambda: sympy.simplify(
                    _in_consensus(mean_proposal)
                    - _in_consensus(_SHARE * mean_proposal)
                    - bound.subs(proposal_energy, mean_proposal**2)
                ),
                concludes=bound,
            ),
            Step("where the printed step stands still, w_i = z = ū, and so Σ_i α_i = 0", _printed_rest),
            Step("one example: L is 2 before the printed step, and 4 after it", _printed_witness),
        ),
    )


def admm_descent() -> Statement:
    """L falls by (2 + ρn)/2·‖Δz‖² and by at least min(ρ/2, (ρ − φ)(ρ + 2φ)/(2ρ)) Σ_i ‖Δw_i‖²; for ρ < φ it may rise.

    Along an eigenvector of ∇²f_i with eigenvalue h it is (ρ − h)(ρ + 2h)/(2ρ)·‖Δw_i‖² exactly.

    Source: ours; weaker conditions on ρ, as ρ > √2·φ, were described to us.
    """
    bound = -(2 + penalty * n) / 2 * consensus_move - sympy.Min(penalty / 2, _fall(batch_curvature)) * model_move
    return Statement(
        label="admm_descent",
        title="Descent of the augmented Lagrangian",
        assumptions=(LEAST_SQUARES, CURVED, CONSISTENT, Z_FIRST),
        relation=sympy.Le(lagrangian_change, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("a step of z lets L fall by (2 + ρn)/2·‖Δz‖²", _consensus_fall),
            Step("a step of w lets f + αw + (ρ/2)(w − z)² fall by (h + ρ)/2·(Δw)²", _model_fall),
            Step("after it hw − b = −α again, with the new α", _identity_returns),
            Step("so Δα = −hΔw, and the step of α adds (Δα)²/ρ: in sum −(ρ − h)(ρ + 2h)/(2ρ)·(Δw)²", _sum_of_steps),
            Step("(ρ − h)(ρ + 2h)/(2ρ) is concave in h, so between 0 and φ not below the lesser of its ends", _concave),
            Step(
                "at h = 0 it is ρ/2",
                lambda: _fall(sympy.Integer(0)) - penalty / 2,
                concludes=bound,
            ),
        ),
    )


def admm_least_penalty() -> Statement:
    """ρ ≥ φ is necessary, too: for ρ < φ L rises in a step of one batch of which z is the next z already.

    Two batches with opposite targets keep z = 0, and then L rises at every step.

    Source: ours.
    """
    bound = batch_curvature
    return Statement(
        label="admm_least_penalty",
        title="The least penalty with descent",
        assumptions=(LEAST_SQUARES, CURVED, CONSISTENT, Z_FIRST, "any batches, and any $z$ to begin with"),
        relation=sympy.Eq(least_penalty, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("for h ≤ φ ≤ ρ nothing rises: (ρ − h)(ρ + 2h) ≥ 0", lambda: decided(_fall_of_more().is_nonnegative)),
            Step("where z = θ(w + α/ρ) is the next z, Δw = ρ(z − w)/(h + ρ), and z = w for one w only", _alone_moves),
            Step("w and −w with α and −α have ū = 0, and so z = 0 again and again", _twins_stay),
            Step("then Δw⁺ = hΔw/(h + ρ), which never vanishes", _twins_move),
            Step(
                "and with h = φ the rise has the sign of φ − ρ: the factor vanishes at ρ = φ and nowhere else",
                lambda: _sign_change() - bound,
                concludes=bound,
            ),
        ),
    )


def admm_wrong_order() -> Statement:
    """All w_i before z: with an empty batch, where φ = 0 is below every ρ, L rises if √5 − 1 < ρ < 2.

    From any start, two steps lead to w = (1 − 4/ρ²)z and α = 2z. So ρ ≥ φ does not suffice in that order.

    Source: ours.
    """
    bound = -4 * (1 + penalty) * (2 - penalty) * (4 - 2 * penalty - penalty**2) / ((2 + penalty) ** 2 * penalty**3)
    bound *= consensus_energy
    return Statement(
        label="admm_wrong_order",
        title="Models before consensus: a rise without curvature",
        assumptions=(
            LEAST_SQUARES,
            "one batch without examples",
            r"a step minimises $\mathcal{L}$ over $w$, then over $z$, and then $\alpha\leftarrow\alpha+\rho(w-z)$",
            Given("settled_model", "w", "=", (1 - 4 / penalty**2) * _Z),
            Given("settled_multiplier", r"\alpha", "=", 2 * _Z, words="{}, as after two steps from anywhere"),
        ),
        relation=sympy.Eq(models_first_change, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("two steps from anywhere lead to such a state", _leads_there),
            Step("a step multiplies z, α and w by θ = ρ/(2 + ρ), all alike", _shrinks),
            Step("so L is multiplied by θ²", lambda: sympy.factor(_order_change() - bound), concludes=bound),
            Step("at ρ = 3/2 it is a rise", lambda: decided(_at_three_halves(bound).is_positive)),
        ),
    )


def admm_together() -> Statement:
    """F(z) ≤ L − (ρ − φ)/2·Σ_i ‖w_i − z‖²: for ρ ≥ φ all batches may come together at z, and L does not rise.

    F(z) is L at w_i = z, whatever the α_i are. So L is bounded below by min F, and a round may begin with w_i = z and
    α_i = −∇f_i(z) for new weights: from round to round nothing rises either.

    Source: ours; the inequality is that of a bounded curvature.
    """
    bound = (penalty - batch_curvature) / 2 * model_distance
    return Statement(
        label="admm_together",
        title="Coming together at the consensus",
        assumptions=(LEAST_SQUARES, CURVED, CONSISTENT, r"$F(z)=\sum_i f_i(z)+\lVert z\rVert^{2}$"),
        relation=sympy.Ge(excess_lagrangian, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("along an eigenvector L − F(z) is (ρ − h)/2·(w − z)² with α = −(hw − b)", _apart),
            Step(
                "which is at least (ρ − φ)/2·(w − z)² for h ≤ φ, and equal for h = φ",
                lambda: _least_apart() - bound,
                concludes=bound,
            ),
        ),
    )


def _in_consensus(point: sympy.Expr) -> sympy.Expr:
    """L at a coordinate of z, less what does not contain it."""
    return point**2 - penalty * n * mean_proposal * point + penalty * n / 2 * point**2


def _solved(lagrangian: sympy.Expr) -> sympy.Expr:
    (found,) = sympy.solve(sympy.diff(lagrangian, _Z), _Z)
    return found


def _printed_rest() -> sympy.Expr:
    # ū = z + (1/(ρn)) Σ α_i where all w_i = z.
    total = sympy.Symbol("total", real=True)
    (found,) = sympy.solve(sympy.Eq(_Z, _Z + total / (penalty * n)), total)
    return found


def _printed_witness() -> sympy.Basic:
    rho, target = sympy.Integer(2), sympy.Integer(2)
    model, multiplier = sympy.Integer(1), sympy.Integer(2)

    def lagrangian(w: sympy.Expr, z: sympy.Expr, alpha: sympy.Expr) -> sympy.Expr:
        return (w - target) ** 2 + alpha * (w - z) + rho / 2 * (w - z) ** 2 + z**2

    z = model + multiplier / rho
    w = (2 * target - multiplier + rho * z) / (2 + rho)
    after = lagrangian(w, z, multiplier + rho * (w - z))
    return decided(lagrangian(model, model, multiplier) == 2 and after == 4)


def _fall(curvature: sympy.Expr) -> sympy.Expr:
    """Of L by the steps of w and α, over (Δw)²."""
    return (penalty - curvature) * (penalty + 2 * curvature) / (2 * penalty)


def _consensus_fall() -> sympy.Expr:
    best = _SHARE * mean_proposal
    fall = _in_consensus(_Z) - _in_consensus(best)
    return sympy.simplify(fall - (2 + penalty * n) / 2 * (_Z - best) ** 2)


def _in_model(model: sympy.Expr) -> sympy.Expr:
    return _H / 2 * model**2 - _LINEAR * model + _A * (model - _Z) + penalty / 2 * (model - _Z) ** 2


def _next_model() -> sympy.Expr:
    return (_LINEAR - _A + penalty * _Z) / (_H + penalty)


def _model_fall() -> sympy.Expr:
    fall = _in_model(_W) - _in_model(_next_model())
    return sympy.simplify(fall - (_H + penalty) / 2 * (_W - _next_model()) ** 2)


def _identity_returns() -> sympy.Expr:
    alpha = _A + penalty * (_next_model() - _Z)
    return sympy.simplify(_H * _next_model() - _LINEAR + alpha)


def _sum_of_steps() -> sympy.Expr:
    move = sympy.Symbol("move", real=True)
    turn = -_H * move
    return sympy.expand(turn**2 / penalty - (_H + penalty) / 2 * move**2 + _fall(_H) * move**2)


def _concave() -> sympy.Basic:
    # h = tφ, with t and 1 − t the weights of the ends.
    part, rest = sympy.symbols("t rest", nonnegative=True)
    between = _fall(part * batch_curvature) - (1 - part) * _fall(sympy.Integer(0)) - part * _fall(batch_curvature)
    return decided(sympy.factor(between.subs(part, 1 / (1 + rest))).is_nonnegative)


def _fall_of_more() -> sympy.Expr:
    # ρ = h + more.
    curvature, more = sympy.symbols("curvature more", nonnegative=True)
    return sympy.expand(2 * penalty * _fall(curvature)).subs(penalty, curvature + more).expand()


def _alone_moves() -> sympy.Basic:
    """With α = b − hw: the move, and that z − w has a slope in w that never vanishes."""
    own = {_A: _LINEAR - _H * _W}
    moved = _next_model().subs(own) - _W - penalty * (_Z - _W) / (_H + penalty)
    slope = sympy.diff((penalty / (2 + penalty) * (_W + _A / penalty)).subs(own) - _W, _W)
    curved = sympy.Symbol("curved", nonnegative=True)
    return decided(sympy.simplify(moved) == 0 and sympy.factor(slope.subs(_H, curved)).is_negative)


def _twins_stay() -> sympy.Expr:
    return _SHARE * ((_W + _A / penalty) + (-_W - _A / penalty)) / 2


def _twins_move() -> sympy.Basic:
    # z = 0 and α = b − hw: Δw⁺ is the next model, less w, with w the next of a model before.
    earlier = sympy.Symbol("earlier", real=True)

    def following(model: sympy.Expr) -> sympy.Expr:
        return _next_model().subs({_A: _LINEAR - _H * model, _Z: 0}, simultaneous=True)

    first = following(earlier)
    ratio = sympy.simplify((following(first) - first) / (first - earlier))
    return decided(sympy.simplify(ratio - _H / (_H + penalty)) == 0)


def _sign_change() -> sympy.Expr:
    """The only ρ > 0 at which the fall along φ vanishes; below it L rises, as at ρ = φ/2."""
    phi = sympy.Symbol("phi", positive=True)
    (found,) = sympy.solve(_fall(phi), penalty)
    below = _fall(phi).subs(penalty, phi / 2)
    return found.subs(phi, batch_curvature) if below.is_negative else sympy.nan


def _models_first(state: tuple[sympy.Expr, sympy.Expr, sympy.Expr]) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    """(w, z, α) after a step of one empty batch, w first."""
    _, z, alpha = state
    model = z - alpha / penalty
    following = penalty * (model + alpha / penalty) / (2 + penalty)
    return model, following, alpha + penalty * (model - following)


def _settled() -> tuple[sympy.Expr, sympy.Expr, sympy.Expr]:
    return (1 - 4 / penalty**2) * _Z, _Z, 2 * _Z


def _leads_there() -> sympy.Basic:
    model, z, alpha = _models_first(_models_first((_W, _Z, _A)))
    wanted = [part.subs(_Z, z) for part in _settled()]
    return decided(all(sympy.simplify(one - two) == 0 for one, two in zip((model, z, alpha), wanted, strict=True)))


def _shrinks() -> sympy.Basic:
    theta = penalty / (2 + penalty)
    pairs = zip(_models_first(_settled()), _settled(), strict=True)
    return decided(all(sympy.simplify(after - theta * before) == 0 for after, before in pairs))


def _order_change() -> sympy.Expr:
    model, z, alpha = _settled()
    value = z**2 + alpha * (model - z) + penalty / 2 * (model - z) ** 2
    theta = penalty / (2 + penalty)
    return sympy.simplify((theta**2 - 1) * value).subs(_Z**2, consensus_energy)


def _at_three_halves(bound: sympy.Expr) -> sympy.Expr:
    return bound.subs({penalty: sympy.Rational(3, 2), consensus_energy: 1})


def _apart() -> sympy.Expr:
    alpha = -(_H * _W - _LINEAR)
    excess = _in_model(_W).subs(_A, alpha) - (_H / 2 * _Z**2 - _LINEAR * _Z)
    return sympy.expand(excess - (penalty - _H) / 2 * (_W - _Z) ** 2)


def _least_apart() -> sympy.Expr:
    # h = φ − less.
    less = sympy.Symbol("less", nonnegative=True)
    more = sympy.expand((penalty - (batch_curvature - less)) / 2 - (penalty - batch_curvature) / 2)
    return (penalty - batch_curvature) / 2 * model_distance if more.is_nonnegative else sympy.nan


STATEMENTS = by_label(
    __name__, admm_consensus_step, admm_printed_step, admm_descent, admm_least_penalty, admm_wrong_order, admm_together
)
"""The statements of this file."""
