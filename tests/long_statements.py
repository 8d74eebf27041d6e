"""Statements whose evidence takes longest, by label."""

LONG = frozenset(
    {
        "descent_of_workers",
        "ef21_tight_rate",
        "ef_tight_rate",
        "generalised_gaussian_law",
        "nonconvex_rate_lyapunov",
        "nonconvex_rate_minkowski",
        "reports_in_turn_limit",
        "shifted_gaussian_law",
        "shifted_gaussian_slope",
        "small_dimension_failure",
        "spike_mixture_law",
        "student_t_law",
    }
)
"""More than 3 s each: `make test` leaves them to `make verify`, a part of `.ci/run` too, and to `make test-all`."""
