"""How many workers may a farm have before one more makes it slower, and how far does a selection move that boundary?

Everything is derived from the times of `farms.py`: a boundary is where the derivative vanishes, and nothing of it is
typed in. The setting is that of Sokolinsky 2017, arXiv 1710.10490, which was not read; the laws here are ours.
"""

import sympy

from sparsync.theory.cost.farms import PHASES, SETTING, STAR, TREE, gathered_farm, star_farm, tree_farm
from sparsync.theory.cost.whole_roots import beside_root, no_longer_falls, whole_root
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    best_farm_size,
    best_tree_depth,
    boundary_gain,
    farm_boundary,
    farm_size,
    farm_speed_up,
    fold_time,
    gathered_boundary,
    latency,
    list_length,
    map_time,
    master_time,
    payload_share,
    receive_time,
    round_time,
    selected_boundary,
    send_time,
    tree_boundary,
    tree_depth,
    work_time,
)

SELECTED = r"of $t_s$ the share $\rho$ is left, positions included, where only some entries are sent; $L$ stays"
ANY_SIZE = r"the time is taken at every real $K\geq1$"
ANY_SHARE = r"the time is taken of all shares of a part or more, whole or not"
REAL_DEPTH = r"the time is taken at $q=\log_2 K$ for every real $K$ from $1$ to $\ell$, of whole shares or not"
FOLDING = "who takes an answer folds it with its own"
TURNS = "K² dT/dK grows with K: T falls to the root, then grows; of 1 ≤ K ≤ ℓ it is the best, or the nearer end"
_SIZE = sympy.Symbol("x", positive=True)
"""A number of workers that need not be whole."""
_MORE = sympy.Symbol("more", positive=True)
_SPARE = sympy.Symbol("spare", nonnegative=True)


def star_farm_boundary() -> Statement:
    """K* = max(1, √(t_w/(2L + t_s))): neither what the master computes nor what it is answered moves it.

    Source: ours; the setting is that of Sokolinsky 2017, which was not read.
    """
    bound = sympy.Max(1, _star_root())
    return Statement(
        label="star_farm_boundary",
        title="Boundary of a farm",
        assumptions=(*STAR, PHASES, ANY_SIZE),
        relation=sympy.Eq(farm_boundary, bound),
        domain=(),
        source=SETTING,
        derivation=(
            Step(
                "dT/dK = 0 at √(t_w/(2L + t_s)), and at no other K > 0",
                lambda: _only_root(_star_time()) - _star_root(),
            ),
            Step(
                "K² dT/dK grows with K: T falls to the root, then grows; of K ≥ 1 it is the best, or 1",
                lambda: _turns(_star_time()),
                concludes=bound,
            ),
            Step("the root grows with t_w, and falls with L and t_s", lambda: _star_moves(_star_root())),
        ),
    )


def star_farm_optimum() -> Statement:
    """⌈√(1/4 + t_w/(2L + t_s)) − 1/2⌉ workers are the fewest with the shortest time: ⌊K*⌋ or ⌈K*⌉.

    Source: ours.
    """
    bound = sympy.ceiling(whole_root(work_time / _each()))
    return Statement(
        label="star_farm_optimum",
        title="Best number of workers of a farm",
        assumptions=(*STAR, PHASES),
        relation=sympy.Eq(best_farm_size, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("T_{K + 1} − T_K = 2L + t_s − t_w/(K(K + 1)), which grows with K", _one_more),
            Step(
                "it is ≥ 0 iff K ≥ √(1/4 + t_w/(2L + t_s)) − 1/2 > 0; the first such K is the bound",
                no_longer_falls,
                concludes=bound,
            ),
            Step(
                "√(t_w/(2L + t_s)) is at least that, and less than 1/2 above it: the first K is its ⌊·⌋ or its ⌈·⌉",
                beside_root,
                argued="that of whole numbers only these may be first above a number less than 1/2 below",
            ),
        ),
    )


