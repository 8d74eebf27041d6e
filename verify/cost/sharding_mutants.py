"""Which wrong statements about sharded operators must the evidence notice? `mutants.py` collects them. Ours."""

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    byte_seconds,
    d,
    index_bytes,
    message_seconds,
    n,
    state_bytes,
    value_bytes,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound, wrong_step

_HEAVY, _LIGHT = sympy.symbols("heavy light", real=True)

MUTANTS: dict[str, Mutant] = {
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
}
"""Every mutant of these statements, by name."""
