"""What may a method ask of its problem? Gradients, values, a compressor, and vectors that may be any.

A `Problem` notes down what it was asked: every gradient is a vector that may be any but for the inequalities of
`known`, which hold for some function of the class and say all that is known of it. n workers have functions f_i, whose
mean is f. Values are above the lowest: f(x) − f(x*). Ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Protocol

from sparsync.verify.worst_case_rates.exact_numbers import MethodError, Number, number
from sparsync.verify.worst_case_rates.function_classes import FunctionClass, Point, height, pair_form
from sparsync.verify.worst_case_rates.vectors import Condition, Form, Vector, total


@dataclass(frozen=True)
class Setting:
    """What a method is run on.

    Args:
        functions: the class of every worker's function.
        worker_count: n.
        common_minimiser: every f_i has its minimum at x*, not only their mean.
        epsilon: a compressor has ‖C(v) − v‖² ≤ ε‖v‖²; None if the method names none.
    """

    functions: FunctionClass
    worker_count: int = 1
    common_minimiser: bool = False
    epsilon: Fraction | None = None


class Oracle(Protocol):
    """What a method may ask, of all functions at once (`Problem`) or of one quadratic (`Quadratic`)."""

    @property
    def minimiser(self) -> Vector:
        """x*, where f is least."""
        ...

    @property
    def zero(self) -> Vector:
        """The vector of zeros: a direction, never a place."""
        ...

    @property
    def worker_count(self) -> Number:
        """n, a number that divides exactly."""
        ...

    def vector(self, name: str) -> Vector:
        """A vector that may be any; a name that was asked for before gives the same one."""
        ...

    def gradient(self, position: Vector, worker: int | None = None) -> Vector:
        """∇f(x), or that of one worker's function."""
        ...

    def gradients(self, position: Vector) -> list[Vector]:
        """∇f_i(x) of all workers."""
        ...

    def value(self, position: Vector) -> Form:
        """f(x) − f(x*)."""
        ...

    def compress(self, vector: Vector, epsilon: object = None) -> Vector:
        """C(v): any vector with ‖C(v) − v‖² ≤ ε‖v‖², another one in each call."""
        ...

    def proximal(self, position: Vector, step_size: object) -> Vector:
        """The p that minimises f(p) + ‖p − x‖²/(2η), which is x − η∇f(p)."""
        ...

    def require(self, condition: Condition) -> None:
        """Let a condition hold, such as `(g - h)**2 <= 0.1 * g**2` for a gradient h that is not exact."""
        ...


@dataclass(frozen=True)
class Known:
    """An inequality that holds.

    Args:
        name: such as "pair 0:2,1" of worker 0, whose points have numbers in the order in which they were asked for, the
            minimiser 0.
        form: what is ≤ 0.
    """

    name: str
    form: Form