def star_farm_speed_up() -> Statement:
    """No farm is more than (2L + t_s + t_r + t_p + t_w)/(t_r + t_p + 2√(t_w(2L + t_s))) times as fast as one worker.

    K* workers are, where K* is whole. It is not sharp below one worker, t_w < 2L + t_s, where no farm gains anything.

    Source: ours.
    """
    shortest = receive_time + master_time + 2 * sympy.sqrt(work_time * _each())
    bound = star_farm().bound.subs(farm_size, 1) / shortest
    return Statement(
        label="star_farm_speed_up",
        title="Most that a farm gains",
        assumptions=(*STAR, PHASES),
        relation=sympy.Le(farm_speed_up, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "K(2L + t_s) + t_w/K is 2√(t_w(2L + t_s)) and a square",
                lambda: _square_above(shortest),
                concludes=bound,
            ),
            Step("which is 0 at K*", lambda: sympy.simplify(_star_time().subs(_SIZE, _star_root()) - shortest)),
        ),
    )


def selected_farm_boundary() -> Statement:
    """K*(ρ) = max(1, √(t_w/(2L + ρt_s))): the sparser what is told, the more workers are worth it.

    It is `star_farm_boundary` with ρt_s for t_s; ρ may be above 1, where positions take more than is left out.

    Source: ours.
    """
    bound = sympy.Max(1, sympy.sqrt(work_time / (2 * latency + payload_share * send_time)))
    return Statement(
        label="selected_farm_boundary",
        title="Boundary of a farm that sends a selection",
        assumptions=(*STAR, PHASES, ANY_SIZE, SELECTED),
        relation=sympy.Eq(selected_boundary, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "ρt_s for t_s in `star_farm_boundary`",
                lambda: _selected(star_farm_boundary().bound) - bound,
                concludes=bound,
            ),
            Step("the root falls as ρ grows", lambda: _falls(_selected(_star_root()), payload_share)),
            Step("ρ = 1 is `star_farm_boundary`", lambda: bound.subs(payload_share, 1) - star_farm_boundary().bound),
        ),
        kind="definition",
    )


def selected_farm_gain() -> Statement:
    """No selection moves the boundary farther than by √(1 + t_s/(2L)); what is left is the number of messages.

    It is approached as ρ → 0 where the boundary is 1 or more without a selection, and reached by none.

    Source: ours.
    """
    bound = sympy.sqrt(1 + send_time / (2 * latency))
    return Statement(
        label="selected_farm_gain",
        title="How far a selection moves the boundary of a farm",
        assumptions=(*STAR, PHASES, ANY_SIZE, SELECTED),
        relation=sympy.Le(boundary_gain, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("the quotient of the roots falls as ρ grows", lambda: _falls(_gain(), payload_share)),
            Step("and is the bound as ρ → 0", lambda: _gain().subs(payload_share, 0) - bound, concludes=bound),
            Step("it is above 1, and a quotient x/y with y < 1 is no less than x or 1", lambda: _one_at_least(bound)),
            Step("the larger L is, the smaller the bound", lambda: _falls(bound, latency)),
        ),
    )


def tree_farm_boundary() -> Statement:
    """K* = min(ℓ, max(1, (t_m + ℓt_a) ln 2/(t_c + t_a))): in a tree it grows like the work, not like its root.

    Where the map of a part is no longer than a round, t_m ≤ ℓt_c, ℓ is not reached.

    Source: ours.
    """
    root = _work() * sympy.log(2) / (round_time + fold_time)
    bound = _within_list(root)
    return Statement(
        label="tree_farm_boundary",
        title="Boundary of a farm in a folding tree",
        assumptions=(*TREE, FOLDING, REAL_DEPTH),
        relation=sympy.Eq(tree_boundary, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "dT/dK = 0 at (t_m + ℓt_a) ln 2/(t_c + t_a), and at no other K > 0",
                lambda: _only_root(_tree_time()) - root,
            ),
            Step(TURNS, lambda: _turns(_tree_time()), concludes=bound),
            Step("t_m ≤ ℓt_c: the root is at most ℓ ln 2, and so there are parts for all", lambda: _reaches(root)),
        ),
    )


