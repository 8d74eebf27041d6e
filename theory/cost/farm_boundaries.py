"""How many workers may a farm have before one more makes it slower, and how far does a selection move that boundary?

Everything is derived from the times of `farms.py`: a boundary is where the derivative vanishes, and nothing of it is
typed in. The setting is that of Sokolinsky 2017, arXiv 1710.10490, which was not read; the laws here are ours.
"""

import sympy

from sparsync.theory.cost.farms import PHASES, SETTING, STAR, TREE, gathered_farm, star_farm, tree_farm
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.statement import Statement, by_label
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
REAL_DEPTH = r"$q=\log_2 K$ at every real $K>0$"
ANY_SIZE = r"the time is taken at every real $K>0$"
FINE = r"no share is less than a part: the map of a part is no longer than a round"
_SIZE = sympy.Symbol("x", positive=True)
"""A number of workers that need not be whole."""
_MORE = sympy.Symbol("more", positive=True)
_PARTS_ARE_SHORT = sympy.Le(map_time, list_length * round_time)
_SPARE = sympy.Symbol("spare", nonnegative=True)
_ROOT = sympy.Symbol("y", positive=True)
"""K*."""


def star_farm_boundary() -> Statement:
    """K* = √(t_w/(2L + t_s)): neither what the master computes nor what it is answered moves it.

    Source: ours; the setting is that of Sokolinsky 2017, which was not read.
    """
    bound = sympy.sqrt(work_time / _each())
    return Statement(
        label="star_farm_boundary",
        title="Boundary of a farm",
        assumptions=(*STAR, PHASES, ANY_SIZE),
        relation=sympy.Eq(farm_boundary, bound),
        domain=(),
        source=SETTING,
        derivation=(
            Step("dT/dK = 0 has this root, and no other K > 0", lambda: _only_root(_star_time()) - bound, bound),
            Step("d²T/dK² > 0, so it is the minimum", lambda: _is_convex(_star_time())),
            Step("it grows with t_w, and falls with L and t_s", lambda: _star_moves(bound)),
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
                "it is ≥ 0 iff K ≥ √(1/4 + t_w/(2L + t_s)) − 1/2; the first such K is the bound",
                _no_longer_falls,
                concludes=bound,
            ),
            Step("K* − 1/2 ≤ √(1/4 + K*²) − 1/2 ≤ K*, between which no whole K but ⌊K*⌋ and ⌈K*⌉ is first", _beside),
        ),
    )


def star_farm_speed_up() -> Statement:
    """No farm is more than (2L + t_s + t_r + t_p + t_w)/(t_r + t_p + 2√(t_w(2L + t_s))) times as fast as one worker.

    K* workers are, where K* is whole.

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
    """K*(ρ) = √(t_w/(2L + ρt_s)): the sparser what is told, the more workers are worth it.

    Source: ours.
    """
    bound = sympy.sqrt(work_time / (2 * latency + payload_share * send_time))
    return Statement(
        label="selected_farm_boundary",
        title="Boundary of a farm that sends a selection",
        assumptions=(*STAR, PHASES, ANY_SIZE, SELECTED),
        relation=sympy.Eq(selected_boundary, bound),
        domain=(sympy.Le(payload_share, 1),),
        source="ours",
        derivation=(
            Step("dT/dK = 0 has this root, and no other K > 0", lambda: _only_root(_selected_time()) - bound, bound),
            Step("d²T/dK² > 0, so it is the minimum", lambda: _is_convex(_selected_time())),
            Step("it falls as ρ grows", lambda: _falls(bound, payload_share)),
            Step("ρ = 1 is `star_farm_boundary`", lambda: bound.subs(payload_share, 1) - _star_root()),
        ),
    )


def selected_farm_gain() -> Statement:
    """No selection moves the boundary farther than by √(1 + t_s/(2L)); what is left is the number of messages.

    It is approached as ρ → 0 and reached by none.

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
            Step("the gain falls as ρ grows", lambda: _falls(_gain(), payload_share)),
            Step("and is the bound as ρ → 0", lambda: _gain().subs(payload_share, 0) - bound, concludes=bound),
            Step("the less of it is left, the larger L is", lambda: _falls(bound, latency)),
        ),
    )


