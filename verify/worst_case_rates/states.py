"""What a method keeps between its steps: vectors by name, or lists of them, one for each worker.

`fixed_point` says which there are and where each rests once the problem is solved: a place at the minimiser, a residual
at zero, a kept gradient at the gradient there. Ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.method_file import Method
from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.vectors import Vector


class State(dict[str, Any]):
    """Vectors, or lists of them, by name: `state["x"]` or `state.x`."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise MethodError(f"the state has no {name}; it has {', '.join(self)}")

    def __missing__(self, name: str) -> Any:
        raise MethodError(f"the state has no {name!r}; it has {', '.join(self)}")


def fixed_point(method: Method, problem: Oracle) -> State:
    """Where the state rests; x at the minimiser if the method does not say.

    Raises:
        MethodError: it is no state.
    """
    if not method.has("fixed_point"):
        return State(x=problem.minimiser)
    return state_of(method, "fixed_point", method.call("fixed_point", problem))


def free_state(rest: State) -> State:
    """A state that may be any, of the same shape."""
    return _of_names(rest, {name: Vector({name: Fraction(1)}) for name, _ in entries(rest)})


def entries(state: State) -> Iterator[tuple[str, Vector]]:
    """Every vector with its name, such as e[1]."""
    for name, value in state.items():
        if isinstance(value, list):
            yield from ((f"{name}[{place}]", vector) for place, vector in enumerate(value))
        else:
            yield name, value


def start(method: Method, problem: Oracle, rest: State) -> State:
    """Where a run begins: as the method says, or anywhere if it keeps nothing but places at the minimiser's.

    Raises:
        MethodError: it does not say, or it is no state of the shape of the fixed point.
    """
    if method.has("start"):
        return stepped(method, "start", method.call("start", problem), rest)
    if len(list(entries(rest))) > 1:
        names = ", ".join(name for name, _ in entries(rest))
        raise MethodError(
            f"{method.name} keeps {names}: with --steps it needs a function start that says how it begins"
        )
    return free_state(rest)


def step(method: Method, state: State, problem: Oracle, rest: State) -> State:
    """The state after a step.

    Raises:
        MethodError: the step fails, or returns another kind of state.
    """
    own = State({name: list(value) if isinstance(value, list) else value for name, value in state.items()})
    return stepped(method, "step", method.call("step", own, problem), rest)


def stepped(method: Method, name: str, found: object, rest: State) -> State:
    """What a function of the method returned, if it is a state of the shape of the fixed point.

    Raises:
        MethodError: it is not.
    """
    state = state_of(method, name, found)
    if state.keys() != rest.keys():
        raise MethodError(
            f"{method.name}.{name} returns {', '.join(state) or 'nothing'}, but the state has {', '.join(rest)}"
            + ("" if method.has("fixed_point") else ": a function fixed_point must say where each of them rests")
        )
    for key, value in rest.items():
        own, wanted = ([*state[key]] if isinstance(state[key], list) else None), isinstance(value, list)
        if (own is not None) != wanted or (own is not None and len(own) != len(value)):
            shape = f"a list of {len(value)} vectors" if wanted else "a vector"
            raise MethodError(f"{method.name}.{name} returns {key} = {state[key]!r}, which must be {shape}")
    return State({key: state[key] for key in rest})


def state_of(method: Method, name: str, found: object) -> State:
    """A dict or a dataclass of vectors as a state.

    Raises:
        MethodError: it is neither, or holds something else.
    """
    if is_dataclass(found) and not isinstance(found, type):
        found = {field.name: getattr(found, field.name) for field in fields(found)}
    if not isinstance(found, Mapping) or not found:
        raise MethodError(f"{method.name}.{name} must return vectors by name, as a dict; it returned {found!r}")
    state = State()
    for key, value in found.items():
        if not isinstance(key, str) or not key.isidentifier():
            raise MethodError(f"{method.name}.{name} must name its vectors by words, got {key!r}")
        state[key] = list(value) if isinstance(value, list | tuple) else value
        for vector in state[key] if isinstance(state[key], list) else [value]:
            if not isinstance(vector, Vector):
                raise MethodError(f"{method.name}.{name} returns {key} = {vector!r}, which is no vector")
    return state


def _of_names(rest: State, vectors: Mapping[str, Vector]) -> State:
    return State(
        {
            name: [vectors[f"{name}[{place}]"] for place in range(len(value))]
            if isinstance(value, list)
            else vectors[name]
            for name, value in rest.items()
        }
    )