def tree_farm_depth() -> Statement:
    """The least best depth is the first q ≥ 0 with 2^{q + 1} ≥ (t_m + ℓt_a)/(t_c + t_a), or ⌊log_2 ℓ⌋ before it.

    Where the map of a part is no longer than a round, t_m ≤ ℓt_c, there are parts enough for that q.

    Source: ours.
    """
    ratio = _work() / (round_time + fold_time)
    first = sympy.Max(0, sympy.ceiling(sympy.log(ratio, 2)) - 1)
    bound = sympy.Min(sympy.floor(sympy.log(list_length, 2)), first)
    return Statement(
        label="tree_farm_depth",
        title="Best depth of a folding tree",
        assumptions=(*TREE, FOLDING, ANY_SHARE),
        relation=sympy.Eq(best_tree_depth, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("one level more takes t_c + t_a − (t_m + ℓt_a)/2^{q + 1} more, which grows with q", _one_level_more),
            Step(
                "it is ≥ 0 iff q + 1 ≥ log_2 of (t_m + ℓt_a)/(t_c + t_a); the first such q ≥ 0 is the best, or, as "
                "times fall before it, the last with 2^q ≤ ℓ",
                lambda: _level_of(ratio),
                concludes=bound,
            ),
            Step("t_m ≤ ℓt_c: the ratio is at most ℓ, and so 2^q ≤ ℓ", lambda: _reaches(ratio * sympy.log(2))),
        ),
    )


def gathered_farm_boundary() -> Statement:
    """t_aK² + t_cK/ln 2 = t_m + ℓt_a at the boundary, where the master folds K results; or it is 1 or ℓ.

    Where the map of a part is no longer than a round, t_m ≤ ℓt_c, ℓ is not passed.

    Source: ours; the setting is that of Sokolinsky 2017, which was not read.
    """
    half = round_time / (2 * sympy.log(2))
    root = (sympy.sqrt(half**2 + fold_time * _work()) - half) / fold_time
    bound = _within_list(root)
    return Statement(
        label="gathered_farm_boundary",
        title="Boundary of a farm in a tree whose results the master folds",
        assumptions=(*TREE, "answers pass on whole; the master folds all", REAL_DEPTH),
        relation=sympy.Eq(gathered_boundary, bound),
        domain=(),
        source=SETTING,
        derivation=(
            Step(
                "dT/dK = 0 where t_aK² + t_cK/ln 2 = t_m + ℓt_a, and at no other K > 0",
                lambda: _only_root(_gathered_time()) - root,
            ),
            Step(TURNS, lambda: _turns(_gathered_time()), concludes=bound),
            Step("t_m ≤ ℓt_c: T has ceased to fall at ℓ", _rises_at_length),
            Step(
                "for t_a → 0 the root is t_m ln 2/t_c, as in a tree that folds for nothing", lambda: _free_folds(root)
            ),
        ),
    )


def _each() -> sympy.Expr:
    """What one more worker costs."""
    return 2 * latency + send_time


def _work() -> sympy.Expr:
    """What K workers have less of: the map, and the folds of the list."""
    return map_time + list_length * fold_time


def _within_list(root: sympy.Expr) -> sympy.Expr:
    return sympy.Min(list_length, sympy.Max(1, root))


def _star_time() -> sympy.Expr:
    return star_farm().bound.subs(farm_size, _SIZE)


def _selected(expression: sympy.Expr) -> sympy.Expr:
    return expression.subs(send_time, payload_share * send_time)


def _tree_time() -> sympy.Expr:
    return sympy.expand(tree_farm().bound.subs(tree_depth, sympy.log(_SIZE, 2)))


def _gathered_time() -> sympy.Expr:
    return sympy.expand(gathered_farm().bound.subs(tree_depth, sympy.log(_SIZE, 2)))


def _only_root(time: sympy.Expr) -> sympy.Expr:
    (root,) = sympy.solve(sympy.diff(time, _SIZE), _SIZE)
    return root


def _star_root() -> sympy.Expr:
    return sympy.sqrt(work_time / _each())


def _falls(expression: sympy.Expr, symbol: sympy.Symbol) -> sympy.Basic:
    return decided(sympy.simplify(sympy.diff(expression, symbol)).is_negative)


