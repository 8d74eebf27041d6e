"""How long does an iteration of a farm take? A master, K workers, a list of work; told and asked in a star or a tree.

The setting is the bulk synchronous farm of Sokolinsky 2017, arXiv 1710.10490, which was not read; the laws here follow
from the order of messages, and are ours. Where a farm is fastest: `farm_boundaries.py`.
"""

import sympy

from sparsync.theory.cost.maxima import same_maximum, terms
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    collect_time,
    dispatch_time,
    farm_size,
    farm_time,
    fold_time,
    gathered_farm_time,
    latency,
    list_length,
    map_time,
    master_time,
    pipelined_farm_time,
    receive_time,
    round_time,
    send_time,
    tree_depth,
    tree_farm_time,
    work_time,
)

SETTING = "ours; the setting is that of Sokolinsky 2017, which was not read"
PART = Given(
    "part",
    r"\text{time}",
    "=",
    work_time / farm_size,
    words="each does an equal part of a list that one alone does in $t_w$, {}",
)
STAR = (
    Given(
        "told",
        r"\text{time}",
        "=",
        latency + send_time,
        words="one after the other, a master tells each of $K$ workers what to do, {} each",
    ),
    PART,
    Given(
        "answer",
        r"\text{time}",
        "=",
        latency + receive_time / farm_size,
        words="their answers come one after the other, {} each",
    ),
    r"the master makes the next approximation of them in $t_p$",
)
PHASES = "nobody begins his part before all have been told, and no answer is taken before all are ready"
EACH = "each begins as soon as he can, and answers are taken in the order in which workers were told"
TREE = (
    r"a master tells one of $2^{q}$ workers what to do; in each of $q$ further rounds every worker who knows tells one "
    r"who does not, before it works; answers come up as all were told, backwards; a message down and one up take $t_c$",
    Given(
        "share",
        r"\text{time}",
        "=",
        map_time / 2**tree_depth,
        words=r"each worker makes the results of its equal share of $\ell$ parts, all of which one alone makes in "
        r"$t_m$, {}, and folds them into one, two in $t_a$",
    ),
)
WHOLE_SHARES = sympy.Eq(sympy.Mod(list_length, 2**tree_depth), 0)
"""A worker has no part of a part; where some shares are longer, the longest decide."""
IN_STEP = "that in each round all who take part in it are equally far"
_WORKER = sympy.Symbol("j", integer=True, positive=True)
_FURTHER = sympy.Symbol("further", integer=True, nonnegative=True)


def star_farm() -> Statement:
    """K(2L + t_s) + t_r + t_p + t_w/K: what is told grows with the workers, what is answered does not, work shrinks.

    Source: ours; the setting is that of Sokolinsky 2017, which was not read.
    """
    bound = farm_size * (2 * latency + send_time) + receive_time + master_time + work_time / farm_size
    return Statement(
        label="star_farm",
        title="Time of an iteration of a farm",
        assumptions=(*STAR, PHASES),
        relation=sympy.Eq(farm_time, bound),
        domain=(),
        source=SETTING,
        derivation=(
            Step("K messages down, one after the other: K(L + t_s)", lambda: _told() - farm_size * _dispatch()),
            Step("K answers, one after the other: KL + t_r", _answered),
            Step(
                "these, the work of one worker and that of the master are the whole time",
                lambda: sympy.expand(_told() + work_time / farm_size + _taken() + master_time - bound),
                concludes=bound,
            ),
        ),
        kind="definition",
    )


