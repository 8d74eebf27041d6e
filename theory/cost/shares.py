"""How soon is a batch done that unequal workers share, what do unequal devices waste, and when is greedy best?

Load-balanced BSP (Chen, Weng, Wang, Li and Li 2020) and EasyScale (Li et al. 2022) are the settings, neither of which
was read; the laws here are ours. That no split of whole examples is done before the greedy one is `greedy_split`, and
its time with straight lines and caps `greedy_split_time`; here steps are flat before they are straight.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    best_gain,
    fixed_examples,
    flat_time,
    greedy_gain,
    greedy_time,
    logical_count,
    n,
    overload,
    parts_time,
    total_batch,
    total_capability,
    total_rate,
    waste,
)

STEPS = (
    r"worker $i$ finishes $b$ examples in $t_i(b)=c_i+m_i\max(b,x_i)$, $i\leq n$; all have $B$",
    r"$F=\max_i(c_i+m_ix_i)$, $R=\sum_i\frac{1}{m_i}$, $A=\sum_i\frac{c_i}{m_i}$",
)

_PLACE = sympy.Symbol("i", integer=True, positive=True)
_MORE, _REST = sympy.symbols("more rest", nonnegative=True)
_TIME, _SLOPE_OF_ONE = sympy.symbols("t m", positive=True)
_FIXED_OF_ONE, _FLAT_OF_ONE, _BATCH_OF_ONE = sympy.symbols("c x b", nonnegative=True)
_FIXED, _SLOPE = sympy.IndexedBase("c", nonnegative=True), sympy.IndexedBase("m", positive=True)
_DEVICES, _PLACES = sympy.IndexedBase("N", nonnegative=True), sympy.IndexedBase("A", nonnegative=True)
_CAPABILITY = sympy.IndexedBase("C", positive=True)


def flat_split_time() -> Statement:
    """max(F, (B + A)/R): nobody is done before its flat piece is, and all together not before B examples are.

    Where steps are straight lines through 0 it is B/R, the batch over the examples that all do per unit of time.

    Source: ours.
    """
    bound = sympy.Max(flat_time, (total_batch + fixed_examples) / total_rate)
    return Statement(
        label="flat_split_time",
        title="Time of parts of examples where steps are flat, then straight",
        assumptions=(*STEPS, r"any parts $b_i\geq0$ with $\sum_ib_i=B$ may be given"),
        relation=sympy.Eq(parts_time, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("t_i(b) is c_i + m_i x_i up to x_i and more beyond: nobody is done before F with all", _flat_is_least),
            Step(
                "b_i ≤ (t − c_i)/m_i for all who are done at t: B ≤ tR − A",
                lambda: _time_of(total_batch) - (total_batch + fixed_examples) / total_rate,
            ),
            Step("at the later of both times there is room for tR − A ≥ B examples", _room),
            Step("the part B/(tR − A) of each one's room makes B in all", _parts_sum),
            Step("and takes it no longer than t, which is F or later: its room took t", _part_in_time),
            Step(
                "so the later of both is the least",
                lambda: sympy.Max(_time_of(total_batch), flat_time) - bound,
                concludes=bound,
            ),
            Step("without fixed times and flat pieces B/R", _straight),
        ),
    )


def flat_greedy_time() -> Statement:
    """The greedy split of whole examples takes max(F, (B + A + n − 1)/R) or less: an example each but one, and no more.

    Above the time of parts that is (n − 1)/R, less than the slowest of the workers takes for an example. A flat piece
    of less than one example may be shorter than the one example that all begin with.

    Source: ours.
    """
    bound = sympy.Max(flat_time, (total_batch + fixed_examples + n - 1) / total_rate)
    return Statement(
        label="flat_greedy_time",
        title="Time of the greedy split where steps are flat, then straight",
        assumptions=(
            *STEPS,
            "all begin with one example",
            Given("flat_piece", "x_i", "≥", sympy.Integer(1)),
            "one after another, each of the others goes to a worker who would finish it first",
        ),
        relation=sympy.Le(greedy_time, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("if t > F, the last is beyond its flat piece, before whose end it has c_j + m_j x_j", _flat_is_least),
            Step(
                "t_i(b_i + 1) ≥ t for all others, as the last example went elsewhere, and b_i + 1 > x_i as t > F: so "
                "m_i b_i ≥ t − c_i − m_i",
                _one_more,
            ),
            Step(
                "with m_j b_j = t − c_j of the last itself: B ≥ tR − A − (n − 1)",
                lambda: sympy.Max(flat_time, _time_of(total_batch + n - 1)) - bound,
                concludes=bound,
            ),
            Step(
                "n equal workers with m_i = x_i = 1 and c_i = 0, of whom one has q + 1 of qn + 1 examples, attain it",
                lambda: _equal(bound),
            ),
            Step("(n − 1)/R is below the largest m_i: R ≥ n/m_i then", _less_than_one),
        ),
    )


def placement_waste() -> Statement:
    """Σ N_i C_i − E/f: whatever the placement, capability that is not wasted is the throughput E/f.

    So with given devices the least waste and the least overload are one, and waste is 0 only at f = E/Σ N_i C_i.

    Source: ours; overload and waste are those of EasyScale's public simulator, as described to us.
    """
    bound = total_capability - logical_count / overload
    return Statement(
        label="placement_waste",
        title="What unequal devices waste on logical workers",
        assumptions=(
            r"$N_i$ devices of type $i$ do $C_i$ steps of logical workers per unit of time, and have $A_i$ places each",
            r"$\sum_iN_iA_i\geq E$ places for $E$ logical workers; a step of all takes $f=\max_i\frac{A_i}{C_i}$",
            r"waste is $\sum_iN_i(C_i-\frac{A_i}{f})+\frac{\sum_iN_iA_i-E}{f}$",
        ),
        relation=sympy.Eq(waste, bound),
        domain=(sympy.Ge(overload * total_capability, logical_count),),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "the places that are waited for and those that are empty cancel",
                lambda: _waste_in_all() - bound,
                concludes=bound,
            ),
            Step("no device waits less than nothing: A_i ≤ fC_i", _waits),
            Step("nothing is wasted at f = E/Σ N_i C_i", lambda: sympy.solve(bound, overload)[0] - _no_waste()),
            Step(
                "a smaller overload wastes less, and as nothing is the least, none is smaller than that",
                lambda: sympy.diff(bound, overload) > 0,
            ),
        ),
    )


def marginal_gains() -> Statement:
    """No division has a larger sum than the greedy one, if no job's next device gains more than its last one did.

    Without that it may: jobs of four and of two logical workers share five equal devices, which do 4 steps if each goes
    where it gains most, and 5 if the first job has four.

    Source: classical (Gross 1956, not read); the proof is ours.
    """
    bound = best_gain
    return Statement(
        label="marginal_gains",
        title="Devices that go where they gain most",
        assumptions=(
            "one after another, each of the devices goes to a job that gains most by it",
            "a job's gain from one more device does not increase with the devices that it has",
        ),
        relation=sympy.Eq(greedy_gain, bound),
        domain=(),
        source="classical; for EasyScale ours",
        derivation=(
            Step("in another division of as many devices some job j has more than here, and some job i less", _differ),
            Step(
                "j's last device gains no more than j's next one here, that no more than i's last one here, as it went "
                "to i, and that no more than i's next one there",
                _chain,
            ),
            Step("so to give it to i lowers no sum, and ends after finitely many devices here", _moved),
            Step("the sum here is the largest", lambda: _largest(bound) - bound, concludes=bound),
            Step("whole logical workers break the hypothesis: 1, 1, 0 and 2, and the greedy sum is 4 of 5", _staircase),
        ),
    )


def _seconds(batch: sympy.Expr) -> sympy.Expr:
    return _FIXED_OF_ONE + _SLOPE_OF_ONE * sympy.Max(batch, _FLAT_OF_ONE)


def _flat_is_least() -> sympy.Basic:
    flat = _FIXED_OF_ONE + _SLOPE_OF_ONE * _FLAT_OF_ONE
    beyond, within = _seconds(_FLAT_OF_ONE + _MORE) - flat, _seconds(_FLAT_OF_ONE - _REST) - flat
    return decided(sympy.expand(beyond).is_nonnegative and sympy.expand(within) == 0)


def _all_rooms() -> sympy.Expr:
    """Σ_i (t − c_i)/m_i in terms of R and A."""
    rooms = sympy.Sum(sympy.expand((_TIME - _FIXED[_PLACE]) / _SLOPE[_PLACE]), (_PLACE, 1, n)).expand()
    terms = sympy.Add(*(term.factor(deep=True) for term in sympy.Add.make_args(rooms)))
    rates, fixed = (sympy.Sum(term, (_PLACE, 1, n)) for term in (1 / _SLOPE[_PLACE], _FIXED[_PLACE] / _SLOPE[_PLACE]))
    return terms.xreplace({rates: total_rate, fixed: fixed_examples})


def _time_of(examples: sympy.Expr) -> sympy.Expr:
    """When the rooms of all are so many."""
    (found,) = sympy.solve(sympy.Eq(examples, _all_rooms()), _TIME)
    return found


def _room() -> sympy.Basic:
    later = _all_rooms().subs(_TIME, _time_of(total_batch) + _MORE) - total_batch
    return decided(sympy.expand(sympy.simplify(later)).is_nonnegative)


def _parts_sum() -> sympy.Expr:
    return sympy.simplify(_all_rooms() * (total_batch / _all_rooms()) - total_batch)


def _part_in_time() -> sympy.Basic:
    # Of a worker whose flat piece ends before t, the part 1/(1 + rest) of its room, beyond the flat piece or within.
    time = _FIXED_OF_ONE + _SLOPE_OF_ONE * (_FLAT_OF_ONE + _MORE)
    part = (_FLAT_OF_ONE + _MORE) / (1 + _REST)
    beyond, within = time - _FIXED_OF_ONE - _SLOPE_OF_ONE * part, time - _seconds(_FLAT_OF_ONE)
    return decided(all(sympy.factor(left).is_nonnegative for left in (beyond, within)))


def _straight() -> sympy.Expr:
    bound = sympy.Max(flat_time, (total_batch + fixed_examples) / total_rate)
    return bound.subs({flat_time: 0, fixed_examples: 0}) - total_batch / total_rate


def _one_more() -> sympy.Expr:
    (given,) = sympy.solve(sympy.Eq(_FIXED_OF_ONE + _SLOPE_OF_ONE * (_BATCH_OF_ONE + 1), _TIME), _BATCH_OF_ONE)
    return sympy.expand(_SLOPE_OF_ONE * given - (_TIME - _FIXED_OF_ONE - _SLOPE_OF_ONE))


def _equal(bound: sympy.Expr) -> sympy.Expr:
    rounds = sympy.Symbol("q", integer=True, positive=True)
    equal = {flat_time: 1, fixed_examples: 0, total_rate: n, total_batch: rounds * n + 1}
    return sympy.expand(bound.subs(equal, simultaneous=True).simplify()) - (rounds + 1)


def _less_than_one() -> sympy.Basic:
    largest = sympy.Symbol("m", positive=True)
    rate = n / largest + _MORE
    return decided(sympy.factor(largest - (n - 1) / rate).is_positive)


def _waste_in_all() -> sympy.Expr:
    waits = _DEVICES[_PLACE] * (_CAPABILITY[_PLACE] - _PLACES[_PLACE] / overload)
    all_waits = sympy.Sum(sympy.expand(waits), (_PLACE, 1, n)).expand()
    places = sympy.Sum(_DEVICES[_PLACE] * _PLACES[_PLACE], (_PLACE, 1, n))
    capability = sympy.Sum(_DEVICES[_PLACE] * _CAPABILITY[_PLACE], (_PLACE, 1, n))
    terms = sympy.Add(*(term.factor(deep=True) for term in sympy.Add.make_args(all_waits)))
    return sympy.expand((terms + (places - logical_count) / overload).xreplace({capability: total_capability}))


def _waits() -> sympy.Basic:
    places = sympy.Symbol("A", nonnegative=True)
    # f = A/C + later.
    capability, later = sympy.Symbol("C", positive=True), sympy.Symbol("later", nonnegative=True)
    return decided(sympy.expand(capability * (places / capability + later) - places).is_nonnegative)


def _no_waste() -> sympy.Expr:
    return logical_count / total_capability


def _differ() -> sympy.Basic:
    # Were nobody above, by `more` below in all, and somebody by one or more below, they would be fewer.
    above, below = -_MORE, -1 - _REST
    return decided((above + below).is_negative)


def _chain() -> sympy.Basic:
    last_there = sympy.Symbol("last", real=True)
    here, at_i, there = sympy.symbols("here at_i there", nonnegative=True)
    next_there = last_there + here + at_i + there
    return decided((next_there - last_there).is_nonnegative)


def _moved() -> sympy.Basic:
    # j has a ≥ 1 more there and i b ≥ 1 fewer: the distance falls by two, and cannot for ever.
    above, below = sympy.symbols("above below", integer=True, positive=True)
    before, after = above + below, sympy.Abs(above - 1) + sympy.Abs(below - 1)
    return decided(sympy.simplify(before - after) == 2)


def _largest(greedy: sympy.Expr) -> sympy.Expr:
    return sympy.Max(greedy, greedy - _MORE)


def _staircase() -> sympy.Basic:
    """Steps of four and of two logical workers on 0 to 5 devices: the greedy sum, and the largest."""
    sums = [
        [count and sympy.Rational(workers, sympy.ceiling(sympy.Rational(workers, count))) for count in range(6)]
        for workers in (4, 2)
    ]
    held = [0, 0]
    for _ in range(5):
        gains = [own[count + 1] - own[count] for own, count in zip(sums, held, strict=True)]
        held[gains.index(max(gains))] += 1
        if not max(gains):
            break
    greedy = sum(own[count] for own, count in zip(sums, held, strict=True))
    best = max(sums[0][count] + sums[1][5 - count] for count in range(6))
    rises = [sums[0][count + 1] - sums[0][count] for count in range(4)]
    return decided((greedy, best) == (4, 5) and rises == [1, 1, 0, 2])


STATEMENTS = by_label(__name__, flat_split_time, flat_greedy_time, placement_waste, marginal_gains)
"""The statements of this file."""
