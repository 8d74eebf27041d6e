"""Which wrong statements about shared batches, butterflies and sharded operators must the evidence notice? Ours."""

from __future__ import annotations

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    averager_count,
    best_gain,
    byte_seconds,
    d,
    entry_cost,
    fixed_examples,
    flat_time,
    gradient_share,
    index_bytes,
    kappa,
    largest_bandwidth,
    least_bandwidth,
    mean_share,
    memory_bytes,
    message_seconds,
    n,
    overload,
    residual_bytes,
    state_bytes,
    total_bandwidth,
    total_batch,
    total_rate,
    value_bytes,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound, wrong_step

_HEAVY, _LIGHT = sympy.symbols("heavy light", real=True)

MUTANTS: dict[str, Mutant] = {
    "flat_split_time_straight": wrong_bound(
        "flat_split_time",
        "the flat pieces first, and then all examples",
        lambda _bound: flat_time + (total_batch + fixed_examples) / total_rate,
        "rational",
        "property",
    ),
    "flat_split_time_fixed": wrong_bound(
        "flat_split_time",
        "examples that are done in the fixed times, too",
        lambda bound: bound.subs(fixed_examples, -fixed_examples),
        "rational",
        "property",
    ),
    "flat_greedy_time_rounding": wrong_bound(
        "flat_greedy_time",
        "an example in all, for one of each worker but the last",
        lambda bound: bound.subs(n, 2 - 1 / n),
        "rational",
        "property",
    ),
    "placement_waste_places": wrong_bound(
        "placement_waste",
        "logical workers for logical workers per unit of time",
        lambda bound: bound.subs(overload, 1),
        "rational",
        "property",
    ),
    "placement_waste_devices": wrong_bound(
        "placement_waste",
        "in a step, not per unit of time",
        lambda bound: bound * overload,
        "rational",
        "property",
    ),
    "marginal_gains_double": wrong_bound(
        "marginal_gains",
        "half of the best, as of gains in any order",
        lambda _bound: best_gain / 2,
        "rational",
        "property",
    ),
    "marginal_gains_rising": wrong_step(
        "marginal_gains",
        "gains that rise: 0 from one device, 2 from two",
        lambda: (Step("the greedy sum is the best", lambda: sympy.Max(0 + 0, 0 + 1 + 0) - sympy.Max(2, 1)),),
    ),
    "butterfly_time_sum": wrong_bound(
        "butterfly_time",
        "no peer is too slow for its own vector",
        lambda _bound: (n + averager_count - 2) / total_bandwidth,
        "rational",
        "property",
    ),
    "butterfly_time_clients": wrong_bound(
        "butterfly_time",
        "as if clients averaged",
        lambda _bound: sympy.Max(2 * (n - 1) / total_bandwidth, 1 / least_bandwidth),
        "rational",
        "property",
    ),
    "hagenbach_time_exact": wrong_bound(
        "hagenbach_time",
        "as if values had parts",
        lambda bound: (
            bound - (averager_count - 1) * ((n + averager_count - 2) / total_bandwidth - 1 / largest_bandwidth)
        ),
        "rational",
        "property",
    ),
    "scattered_butterfly_time_server": wrong_bound(
        "scattered_butterfly_time",
        "as if the slowest averaged nothing, and only received",
        lambda _bound: mean_share / least_bandwidth,
        "rational",
        "property",
    ),
    "scattered_butterfly_time_all": wrong_bound(
        "scattered_butterfly_time",
        "means of n gradients for those of n − 1 others",
        lambda bound: bound * n / (n - 1),
        "rational",
        "property",
    ),
    "density_saturation_both": wrong_bound(
        "density_saturation",
        "means that have no more entries than a gradient",
        lambda _bound: entry_cost * kappa,
        "rational",
        "property",
    ),
    "density_saturation_unbounded": wrong_bound(
        "density_saturation",
        "means that never travel whole",
        lambda _bound: (n + 1) * entry_cost * kappa / 2,
        "rational",
        "property",
    ),
    "scattered_butterfly_time_ring": wrong_bound(
        "scattered_butterfly_time",
        "twice the gradients, as of whole vectors",
        lambda bound: bound.subs(mean_share, gradient_share),
        "rational",
        "property",
    ),
    "sharding_traffic_once": wrong_bound(
        "sharding_traffic", "parameters are kept from forward to backward", lambda _bound: 1, "rational", "property"
    ),
    "sharding_traffic_gradients": wrong_bound(
        "sharding_traffic", "gradients are all-reduced", lambda _bound: 2, "rational", "property"
    ),
    "replica_crossover_indices": wrong_bound(
        "replica_crossover",
        "positions for values",
        lambda bound: bound.subs(value_bytes + index_bytes, index_bytes),
        "rational",
        "property",
    ),
    "replica_crossover_reduced": wrong_bound(
        "replica_crossover",
        "as if pairs could be added on their way, n times fewer",
        lambda bound: bound * n,
        "rational",
        "property",
    ),
    "replica_crossover_messages": wrong_bound(
        "replica_crossover",
        "a message of a gathering is not counted",
        lambda bound: bound.subs(message_seconds, message_seconds / 2),
        "rational",
        "property",
    ),
    "replica_saving_whole": wrong_bound(
        "replica_saving",
        "all bytes of the replica, also those of the part",
        lambda bound: bound * (n - 1) / n,
        "rational",
        "property",
    ),
    "replica_saving_messages": wrong_bound(
        "replica_saving",
        "one message a pass",
        lambda _bound: (n * message_seconds / (d * (n - 1)) + value_bytes * byte_seconds) / state_bytes,
        "rational",
        "property",
    ),
    "divided_choices_one": wrong_bound("divided_choices", "one", lambda bound: bound - 1, "rational", "property"),
    "divided_choices_pair": wrong_step(
        "divided_choices",
        "two choices of one operator move too",
        lambda: (Step("exchanged, they keep their bytes", lambda: sympy.Abs(_HEAVY - _LIGHT)),),
    ),
    "rounded_relaxation_bytes": wrong_bound(
        "rounded_relaxation",
        "one message of the part",
        lambda _bound: message_seconds + d / n * value_bytes * byte_seconds,
        "rational",
        "property",
    ),
    "sharded_throughput_others": wrong_bound(
        "sharded_throughput",
        "samples of all other devices",
        lambda bound: bound * (n - 1) / n,
        "rational",
        "property",
    ),
    "replica_plans_memory": wrong_bound(
        "replica_plans",
        "as if replicas left as much memory as shards",
        lambda _bound: sympy.Min(1, 3 * value_bytes / (n * (value_bytes + index_bytes))),
        "rational",
        "property",
    ),
    "replica_plans_residual": wrong_bound(
        "replica_plans",
        "residuals take no memory",
        lambda bound: bound.subs(residual_bytes, 0),
        "rational",
        "property",
    ),
    "replica_plans_shards": wrong_bound(
        "replica_plans",
        "shards take none",
        lambda bound: bound.subs(n * memory_bytes - state_bytes * d, n * memory_bytes),
        "rational",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
