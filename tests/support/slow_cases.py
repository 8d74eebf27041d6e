"""Cases of a test that `make test` leaves out, since they take long and others are like them."""

from __future__ import annotations

from collections.abc import Container, Iterable

import pytest

LONG = frozenset(
    {
        "additive_perturbation",
        "arrival_regret",
        "band_search_passes",
        "bell_shaped",
        "coherence_rate",
        "complexity_gaussian",
        "complexity_laplace",
        "compressed_descent_rate",
        "count_band_cubic",
        "count_band_square",
        "crossover_variance",
        "delayed_descent_limit",
        "delayed_descent_rate",
        "delayed_momentum_limit",
        "descent_of_workers",
        "descent_without_bounded_gradients",
        "ds_sync_rate",
        "ef21_tight_rate",
        "ef_small_delta",
        "ef_tight_rate",
        "ef_tight_step",
        "epoch_disagreement",
        "exponent",
        "gamma_gain_lower",
        "gamma_gain_upper",
        "gamma_law",
        "gaussian_gain_upper",
        "gaussian_law",
        "gaussian_log_gain_lower",
        "gaussian_log_gain_upper",
        "gaussian_sample_ratio",
        "generalised_gaussian_gain_lower",
        "generalised_gaussian_gain_upper",
        "generalised_gaussian_heavy_gain_upper",
        "generalised_gaussian_law",
        "generalised_gaussian_light_gain_lower",
        "generalised_gaussian_light_gain_upper",
        "laplace_law",
        "law_distance",
        "lorenz",
        "mean_shift_failure",
        "moment_sample_ratio",
        "nonconvex_rate",
        "nonconvex_rate_lyapunov",
        "nonconvex_rate_minkowski",
        "psp_lag_mean",
        "psp_lag_second_moment",
        "released_passes",
        "released_window",
        "released_window_narrow",
        "released_worst_passes",
        "reports_in_turn_limit",
        "shifted_gaussian_gain_lower",
        "shifted_gaussian_gain_upper",
        "shifted_gaussian_law",
        "shifted_gaussian_slope",
        "small_dimension_failure",
        "spike_mixture_gain_lower",
        "spike_mixture_gain_upper",
        "spike_mixture_law",
        "square_convex",
        "ssp_recursion",
        "ssp_regret_fixed_step",
        "ssp_regret_optimised",
        "ssp_throughput",
        "stationary_gradient",
        "steady_noise",
        "step_outside",
        "student_t_law",
        "student_t_tail_lower",
        "student_t_tail_upper",
        "weibull_gain_upper",
        "weibull_law",
        "zipline_two_workers",
    }
)
"""Statements, by label, whose evidence takes over a third of a second; `make verify`, in `.ci/run`, collects it."""


def slow_except(quick: Container[object], cases: Iterable[object]) -> list[object]:
    """Parameters of a test, of which all but the quick ones are marked slow."""
    return [pytest.param(case, marks=() if case in quick else pytest.mark.slow) for case in cases]
