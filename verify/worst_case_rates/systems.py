"""What is to be found, exactly as it is written: unknowns for which sums of forms are squares and equations hold.

A proof of a rate is such a system: multipliers ≥ 0 of known inequalities, for which a sum of forms is a positive
semidefinite matrix and all values of functions cancel. So is a worst case: a Gram matrix and values. Ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sparsync.verify.worst_case_rates.exact_algebra import common_kernel, gram_matrix, is_positive_semidefinite
from sparsync.verify.worst_case_rates.questions import Quotient, Search
from sparsync.verify.worst_case_rates.vectors import Form, total

Equation = tuple[Mapping[str, Fraction], Fraction]
"""Coefficients by unknown, and what their sum is."""

RATE = "rate"
"""The unknown that is the rate."""


@dataclass(frozen=True)
class Sum:
    """A form that depends on the unknowns: constant + Σ unknown · term.

    Args:
        constant: without unknowns.
        terms: by unknown.
        names: vectors over which its matrix must be positive semidefinite; others are combinations of them.
    """

    constant: Form
    terms: Mapping[str, Form]
    names: tuple[str, ...]

    def at(self, values: Mapping[str, Fraction]) -> Form:
        """The form, once the unknowns have values."""
        return total([(1, self.constant), *((values[name], term) for name, term in self.terms.items())])


@dataclass(frozen=True)
class System:
    """Unknowns for which each sum is a positive semidefinite matrix without values, and equations hold.

    Args:
        unknowns: in an order in which the first may move when others are rounded.
        nonnegative: those that must be ≥ 0.
        sums: the sums.
        equations: the equations, those that make values cancel included.
        units: of unknowns, for a solver; where none is given, one over the size of the forms of which they are factors.
    """

    unknowns: tuple[str, ...]
    nonnegative: frozenset[str]
    sums: tuple[Sum, ...]
    equations: tuple[Equation, ...]
    units: Mapping[str, float] = field(default_factory=dict)

    def holds(self, values: Mapping[str, Fraction]) -> bool:
        """True iff the values solve it, exactly."""
        return (
            all(values[name] >= 0 for name in self.nonnegative)
            and all(
                sum((factor * values[name] for name, factor in coefficients.items()), Fraction(0)) == right
                for coefficients, right in self.equations
            )
            and all(_is_square(own, values) for own in self.sums)
        )


def made_sum(constant: Form, terms: Mapping[str, Form]) -> Sum:
    """A sum over all vectors that it needs: one less for each shift of vectors that changes none of its forms."""
    forms = [constant, *terms.values()]
    names = sorted({name for form in forms for name in form.names})
    superfluous = {next(iter(vector)) for vector in common_kernel(forms, names)}
    return Sum(constant, dict(terms), tuple(name for name in names if name not in superfluous))


def value_equations(own: Sum) -> list[Equation]:
    """The values of functions cancel."""
    names = sorted({name for form in (own.constant, *own.terms.values()) for name in form.values})
    return [
        (
            {unknown: term.values[name] for unknown, term in own.terms.items() if name in term.values},
            -own.constant.values.get(name, Fraction(0)),
        )
        for name in names
    ]


def quotient_system(question: Quotient, rate: Fraction | None = None) -> System:
    """ρ·before − Σ weight·after + Σ λ·known ≥ 0 with weights whose sum is one; ρ is an unknown unless it is given."""
    weights = {f"weight {place}": -form for place, form in enumerate(question.afters)}
    multipliers = {known.name: known.form for known in question.known}
    single = len(weights) == 1
    terms = {**({} if single else weights), **multipliers}
    constant = -question.afters[0] if single else Form()
    if rate is None:
        terms[RATE] = question.before
    else:
        constant = total([(1, constant), (rate, question.before)])
    own = made_sum(constant, terms)
    equations = value_equations(own)
    if not single:
        equations.append((dict.fromkeys(weights, Fraction(1)), Fraction(1)))
    nonnegative = frozenset(terms) - {RATE}
    return System((*([RATE] if rate is None else []), *sorted(nonnegative)), nonnegative, (own,), tuple(equations))


def worst_case_system(question: Quotient, names: Sequence[str], rate: Fraction) -> System:
    """A Gram matrix and values with before = 1, every after ≥ ρ, and all known inequalities.

    Args:
        question: what is asked.
        names: the vectors that are not zero.
        rate: ρ.
    """
    kept = sorted(names)
    products = {f"⟨{left}, {right}⟩": (left, right) for place, left in enumerate(kept) for right in kept[place:]}
    by_pair = {pair: name for name, pair in products.items()}
    forms = [question.before, *question.afters, *(known.form for known in question.known)]
    values = sorted({name for form in forms for name in form.values})

    def row(form: Form) -> dict[str, Fraction]:
        found = dict(form.values)
        for pair, value in form.products.items():
            if pair in by_pair:
                # An unknown is twice the inner product of two different vectors, the entry of a matrix twice.
                found[by_pair[pair]] = value if pair[0] == pair[1] else value / 2
        return found

    room = {f"room of {known.name}": known.form for known in question.known}
    gains = {f"gain {place}": form for place, form in enumerate(question.afters)}
    equations: list[Equation] = [({**row(form), name: Fraction(1)}, Fraction(0)) for name, form in room.items()]
    equations += [({**row(form), name: Fraction(-1)}, rate) for name, form in gains.items()]
    equations.append((row(question.before), Fraction(1)))
    slacks = (*room, *gains)
    own = Sum(Form(), {name: Form({pair: Fraction(1)}) for name, pair in products.items()}, tuple(kept))
    smoothness = float(question.problem.setting.functions.smoothness or 1)
    units = {name: float(form.size()) for name, form in {**room, **gains}.items()} | dict.fromkeys(values, smoothness)
    return System((*slacks, *values, *products), frozenset(slacks), (own,), tuple(equations), units)


def lyapunov_system(
    question: Search, rate: Fraction, *, scaled: bool, names: Sequence[tuple[str, ...]] | None = None
) -> System:
    """V = Σ P_ij⟨ξ_i, ξ_j⟩ + Σ p_i v_i with ρ V − V⁺ + Σ λ·known ≥ 0 and V − measured + Σ ν·known ≥ 0.

    Args:
        question: the step.
        rate: ρ.
        scaled: the measured form has an unknown factor "share" ≥ 0 instead of 1.
        names: of the vectors of both sums, if they are known.
    """
    before, after = lyapunov_terms(question)
    decrease: dict[str, Form] = {
        **{name: total([(rate, before[name]), (-1, after[name])]) for name in before},
        **{f"step {known.name}": known.form for known in question.known},
    }
    positive: dict[str, Form] = {**before, **{f"state {known.name}": known.form for known in question.known_before}}
    if scaled:
        positive["share"] = -question.measured
    measured = Form() if scaled else -question.measured
    if names is None:
        sums = (made_sum(Form(), decrease), made_sum(measured, positive))
    else:
        sums = (Sum(Form(), decrease, tuple(names[0])), Sum(measured, positive, tuple(names[1])))
    multipliers = sorted({*decrease, *positive} - {*before})
    return System(
        (*before, *multipliers),
        frozenset(multipliers),
        sums,
        tuple(equation for own in sums for equation in value_equations(own)),
    )


def lyapunov_terms(question: Search) -> tuple[dict[str, Form], dict[str, Form]]:
    """What each coefficient of a Lyapunov function is a coefficient of: at the state, and at the next."""
    found: tuple[dict[str, Form], dict[str, Form]] = ({}, {})
    for forms, own in zip(found, (question.before, question.after), strict=True):
        count = len(own.vectors)
        for row in range(count):
            for column in range(row, count):
                forms[f"P {row},{column}"] = own.vectors[row] @ own.vectors[column]
        for place, value in enumerate(own.values):
            forms[f"p {place}"] = value
    return found


def _is_square(own: Sum, values: Mapping[str, Fraction]) -> bool:
    form = own.at(values)
    return not form.values and is_positive_semidefinite(gram_matrix(form, sorted(form.names)))