def pipelined_farm() -> Statement:
    """t_p + max(K(a + b), t_w/K + max(a + Kb, Ka + b)): without phases, work hides what others are told and answer.

    Either the master has no pause, or the first or the last worker decides. With a = L + t_s and b = L + t_r/K it is a
    farm in phases, `star_farm`, that waits for nothing that it need not.

    Source: ours.
    """
    bound = _pipelined(farm_size) + master_time
    return Statement(
        label="pipelined_farm",
        title="The same without phases",
        assumptions=(
            r"a master tells each of $K$ workers what to do, which takes $a$, and then takes their answers, each in "
            r"$b$, one after the other, and ends with $t_p$",
            PART,
            EACH,
        ),
        relation=sympy.Eq(pipelined_farm_time, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("the first answer is there at max(Ka, a + t_w/K) + b", _first_answer),
            Step(
                "F_j = max(Ka + jb, a + t_w/K + jb, ja + t_w/K + b) is the end of answer j, for all j ≥ 1: "
                "F_{j+1} = max(F_j, (j + 1)a + t_w/K) + b",
                _next_answer,
            ),
            Step(
                "F_K and the work of the master are the whole time",
                lambda: same_maximum(_answers_end(farm_size) + master_time, bound),
                concludes=bound,
            ),
            Step("phases take K(a + b) + t_w/K + t_p, which is no less", _phases_are_longer),
        ),
    )


def tree_farm() -> Statement:
    """(q + 1)t_c + qt_a + (t_m + (ℓ − K)t_a)/K + t_p with K = 2^q: messages and folds grow like the logarithm of K.

    Source: ours.
    """
    bound = _rounds() + tree_depth * fold_time + _share_of_work() + master_time
    return Statement(
        label="tree_farm",
        title="Time of an iteration, results folded on their way up a tree",
        assumptions=(*TREE, "who takes an answer folds it with its own; the master makes of the last one what is next"),
        relation=sympy.Eq(tree_farm_time, bound),
        domain=(WHOLE_SHARES,),
        source="ours",
        derivation=(
            Step("the master tells one; who knows doubles in each of q rounds, to 2^q", _doubles),
            Step("ℓ/K − 1 folds leave one of ℓ/K results", _folds_of_a_share),
            Step("q rounds, in each of which every second one folds, leave one of 2^q results", _halves),
            Step(
                "q + 1 rounds, q folds one after the other, the work of one worker and that of the master",
                lambda: sympy.expand(_tree_parts(tree_depth) - bound),
                concludes=bound,
                argued=IN_STEP,
            ),
        ),
    )


def gathered_farm() -> Statement:
    """(q + 1)t_c + (K − 1)t_a + (t_m + (ℓ − K)t_a)/K + t_p with K = 2^q, where the master alone folds answers.

    A round is as long whatever it carries, which latency makes true, and no bandwidth.

    Source: ours; the setting is that of Sokolinsky 2017, which was not read.
    """
    bound = _rounds() + (2**tree_depth - 1) * fold_time + _share_of_work() + master_time
    return Statement(
        label="gathered_farm",
        title="Time of an iteration, results folded by the master",
        assumptions=(*TREE, "answers pass on whole, a round is as long however many it carries; the master folds all"),
        relation=sympy.Eq(gathered_farm_time, bound),
        domain=(WHOLE_SHARES,),
        source=SETTING,
        derivation=(
            Step("the master tells one; who knows doubles in each of q rounds, to 2^q", _doubles),
            Step(
                "what arrives at the last worker in the rounds up is all but its own: 1 + 2 + … + 2^{q − 1}", _gathers
            ),
            Step("2^q results are one after 2^q − 1 folds", lambda: _left_after(2**tree_depth - 1, 2**tree_depth) - 1),
            Step(
                "q + 1 rounds, these folds, the work of one worker and that of the master",
                lambda: sympy.expand(_tree_parts(2**tree_depth - 1) - bound),
                concludes=bound,
                argued=IN_STEP,
            ),
            Step("it is `tree_farm` and (2^q − 1 − q)t_a", lambda: _folded_more(bound)),
        ),
    )


def _dispatch() -> sympy.Expr:
    return latency + send_time


def _told() -> sympy.Expr:
    return sympy.summation(_dispatch(), (_WORKER, 1, farm_size))


def _taken() -> sympy.Expr:
    return sympy.summation(latency + receive_time / farm_size, (_WORKER, 1, farm_size))


def _answered() -> sympy.Expr:
    return sympy.expand(_taken() - farm_size * latency - receive_time)


def _pipelined(workers: sympy.Expr) -> sympy.Expr:
    """When the last of so many answers is there."""
    a, b = dispatch_time, collect_time
    return sympy.Max(workers * (a + b), work_time / workers + sympy.Max(a + workers * b, workers * a + b))


