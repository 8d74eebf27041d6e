"""Which wrong statements about farms must the evidence notice? `mutants.py` collects them. Ours."""

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    collect_time,
    dispatch_time,
    farm_size,
    fold_time,
    latency,
    list_length,
    map_time,
    master_time,
    payload_share,
    receive_time,
    round_time,
    send_time,
    tree_depth,
    work_time,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound, wrong_step

MUTANTS: dict[str, Mutant] = {
    "star_farm_one_way": wrong_bound(
        "star_farm", "no latency on the way back", lambda bound: bound - farm_size * latency, "rational", "property"
    ),
    "star_farm_answers": wrong_bound(
        "star_farm",
        "every answer is as long as that of a lone worker",
        lambda bound: bound + (farm_size - 1) * receive_time,
        "rational",
        "property",
    ),
    "star_farm_broadcast": wrong_bound(
        "star_farm", "all are told at once", lambda bound: bound - (farm_size - 1) * send_time, "rational", "property"
    ),
    "pipelined_farm_phases": wrong_bound(
        "pipelined_farm",
        "in phases",
        lambda _bound: farm_size * (dispatch_time + collect_time) + work_time / farm_size + master_time,
        "rational",
        "property",
    ),
    "pipelined_farm_last": wrong_bound(
        "pipelined_farm",
        "the last worker always decides",
        lambda _bound: farm_size * dispatch_time + work_time / farm_size + collect_time + master_time,
        "rational",
        "property",
    ),
    "tree_farm_rounds": wrong_bound(
        "tree_farm", "the master is one of 2^q", lambda bound: bound - round_time, "rational", "property"
    ),
    "tree_farm_share": wrong_bound(
        "tree_farm",
        "a share of ℓ/K results takes ℓ/K folds",
        lambda bound: bound + fold_time,
        "rational",
        "property",
    ),
    "gathered_farm_folds": wrong_bound(
        "gathered_farm",
        "a fold a round",
        lambda bound: bound - (2**tree_depth - 1 - tree_depth) * fold_time,
        "rational",
        "property",
    ),
    "star_farm_boundary_latency": wrong_bound(
        "star_farm_boundary", "one latency", lambda bound: bound.subs(latency, latency / 2), "rational", "property"
    ),
    "star_farm_boundary_master": wrong_step(
        "star_farm_boundary",
        "the work shrinks with the square of the workers",
        lambda: (
            Step(
                "dT/dK = 0 at K*",
                lambda: sympy.diff(
                    farm_size * (2 * latency + send_time) + work_time / farm_size**2 + master_time, farm_size
                ).subs(farm_size, sympy.sqrt(work_time / (2 * latency + send_time))),
            ),
        ),
    ),
    "star_farm_optimum_floor": wrong_bound(
        "star_farm_optimum",
        "⌊K*⌋",
        lambda _bound: sympy.floor(sympy.sqrt(work_time / (2 * latency + send_time))),
        "rational",
        "property",
    ),
    "star_farm_optimum_rounded": wrong_bound(
        "star_farm_optimum",
        "⌈K*⌉",
        lambda _bound: sympy.ceiling(sympy.sqrt(work_time / (2 * latency + send_time))),
        "rational",
        "property",
    ),
    "star_farm_speed_up_master": wrong_bound(
        "star_farm_speed_up",
        "the master's own work is left out of one worker's time",
        lambda bound: bound - master_time / (sympy.fraction(bound)[1]),
        "rational",
        "property",
    ),
    "selected_farm_boundary_latency": wrong_bound(
        "selected_farm_boundary",
        "a selection shortens the latency too",
        lambda bound: bound.subs(latency, payload_share * latency),
        "rational",
        "property",
    ),
    "selected_farm_gain_latency": wrong_bound(
        "selected_farm_gain",
        "one latency, so that more is left to the selection's harm",
        lambda bound: bound.subs(send_time, send_time / 2),
        "rational",
        "property",
    ),
    "tree_farm_boundary_root": wrong_bound(
        "tree_farm_boundary", "without ln 2", lambda bound: bound / sympy.log(2), "ball", "property"
    ),
    "tree_farm_boundary_fold": wrong_bound(
        "tree_farm_boundary",
        "folds of the list are free",
        lambda bound: bound.subs(list_length, 0),
        "ball",
        "property",
    ),
    "tree_farm_depth_level": wrong_bound(
        "tree_farm_depth",
        "2^q reaches the ratio",
        lambda bound: bound + 1,
        "rational",
        "property",
    ),
    "gathered_farm_boundary_recalled": wrong_bound(
        "gathered_farm_boundary",
        "no halves in the solution of the quadratic",
        lambda _bound: (
            sympy.sqrt((round_time / (fold_time * sympy.log(2))) ** 2 + map_time / fold_time + list_length)
            - round_time / (fold_time * sympy.log(2))
        ),
        "ball",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
