"""What does staleness cost in regret? How far views differ from a sequential order, and what each difference costs.

Updates are numbered in rounds: x_{t+1} = x_t − η_t g_t, where t stands for iteration k of worker i, and g_t is a
subgradient of f_t at the view x̃_t of that worker. A view lacks some earlier updates and has some later ones. Ho, Cipar,
Cui et al. 2013 chose the order; the counts, the bounds and their proofs are ours. Steps that decrease are in
`theory/delay/decaying_regret.py`.
"""

import sympy

from sparsync.theory.delay.stability import ANGLE, decided
from sparsync.theory.delay.staleness import AT_ONCE, COUNT
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import T, eta, lipschitz, misread_count, n, radius, regret, staleness

WORKER = sympy.Symbol("i", integer=True, positive=True)
"""Position of a worker in the order of a round."""

NUMBERED = r"updates $t$ are numbered by iteration, then by worker"
MOVES = r"$x_{t+1}=x_t-\eta_t g_t$, and $\tilde{x}_t$ is $x_1$ less all $\eta_l g_l$ in the view of update $t$"
IN_ORDER = (
    r"a view, read as iteration $k$ starts, holds all earlier updates of its own worker, and of every other the first "
    r"ones: $k-1-s$ or more, all of them completed; every iteration takes time"
)
IN_WINDOW = (
    r"a view of iteration $k$ holds all earlier updates of its own worker, and of every other those of iterations up "
    r"to $k-1-s$ and any of $k-s,\dots,k-1+s$"
)
MISREAD = "a view misreads the updates before its own that it lacks, and those after that it holds"
CONVEX = Given(
    "longest_gradient",
    r"\lVert g_t\rVert",
    "≤",
    lipschitz,
    words=r"$f_t$ is convex, $g_t$ is a subgradient of it at $\tilde{x}_t$, and {}",
)
START = Given("half_square", r"\frac12\lVert x_1-x^{*}\rVert^2", "≤", radius**2)
ONE_STEP = (
    "f_t(x̃_t) − f_t(x*) ≤ g_t(x_t − x*) + g_t(x̃_t − x_t), and 2ηg(x − x*) = (x − x*)² − (x − ηg − x*)² + η²g² in each "
    "coordinate"
)


def ssp_views() -> Statement:
    """The views of one round differ from the sequential order by at most n(n − 1)(2s + 1)/2 updates in all.

    It is attained in every round k > s, by views as old as the rule permits; s = 0 leaves the n(n − 1)/2 updates of
    the round itself.

    Source: ours; the order is that of Ho et al. 2013.
    """
    bound = n * (n - 1) * (2 * staleness + 1) / 2
    return Statement(
        label="ssp_views",
        title="Updates that the views of one round lack or have too many",
        assumptions=(AT_ONCE, NUMBERED, IN_ORDER, MISREAD),
        relation=sympy.Le(misread_count, bound, evaluate=False),
        domain=(),
        source="order: Ho et al. 2013; counting: ours",
        derivation=(
            Step("a view of iteration k holds k − 1 − s iterations of another worker or more", _fewest_held),
            Step(
                "and at most k − 1 + s: iteration k + s starts after k − 1 is complete, and not while i waits",
                _most_held,
            ),
            Step(
                "the order has k of the i − 1 workers before i and k − 1 of those after: s + 1 and s differ", _differs
            ),
            Step("Σ_i (i − 1)(s + 1) + (n − i)s over a round", lambda: _in_round(n) - bound, concludes=bound),
            Step("views that hold k − 1 − s attain it", _oldest_views_attain),
        ),
    )


def ssp_regret_fixed_step() -> Statement:
    """R ≤ F²/η + ηℓ²T(1 + (2s + 1)(n − 1))/2 for one step size η, without projection and from any start.

    Views may lack and hold whatever the window permits. With a barrier (s = 0) it is attained, see
    `ssp_regret_optimised`. One worker gives the classical F²/η + ηℓ²T/2.

    Source: ours; one worker: classical.
    """
    bound = _fixed_step_bound()
    return Statement(
        label="ssp_regret_fixed_step",
        title="Regret under bounded staleness, fixed step size",
        assumptions=(CONVEX, START, NUMBERED, MOVES, r"$\eta_t=\eta$", IN_WINDOW),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(ONE_STEP, one_step),
            Step("summed over t, the squares leave at most F²/η", _squares_telescope),
            Step("each update misread costs at most η|g_t g_l| ≤ ηℓ²", cost_of_one_update),
            Step(
                "a pair l < t costs (a − b)ηg_t g_l ≤ ηℓ², where a and b are 1 or 0: whether view t lacks l, and "
                "whether view l holds t",
                _cost_of_one_pair,
            ),
            Step(
                "view (k, i) has such pairs with iterations k − s, …, k − 1 of the others and with k of the workers "
                "before: n(n − 1)(2s + 1)/2 in a round",
                lambda: sympy.expand(_pairs_in_round() - _in_round(n)),
            ),
            Step("T updates have at most T(n − 1)(2s + 1)/2: a round cut after r has r(n − r)/2 fewer", _cut_round),
            Step(
                "F²/η + ηℓ²T/2 and the cost of all pairs",
                lambda: radius**2 / eta + eta * lipschitz**2 * (T / 2 + T * _in_round(n) / n) - bound,
                concludes=bound,
            ),
            Step("s = 0: losses ℓ|x_k − x*_k| in round k attain it, if they end at x*", lambda: _barrier_misses(bound)),
        ),
    )