def _answers_end(answers: sympy.Expr) -> sympy.Expr:
    """F_j: when that many answers are there, as the largest of three."""
    part = work_time / farm_size
    return sympy.Max(
        farm_size * dispatch_time + answers * collect_time,
        dispatch_time + part + answers * collect_time,
        answers * dispatch_time + part + collect_time,
    )


def _first_answer() -> sympy.Basic:
    first = sympy.Max(farm_size * dispatch_time, dispatch_time + work_time / farm_size) + collect_time
    return same_maximum(first, _answers_end(sympy.Integer(1)))


def _next_answer() -> sympy.Basic:
    """The recursion has the terms of F_{j+1} and one more, a mean of two of them with weights 1/j and 1 − 1/j."""
    ready = (_WORKER + 1) * dispatch_time + work_time / farm_size
    recursion = terms(sympy.Max(_answers_end(_WORKER), ready) + collect_time)
    closed = terms(_answers_end(_WORKER + 1))
    between = _WORKER * dispatch_time + work_time / farm_size + 2 * collect_time
    first = dispatch_time + work_time / farm_size + (_WORKER + 1) * collect_time
    last = ready + collect_time
    mean = first / _WORKER + (1 - 1 / _WORKER) * last
    return decided(
        closed < recursion and recursion - closed == {sympy.expand(between)} and sympy.expand(mean - between) == 0
    )


def _phases_are_longer() -> sympy.Basic:
    phases = farm_size * (dispatch_time + collect_time) + work_time / farm_size
    gaps = [sympy.expand((phases - term).subs(farm_size, 1 + _FURTHER)) for term in terms(_pipelined(farm_size))]
    return decided(all(sympy.simplify(gap).is_nonnegative for gap in gaps))


def _doubles() -> sympy.Basic:
    knowing = sympy.Function("y")
    known = sympy.rsolve(knowing(_FURTHER + 1) - 2 * knowing(_FURTHER), knowing(_FURTHER), {knowing(0): 1})
    return decided(sympy.simplify(known.subs(_FURTHER, tree_depth) - 2**tree_depth) == 0)


def _rounds() -> sympy.Expr:
    return (tree_depth + 1) * round_time


def _share_of_work() -> sympy.Expr:
    """Time of one worker: its part of the results, and their folds."""
    return (map_time + (list_length - 2**tree_depth) * fold_time) / 2**tree_depth


def _tree_parts(folds: sympy.Expr) -> sympy.Expr:
    """An iteration with so many folds after those of each worker."""
    share = list_length / 2**tree_depth
    worker = map_time / 2**tree_depth + (share - 1) * fold_time
    return round_time + tree_depth * round_time + worker + folds * fold_time + master_time


def _left_after(folds: sympy.Expr, results: sympy.Expr) -> sympy.Expr:
    """Of so many results, as each fold leaves one fewer."""
    left = sympy.Function("y")
    found = sympy.rsolve(left(_FURTHER + 1) - left(_FURTHER) + 1, left(_FURTHER), {left(0): results})
    return sympy.expand(found.subs(_FURTHER, folds))


def _folds_of_a_share() -> sympy.Expr:
    share = list_length / 2**tree_depth
    return sympy.expand(_left_after(share - 1, share) - 1)


def _halves() -> sympy.Basic:
    left = sympy.Function("y")
    found = sympy.rsolve(left(_FURTHER + 1) - left(_FURTHER) / 2, left(_FURTHER), {left(0): 2**tree_depth})
    return decided(sympy.simplify(found.subs(_FURTHER, tree_depth) - 1) == 0)


def _gathers() -> sympy.Expr:
    arrived = sympy.summation(2**_FURTHER, (_FURTHER, 0, tree_depth - 1))
    return sympy.simplify(arrived + 1 - 2**tree_depth)


def _folded_more(bound: sympy.Expr) -> sympy.Expr:
    return sympy.expand(bound - tree_farm().bound - (2**tree_depth - 1 - tree_depth) * fold_time)


STATEMENTS = by_label(__name__, star_farm, pipelined_farm, tree_farm, gathered_farm)
"""The statements of this file."""
