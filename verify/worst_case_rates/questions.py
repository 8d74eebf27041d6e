"""Which question is asked about a method, and what are its forms? A quotient in the worst case, or a Lyapunov function.

`Quotient`: how large is what is measured at the end, where what is measured at the start is one? Over N steps from the
method's start, or over one step from any state for a Lyapunov function that the method names. `Search`: the forms of
one step of which a quadratic Lyapunov function is to be made. Ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.method_file import Method, said_where
from sparsync.verify.worst_case_rates.problem import Known, Oracle, Problem
from sparsync.verify.worst_case_rates.states import State, entries, fixed_point, free_state, start, step
from sparsync.verify.worst_case_rates.vectors import Form, Vector

MEASURES = ("distance", "value", "gradient")
"""‖x − x*‖², f(x) − f(x*) and ‖∇f(x)‖², at the first vector of the state that rests at the minimiser."""
LEAST_GRADIENT = "best_gradient"
"""The least ‖∇f(x)‖² among all steps, the start included."""
MOST_STEPS = 100
"""The programme of more steps would not fit into memory."""


@dataclass(frozen=True)
class Quotient:
    """The largest least of `afters`, where `before` ≤ 1 and all of `known` holds.

    Args:
        problem: what the method asked.
        before: what is measured at the start.
        afters: what is measured at the end; the least of them counts.
        known: what is ≤ 0.
        said: in words.
    """

    problem: Problem
    before: Form
    afters: tuple[Form, ...]
    known: tuple[Known, ...]
    said: str


@dataclass(frozen=True)
class Features:
    """What a Lyapunov function is made of, at one state: products of the vectors, and the values.

    Args:
        names: of the vectors, as "x - x*", then of the values.
        vectors: zero where the problem is solved.
        values: f(x) − f(x*).
    """

    names: tuple[str, ...]
    vectors: tuple[Vector, ...]
    values: tuple[Form, ...]


@dataclass(frozen=True)
class Search:
    """A step from any state.

    Args:
        problem: what the method asked.
        before: features of the state.
        after: the same features of the next.
        measured: what the Lyapunov function must not lie below.
        known_before: what is ≤ 0 about the state alone.
        known: what is ≤ 0 about the step.
        said: in words.
    """

    problem: Problem
    before: Features
    after: Features
    measured: Form
    known_before: tuple[Known, ...]
    known: tuple[Known, ...]
    said: str


@dataclass(frozen=True)
class Measured:
    """What is measured of a run.

    Args:
        before: at its start.
        afters: at its end; the least of them counts.
        said: in words.
    """

    before: Form
    afters: tuple[Form, ...]
    said: str


def worst_case(method: Method, steps: int, *, initial: str | None = None, performance: str | None = None) -> Quotient:
    """The worst case after some steps; see `run_measured`.

    Raises:
        MethodError: see `Method.call`; or a measure is none.
    """
    problem = Problem(method.setting)
    own = run_measured(method, problem, steps, initial=initial, performance=performance)
    return Quotient(problem, own.before, own.afters, tuple(problem.known([own.before, *own.afters])), own.said)


def named_factor(method: Method) -> Quotient:
    """One step from any state, for the method's own Lyapunov function.

    Raises:
        MethodError: see `Method.call`.
    """
    problem = Problem(method.setting)
    own = step_measured(method, problem)
    return Quotient(problem, own.before, own.afters, tuple(problem.known([own.before, *own.afters])), own.said)


def run_measured(
    method: Method, problem: Oracle, steps: int, *, initial: str | None = None, performance: str | None = None
) -> Measured:
    """A run from the method's start.

    Args:
        method: what is run.
        problem: what it asks.
        steps: N.
        initial: one of `MEASURES`, instead of the method's own.
        performance: one of `MEASURES` or `LEAST_GRADIENT`, likewise.

    Raises:
        MethodError: see `Method.call`; or a measure is none.
    """
    if not 0 <= steps <= MOST_STEPS:
        raise MethodError(f"the number of steps must be from 0 to {MOST_STEPS}, got {steps}")
    rest = fixed_point(method, problem)
    states = [start(method, problem, rest)]
    for _ in range(steps):
        states.append(step(method, states[-1], problem, rest))
    before, first = first_measured(method, states[0], problem, rest, initial)
    afters, last = last_measured(method, states, problem, rest, performance)
    many = f"{steps} step{'s' if steps != 1 else ''}"
    return Measured(before, afters, f"{last} after {many} over {first} at the start")


def first_measured(method: Method, state: State, problem: Oracle, rest: State, initial: str | None) -> tuple[Form, str]:
    """What is measured at the start of a run, and its name.

    Raises:
        MethodError: see `Method.call`; or the measure is none.
    """
    name = initial or method.word("initial") or ("initial" if method.has("initial") else "distance")
    if name == "initial":
        return form_of(method, name, method.call(name, state, problem)), name
    return measure(method, name, state, problem, rest), name


def last_measured(
    method: Method, states: list[State], problem: Oracle, rest: State, performance: str | None
) -> tuple[tuple[Form, ...], str]:
    """What is measured at the end of a run, of which the least counts, and its name.

    Raises:
        MethodError: see `Method.call`; or the measure is none.
    """
    name = performance or method.word("performance") or ("performance" if method.has("performance") else "distance")
    if name == "performance":
        return own_performance(method, states, problem), name
    if name == LEAST_GRADIENT:
        return tuple(measure(method, "gradient", state, problem, rest) for state in states), name
    return (measure(method, name, states[-1], problem, rest),), name


def step_measured(method: Method, problem: Oracle) -> Measured:
    """One step from any state, by the method's own Lyapunov function.

    Raises:
        MethodError: see `Method.call`.
    """
    rest = fixed_point(method, problem)
    state = free_state(rest)
    following = step(method, state, problem, rest)
    before, after = (form_of(method, "lyapunov", method.call("lyapunov", each, problem)) for each in (state, following))
    return Measured(before, (after,), "lyapunov after a step over lyapunov before it")


def lyapunov_search(method: Method, *, performance: str | None = None) -> Search:
    """One step from any state, and what a Lyapunov function may be made of.

    Args:
        method: what is run.
        performance: what the function must not lie below, one of `MEASURES`; the distance if nobody says.

    Raises:
        MethodError: see `Method.call`; or the measure is none.
    """
    problem = Problem(method.setting)
    rest = fixed_point(method, problem)
    state = free_state(rest)
    queries = next_queries(method, state, problem, rest)
    before = features(state, problem, rest, queries)
    measured, name = measured_below(method, state, problem, rest, performance)
    known_before = tuple(problem.known())
    following = step(method, state, problem, rest)
    after = features(following, problem, rest, queries)
    said = f"least factor of a quadratic Lyapunov function that is at least {name}"
    return Search(problem, before, after, measured, known_before, tuple(problem.known()), said)


def measured_below(
    method: Method, state: State, problem: Oracle, rest: State, performance: str | None
) -> tuple[Form, str]:
    """What a Lyapunov function must not lie below at a state, and its name.

    Raises:
        MethodError: see `Method.call`; or the measure is none.
    """
    if performance is None and method.has("performance") and method.word("performance") is None:
        own = own_performance(method, [state], problem)
        if len(own) != 1:
            raise MethodError(f"{method.name}.performance must measure one thing for a Lyapunov function")
        return own[0], "performance"
    name = performance or method.word("performance") or "distance"
    return measure(method, name, state, problem, rest), name


def measure(method: Method, name: str, state: State, problem: Oracle, rest: State) -> Form:
    """One of `MEASURES` at a state.

    Raises:
        MethodError: there is no such measure, or no place to measure it.
    """
    if name not in MEASURES:
        own = ", ".join((*MEASURES, LEAST_GRADIENT))
        raise MethodError(f"there is no measure {name!r}: choose from {own}, or let the method have a function")
    places = [own for own, vector in entries(rest) if vector == problem.minimiser]
    if not places:
        raise MethodError(f"{method.name} has no vector that rests at the minimiser, where {name} could be measured")
    position = dict(entries(state))[places[0]]
    if name == "distance":
        return (position - problem.minimiser) ** 2
    return problem.value(position) if name == "value" else problem.gradient(position) ** 2


def next_queries(method: Method, state: State, problem: Problem, rest: State) -> list[Vector]:
    """Where a step from a free state asks, besides at its places, if that depends on the state alone.

    Raises:
        MethodError: see `Method.call`.
    """
    scratch = deepcopy(problem)
    scratch.asked.clear()
    step(method, state, scratch, rest)
    vectors = dict(entries(state))
    seen = {problem.minimiser, *(vectors[name] for name, still in entries(rest) if still == problem.minimiser)}
    found = []
    for position in scratch.asked:
        if position not in seen and {*vectors, *problem.minimiser.coefficients}.issuperset(position.coefficients):
            seen.add(position)
            found.append(position)
    return found


def features(state: State, problem: Oracle, rest: State, queries: Iterable[Vector]) -> Features:
    """Deviations of the state from rest; at each place, the workers' gradients less those at rest, and the value.

    Args:
        state: at which.
        problem: what is asked.
        rest: where each vector of the state rests.
        queries: places besides those of the state, as combinations of its vectors' names.

    Raises:
        MethodError: see `Problem.gradient`.
    """
    names, vectors, values = [], [], {}
    resting = problem.gradients(problem.minimiser)
    for (name, vector), (_, still) in zip(entries(state), entries(rest), strict=True):
        resting_at = " - x*" if still == problem.minimiser else " less its rest"
        names.append(name if still == problem.zero else f"{name}{resting_at}")
        vectors.append(vector - still)
    own = dict(entries(state))
    places = {name: own[name] for name, still in entries(rest) if still == problem.minimiser}
    for query in queries:
        parts = (share * own.get(name, Vector({name: Fraction(1)})) for name, share in query.coefficients.items())
        places[_short(query)] = sum(parts, Vector())
    for name, position in places.items():
        gradients = [each - at_rest for each, at_rest in zip(problem.gradients(position), resting, strict=True)]
        many = len(gradients) > 1
        names += [f"gradient at {name}{f' of {worker}' if many else ''}" for worker in range(len(gradients))]
        vectors += gradients
        values[f"value at {name}"] = problem.value(position)
    return Features((*names, *values), tuple(vectors), tuple(values.values()))


def own_performance(method: Method, states: list[State], problem: Oracle) -> tuple[Form, ...]:
    """What the method's own `performance` measures; the least of it counts.

    Raises:
        MethodError: see `Method.call`; or it is no form.
    """
    found = method.call("performance", states, problem)
    several = list(found) if isinstance(found, list | tuple) else [found]
    if not several:
        raise MethodError(f"{method.name}.performance returns an empty list")
    return tuple(form_of(method, "performance", each) for each in several)


def form_of(method: Method, name: str, found: Any) -> Form:
    """What a function of the method returned, if it is a form.

    Raises:
        MethodError: it is none.
    """
    with said_where(method.path, f"{method.name}.{name}"):
        if not isinstance(found, Form):
            raise MethodError(f"it must return a form, such as v**2 or problem.value(x), got {found!r}")
    return found


def _short(vector: Vector) -> str:
    """A combination with four digits of each coefficient."""
    parts = (f"{float(share):+.4g} {name}" for name, share in vector.coefficients.items())
    return " ".join(parts).removeprefix("+").replace("+1 ", "+").replace("-1 ", "-")
