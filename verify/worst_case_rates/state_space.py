"""Which linear system is a method? x⁺ = Ax + Bu, y = Cx + Du, where each u answers a question asked at its y.

The step runs on our vectors, and its questions are noted down in the terms of the state and of earlier answers, so that
the matrices are read off it. A question is put to a worker's function or to a compressor. It is the form in which
AutoLyap (Upadhyaya et al. 2026) states a method; what it has no place for is refused by name. Ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy

from sparsync.verify.worst_case_rates.exact_numbers import MethodError, Number, number
from sparsync.verify.worst_case_rates.method_file import Method
from sparsync.verify.worst_case_rates.problem import Setting
from sparsync.verify.worst_case_rates.programmes import Array
from sparsync.verify.worst_case_rates.states import State, entries, start
from sparsync.verify.worst_case_rates.vectors import Condition, Form, Vector, total


@dataclass
class Recorder:
    """An `Oracle` that notes down every question, and names its answer.

    Args:
        setting: how many workers there are.
        title: begins the name of every answer.
    """

    setting: Setting
    title: str = "answer"
    minimiser: Vector = field(default_factory=lambda: Vector({"x*": Fraction(1)}))
    zero: Vector = field(default_factory=Vector)
    compressors: list[Fraction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.asked: list[list[Vector]] = [[] for _ in range(self.setting.worker_count)]

    @property
    def worker_count(self) -> Number:
        """n."""
        return Number(self.setting.worker_count)

    def vector(self, name: str) -> Vector:
        """A vector that may be any."""
        return Vector({f"vector {name}": Fraction(1)})

    def gradient(self, position: Vector, worker: int | None = None) -> Vector:
        """The answer of a worker's function, or of all, whose mean it is."""
        if worker is None:
            return sum(self.gradients(position), Vector()) / self.setting.worker_count
        if position == self.minimiser:
            return self._resting(worker)
        return self._answer(worker, self._place(worker, position))

    def gradients(self, position: Vector) -> list[Vector]:
        """The answers of all workers' functions."""
        return [self.gradient(position, worker) for worker in range(self.setting.worker_count)]

    def value(self, position: Vector) -> Form:
        """The mean of the workers' values, each above its value at x*."""
        count = self.setting.worker_count
        if position == self.minimiser:
            return Form()
        places = [self._place(worker, position) for worker in range(count)]
        names = [f"value {worker}:{place}" for worker, place in enumerate(places)]
        return total((Fraction(1, count), Form(values={name: Fraction(1)})) for name in names)

    def compress(self, vector: Vector, epsilon: object = None) -> Vector:
        """The answer of another compressor in every call."""
        share = self.setting.epsilon if epsilon is None else number(epsilon, "epsilon of compress")
        if not share:
            return vector
        self.compressors.append(Fraction(share))
        self.asked.append([vector])
        return self._answer(len(self.asked) - 1, 0)

    def proximal(self, position: Vector, step_size: object) -> Vector:
        """x − ηu, with u the answer there."""
        if self.setting.worker_count > 1:
            raise MethodError(f"proximal is of one function, and there are {self.setting.worker_count} workers")
        step, place = number(step_size, "step_size of proximal"), len(self.asked[0])
        end = position - step * self._answer(0, place)
        self.asked[0].append(end)
        return end

    def require(self, condition: Condition) -> None:
        """None.

        Raises:
            MethodError: always.
        """
        raise MethodError(f"a linear system has no condition of its own, {condition.form} ≤ 0")

    def questions(self) -> Iterator[tuple[int, str, Vector]]:
        """Every question: its component, the name of the answer, and where it is asked."""
        for component, positions in enumerate(self.asked):
            for place, position in enumerate(positions):
                yield component, f"{self.title} {component}:{place}", position

    def _place(self, worker: int, position: Vector) -> int:
        asked = self.asked[worker]
        if position not in asked:
            asked.append(position)
        return asked.index(position)

    def _resting(self, worker: int) -> Vector:
        """∇f_i(x*), the last of which is what makes their sum zero."""
        count = self.setting.worker_count
        if count == 1 or self.setting.common_minimiser:
            return Vector()
        if worker < count - 1:
            return Vector({f"resting {worker}": Fraction(1)})
        return Vector({f"resting {other}": Fraction(-1) for other in range(worker)})

    def _answer(self, component: int, place: int) -> Vector:
        return Vector({f"{self.title} {component}:{place}": Fraction(1)})


