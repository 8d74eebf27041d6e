"""Counts by layer: hidden as asked, with one threshold, of published sizes, and what groups of squares lose."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy
import pytest

from sparsync.experiments.planners.layer_density import (
    Layer,
    Question,
    arrival,
    grouped,
    grouped_law,
    plan,
    share_left_out,
)
from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.theory.statements import STATEMENTS


def choice_of(found: Plan) -> dict[str, Any]:
    return dict(found.choice)


def layers_of(sizes: list[int], *, energies: list[float], backward: float, per_octave: int = 2) -> tuple[Layer, ...]:
    """Laplace layers whose backward pass takes time in proportion to their entries."""
    return tuple(
        Layer(backward * size / sum(sizes), *grouped_law("laplace_law", size, energy, per_octave))
        for size, energy in zip(sizes, energies, strict=True)
    )


SMALL = Question(
    layers_of([400, 30, 900, 200, 70], energies=[2.0, 1.0, 3.0, 9.0, 1.0], backward=1.0),
    latency_seconds=0.01,
    byte_seconds=1e-4,
)


def sizes_of_resnet_50() -> list[int]:
    """Entries of the weights, scales and biases, from the input on."""
    sizes, inputs = [64 * 3 * 49, 64, 64], 64
    for width, block_count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(block_count):
            sizes += [inputs * width, width, width, 9 * width**2, width, width, 4 * width**2, 4 * width, 4 * width]
            sizes += [4 * inputs * width, 4 * width, 4 * width] if block == 0 else []
            inputs = 4 * width
    return [*sizes, 2048 * 1000, 1000]


def prices(thresholds: list[float]) -> list[Fraction]:
    """Of an entry of each capacity, from the squares at which layers end."""
    levels = [Fraction(0), *(Fraction(threshold) ** 2 for threshold in thresholds)]
    return [after - before for before, after in pairwise(levels)]


def test_without_a_budget_all_messages_but_the_last_entry_hide() -> None:
    found = plan(SMALL)
    assert found.parts["exposed"] == pytest.approx(0.01 + 8e-4, rel=1e-12)
    assert choice_of(found)["counts"][-1] == 1
    assert found.parts["link"] > found.parts["exposed"]
    assert 0 < found.objective < 1


def test_thresholds_grow_in_the_order_of_sending_and_prove_the_optimum() -> None:
    question = Question(
        layers_of(
            sizes_of_resnet_50()[::-1],
            energies=[1.0 + place % 7 for place in range(161)],
            backward=0.2,
            per_octave=1,
        ),
        latency_seconds=2e-4,
        byte_seconds=8e-10,
        entry_bytes=8 * 7,
        budget_seconds=0.25,
    )
    found = plan(question)
    counts, thresholds = choice_of(found)["counts"], choice_of(found)["threshold_magnitudes"]
    assert sum(layer.size for layer in question.layers) == 25_557_032
    assert thresholds == sorted(thresholds)
    # Prices of what is not sent in any case, on capacities that the counts exhaust where they have a price.
    used = [sum(counts[first:]) - (len(counts) - first) for first in range(len(counts))]
    for first, price in enumerate(prices(thresholds)):
        one_more = [count + (place == first) for place, count in enumerate(counts)]
        assert price == 0 or arrival(question, one_more) > Fraction(0.25)
    above = Fraction(0)
    for layer, threshold in zip(question.layers, thresholds, strict=True):
        level = Fraction(threshold) ** 2
        in_any_case = max(Fraction(layer.squares[0]) - level, Fraction(0))
        for count, square in zip(layer.counts, layer.squares, strict=True):
            above += count * max(Fraction(square) - level, Fraction(0))
        above -= in_any_case
    paid = sum((price * room for price, room in zip(prices(thresholds), used, strict=True)), Fraction(0))
    bound = STATEMENTS["threshold_prices"].fraction(priced_capacity=paid, squares_above=above)
    captured = sum(
        (layer.energy(count) - layer.energy(1) for layer, count in zip(question.layers, counts, strict=True))
    )
    # Magnitudes are rounded roots: squares are off by a rounding each.
    assert float(bound / captured) == pytest.approx(1, abs=1e-14)


def test_groups_of_squares_promise_no_more_than_the_entries_keep_and_finer_ones_lose_less() -> None:
    numbers = numpy.random.default_rng(5)
    squares = [numbers.standard_t(5, size=size) ** 2 for size in (400, 3000, 150)]
    exact = tuple(
        Layer(0.3, (1,) * len(own), tuple(float(square) for square in numpy.sort(own)[::-1])) for own in squares
    )
    question = Question(exact, latency_seconds=0.01, byte_seconds=2e-4)
    best = plan(question).objective
    lost = []
    for per_octave in (1, 4, 16):
        layers = tuple(Layer(0.3, *grouped(own, per_octave)) for own in squares)
        found = plan(replace(question, layers=layers))
        kept = share_left_out(exact, choice_of(found)["counts"])
        assert best <= kept <= found.objective * (1 + 1e-12)
        lost.append(found.objective - best)
    assert lost[0] > lost[1] > lost[2]
    assert lost[2] < 1e-3


def test_energy_in_groups_is_the_energy_of_the_entries() -> None:
    counts, squares = grouped_law("gaussian_law", 10_000, 7.0)
    assert sum(counts) == 10_000
    assert Layer(0.0, counts, squares).energy(10_000) == pytest.approx(7, rel=1e-9)
    left = STATEMENTS["gaussian_law"].evaluate(kappa=2.0**9 / 10_000)
    assert Layer(0.0, counts, squares).energy(2**9) == pytest.approx(7 * (1 - left), rel=1e-9)


def test_entries_without_energy_are_not_sent() -> None:
    found = plan(replace(SMALL, layers=(Layer(1.0, (1, 5), (1.0, 0.0)),), budget_seconds=10))
    assert choice_of(found)["counts"] == [1]
    assert found.objective == 0
    assert found.binding == ()


def test_where_all_fits_one_density_for_all_is_everything() -> None:
    found = plan(replace(SMALL, budget_seconds=100))
    assert choice_of(found)["densities"] == [1.0] * 5
    assert found.remarks[0] == "one density for all layers, 1, would leave out 0 instead of 0"


def test_one_density_for_all_is_no_better() -> None:
    for budget in (1.05, 1.2, 1.5):
        found = plan(replace(SMALL, budget_seconds=budget))
        common = float(found.remarks[0].split("leave out ")[1].split()[0])
        assert common >= found.objective * (1 - 1e-3)


def test_latencies_that_do_not_hide_are_named_with_what_they_need() -> None:
    with pytest.raises(InfeasibleError, match=r"budget_seconds allows 1\.3008, and one entry each needs 1\.754"):
        plan(replace(SMALL, latency_seconds=0.3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": ()}, r"got \(\)"),
        ({"counts": (2, 0)}, r"\(2, 0\)"),
        ({"squares": (1.0, 2.0)}, r"\(1.0, 2.0\)"),
        ({"squares": (1.0, -1.0)}, "-1.0"),
        ({"backward_seconds": float("nan")}, "backward_seconds.*nan"),
        ({"selection_seconds": -1.0}, "selection_seconds.*-1.0"),
    ],
)
def test_a_layer_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Layer(1.0, (1, 2), (3.0, 2.0)), **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": ()}, "0 layers"),
        ({"layers": (Layer(1.0, (1,), (0.0,)),)}, "1 layers without"),
        ({"byte_seconds": 0.0}, "got 0.0, 8 and 0"),
        ({"entry_bytes": 0}, "0 and 0"),
        ({"message_bytes": -1}, "8 and -1"),
        ({"latency_seconds": -1.0}, "latency_seconds.*-1.0"),
        ({"budget_seconds": float("inf")}, "budget_seconds.*inf"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **change)


def test_groups_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="got 0 and 8"):
        grouped(numpy.array([]))
    with pytest.raises(ValueError, match="got 5 and 0"):
        grouped_law("laplace_law", 5, 1.0, 0)