def _star_moves(bound: sympy.Expr) -> sympy.Basic:
    grows = sympy.simplify(sympy.diff(bound, work_time)).is_positive
    return decided(grows and all(_falls(bound, symbol) == sympy.true for symbol in (latency, send_time)))


def _one_more() -> sympy.Basic:
    time = star_farm().bound
    gained = sympy.simplify(time.subs(farm_size, farm_size + 1) - time)
    slope = sympy.diff(-work_time / (_SIZE * (_SIZE + 1)), _SIZE)
    stated = _each() - work_time / (farm_size * (farm_size + 1))
    return decided(sympy.simplify(gained - stated) == 0 and sympy.simplify(slope).is_positive)


def _square_above(shortest: sympy.Expr) -> sympy.Expr:
    square = (sympy.sqrt(_SIZE * _each()) - sympy.sqrt(work_time / _SIZE)) ** 2
    return sympy.simplify(sympy.expand(_star_time() - shortest - square))


def _gain() -> sympy.Expr:
    """The quotient of the roots."""
    selected = _selected(_star_root())
    return sympy.sqrt(sympy.cancel(selected**2 / selected.subs(payload_share, 1) ** 2))


def _one_at_least(bound: sympy.Expr) -> sympy.Basic:
    """With y = 1/(1 + more): x/y − x; and the bound's square above 1."""
    below = 1 / (1 + _MORE)
    return decided(sympy.simplify(_SIZE / below - _SIZE).is_positive and sympy.expand(bound**2 - 1).is_positive)


def _turns(time: sympy.Expr) -> sympy.Basic:
    """K² dT/dK increases."""
    return decided(sympy.diff(sympy.expand(_SIZE**2 * sympy.diff(time, _SIZE)), _SIZE).is_positive)


def _one_level_more() -> sympy.Basic:
    time = tree_farm().bound
    gained = sympy.simplify(time.subs(tree_depth, tree_depth + 1) - time)
    stated = round_time + fold_time - _work() / 2 ** (tree_depth + 1)
    return decided(sympy.simplify(gained - stated) == 0 and sympy.diff(2**_SIZE, _SIZE).is_positive)


def _level_of(ratio: sympy.Expr) -> sympy.Basic:
    """2^{q + 1} reaches the ratio at the real q = log_2 of it − 1, and grows with q."""
    level = sympy.log(ratio, 2) - 1
    return decided(sympy.simplify(2 ** (level + 1) - ratio) == 0 and sympy.diff(2**_SIZE, _SIZE).is_positive)


def _short_parts(expression: sympy.Expr) -> sympy.Expr:
    """With t_c = t_m/ℓ and more."""
    return sympy.expand(expression.subs(round_time, map_time / list_length + _SPARE))


def _reaches(boundary: sympy.Expr) -> sympy.Basic:
    room = (list_length * sympy.log(2) - boundary) * (round_time + fold_time)
    return decided(_short_parts(sympy.simplify(room)).is_nonnegative)


def _rises_at_length() -> sympy.Basic:
    """K² dT/dK at ℓ, where (1/ln 2 − 1)t_m and (ℓ² − ℓ)t_a remain."""
    slope = _short_parts(sympy.expand(_SIZE**2 * sympy.diff(_gathered_time(), _SIZE)).subs(_SIZE, list_length))
    rest = sympy.expand(slope - list_length * _SPARE / sympy.log(2) - (1 / sympy.log(2) - 1) * map_time)
    further = sympy.Symbol("further", nonnegative=True)
    folds = sympy.expand(rest.subs(list_length, 1 + further))
    return decided(folds.is_nonnegative and (1 / sympy.log(2) - 1).is_positive)


def _free_folds(bound: sympy.Expr) -> sympy.Expr:
    return sympy.limit(bound, fold_time, 0, "+") - map_time * sympy.log(2) / round_time


STATEMENTS = by_label(
    __name__,
    star_farm_boundary,
    star_farm_optimum,
    star_farm_speed_up,
    selected_farm_boundary,
    selected_farm_gain,
    tree_farm_boundary,
    tree_farm_depth,
    gathered_farm_boundary,
)
"""The statements of this file."""