def tree_farm_boundary() -> Statement:
    """K* = (t_m + ℓt_a) ln 2/(t_c + t_a): in a tree the boundary grows like the work, not like its root.

    Source: ours.
    """
    bound = (map_time + list_length * fold_time) * sympy.log(2) / (round_time + fold_time)
    return Statement(
        label="tree_farm_boundary",
        title="Boundary of a farm in a folding tree",
        assumptions=(*TREE, "who takes an answer folds it with its own", REAL_DEPTH, FINE),
        relation=sympy.Eq(tree_boundary, bound),
        domain=(_PARTS_ARE_SHORT,),
        source="ours",
        derivation=(
            Step("dT/dK = 0 has this root, and no other K > 0", lambda: _only_root(_tree_time()) - bound, bound),
            Step("T falls before it and grows after it", lambda: _turns(_tree_time(), bound)),
            Step("t_m ≤ ℓt_c: it is at most ℓ ln 2, and so there are parts for all", lambda: _within_list(bound)),
        ),
    )


def tree_farm_depth() -> Statement:
    """The least best depth is the first q ≥ 0 with 2^{q + 1} ≥ (t_m + ℓt_a)/(t_c + t_a), so that K* ≤ 2 ln 2 · 2^q.

    Source: ours.
    """
    ratio = (map_time + list_length * fold_time) / (round_time + fold_time)
    bound = sympy.Max(0, sympy.ceiling(sympy.log(ratio, 2)) - 1)
    return Statement(
        label="tree_farm_depth",
        title="Best depth of a folding tree",
        assumptions=(*TREE, "who takes an answer folds it with its own", FINE),
        relation=sympy.Eq(best_tree_depth, bound),
        domain=(_PARTS_ARE_SHORT,),
        source="ours",
        derivation=(
            Step("one level more takes t_c + t_a − (t_m + ℓt_a)/2^{q + 1} more, which grows with q", _one_level_more),
            Step(
                "it is ≥ 0 iff q + 1 ≥ log_2 of (t_m + ℓt_a)/(t_c + t_a); the first such q ≥ 0 is the bound",
                lambda: _level_of(ratio),
                concludes=bound,
            ),
            Step("t_m ≤ ℓt_c: the ratio is at most ℓ, and so 2^q ≤ ℓ", lambda: _within_list(ratio * sympy.log(2))),
        ),
    )


def gathered_farm_boundary() -> Statement:
    """t_aK² + t_cK/ln 2 = t_m + ℓt_a at the boundary, where the master folds K results.

    Source: ours; the setting is that of Sokolinsky 2017, which was not read.
    """
    half = round_time / (2 * sympy.log(2))
    bound = (sympy.sqrt(half**2 + fold_time * (map_time + list_length * fold_time)) - half) / fold_time
    return Statement(
        label="gathered_farm_boundary",
        title="Boundary of a farm in a tree whose results the master folds",
        assumptions=(*TREE, "answers pass on whole; the master folds all", REAL_DEPTH, FINE),
        relation=sympy.Eq(gathered_boundary, bound),
        domain=(_PARTS_ARE_SHORT,),
        source=SETTING,
        derivation=(
            Step("dT/dK = 0 has this root, and no other K > 0", lambda: _only_root(_gathered_time()) - bound, bound),
            Step("T falls before it and grows after it", lambda: _turns(_gathered_time(), bound)),
            Step("t_m ≤ ℓt_c: T has ceased to fall at ℓ", _rises_at_length),
            Step("for t_a → 0 it is t_m ln 2/t_c, as in a tree that folds for nothing", lambda: _free_folds(bound)),
        ),
    )


def _each() -> sympy.Expr:
    """What one more worker costs."""
    return 2 * latency + send_time


def _star_time() -> sympy.Expr:
    return star_farm().bound.subs(farm_size, _SIZE)