def ssp_regret_optimised() -> Statement:
    """R ≤ Fℓ√(2(1 + (2s + 1)(n − 1))T) for the best fixed step η = F/ℓ · √(2/((1 + (2s + 1)(n − 1))T)).

    With a barrier this is Fℓ√(2nT), and it is attained for every n and every whole number of rounds: it is that of
    descent on sums of n losses. For every s it is attained in the limit of many updates.

    Source: ours.
    """
    bound = radius * lipschitz * sympy.sqrt(2 * delay_factor() * T)
    return Statement(
        label="ssp_regret_optimised",
        title="Regret under bounded staleness, best fixed step size",
        assumptions=(
            *(CONVEX, START, NUMBERED, MOVES, IN_WINDOW),
            Given("step_size", r"\eta_t", "=", _best_step()),
        ),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("`ssp_regret_fixed_step` is stationary in η at the best step", _best_step_is_stationary),
            Step("there it is the bound", lambda: _at_best_step() - with_positive_factor(bound), concludes=bound),
            Step("at any other η it exceeds this by a square over η", _excess_is_a_square),
            Step(
                "s = 0: losses ℓ|x_k − x*_k| in round k attain it at the best step",
                lambda: _barrier_misses_at_best_step(bound),
            ),
            Step(
                "one turn of the gradients in T steps, beside a constant part towards x*, which has the share "
                "(1 + (2s + 1)(n − 1))/T: regret over bound tends to 1",
                _turning_gradients,
                argued="that gradients less than (s + 1)n steps apart are those that oldest views lack",
            ),
        ),
    )


def delay_factor() -> sympy.Expr:
    """1 + (2s + 1)(n − 1): one, and twice the mean number of pairs of a view."""
    return 1 + (2 * staleness + 1) * (n - 1)


def _oldest() -> sympy.Expr:
    """Iterations of another worker that a view of iteration k must hold."""
    return COUNT - 1 - staleness


def _fewest_held() -> sympy.Expr:
    return (COUNT - 1) - _oldest() - staleness


def _most_held() -> sympy.Basic:
    # What every worker has completed when one starts iteration k + s; worker i, or one it waits for, has not.
    needed = _oldest().subs(COUNT, COUNT + staleness)
    waited_for = _oldest() - 1
    return decided(needed == COUNT - 1 and sympy.expand(needed - waited_for).is_positive)


def _differs() -> sympy.Basic:
    held = sympy.Symbol("held", integer=True)
    ends = (_oldest(), COUNT - 1 + staleness)
    before = [sympy.expand((COUNT - held).subs(held, end)) for end in ends]
    after = [sympy.expand((COUNT - 1 - held).subs(held, end)) for end in ends]
    return decided(before == [staleness + 1, 1 - staleness] and after == [staleness, -staleness])


def _in_round(last: sympy.Expr) -> sympy.Expr:
    """Updates that the views of the first workers of a round misread, when each misreads the most."""
    misread = (WORKER - 1) * (staleness + 1) + (n - WORKER) * staleness
    return sympy.summation(sympy.expand(misread), (WORKER, 1, last))


def _oldest_views_attain() -> sympy.Expr:
    lacking = (WORKER - 1) * (COUNT - _oldest()) + (n - WORKER) * (COUNT - 1 - _oldest())
    return sympy.expand(sympy.summation(sympy.expand(lacking), (WORKER, 1, n)) - _in_round(n))


def one_step() -> sympy.Basic:
    """True iff both parts of `ONE_STEP` hold."""
    iterate, view, best, gradient, value = sympy.symbols("x view best g value", real=True)
    above = sympy.Symbol("above", nonnegative=True)
    # The value at x* lies above the tangent at the view.
    linear = gradient * (iterate - best) + gradient * (view - iterate)
    excess = linear - (value - (value + gradient * (best - view) + above))
    moved = iterate - eta * gradient
    squares = (iterate - best) ** 2 - (moved - best) ** 2 + eta**2 * gradient**2
    return decided(
        sympy.expand(excess).is_nonnegative and sympy.expand(2 * eta * gradient * (iterate - best) - squares) == 0
    )


def _squares_telescope() -> sympy.Basic:
    # With D_t = |x_t − x*|²/2; the claimed sum starts at 0 and grows by what is summed.
    distance = sympy.Function("D")
    last, short = sympy.symbols("last short", nonnegative=True)

    def summed(count: sympy.Expr) -> sympy.Expr:
        return (distance(1) - distance(count + 1)) / eta

    grows = summed(T + 1) - summed(T) - (distance(T + 1) - distance(T + 2)) / eta
    left = summed(T).subs({distance(1): radius**2 - short, distance(T + 1): last})
    return decided(
        sympy.expand(grows) == 0
        and summed(sympy.Integer(0)) == 0
        and sympy.expand(radius**2 / eta - left).is_nonnegative
    )