@dataclass
class Problem:
    """All functions of a class, and what a method has asked of them.

    Args:
        setting: the class, and who has one.
    """

    setting: Setting
    minimiser: Vector = field(default_factory=lambda: Vector({"x*": Fraction(1)}))
    zero: Vector = field(default_factory=Vector)
    free: list[str] = field(default_factory=list)
    compressions: list[tuple[Vector, Vector, Fraction]] = field(default_factory=list)
    required: list[Form] = field(default_factory=list)
    asked: list[Vector] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._resting = self._resting_gradients()
        self.points: list[list[Point]] = [[] for _ in range(self.setting.worker_count)]
        self._places: list[dict[Vector, Point]] = []
        for worker, gradient in enumerate(self._resting):
            scale = self.setting.functions.scale
            slope = gradient / scale if scale else Vector()
            self._places.append({self.minimiser: Point(Vector(), gradient, slope, Form())})
            self.points[worker].append(self._places[worker][self.minimiser])

    @property
    def worker_count(self) -> Number:
        """n."""
        return Number(self.setting.worker_count)

    def vector(self, name: str) -> Vector:
        """A vector that may be any; a name that was asked for before gives the same one."""
        if not isinstance(name, str) or not name:
            raise MethodError(f"a vector needs a name, got {name!r}")
        label = f"vector {name}"
        if label not in self.free:
            self.free.append(label)
        return Vector({label: Fraction(1)})

    def gradient(self, position: Vector, worker: int | None = None) -> Vector:
        """∇f(x), or that of one worker's function."""
        if worker is not None:
            return self._point(position, worker).gradient
        return _mean(self.gradients(position))

    def gradients(self, position: Vector) -> list[Vector]:
        """∇f_i(x) of all workers."""
        return [self._point(position, worker).gradient for worker in range(self.setting.worker_count)]

    def value(self, position: Vector) -> Form:
        """f(x) − f(x*)."""
        count = self.setting.worker_count
        return total((Fraction(1, count), self._point(position, worker).value) for worker in range(count))

    def compress(self, vector: Vector, epsilon: object = None) -> Vector:
        """C(v) = v − k with ‖k‖² ≤ ε‖v‖²."""
        _require_vector(vector, "compress")
        share = self.setting.epsilon if epsilon is None else number(epsilon, "epsilon of compress")
        if share is None:
            raise MethodError("compress is asked, and the method names no epsilon (or delta = 1 - epsilon)")
        if share < 0:
            raise MethodError(f"epsilon must not be negative, got {share}")
        if not share:
            return vector
        kept = Vector({f"kept {len(self.compressions)}": Fraction(1)})
        self.compressions.append((kept, vector, Fraction(share)))
        return vector - kept

    def proximal(self, position: Vector, step_size: object) -> Vector:
        """The p with p = x − η∇f(p); of one function, because a mean of several has another."""
        _require_vector(position, "proximal")
        functions, step = self.setting.functions, Fraction(number(step_size, "step_size of proximal"))
        if self.setting.worker_count > 1:
            raise MethodError(f"proximal is of one function, and there are {self.setting.worker_count} workers")
        if step <= 0 or 1 + step * functions.mu <= 0:
            raise MethodError(f"proximal needs a step size > 0 with 1 + step_size mu > 0, got {step}")
        own = self._new_vector(0)
        if functions.mu < 0:
            end = position - step * own
            inner = own - functions.mu * (end - self.minimiser)
        else:
            inner = own
            end = (position + step * functions.mu * self.minimiser - step * inner) / (1 + step * functions.mu)
        self._note(end, 0, inner)
        return end

    def require(self, condition: Condition) -> None:
        """Let a condition hold."""
        if not isinstance(condition, Condition):
            raise MethodError(f"require takes a comparison of forms such as v**2 <= w**2, got {condition!r}")
        self.required.append(condition.form)

    def known(self, measured: Iterable[Form] = ()) -> list[Known]:
        """Every inequality about what was asked so far, but for those that say nothing.

        Where functions need not be convex, a minimiser that nothing else mentions may be so far away that nothing
        follows from where it is: only how low it is counts.

        Args:
            measured: what else may mention the minimiser.
        """
        found = self.all_known()
        near = [each for each in found if not each.name.startswith("pair") or not _with_minimiser(each)]
        named = {name for form in (*measured, *(each.form for each in near)) for name in form.names}
        (minimiser,) = self.minimiser.coefficients
        return near if self.setting.functions.mu < 0 and minimiser not in named else found

    def all_known(self) -> list[Known]:
        """Every inequality about what was asked so far."""
        functions = self.setting.functions
        found: list[Known] = []
        for worker, points in enumerate(self.points):
            heights = [(point, height(functions, point)) for point in points]
            pairs = permutations(range(len(points)), 2) if functions.scale else ()
            found += [Known(f"pair {worker}:{i},{j}", pair_form(functions, heights[i], heights[j])) for i, j in pairs]
        found += [
            Known(f"compression {place}", total([(1, kept @ kept), (-share, whole @ whole)]))
            for place, (kept, whole, share) in enumerate(self.compressions)
        ]
        found += [Known(f"condition {place}", form) for place, form in enumerate(self.required)]
        return found + self._lower_bounds()

    def remarks(self) -> list[str]:
        """What keeps the worst case from being the exact one."""
        functions = self.setting.functions
        if functions.mu < 0 and self.setting.worker_count > 1 and not self.setting.common_minimiser:
            return ["the inequalities for several non-convex workers are necessary; that they suffice is not known"]
        return []

    def _lower_bounds(self) -> list[Known]:
        """‖∇f(x)‖² ≤ 2L(f(x) − f(x*)): what a lowest value says where convexity does not.

        Source: Drori and Shamir 2020, with the pairs sufficient as well; see Drori and Taylor 2022.
        """
        functions, count = self.setting.functions, self.setting.worker_count
        if functions.mu >= 0 or functions.smoothness is None:
            return []
        share = 1 / (2 * functions.smoothness)
        if count == 1 or self.setting.common_minimiser:
            return [
                Known(f"lowest {worker}:{place}", total([(share, point.gradient @ point.gradient), (-1, point.value)]))
                for worker, points in enumerate(self.points)
                for place, point in enumerate(points)
                if place
            ]
        shared = [position for position in self._places[0] if all(position in places for places in self._places)]
        return [
            Known(
                f"lowest of the mean {place}",
                total([(share, self.gradient(position) ** 2), (-1, self.value(position))]),
            )
            for place, position in enumerate(shared)
            if position != self.minimiser
        ]

    def _resting_gradients(self) -> list[Vector]:
        """∇f_i(x*), which are any vectors whose sum is zero; L (or 1) times a vector, for the sake of scale."""
        count = self.setting.worker_count
        if count == 1 or self.setting.common_minimiser:
            return [Vector() for _ in range(count)]
        scale = self.setting.functions.smoothness or Fraction(1)
        free = [Vector({f"resting {worker}": scale}) for worker in range(count - 1)]
        return [*free, -sum(free, Vector())]

    def _point(self, position: Vector, worker: int) -> Point:
        _require_vector(position, "gradient or value")
        if not isinstance(worker, int) or not 0 <= worker < self.setting.worker_count:
            raise MethodError(f"there is no worker {worker!r} among {self.setting.worker_count}")
        self.asked.append(position)
        if position not in self._places[worker]:
            functions = self.setting.functions
            if not functions.scale:
                inner = self._resting[worker]
            elif functions.mu < 0:
                inner = self._new_vector(worker) - functions.mu * (position - self.minimiser)
            else:
                inner = self._new_vector(worker)
            self._note(position, worker, inner)
        return self._places[worker][position]

    def _new_vector(self, worker: int) -> Vector:
        """A gradient of what need not be convex, ∇φ of what is; L (or L − μ) times a vector, for the sake of scale."""
        functions, place = self.setting.functions, len(self.points[worker])
        if functions.mu < 0:
            return Vector({f"gradient {worker}:{place}": functions.smoothness or Fraction(1)})
        return Vector({f"slope {worker}:{place}": functions.scale})

    def _note(self, position: Vector, worker: int, inner: Vector) -> None:
        """Note a point down, whose ∇φ is given."""
        functions, move = self.setting.functions, position - self.minimiser
        value = Form(values={f"value {worker}:{len(self.points[worker])}": Fraction(1)})
        if not functions.scale:
            value = total([(functions.mu / 2, move @ move), (1, inner @ move)])
        slope = inner / functions.scale if functions.scale else Vector()
        self._places[worker][position] = Point(move, functions.mu * move + inner, slope, value)
        self.points[worker].append(self._places[worker][position])


def _with_minimiser(known: Known) -> bool:
    """True iff one of the two points of a pair is the minimiser."""
    return "0" in known.name.rpartition(":")[2].split(",")


def _mean(vectors: list[Vector]) -> Vector:
    return sum(vectors, Vector()) / len(vectors)


def _require_vector(vector: object, what: str) -> None:
    if not isinstance(vector, Vector):
        raise MethodError(f"{what} is asked at {vector!r}, which is no vector")
