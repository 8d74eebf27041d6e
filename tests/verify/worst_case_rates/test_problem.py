"""What a problem says of gradients holds for functions, and says no more than it may."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.function_classes import CLASSES, FunctionClass, function_class
from sparsync.verify.worst_case_rates.problem import Problem, Setting
from sparsync.verify.worst_case_rates.vectors import Form, Vector

SMOOTH = FunctionClass("smooth strongly convex", Fraction(1, 10), Fraction(2))
NUMBERS = {"smoothness": Fraction(2), "mu": Fraction(1, 10)}
PLACES = st.lists(st.fractions(-4, 4, max_denominator=6), min_size=2, max_size=2, unique=True)


def at(form: Form, values: dict[str, Fraction], heights: dict[str, Fraction]) -> Fraction:
    products = sum((share * values[a] * values[b] for (a, b), share in form.products.items()), Fraction(0))
    return products + sum((share * heights[name] for name, share in form.values.items()), Fraction(0))


@pytest.mark.parametrize("name", ["smooth strongly convex", "smooth convex", "smooth non-convex"])
@given(places=PLACES, share=st.fractions(0, 1, max_denominator=8))
def test_quadratics_of_the_class_obey_every_inequality(name: str, places: list[Fraction], share: Fraction) -> None:
    functions = function_class(name, NUMBERS)
    lowest = max(functions.mu, Fraction(0))
    curvature = lowest + share * (Fraction(2) - lowest)
    problem = Problem(Setting(functions))
    for place in ("a", "b"):
        problem.gradient(problem.vector(place))
    values = {"x*": Fraction(0), "vector a": places[0], "vector b": places[1]}
    heights = {}
    for number, where in enumerate(places, start=1):
        slope = (curvature - functions.mu) * where / functions.scale
        values[f"slope 0:{number}"], values[f"gradient 0:{number}"] = slope, curvature * where / 2
        heights[f"value 0:{number}"] = curvature / 2 * where**2
    known = problem.all_known()
    assert max(at(each.form, values, heights) for each in known) <= 0
    assert len(known) == 6 + 2 * (functions.mu < 0)


def test_a_curvature_outside_the_class_breaks_an_inequality() -> None:
    problem = Problem(Setting(SMOOTH))
    problem.gradient(problem.vector("a"))
    for curvature in (Fraction(1, 11), Fraction(21, 10)):
        values = {"x*": Fraction(0), "vector a": Fraction(1)}
        values["slope 0:1"] = (curvature - SMOOTH.mu) / SMOOTH.scale
        heights = {"value 0:1": curvature / 2}
        assert max(at(each.form, values, heights) for each in problem.known()) > 0


def test_a_place_that_is_asked_twice_has_one_gradient() -> None:
    problem = Problem(Setting(SMOOTH))
    x = problem.vector("a")
    assert problem.gradient(x) == problem.gradient(2 * x - x)
    assert problem.gradient(problem.minimiser) == Vector()
    assert problem.value(problem.minimiser).values == {}


def test_workers_differ_unless_they_share_their_minimiser() -> None:
    apart, together = (Problem(Setting(SMOOTH, 3, common_minimiser=common)) for common in (False, True))
    gradients = apart.gradients(apart.minimiser)
    assert sum(gradients, Vector()) == Vector()
    assert gradients[0] != Vector()
    assert together.gradients(together.minimiser) == [Vector()] * 3


def test_a_proximal_step_lands_where_its_gradient_says() -> None:
    for name in CLASSES:
        problem = Problem(Setting(function_class(name, NUMBERS)))
        x = problem.vector("a")
        end = problem.proximal(x, Fraction(1, 4))
        assert end == x - problem.gradient(end) / 4


def test_where_curvature_is_one_number_the_function_is_known() -> None:
    problem = Problem(Setting(FunctionClass("smooth strongly convex", Fraction(2), Fraction(2))))
    x = problem.vector("a")
    assert problem.gradient(x) == 2 * (x - problem.minimiser)
    assert (problem.value(x) - (x - problem.minimiser) ** 2).products == {}
    assert problem.known() == []


def test_a_minimiser_that_nothing_names_says_only_how_low_it_is() -> None:
    problem = Problem(Setting(function_class("smooth non-convex", NUMBERS)))
    x = problem.vector("a")
    value, distance = problem.value(x), (x - problem.minimiser) ** 2
    assert [each.name for each in problem.known([value])] == ["lowest 0:1"]
    assert len(problem.known([distance])) == 3


def test_compressors_leave_what_they_may() -> None:
    problem = Problem(Setting(SMOOTH, epsilon=Fraction(1, 4)))
    v = problem.vector("v")
    assert problem.compress(v, 0) == v
    assert problem.compress(v) != problem.compress(v)
    (first, _) = problem.known()
    left = v - (v - Vector({"kept 0": Fraction(1)}))
    assert first.form.products == (left**2 - v**2 / 4).products
    with pytest.raises(MethodError, match="epsilon must not be negative, got -1"):
        problem.compress(v, -1)
