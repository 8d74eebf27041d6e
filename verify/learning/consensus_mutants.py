"""Which wrong statements about consensus and pace must the evidence notice? `mutants.py` collects them. Ours."""

import sympy

from sparsync.theory.language.symbols import (
    batch_curvature,
    consensus_energy,
    consensus_move,
    damping,
    delta,
    error_energy,
    mean_proposal,
    model_move,
    n,
    pace,
    penalty,
    proposal_energy,
    raised_pace,
    selected_count,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound

MUTANTS: dict[str, Mutant] = {
    "admm_consensus_step_worker": wrong_bound(
        "admm_consensus_step",
        "the terms of all pairs of batches",
        lambda _bound: penalty * n * mean_proposal / (2 * n**2 + penalty * n),
        "rational",
        "property",
    ),
    "admm_consensus_step_halved": wrong_bound(
        "admm_consensus_step",
        "‖z‖²/2 for ‖z‖²",
        lambda _bound: penalty * n * mean_proposal / (1 + penalty * n),
        "rational",
        "property",
    ),
    "admm_printed_step_distance": wrong_bound(
        "admm_printed_step",
        "the squared distance, without the curvature of L",
        lambda _bound: 4 * proposal_energy / (2 + penalty * n) ** 2,
        "rational",
        "property",
    ),
    "admm_descent_sign": wrong_bound(
        "admm_descent",
        "the step of α lets L fall, too",
        lambda _bound: (
            -(2 + penalty * n) / 2 * consensus_move
            - ((batch_curvature + penalty) / 2 + batch_curvature**2 / penalty) * model_move
        ),
        "rational",
        "property",
    ),
    "admm_descent_end": wrong_bound(
        "admm_descent",
        "the end h = 0 forgotten",
        lambda _bound: (
            -(2 + penalty * n) / 2 * consensus_move
            - (penalty - batch_curvature) * (penalty + 2 * batch_curvature) / (2 * penalty) * model_move
        ),
        "rational",
        "property",
    ),
    "admm_least_penalty_root": wrong_bound(
        "admm_least_penalty",
        "√2·φ for φ",
        lambda bound: sympy.Rational(7, 5) * bound,
        "smt",
        "rational",
        "property",
    ),
    "admm_wrong_order_never": wrong_bound(
        "admm_wrong_order",
        "the order of the steps does not matter",
        lambda _bound: -4 * (1 + penalty) / (2 + penalty) ** 2 * consensus_energy,
        "rational",
        "property",
    ),
    "admm_together_half": wrong_bound(
        "admm_together", "ρ − φ for (ρ − φ)/2", lambda bound: 2 * bound, "rational", "property"
    ),
    "pace_weights_always": wrong_bound(
        "pace_weights", "every example has weight", lambda bound: bound.args[1], "rational", "property"
    ),
    "pace_raise_pace": wrong_bound(
        "pace_raise",
        "λ⁺ for λ⁺ − λ",
        lambda bound: bound.subs(raised_pace - pace, raised_pace) - pace * selected_count,
        "rational",
        "property",
    ),
    "admm_compressed_step_undamped": wrong_bound(
        "admm_compressed_step", "γ for γ/(2 − γ)", lambda bound: bound * (2 - damping), "rational", "property"
    ),
    "admm_compressed_step_plain": wrong_bound(
        "admm_compressed_step",
        "θ² for θ²(2 + ρn)/2",
        lambda _bound: damping / (2 - damping) * (penalty * n / (2 + penalty * n)) ** 2 * error_energy,
        "rational",
        "property",
    ),
    "admm_compressed_damping_undamped": wrong_bound(
        "admm_compressed_damping",
        "γ for γ/(2 − γ)",
        lambda _bound: sympy.Min(
            1, (1 - sympy.sqrt(1 - delta)) ** 2 * (2 + penalty * n) / (penalty * n * (1 - delta)), evaluate=False
        ),
        "smt",
        "rational",
    ),
}
"""Every mutant of these statements, by name."""
