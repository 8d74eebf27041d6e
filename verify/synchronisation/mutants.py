"""Which wrong statements about synchronisation must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: drawing with replacement, an index off
by one, a square forgotten, the slowest worker's duration for the fastest's. Ours.
"""

import sympy

from sparsync.theory.language.symbols import (
    L,
    T,
    arrival_share,
    awaited_count,
    bandwidth,
    batch_spread,
    block_value,
    class_sum,
    coherence,
    commit_time,
    compute_time,
    deferred_size,
    delta,
    dissimilarity,
    epoch_length,
    epoch_root,
    eta,
    exchange_time,
    extra_count,
    failure_chance,
    flag_time,
    gap,
    gradient,
    grid_columns,
    grid_rows,
    growth,
    inclusion_covariance,
    lag_decay,
    lag_threshold,
    laggard_count,
    largest_batch,
    least_speed_up,
    least_weight,
    lipschitz,
    local_count,
    longest_duration,
    look_ahead,
    mean_move,
    mean_spread,
    message_size,
    monitoring_count,
    n,
    others_share,
    others_sum,
    period,
    radius,
    replica_mean,
    sample_count,
    shortest_duration,
    sigma_squared,
    staleness,
    synchronised_share,
    tau,
    total_batch,
    total_rate,
    variance,
)
from sparsync.theory.synchronisation.grid_rates import GOLDEN
from sparsync.verify.ledger.mutation import Mutant, wrong_bound

