"""Cases of a test that `make test` leaves out, since they take long and others are like them."""

from __future__ import annotations

from collections.abc import Container, Iterable

import pytest

LONG = frozenset(
    {
        "compressed_descent_rate",
        "delayed_momentum_limit",
        "descent_of_workers",
        "descent_without_bounded_gradients",
        "ef21_tight_rate",
        "ef_tight_rate",
        "ef_tight_step",
        "gamma_gain_lower",
        "gamma_law",
        "gaussian_gain_upper",
        "generalised_gaussian_gain_upper",
        "generalised_gaussian_law",
        "laplace_law",
        "mean_shift_failure",
        "nonconvex_rate",
        "nonconvex_rate_lyapunov",
        "nonconvex_rate_minkowski",
        "reports_in_turn_limit",
        "shifted_gaussian_law",
        "shifted_gaussian_slope",
        "small_dimension_failure",
        "spike_mixture_law",
        "ssp_regret_optimised",
        "student_t_law",
        "student_t_tail_lower",
    }
)
"""Statements, by label, whose evidence takes more than 2 s. `make verify`, a part of `.ci/run`, collects it."""


def slow_except(quick: Container[str], cases: Iterable[str]) -> list[object]:
    """Parameters of a test, of which all but the quick ones are marked slow."""
    return [pytest.param(case, marks=() if case in quick else pytest.mark.slow) for case in cases]