@dataclass(frozen=True)
class LinearSystem:
    """x⁺ = Ax + Bu, y = Cx + Du.

    Args:
        states: names of x.
        counts: how many answers each component gives: the workers, then the compressors.
        worker_count: how many of them are workers.
        a: A, [states, states].
        b: B, [states, answers].
        c: C, [answers, states].
        d: D, [answers, answers].
        rows: of each name in coordinates (x, u, answers at rest of all components but the last, x*).
    """

    states: tuple[str, ...]
    counts: tuple[int, ...]
    worker_count: int
    a: Array
    b: Array
    c: Array
    d: Array
    rows: Mapping[str, Array]

    def quadratic(self, form: Form) -> Array:
        """The symmetric matrix of a form's products, in the coordinates of `rows`.

        Raises:
            MethodError: it has a vector that is no row.
        """
        found = numpy.zeros((len(self.rows["x*"]), len(self.rows["x*"])))
        for (left, right), share in form.products.items():
            product = numpy.outer(_row(left, self.rows), _row(right, self.rows))
            found += float(share) * (product + product.T) / 2
        return found

    def linear(self, form: Form) -> Array:
        """The coefficients of a form's values: of f_i at each place, then at x*.

        Raises:
            MethodError: it has a value of another place.
        """
        counts = enumerate(self.counts[: self.worker_count])
        places = [f"value {worker}:{place}" for worker, count in counts for place in range(count)]
        found = numpy.zeros(len(places) + self.worker_count)
        for name, share in form.values.items():
            if name not in places:
                raise MethodError(f"a linear system has no {name}")
            found[places.index(name)] += float(share)
            found[len(places) + int(name.removeprefix("value ").partition(":")[0])] -= float(share)
        return found


def linear_system(recorder: Recorder, state: State, following: State) -> LinearSystem:
    """The system of a step.

    Args:
        recorder: what was asked, in the step and by what is measured.
        state: a free one.
        following: the next.

    Raises:
        MethodError: a worker is asked nothing; or a place or a next vector is made of something else than x and u.
    """
    states = [name for name, _ in entries(state)]
    counts = [len(positions) for positions in recorder.asked]
    if not all(counts):
        raise MethodError(f"worker {counts.index(0)} is asked no gradient")
    known = [*states, *(name for _, name, _ in recorder.questions())]
    rows = dict(zip(known, numpy.eye(len(known)), strict=True))
    x = numpy.array([_combined(vector, rows) for _, vector in entries(following)])
    y = numpy.array([_combined(position, rows) for _, _, position in recorder.questions()])
    named = [*known, *(f"resting {each}" for each in range(len(counts) - 1)), "x*"]
    return LinearSystem(
        states=tuple(states),
        counts=tuple(counts),
        worker_count=recorder.setting.worker_count,
        a=x[:, : len(states)],
        b=x[:, len(states) :],
        c=y[:, : len(states)],
        d=y[:, len(states) :],
        rows=dict(zip(named, numpy.eye(len(named)), strict=True)),
    )


def begun(own: LinearSystem, method: Method, recorder: Recorder, rest: State) -> LinearSystem:
    """The same step from the method's start x = Sv + Tu, with the start's vectors v in the place of x.

    Args:
        own: the step from any state.
        method: whose.
        recorder: what was asked in `own`.
        rest: where each vector rests.

    Raises:
        MethodError: see `states.start`; or it has more vectors than the state, or asks what no step asks.
    """
    first = Recorder(recorder.setting, "first")
    initial = dict(entries(start(method, first, rest)))
    names = {name for vector in initial.values() for name in vector.coefficients}
    free = sorted(name for name in names if not name.startswith("first "))
    if len(free) > len(own.states):
        raise MethodError(f"{method.name} starts with more vectors than it keeps: {', '.join(free)}")
    rows = dict(zip(free, numpy.eye(len(own.rows)), strict=False))
    asked = {(component, _moved(position, initial)): name for component, name, position in recorder.questions()}
    for component, name, position in first.questions():
        if (component, position) not in asked or component >= own.worker_count:
            raise MethodError(f"{method.name} asks at its start what no step asks, at {position}")
        rows[name] = own.rows[asked[component, position]]
    begin = numpy.array([_combined(initial[name], rows) for name in own.states])
    middle = len(own.states)
    of_vectors, of_answers = begin[:, :middle], begin[:, middle : middle + sum(own.counts)]
    return replace(
        own,
        a=own.a @ of_vectors,
        b=own.b + own.a @ of_answers,
        c=own.c @ of_vectors,
        d=own.d + own.c @ of_answers,
        rows={**own.rows, **rows, **dict(zip(own.states, begin, strict=True))},
    )


def _moved(position: Vector, initial: Mapping[str, Vector]) -> Vector:
    parts = (share * initial.get(name, Vector({name: Fraction(1)})) for name, share in position.coefficients.items())
    return sum(parts, Vector())


def _combined(vector: Vector, rows: Mapping[str, Array]) -> Array:
    found: Array = numpy.zeros(len(next(iter(rows.values()))))
    for name, share in vector.coefficients.items():
        found = found + float(share) * _row(name, rows)
    return found


def _row(name: str, rows: Mapping[str, Array]) -> Array:
    if name not in rows:
        raise MethodError(f"a linear system has no place for {name}")
    return rows[name]
