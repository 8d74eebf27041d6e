"""A proof as JSON that `verify/check_certificates.py` can check: the step's vectors, multipliers, and the worst case.

Every rational is "p/q". A vector is a list over `basis`; a form has a symmetric matrix over it, `gram`, and a list over
`values`. `points` are lists of [x - x*, gradient, place in `values`], the first of each worker the minimiser, with the
place null; the checker writes the inequalities between them itself. Ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sparsync.verify.worst_case_rates.certify import Bound
from sparsync.verify.worst_case_rates.exact_algebra import gram_matrix
from sparsync.verify.worst_case_rates.exact_numbers import text
from sparsync.verify.worst_case_rates.problem import Known, Problem
from sparsync.verify.worst_case_rates.questions import Features, Quotient, Search
from sparsync.verify.worst_case_rates.systems import quotient_system
from sparsync.verify.worst_case_rates.vectors import Form, Vector

KIND = "worst_case_rate"
"""The kind of these certificates."""


class _Writer:
    """Vectors and forms as lists over names."""

    def __init__(
        self, problem: Problem, known: Sequence[Known], forms: Sequence[Form], vectors: Sequence[Vector]
    ) -> None:
        points = [point for points in problem.points for point in points]
        pairs = [pair for pair, _, _ in problem.compressions] + [whole for _, whole, _ in problem.compressions]
        vectors = [*vectors, *pairs, *(point.move for point in points), *(point.gradient for point in points)]
        forms = [*forms, *(each.form for each in known), *(point.value for point in points)]
        self.basis = sorted({name for each in vectors for name in each.coefficients}.union(*(f.names for f in forms)))
        self.values = sorted({name for form in forms for name in form.values})

    def vector(self, vector: Vector) -> list[str]:
        return [text(vector.coefficients.get(name, Fraction(0))) for name in self.basis]

    def form(self, form: Form) -> dict[str, Any]:
        gram = [[text(entry) for entry in row] for row in gram_matrix(form, self.basis)]
        return {"gram": gram, "values": [text(form.values.get(name, Fraction(0))) for name in self.values]}

    def step(self, problem: Problem, known: Sequence[Known]) -> dict[str, Any]:
        functions = problem.setting.functions
        named = {each.name: each.form for each in known}
        own = ("condition", "lowest of the mean")
        return {
            "smoothness": None if functions.smoothness is None else text(functions.smoothness),
            "mu": text(functions.mu),
            "basis": self.basis,
            "values": self.values,
            # Where the only function is a quadratic there are no inequalities, and no points.
            "points": [
                [[self.vector(p.move), self.vector(p.gradient), self._place(p.value)] for p in points]
                for points in (problem.points if functions.scale else [])
            ],
            "compressions": [
                [self.vector(kept), self.vector(whole), text(share)] for kept, whole, share in problem.compressions
            ],
            "conditions": {name: self.form(form) for name, form in named.items() if name.startswith(own)},
        }

    def _place(self, value: Form) -> int | None:
        return self.values.index(next(iter(value.values))) if value.values else None


def quotient_record(question: Quotient, upper: Bound | None, lower: Bound | None) -> dict[str, Any]:
    """The certificate of a worst case, with as many of its two sides as were proved."""
    writer = _Writer(question.problem, question.known, [question.before, *question.afters], [])
    record: dict[str, Any] = {
        "kind": KIND,
        "claim": "quotient",
        **writer.step(question.problem, question.known),
        "before": writer.form(question.before),
        "afters": [writer.form(form) for form in question.afters],
    }
    if upper is not None:
        weights = [upper.unknowns.get(f"weight {place}", Fraction(1)) for place in range(len(question.afters))]
        record["upper"] = {
            "bound": text(upper.value),
            "weights": [text(weight) for weight in weights],
            "multipliers": _multipliers(question.known, upper.unknowns),
        }
    if lower is not None:
        record["lower"] = {
            "bound": text(lower.value),
            "gram": [[text(entry) for entry in row] for row in _with_minimiser(question, lower, writer.basis)],
            "values": [text(lower.unknowns.get(name, Fraction(0))) for name in writer.values],
        }
    return record


def lyapunov_record(question: Search, bound: Bound) -> dict[str, Any]:
    """The certificate of a Lyapunov function."""
    both = (question.before, question.after)
    forms = [question.measured, *(value for own in both for value in own.values)]
    writer = _Writer(question.problem, question.known, forms, [vector for own in both for vector in own.vectors])
    multipliers = {
        side: _multipliers(known, bound.unknowns, f"{side} ")
        for side, known in (("step", question.known), ("state", question.known_before))
    }
    return {
        "kind": KIND,
        "claim": "lyapunov",
        **writer.step(question.problem, question.known),
        "features": list(question.before.names),
        "before": _features(writer, question.before),
        "after": _features(writer, question.after),
        "measured": writer.form(question.measured),
        "upper": {"bound": text(bound.value), **lyapunov_coefficients(question, bound), "multipliers": multipliers},
    }


def lyapunov_coefficients(question: Search, bound: Bound) -> dict[str, Any]:
    """P and p of V = Σ P_ij⟨ξ_i, ξ_j⟩ + Σ p_i v_i."""
    count = len(question.before.vectors)
    halves = [
        [bound.unknowns[f"P {min(i, j)},{max(i, j)}"] / (1 if i == j else 2) for j in range(count)]
        for i in range(count)
    ]
    return {
        "quadratic": [[text(entry) for entry in row] for row in halves],
        "linear": [text(bound.unknowns[f"p {place}"]) for place in range(len(question.before.values))],
    }


def _features(writer: _Writer, own: Features) -> dict[str, Any]:
    return {
        "vectors": [writer.vector(vector) for vector in own.vectors],
        "values": [writer.form(value) for value in own.values],
    }


def _multipliers(known: Sequence[Known], unknowns: Mapping[str, Fraction], prefix: str = "") -> dict[str, str]:
    """Those that are not zero, by the name of their inequality."""
    return {each.name: text(unknowns[prefix + each.name]) for each in known if unknowns.get(prefix + each.name)}


def _with_minimiser(question: Quotient, lower: Bound, basis: Sequence[str]) -> list[list[Fraction]]:
    """The Gram matrix with a minimiser that is orthogonal to all and far enough away, where no condition names it."""
    gram = _gram(question, lower, basis)
    known = {each.name for each in question.known}
    left_out = [each.form for each in question.problem.all_known() if each.name not in known]
    (minimiser,) = question.problem.minimiser.coefficients
    if left_out:
        place = basis.index(minimiser)
        gram[place][place] = Fraction(1)
        while any(_at(form, gram, basis, lower.unknowns) > 0 for form in left_out):
            gram[place][place] *= 2
    return gram


def _at(
    form: Form, gram: Sequence[Sequence[Fraction]], basis: Sequence[str], unknowns: Mapping[str, Fraction]
) -> Fraction:
    products = (value * gram[basis.index(left)][basis.index(right)] for (left, right), value in form.products.items())
    values = (value * unknowns.get(name, Fraction(0)) for name, value in form.values.items())
    return sum(products, Fraction(0)) + sum(values, Fraction(0))


def _gram(question: Quotient, lower: Bound, basis: Sequence[str]) -> list[list[Fraction]]:
    """The Gram matrix; what the worst case's system leaves out is the zero vector."""
    (own,) = quotient_system(question).sums
    kept = sorted(own.names)

    def entry(left: str, right: str) -> Fraction:
        if left not in kept or right not in kept:
            return Fraction(0)
        first, second = sorted((left, right))
        value = lower.unknowns[f"⟨{first}, {second}⟩"]
        return value if first == second else value / 2

    return [[entry(left, right) for right in basis] for left in basis]
