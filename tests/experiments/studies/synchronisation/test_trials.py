"""A trial's curve is the run it stands for, and its step size is the best of those tried."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest

from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.engine.problems import Problem, Quadratics
from sparsync.experiments.studies.synchronisation import trials
from sparsync.experiments.studies.synchronisation.trials import (
    Curve,
    Trial,
    examples,
    mean_errors,
    measurement_times,
    network,
    run_trial,
    tuned,
)

CURVATURES = (1.0, 0.5)


def plain(seed: int) -> Problem:
    del seed
    return Quadratics(CURVATURES, worker_count=2)


TRIAL = Trial("bsp", lambda _seed: {}, plain, partial(CLUSTERS["equal"], 2), Descent(step_size=0.3), 10.0, points=10)


def test_the_errors_are_those_of_gradient_descent() -> None:
    curve = run_trial(TRIAL, 0)
    assert curve.seconds == tuple(range(11))
    exact = [sum(h * (1 - 0.3 * h) ** (2 * time) / 2 for h in CURVATURES) for time in range(11)]
    assert curve.errors == pytest.approx(exact)
    assert curve.end_error == pytest.approx(sum(exact[-6:]) / 6)
    assert (curve.step_count, curve.sent_bytes, curve.trace) == (20, 20 * 16, ())


def test_a_run_keeps_its_events_if_asked() -> None:
    assert len(run_trial(TRIAL, 0, records=True).trace) > 20


def test_a_run_that_leaves_the_numbers_has_an_infinite_error_from_then_on() -> None:
    curve = run_trial(replace(TRIAL, descent=Descent(step_size=1e120)), 0)
    assert len(curve.errors) == 11
    assert curve.errors[0] == sum(CURVATURES) / 2
    assert curve.errors[-1] == curve.end_error == math.inf


def test_the_best_step_size_is_found_and_of_equal_ones_the_smallest() -> None:
    alone = replace(TRIAL, make_problem=lambda _seed: Quadratics([1.0], worker_count=2))
    assert tuned(alone, [1.9, 1.0, 0.3, 1e120], [0]).descent.step_size == 1.0
    assert tuned(alone, [1e121, 1e120], [0, 1]).descent.step_size == 1e120


def test_the_best_step_size_is_best_in_the_mean_over_the_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smaller one wins on the first seed only."""
    errors = {(0.1, 0): 1.0, (0.1, 1): 9.0, (0.2, 0): 2.0, (0.2, 1): 3.0}

    def curve(trial: Trial, seed: int) -> Curve:
        return Curve((0.0,), (0.0,), errors[trial.descent.step_size, seed], 0, 0)

    monkeypatch.setattr(trials, "run_trial", curve)
    assert tuned(TRIAL, [0.1, 0.2], [0, 1]).descent.step_size == 0.2


@pytest.mark.parametrize(("steps", "seeds"), [((), (0,)), ((0.1,), ())])
def test_tuning_needs_something_to_choose_from(steps: tuple[float, ...], seeds: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="tuning needs step sizes and seeds"):
        tuned(TRIAL, steps, seeds)


def test_the_error_of_a_network_is_the_share_it_gets_wrong() -> None:
    make = partial(network, source="embedded", model="fnn2", worker_count=2)
    curve = run_trial(replace(TRIAL, make_problem=make, seconds=1.0, points=1, end_points=1), 3)
    accuracy = make(3).quality(make(3).initial)
    assert 0 < accuracy < 1
    assert curve.errors[0] == 1 - accuracy
    assert examples("embedded") is examples("embedded")


def test_curves_are_averaged_time_by_time() -> None:
    curves = [Curve((0.0, 1.0), errors, 0.0, 0, 0) for errors in ((1.0, 2.0), (3.0, 6.0))]
    assert mean_errors(curves) == [2.0, 4.0]


def test_the_last_measurement_is_at_the_end() -> None:
    times = measurement_times(0.3, 3)
    assert times == pytest.approx((0.0, 0.1, 0.2, 0.3))
    assert times[-1] == 0.3