def cost_of_one_update() -> sympy.Basic:
    """True iff |g_t g_l| ≤ ℓ²."""
    # Lacking costs +g_t g_l, having too much −g_t g_l; the squares stand for their sums over the coordinates.
    taken, misread = sympy.symbols("g_t g_l", real=True)
    room = [
        lipschitz**2
        - sign * taken * misread
        - ((taken - sign * misread) ** 2 + (lipschitz**2 - taken**2) + (lipschitz**2 - misread**2)) / 2
        for sign in (1, -1)
    ]
    return decided([sympy.expand(excess) for excess in room] == [0, 0])


def _cost_of_one_pair() -> sympy.Basic:
    # |g_t g_l| ≤ ℓ², by `cost_of_one_update`.
    return decided(all(1 - abs(lacks - holds) >= 0 for lacks in (0, 1) for holds in (0, 1)))


def _pairs_in_round() -> sympy.Expr:
    return sympy.summation(sympy.expand(staleness * (n - 1) + (WORKER - 1)), (WORKER, 1, n))


def _cut_round() -> sympy.Basic:
    counted, rest = sympy.symbols("r rest", integer=True, nonnegative=True)
    fewer = sympy.expand(counted * _in_round(n) / n - _in_round(counted))
    differs = sympy.expand(fewer - counted * (n - counted) / 2)
    return decided(differs == 0 and sympy.expand((counted * (n - counted) / 2).subs(n, counted + rest)).is_nonnegative)


def _on_own_coordinates(expression: sympy.Expr) -> sympy.Expr:
    """The expression where K rounds, each on its own coordinate, end at x* with a barrier: every offset is nηℓ."""
    offset = n * eta * lipschitz
    return sympy.simplify(expression.subs({radius: sympy.sqrt(COUNT * offset**2 / 2), staleness: 0, T: n * COUNT}))


def _barrier_misses(bound: sympy.Expr) -> sympy.Expr:
    # All n views of a round start at the offset, where each of its losses is ℓ times it.
    offset = n * eta * lipschitz
    return sympy.simplify(_on_own_coordinates(bound) - COUNT * n * lipschitz * offset)


def _barrier_misses_at_best_step(bound: sympy.Expr) -> sympy.Basic:
    return decided(_barrier_misses(bound) == 0 and sympy.simplify(_on_own_coordinates(_best_step()) - eta) == 0)


def _fixed_step_bound() -> sympy.Expr:
    return radius**2 / eta + eta * lipschitz**2 * T * delay_factor() / 2


def _best_step() -> sympy.Expr:
    return radius / lipschitz * sympy.sqrt(2 / (delay_factor() * T))


def with_positive_factor(expression: sympy.Expr) -> sympy.Expr:
    """The expression with n = 1 + m, m ≥ 0, which shows that 1 + (2s + 1)(n − 1) is positive."""
    return expression.subs(n, 1 + sympy.Symbol("m", integer=True, nonnegative=True))


def _best_step_is_stationary() -> sympy.Expr:
    return sympy.simplify(sympy.diff(_fixed_step_bound(), eta).subs(eta, _best_step()))


def _at_best_step() -> sympy.Expr:
    return with_positive_factor(_fixed_step_bound().subs(eta, _best_step()))


def _excess_is_a_square() -> sympy.Expr:
    best = _best_step()
    square = lipschitz**2 * T * delay_factor() * (eta - best) ** 2 / (2 * eta)
    excess = _fixed_step_bound() - _fixed_step_bound().subs(eta, best) - square
    return sympy.simplify(sympy.expand(with_positive_factor(excess)))


def _turning_gradients() -> sympy.Basic:
    # Updates misread are less than (s + 1)n steps apart, at first fewer: views cannot lack what is before the start.
    # The angle between such gradients is below this one, and its cosine is 1 − 2 sin² of half of it.
    angle, lacking_at_first = 2 * sympy.pi * (staleness + 1) * n / T, n * (n - 1) * staleness * (staleness + 1) / 2
    half_angle_differs = sympy.simplify(1 - sympy.cos(ANGLE) - 2 * sympy.sin(ANGLE / 2) ** 2)
    best = _best_step()
    share_differs = sympy.simplify((sympy.sqrt(2) * radius / (best * lipschitz * T)) ** 2 - delay_factor() / T)
    misread = (T * _in_round(n) / n - lacking_at_first) * (1 - angle**2 / 2)
    reached = radius**2 / best + best * lipschitz**2 * (T / 2 + misread)
    ratio = sympy.simplify(with_positive_factor(reached / (radius * lipschitz * sympy.sqrt(2 * delay_factor() * T))))
    limit = sympy.limit(ratio, T, sympy.oo)
    return decided(half_angle_differs == 0 and share_differs == 0 and sympy.simplify(limit**2) == 1)


STATEMENTS = by_label(__name__, ssp_views, ssp_regret_fixed_step, ssp_regret_optimised)
"""The statements of this file."""