MUTANTS: dict[str, Mutant] = {
    "osp_time_deferred": wrong_bound(
        "osp_time",
        "the deferred bytes alone fill the link",
        lambda _bound: sympy.Max(
            compute_time + (message_size - deferred_size) * n / bandwidth, deferred_size * n / bandwidth
        ),
        "smt",
        "property",
    ),
    "osp_speed_up_link": wrong_bound(
        "osp_speed_up",
        "2Mn/B for T_c + Mn/B",
        lambda bound: bound.subs(compute_time + message_size * n / bandwidth, 2 * message_size * n / bandwidth),
        "smt",
        "property",
    ),
    "selsync_speed_up_flag": wrong_bound(
        "selsync_speed_up",
        "agreeing before an exchange only",
        lambda bound: bound.subs(flag_time, flag_time * synchronised_share),
        "smt",
        "property",
    ),
    "selsync_share_quotient": wrong_bound(
        "selsync_share",
        "φ − 1 for 1 − 1/φ",
        lambda _bound: 1 / least_speed_up - ((least_speed_up - 1) * compute_time + flag_time) / exchange_time,
        "smt",
        "property",
    ),
    "backup_waiting_next": wrong_bound(
        "backup_waiting",
        "one worker fewer",
        lambda bound: bound.subs(awaited_count, awaited_count - 1),
        "rational",
        "simulated",
    ),
    "adsp_waiting_share_difference": wrong_bound(
        "adsp_waiting_share",
        "Γ + O for Γ",
        lambda bound: bound.subs(period, period + commit_time),
        "smt",
        "property",
    ),
    "psp_pass_probability_replaced": wrong_bound(
        "psp_pass_probability",
        "drawing with replacement",
        lambda _bound: (1 - laggard_count / (n - 1)) ** sample_count,
        "rational",
        "property",
    ),
    "psp_pass_bound_self": wrong_bound(
        "psp_pass_bound",
        "one draw more",
        lambda bound: bound.subs(sample_count, sample_count + 1),
        "smt",
        "property",
    ),
    "psp_lag_mean_square": wrong_bound(
        "psp_lag_mean", "a² for a", lambda bound: lag_threshold + (bound - lag_threshold) * lag_decay, "smt", "property"
    ),
    "psp_lag_second_moment_mean": wrong_bound(
        "psp_lag_second_moment",
        "the square of the mean for the mean square",
        lambda bound: sympy.Min(bound, lag_threshold**2),
        "property",
    ),
    "weighted_sample_mean_sum": wrong_bound(
        "weighted_sample_mean", "the mean once more", lambda bound: 2 * bound, "rational", "property"
    ),
    "sample_mean_bias_sum": wrong_bound(
        "sample_mean_bias",
        "the covariance for the sum that it is the mean of",
        lambda _bound: inclusion_covariance / sample_count,
        "rational",
        "property",
    ),
    "shared_failure_sum_difference": wrong_bound(
        "shared_failure_sum",
        "the difference of the inclusion probabilities for their quotient",
        lambda _bound: (1 - failure_chance) * (1 - others_share) * others_sum - class_sum,
        "rational",
        "property",
    ),
    "shared_failure_error_unbiased": wrong_bound(
        "shared_failure_error",
        "the error of weights that are unbiased over failure and none",
        lambda bound: bound * (1 + failure_chance),
        "rational",
        "property",
    ),
    "zipline_two_workers_slow": wrong_bound(
        "zipline_two_workers",
        "d_min for d_max",
        lambda bound: bound.subs(longest_duration, shortest_duration),
        "rational",
        "property",
    ),
    "zipline_waiting_count": wrong_bound(
        "zipline_waiting",
        "N + 2 for N + 1",
        lambda bound: bound.subs(look_ahead, look_ahead + longest_duration / shortest_duration),
        "rational",
        "property",
    ),
    "dssp_lead_strict": wrong_bound(
        "dssp_lead", "s + r for s + r + 1", lambda _bound: staleness + extra_count, "rational", "property"
    ),
    "dssp_regret_without_extra": wrong_bound(
        "dssp_regret", "s for s + r", lambda bound: bound.subs(extra_count, 0), "smt", "numeric"
    ),
    "elastic_lead_monitoring": wrong_bound(
        "elastic_lead",
        "one iteration is monitored less",
        lambda bound: bound.subs(monitoring_count, monitoring_count - 1),
        "rational",
        "property",
    ),
    "elastic_regret_monitoring": wrong_bound(
        "elastic_regret",
        "one iteration is monitored less",
        lambda bound: bound.subs(monitoring_count, monitoring_count - 1),
        "numeric",
        "rational",
    ),
    "arrival_regret_barrier": wrong_bound(
        "arrival_regret",
        "the regret with a barrier",
        lambda _bound: radius * lipschitz * sympy.sqrt(2 * n * T),
        "property",
    ),
    "epoch_disagreement_square": wrong_bound(
        "epoch_disagreement",
        "n for n²",
        lambda _bound: 1 - 8 * least_weight * (1 - least_weight) / n,
        "rational",
        "property",
    ),
    "accumulation_time_steps": wrong_bound(
        "accumulation_time",
        "one unfinished step in all for one of each worker",
        lambda bound: bound - (n - 1) * largest_batch / total_rate,
        "rational",
        "property",
    ),
    "accumulation_time_excess": wrong_bound(
        "accumulation_time",
        "earlier updates have no example too many",
        lambda bound: bound - (T - 1) * largest_batch / total_rate,
        "rational",
        "property",
    ),
    "batch_weighted_error_equal": wrong_bound(
        "batch_weighted_error",
        "the mean divided by B once more",
        lambda bound: bound / total_batch,
        "rational",
        "property",
    ),
    "greedy_split_twice": wrong_bound(
        "greedy_split",
        "twice the least time, as if jobs of different lengths were listed",
        lambda bound: 2 * bound,
        "rational",
        "property",
    ),
    "greedy_split_time_rounding": wrong_bound(
        "greedy_split_time",
        "one example in all for one of each worker but the last",
        lambda bound: bound - (n - 2) / total_rate,
        "rational",
        "property",
    ),
    "equal_weight_error_square": wrong_bound(
        "equal_weight_error",
        "c⁴ for c²",
        lambda bound: bound.subs(batch_spread, batch_spread**2),
        "rational",
        "property",
    ),
    "epoch_mean_disagreement_epoch": wrong_bound(
        "epoch_mean_disagreement",
        "every gradient meets whole epochs alone",
        lambda _bound: (epoch_length / (1 - epoch_root) - 1) ** 2 * eta**2 * mean_spread,
        "rational",
        "property",
    ),
    "epoch_rate_linear": wrong_bound(
        "epoch_rate",
        "cηL for cηL/(1 − cηL)",
        lambda _bound: (
            2 * gap / (eta * T)
            + eta * L * variance / n
            + ((epoch_length - 2 + epoch_length / (1 - epoch_root)) * eta * L) ** 2 * (variance + dissimilarity)
        ),
        "smt",
    ),
    "epoch_speed_up_alike": wrong_bound(
        "epoch_speed_up",
        "noise alone drives workers apart",
        lambda bound: bound.subs(dissimilarity, 0),
        "smt",
    ),
    "database_versions_sum": wrong_bound(
        "database_versions",
        "+ η for − η",
        lambda _bound: block_value + eta * gradient,
        "rational",
        "property",
    ),
    "database_lead_finished": wrong_bound(
        "database_lead",
        "ℓ, as if nobody were within a step",
        lambda bound: bound - 1,
        "rational",
        "property",
    ),
    "switch_reports_whole": wrong_bound(
        "switch_reports",
        "g updates of n reports more",
        lambda bound: bound + growth * n,
        "rational",
        "property",
    ),
    "switch_time_rounding": wrong_bound(
        "switch_time",
        "n/K for ⌊n/K⌋, as if no report were left waiting",
        lambda _bound: longest_duration * growth * (n - 1) / 2,
        "rational",
        "property",
    ),
    "grid_mean_disagreement_equal": wrong_bound(
        "grid_mean_disagreement",
        "the factor of gradients that stay the same",
        lambda _bound: sympy.Rational(5, 2) * eta**2 * mean_spread,
        "smt",
        "property",
    ),
    "ds_sync_rate_one_gradient": wrong_bound(
        "ds_sync_rate",
        "the last gradient alone makes disagreement, of which the rest follows",
        lambda _bound: (
            2 * gap / (eta * T)
            + eta * L * variance / n
            + (eta * L / (1 - GOLDEN * eta * L)) ** 2 * (variance + dissimilarity)
        ),
        "smt",
        "numeric",
    ),
    "coherence_rate_root": wrong_bound(
        "coherence_rate",
        "√T for the sum of the weights, as described to us",
        lambda _bound: ((tau + 1) * L * gap / coherence**2 + variance * sympy.log(T) / (tau + 1)) / sympy.sqrt(T),
        "numeric",
    ),
    "regret_tail_range": wrong_bound(
        "regret_tail",
        "half of the range for the range",
        lambda bound: bound**4,
        "rational",
        "property",
    ),
    "grid_mixing_sum": wrong_bound(
        "grid_mixing", "R + C for RC", lambda _bound: 1 / (grid_rows + grid_columns), "rational", "property"
    ),
    "digit_mixing_digit": wrong_bound(
        "digit_mixing", "a digit of two values is left out", lambda bound: 2 * bound, "rational", "property"
    ),
    "grid_disagreement_last": wrong_bound(
        "grid_disagreement", "one gradient for two", lambda bound: bound / 4, "rational", "property"
    ),
    "mixing_mean_sign": wrong_bound(
        "mixing_mean", "+ η for − η", lambda _bound: replica_mean + eta * gradient, "smt", "property"
    ),
    "geometric_staleness_step": wrong_bound(
        "geometric_staleness",
        "η for ηp",
        lambda _bound: (1 - arrival_share) * mean_move - eta * gradient,
        "rational",
        "property",
    ),
    "additive_perturbation_squares": wrong_bound(
        "additive_perturbation",
        "the sum of the squares for the square of the sum",
        lambda _bound: (
            eta**2 * sigma_squared * (tau**2 + local_count**2 * (1 - delta) / (1 - sympy.sqrt(1 - delta)) ** 2)
        ),
        "smt",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
