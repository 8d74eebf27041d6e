"""Which wrong statements about Kronecker-factored curvature must be noticed? `mutants.py` collects them. Ours."""

import sympy

from sparsync.theory.language.symbols import (
    coupling,
    damping,
    decomposition_period,
    entry_count,
    factor_period,
    gradient_entry,
    input_eigenvalue,
    input_size,
    kept_count,
    output_eigenvalue,
    output_size,
    owned_entries,
    parameter_count,
    row_count,
    selection_error,
    triangle_entries,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound

MUTANTS: dict[str, Mutant] = {
    "kfac_eigenbasis_factored": wrong_bound(
        "kfac_eigenbasis",
        "γ added to the eigenvalues of both factors",
        lambda _bound: gradient_entry / ((input_eigenvalue + damping) * (output_eigenvalue + damping)),
        "symbolic",
        "rational",
        "property",
    ),
    "kfac_eigenbasis_sum": wrong_bound(
        "kfac_eigenbasis",
        "a Kronecker sum for the product",
        lambda _bound: gradient_entry / (input_eigenvalue + output_eigenvalue + damping),
        "rational",
        "property",
    ),
    "factored_damping_whole": wrong_bound(
        "factored_damping",
        "γ in each factor for its root",
        lambda bound: bound.subs(sympy.sqrt(damping), damping),
        "rational",
        "property",
    ),
    "factored_damping_inverse": wrong_bound(
        "factored_damping", "the share upside down", lambda bound: 1 / bound, "rational", "property"
    ),
    "block_diagonal_error_first_order": wrong_bound(
        "block_diagonal_error", "ρ, the first order alone", lambda _bound: coupling, "rational", "property"
    ),
    "block_diagonal_error_other_end": wrong_bound(
        "block_diagonal_error",
        "the eigenvalue ρ for −ρ",
        lambda _bound: coupling / (1 + coupling),
        "rational",
        "property",
    ),
    "block_diagonal_step_linear": wrong_bound(
        "block_diagonal_step", "ρ of one step for the best step", lambda _bound: 1 - coupling**3, "rational", "property"
    ),
    "triangle_selection_of_triangle": wrong_bound(
        "triangle_selection",
        "the share of Top-k of a vector as long as the triangles",
        lambda _bound: 2 * kept_count / (entry_count + row_count),
        "rational",
        "property",
    ),
    "triangle_selection_mirrored": wrong_bound(
        "triangle_selection",
        "every entry stands for two",
        lambda _bound: sympy.Min(1, 2 * kept_count / entry_count),
        "rational",
        "property",
    ),
    "clamped_factor_doubled": wrong_bound(
        "clamped_factor",
        "twice the energy of the negative eigenvalues",
        lambda bound: 2 * bound - selection_error,
        "rational",
        "property",
    ),
    "kfac_everyone_bytes_swapped": wrong_bound(
        "kfac_everyone_bytes",
        "the two periods swapped",
        lambda bound: bound.subs(
            {factor_period: decomposition_period, decomposition_period: factor_period}, simultaneous=True
        ),
        "rational",
        "property",
    ),
    "kfac_everyone_bytes_whole": wrong_bound(
        "kfac_everyone_bytes",
        "whole factors for their triangles, but for the diagonals",
        lambda bound: bound.subs(triangle_entries, 2 * triangle_entries),
        "rational",
        "property",
    ),
    "kfac_owners_bytes_gradients": wrong_bound(
        "kfac_owners_bytes",
        "gradients as often as factors",
        lambda bound: bound.subs(parameter_count, parameter_count / factor_period),
        "rational",
        "property",
    ),
    "kfac_owners_bytes_period": wrong_bound(
        "kfac_owners_bytes",
        "preconditioned gradients as often as factors",
        lambda bound: bound.subs(owned_entries, owned_entries / factor_period),
        "rational",
        "property",
    ),
    "kfac_crossover_values": wrong_bound(
        "kfac_crossover",
        "vectors without values",
        lambda _bound: input_size / output_size + output_size / input_size,
        "rational",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
