"""Which wrong statements about bytes, masks and privacy must the evidence notice? `mutants.py` collects them. Ours."""

from collections.abc import Callable

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    clip_norm,
    cut_values,
    d,
    index_bytes,
    k,
    kappa,
    label_bytes,
    largest_entry,
    loss_excess,
    loss_factor,
    n,
    noise_ratio,
    order,
    passed_count,
    sample_share,
    unknown_masks,
    value_bytes,
)
from sparsync.theory.learning.masked_sums import left, masks_taken_off, survivor_sets
from sparsync.verify.ledger.mutation import Mutant, wrong_bound, wrong_step


def _left_with(is_known: Callable[[str], bool]) -> sympy.Basic:
    """Whether nothing but the inputs is left where the server knows these masks only, by their names."""
    return sympy.And(
        *(
            sympy.Eq(
                left(some, {mask: value for mask, value in masks_taken_off(some).items() if is_known(mask.name)}), 0
            )
            for some in survivor_sets()
        )
    )


MUTANTS: dict[str, Mutant] = {
    "split_epoch_bytes_one_way": wrong_bound(
        "split_epoch_bytes",
        "activations up, and no gradients down",
        lambda bound: bound.subs(2 * cut_values * value_bytes, cut_values * value_bytes),
        "rational",
        "property",
    ),
    "split_epoch_bytes_label": wrong_bound(
        "split_epoch_bytes",
        "labels come back too",
        lambda bound: bound.subs(label_bytes, 2 * label_bytes),
        "rational",
        "property",
    ),
    "split_epoch_bytes_passed_once": wrong_bound(
        "split_epoch_bytes",
        "the client's layers once, not from client to client",
        lambda bound: bound - (n - 1) * passed_count * value_bytes,
        "rational",
        "property",
    ),
    "federated_epoch_bytes_up": wrong_bound(
        "federated_epoch_bytes", "up only", lambda bound: bound / 2, "rational", "property"
    ),
    "large_batch_epoch_bytes_own": wrong_bound(
        "large_batch_epoch_bytes",
        "an exchange for each client's batch",
        lambda bound: n * bound,
        "rational",
        "property",
    ),
    "ring_epoch_bytes_server": wrong_bound(
        "ring_epoch_bytes", "as through a server", lambda bound: bound * n / (n - 1 + 1 / n), "rational", "property"
    ),
    "split_federated_crossover_passed": wrong_bound(
        "split_federated_crossover",
        "layers handed on through the server",
        lambda bound: bound.subs(passed_count, 2 * passed_count),
        "rational",
        "property",
    ),
    "split_batch_crossover_clients": wrong_bound(
        "split_batch_crossover",
        "layers passed on once",
        lambda bound: bound.subs(n * passed_count, passed_count),
        "property",
    ),
    "random_union_disjoint": wrong_bound(
        "random_union", "as if nobody selected what another does", lambda _bound: n * kappa * d, "rational", "property"
    ),
    "largest_union_everything": wrong_bound(
        "largest_union", "all but one", lambda bound: sympy.Min(bound, sympy.Max(d - 1, k)), "rational", "property"
    ),
    "least_union_sum": wrong_bound("least_union", "one more", lambda bound: bound + 1, "rational", "property"),
    "selected_epoch_bytes_down": wrong_bound(
        "selected_epoch_bytes",
        "k pairs down, as from one client",
        lambda bound: bound.subs(sympy.Min(n * k, d), k),
        "rational",
        "property",
    ),
    "safe_selection_indices": wrong_bound(
        "safe_selection",
        "positions one way only",
        lambda bound: bound.subs(index_bytes, index_bytes / 2),
        "rational",
        "property",
    ),
    "masks_cancel_lost": wrong_bound(
        "masks_cancel",
        "a mask that is lost is in the sum with the other sign",
        lambda bound: bound.subs(unknown_masks, -unknown_masks),
        "rational",
        "property",
    ),
    "masks_cancel_own": wrong_step(
        "masks_cancel",
        "own masks of survivors are not taken off",
        lambda: (Step("the inputs are left without own masks", lambda: _left_with(lambda mask: len(mask) == 3)),),
    ),
    "masks_cancel_shared": wrong_step(
        "masks_cancel",
        "masks that survivors share with the lost are not taken off",
        lambda: (Step("the inputs are left with own masks known", lambda: _left_with(lambda mask: len(mask) == 2)),),
    ),
    "fixed_point_error_once": wrong_bound(
        "fixed_point_error", "one client is not rounded", lambda bound: bound * (n - 1) / n, "rational", "property"
    ),
    "fixed_point_room_one": wrong_bound(
        "fixed_point_room", "room for one client fewer", lambda bound: bound * (n - 1) / n, "rational", "property"
    ),
    "clipped_sum_move_half": wrong_bound("clipped_sum_move", "C/2", lambda bound: bound / 2, "rational", "property"),
    "selected_sum_move_larger": wrong_bound(
        "selected_sum_move",
        "a + C for a + C/2",
        lambda bound: bound.subs(largest_entry + clip_norm / 2, largest_entry + clip_norm),
        "rational",
        "property",
    ),
    "sampled_gaussian_divergence_square": wrong_bound(
        "sampled_gaussian_divergence",
        "q² times that without a sample",
        lambda _bound: sample_share**2 * order / (2 * noise_ratio**2),
        "numeric",
    ),
    "sampled_gaussian_divergence_noise": wrong_bound(
        "sampled_gaussian_divergence",
        "σ for σ²",
        lambda bound: bound.subs(noise_ratio, sympy.sqrt(noise_ratio)),
        "numeric",
    ),
    "membership_bound_excess": wrong_bound(
        "membership_bound",
        "δ once",
        lambda bound: bound - loss_excess / (loss_factor + 1),
        "smt",
        "rational",
        "property",
    ),
    "membership_bound_small": wrong_bound(
        "membership_bound",
        "(e^ε − 1)/(2e^ε)",
        lambda _bound: (loss_factor - 1 + 2 * loss_excess) / (2 * loss_factor),
        "smt",
        "rational",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
