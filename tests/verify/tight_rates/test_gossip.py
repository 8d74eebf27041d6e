"""The evidence for gossip with compressed differences: spectra, means, and how far Top-k stays from the worst case."""

import math
from fractions import Fraction

import numpy
import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tight_rates import gossip
from sparsync.verify.tight_rates.networks import NETWORKS, Network, State, compression, slowest, step, total
from sparsync.verify.tight_rates.search import Turn

ZERO, ONE = Fraction(0), Fraction(1)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_gaps_are_those_of_the_matrix(network: Network) -> None:
    count = len(network.slow)
    columns = [
        network.differences([(ONE if worker == other else ZERO, ZERO) for other in range(count)])
        for worker in range(count)
    ]
    matrix = numpy.array([[float(entry[0]) for entry in column] for column in columns])
    values = numpy.linalg.eigvalsh(matrix)
    assert [float(gap) for gap in network.gaps] == pytest.approx([values[1], values[-1]], abs=1e-12)
    assert values[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("fast", [False, True])
def test_the_slowest_state_is_multiplied_by_the_root(network: Network, fast: bool) -> None:
    theta = (network.spread + 1) / 2
    s, state = compression(network, theta), slowest(network, theta, fast=fast)
    kept = [Turn(half_tangent=ZERO, reflected=False, length=-ONE)] * len(state.models)
    following = step(network, state, gossip.stated_mixing(network, s), kept, s)
    sign = -1 if fast else 1
    assert following == State(
        tuple((sign * theta * x[0], ZERO) for x in state.models),
        tuple((sign * theta * e[0], ZERO) for e in state.errors),
    )


def test_whatever_is_kept_back_the_sum_stays() -> None:
    network = NETWORKS[3]
    state = State(((ONE, ZERO), (ZERO, ONE), (ONE, ONE), (ZERO, -ONE)), ((ONE, ONE),) * 4)
    kept = [Turn(half_tangent=Fraction(worker), reflected=True, length=ONE) for worker in range(4)]
    assert total(step(network, state, ONE, kept, Fraction(1, 2)).models) == total(state.models)


def top_k_exponent(factor: float) -> float:
    """ln(V_T/V_t)/(T − t) over ln θ² on a ring of eight with Top-10 of a hundred, at factor·γ*."""
    count, dimension, sent = 8, 100, 10
    generator = numpy.random.default_rng(7)
    circle = sum(numpy.roll(numpy.eye(count), shift, axis=0) for shift in (-1, 0, 1))
    gaps = numpy.eye(count) - circle / 3
    low, high = (float(value) for value in numpy.linalg.eigvalsh(gaps)[[1, -1]])
    numbers = {"epsilon": 1 - sent / dimension, "spectral_gap": low, "widest_gap": high}
    strength = factor * STATEMENTS["gossip_mixing"].evaluate(**numbers)
    models = generator.standard_normal((count, dimension))
    known = numpy.zeros_like(models)
    values = []
    for _ in range(1200):
        models = models - strength * gaps @ known
        lacking = models - known
        places = numpy.argsort(-numpy.abs(lacking), axis=1)[:, :sent]
        moved = numpy.zeros_like(known)
        numpy.put_along_axis(moved, places, numpy.take_along_axis(lacking, places, axis=1), axis=1)
        known = known + moved
        away, errors = models - models.mean(axis=0), models - known
        values.append(float((away**2).sum() + (errors**2).sum() / (1 - sent / dimension) ** 0.5))
    end = next((time for time, value in enumerate(values) if value < 1e-18), len(values) - 1)
    shrunk = math.log(values[end] / values[end // 5]) / (end - end // 5)
    return shrunk / math.log(STATEMENTS["gossip_rate"].evaluate(**numbers))


@pytest.mark.parametrize(("factor", "exponent"), [(1, 1.02), (8, 9.15)])
def test_top_k_is_hardly_better_than_the_worst_at_its_strength_and_much_at_a_larger_one(
    factor: float, exponent: float
) -> None:
    assert top_k_exponent(factor) == pytest.approx(exponent, abs=0.1)


def test_at_twelve_times_the_strength_top_k_diverges() -> None:
    assert top_k_exponent(12) < 0
