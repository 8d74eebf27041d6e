"""Lines cost what they should, predictions are those of the statement, and ranks are compared as Spearman did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.studies.synchronisation import budgets
from sparsync.experiments.studies.synchronisation.budgets import (
    DENSITIES,
    GRID_CLUSTER,
    LINE_CLUSTER,
    PERIODS,
    RULES,
    SIZES,
    case_count,
    run_budgets,
    run_case,
)
from sparsync.experiments.studies.synchronisation.split_predictions import (
    Constants,
    agreement,
    energy_bound,
    perturbation,
    problem_constants,
    rank_correlation,
    residual_steps,
)
from sparsync.experiments.studies.synchronisation.trials import Curve, Trial, measurement_times, run_trial, tuned
from sparsync.verify.monitors.trace import Sent
from sparsync.verify.tools.pool import Pool

TINY = replace(SIZES["smoke"], rules={"quadratic": ("bsp", "local 4")}, steps={"quadratic": (0.3,)})


def case(rule: str, density: float, cluster: str = GRID_CLUSTER) -> budgets._Case:
    return budgets._Case("quadratic", cluster, RULES[rule], density, TINY, 0)


def row(rule: str, error: float, density: float, **fields: Any) -> dict[str, Any]:
    return {"problem": "quadratic", "rule": rule, "period": 1, "density": density, "end_error": [error], **fields}


def test_a_dense_message_takes_the_seconds_it_should_and_reading_none() -> None:
    trial = budgets._trial(case("bsp", 1.0))
    cluster = trial.make_cluster(0)
    dense_bytes = TINY.dimension * 8
    assert cluster.upload.occupied_seconds(dense_bytes) == TINY.dense_seconds
    assert cluster.upload.occupied_seconds(dense_bytes // 100) == pytest.approx(TINY.dense_seconds / 100, rel=0.03)
    assert cluster.download.occupied_seconds(dense_bytes) == 0
    curve = run_trial(trial, 0)
    # A step takes 0.6 seconds at least; one may be finished whose message is on the way.
    assert curve.step_count <= TINY.worker_count * (1 + TINY.seconds / (0.6 + TINY.dense_seconds))


@pytest.mark.parametrize("profile", ["smoke", "quick", "full"])
def test_along_a_line_all_send_the_same_bytes_per_step(profile: Any) -> None:
    sizes = SIZES[profile]
    for share in sizes.shares:
        counts = [share * period * sizes.dimension for period in PERIODS]
        assert counts == pytest.approx([round(count) for count in counts])
        assert max(PERIODS) * share <= 1
    assert sizes.line_seconds % max(PERIODS) == 0


def test_the_bytes_of_a_line_are_measured_as_planned() -> None:
    found = [run_case(case(rule, period / 160, LINE_CLUSTER)) for rule, period in (("bsp", 1), ("local 8", 8))]
    assert [item["bytes_per_step"] for item in found] == [12 * TINY.dimension / 160] * 2
    assert [item["steps_per_worker"] for item in found] == [TINY.line_seconds] * 2
    assert [item["delay"] for item in found] == [0, 7]


def test_errors_of_a_line_are_measured_when_all_has_just_been_sent() -> None:
    trial = budgets._trial(case("local 8", 0.05, LINE_CLUSTER))
    assert all(time % max(PERIODS) == 0 for time in measurement_times(trial.seconds, trial.points))
    assert trial.end_points == 2


def test_what_is_computed_waits_half_a_period_to_be_sent() -> None:
    """Of four steps, the first for three others and the last for none; everything else is sent and read at once."""
    found = run_case(case("local 4", 1.0, LINE_CLUSTER))
    assert (found["staleness"], found["residual_steps"]) == (0, 0)
    assert found["observed"] == (3 + 2 + 1 + 0) / 4


def test_step_sizes_are_tuned_on_luck_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: set[int] = set()

    def noted(trial: Trial, steps: Sequence[float], seeds: Sequence[int]) -> Trial:
        tried.update(seeds)
        return tuned(trial, steps, seeds)

    monkeypatch.setattr(budgets, "tuned", noted)
    run_case(case("bsp", 1.0))
    assert tried
    assert tried.isdisjoint(range(max(sizes.seed_count for sizes in SIZES.values())))


def test_the_perturbation_is_that_of_the_statement() -> None:
    # √(1 − 3/4) = 1/2, so the residual weighs as much as one message.
    assert perturbation(0.75, period=3, delay=2) == pytest.approx(5)
    assert perturbation(1.0, period=4, delay=3) == pytest.approx(3)


@pytest.mark.parametrize("share", [1 / 160, 1 / 1600])
def test_at_equal_bytes_the_bound_prefers_few_large_messages_but_hardly(share: float) -> None:
    found = [perturbation(share * period, period=period, delay=period - 1) for period in PERIODS]
    exact = [(1 + math.sqrt(1 - share * period)) / share - 1 for period in PERIODS]
    assert found == pytest.approx(exact)
    assert found == sorted(found, reverse=True)
    assert found[-1] > 0.97 * found[0]


def test_the_constants_of_a_quadratic_are_found() -> None:
    problem = Quadratics([1.0, 0.5, 0.25], worker_count=2)
    found = problem_constants(problem, 2)
    assert found.gap == pytest.approx(0.875)
    assert found.smoothness == pytest.approx(1.0, rel=1e-4)
    assert found.second_moment == pytest.approx(1 + 0.25 + 0.0625)
    assert found.mean_square == pytest.approx(found.second_moment)


def test_the_second_moment_is_that_of_single_workers() -> None:
    """Two workers whose optima differ pull apart: their mean gradient is shorter than either of theirs."""
    problem = Quadratics([1.0, 0.5], worker_count=2, spread=1.0)
    found = problem_constants(problem, 2)
    gradients = [problem.loss_and_gradient(worker, 0, problem.initial, 1.0)[1].clone() for worker in range(2)]
    assert found.second_moment == pytest.approx(fmean(float(gradient.square().sum()) for gradient in gradients))
    assert found.mean_square == pytest.approx(float(((gradients[0] + gradients[1]) / 2).square().sum()))
    assert found.second_moment > found.mean_square


def test_the_bound_holds_for_descent_at_the_step_size_that_it_chooses() -> None:
    """Without a distance η = √(2Δ/(RL‖ḡ‖²)), and the bound is 2·√(2ΔL‖ḡ‖²/R)."""
    curvatures, steps = np.array([1.0, 0.5]), 20
    constants = problem_constants(Quadratics(curvatures.tolist(), worker_count=1), 1)
    start, noise = 2 * constants.gap / steps, constants.smoothness * constants.mean_square
    models = [(1 - math.sqrt(start / noise) * curvatures) ** step for step in range(steps)]
    energy = fmean(float(np.sum((curvatures * model) ** 2)) for model in models)
    bound = energy_bound(constants, step_count=steps, perturbation=0.0)
    assert energy <= bound == pytest.approx(2 * math.sqrt(start * noise))


@pytest.mark.parametrize("perturbation", [0.0, 1e-3, 3.0, 1e4])
def test_the_bound_is_the_least_over_all_step_sizes_and_has_every_part(perturbation: float) -> None:
    constants = Constants(gap=3.0, smoothness=2.0, second_moment=5.0, mean_square=7.0)
    sizes = np.geomspace(1e-6, 1e2, 200_001)
    bounds = 2 * 3 / (4 * sizes) + 2 * 7 * sizes + (2 * perturbation) ** 2 * 5 * sizes**2
    # A grid of ratio 1 + 9e-5 misses the least of sums of powers up to 2 by less than that squared.
    assert energy_bound(constants, step_count=4, perturbation=perturbation) == pytest.approx(bounds.min(), rel=1e-8)


def test_what_is_kept_back_is_counted_in_steps_of_the_later_half() -> None:
    norms = ((1.0, 50.0, 1.0), (6.0, 4.0, 10.0), (8.0, 4.0, 20.0))
    sent = tuple(
        Sent(time, 0, number, 0, 8, change_norm=change, kept_norm=kept)
        for number, (time, change, kept) in enumerate(norms)
    )
    curve = Curve((0.0, 10.0), (1.0, 1.0), 1.0, 3, 24, sent)
    assert residual_steps(curve, 1) == 15 / 4
    assert residual_steps(curve, 2) == 15 / 2


def test_nothing_is_kept_back_of_a_dense_message() -> None:
    assert run_case(case("bsp", 1.0))["residual_steps"] == 0
    assert run_case(case("bsp", 0.1))["residual_steps"] > 0


def test_ranks_correlate_as_their_values_do() -> None:
    assert rank_correlation([1.0, 2.0, 30.0], [4.0, 5.0, 6.0]) == pytest.approx(1)
    assert rank_correlation([1.0, 2.0, 30.0], [6.0, 5.0, 4.0]) == pytest.approx(-1)
    first, second = [3.0, 1.0, 1.0, 2.0], [1.0, 2.0, 5.0, 3.0]
    assert rank_correlation(first, second) == pytest.approx(np.corrcoef([3, 0.5, 0.5, 2], [0, 1, 3, 2])[0, 1])


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0]])
def test_ranks_of_nothing_to_compare_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="no rank correlation"):
        rank_correlation(values, [1.0, 2.0][: len(values)])


def test_the_agreement_names_both_best_splits_and_the_cost_of_the_wrong_one() -> None:
    fields = ("perturbation", "energy_by_perturbation", "observed", "energy_by_observed", "steps_per_worker")
    cells = [
        row("bsp", 4.0, 1.0, **dict.fromkeys(fields, 1.0)),
        row("asp", 2.0, 0.1, **dict.fromkeys(fields, 2.0)),
        row("asp", 3.0, 0.01, **dict.fromkeys(fields, 3.0)),
    ]
    lines = [row("bsp", 1.0, 0.1, perturbation=5.0), row("local 2", 2.0, 0.2, perturbation=4.0) | {"period": 2}]
    found = agreement(cells, lines, "quadratic")
    assert (found["best"], found["predicted_best"], found["excess"]) == (["asp", 0.1], ["bsp", 1.0], 2.0)
    assert found["perturbation"] == pytest.approx(-0.5)
    assert found["lines"] == {"0.1": pytest.approx(-1)}


def test_the_study_runs_the_grid_and_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "smoke", TINY)
    advanced: list[None] = []
    study = run_budgets("smoke", Pool(advance=lambda: advanced.append(None)))
    assert len(advanced) == case_count("smoke")
    assert [(cell["rule"], cell["density"]) for cell in study["cells"]] == [
        (rule, density) for rule in ("bsp", "local 4") for density in DENSITIES
    ]
    assert [line["period"] for line in study["lines"]] == list(PERIODS)
    assert study["step_sizes"] == {"quadratic": [0.3]}
    again = run_case(case("local 4", 0.01))
    assert next(cell for cell in study["cells"] if cell.items() >= again.items())