def _selected_time() -> sympy.Expr:
    return _star_time().subs(send_time, payload_share * send_time)


def _tree_time() -> sympy.Expr:
    return sympy.expand(tree_farm().bound.subs(tree_depth, sympy.log(_SIZE, 2)))


def _gathered_time() -> sympy.Expr:
    return sympy.expand(gathered_farm().bound.subs(tree_depth, sympy.log(_SIZE, 2)))


def _only_root(time: sympy.Expr) -> sympy.Expr:
    (root,) = sympy.solve(sympy.diff(time, _SIZE), _SIZE)
    return root


def _star_root() -> sympy.Expr:
    return star_farm_boundary().bound


def _is_convex(time: sympy.Expr) -> sympy.Basic:
    return decided(sympy.simplify(sympy.diff(time, _SIZE, 2)).is_positive)


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


def whole_root(product: sympy.Expr) -> sympy.Expr:
    """The K > 0 with K(K + 1) equal to a product."""
    return sympy.sqrt(sympy.Rational(1, 4) + product) - sympy.Rational(1, 2)


def _no_longer_falls() -> sympy.Basic:
    product = work_time / _each()
    root = whole_root(product)
    above = sympy.expand((root + _MORE) * (root + _MORE + 1) - product)
    return decided(sympy.simplify(root * (root + 1) - product) == 0 and above.is_positive)


def _beside() -> sympy.Basic:
    """By squares: y² ≤ 1/4 + y² ≤ (y + 1/2)²."""
    middle = sympy.Rational(1, 4) + _ROOT**2
    gaps = (middle - _ROOT**2, sympy.expand((_ROOT + sympy.Rational(1, 2)) ** 2 - middle))
    return decided(all(gap.is_positive for gap in gaps))


def _square_above(shortest: sympy.Expr) -> sympy.Expr:
    square = (sympy.sqrt(_SIZE * _each()) - sympy.sqrt(work_time / _SIZE)) ** 2
    return sympy.simplify(sympy.expand(_star_time() - shortest - square))


def _gain() -> sympy.Expr:
    selected = selected_farm_boundary().bound
    return sympy.sqrt(sympy.cancel(selected**2 / selected.subs(payload_share, 1) ** 2))


def _turns(time: sympy.Expr, root: sympy.Expr) -> sympy.Basic:
    """K² dT/dK increases, and is 0 at the root alone."""
    slope = sympy.expand(_SIZE**2 * sympy.diff(time, _SIZE))
    return decided(sympy.diff(slope, _SIZE).is_positive and sympy.simplify(slope.subs(_SIZE, root)) == 0)


def _one_level_more() -> sympy.Basic:
    time = tree_farm().bound
    gained = sympy.simplify(time.subs(tree_depth, tree_depth + 1) - time)
    work = map_time + list_length * fold_time
    stated = round_time + fold_time - work / 2 ** (tree_depth + 1)
    return decided(sympy.simplify(gained - stated) == 0 and sympy.diff(2**_SIZE, _SIZE).is_positive)


def _level_of(ratio: sympy.Expr) -> sympy.Basic:
    """2^{q + 1} reaches the ratio at the real q = log_2 of it − 1, and grows with q."""
    level = sympy.log(ratio, 2) - 1
    return decided(sympy.simplify(2 ** (level + 1) - ratio) == 0 and sympy.diff(2**_SIZE, _SIZE).is_positive)


def _short_parts(expression: sympy.Expr) -> sympy.Expr:
    """With t_c = t_m/ℓ and more."""
    return sympy.expand(expression.subs(round_time, map_time / list_length + _SPARE))


def _within_list(boundary: sympy.Expr) -> sympy.Basic:
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
    star_farm_boundary(),
    star_farm_optimum(),
    star_farm_speed_up(),
    selected_farm_boundary(),
    selected_farm_gain(),
    tree_farm_boundary(),
    tree_farm_depth(),
    gathered_farm_boundary(),
)
"""The statements of this file."""
