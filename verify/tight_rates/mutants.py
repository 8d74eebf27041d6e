"""Which wrong tight rates must the evidence notice? Errors easily made, and certificates with a wrong sign. Ours."""

from typing import Any

import sympy

from sparsync.theory.language.symbols import (
    L,
    epsilon,
    eta,
    mu,
    residual_decay,
    spectral_gap,
    widest_gap,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound
from sparsync.verify.tight_rates import rates
from sparsync.verify.tight_rates.certificates import rate_certificates


def _negated(record: dict[str, Any]) -> dict[str, Any]:
    """The certificate with the other sign at the compressor's multiplier."""
    wrong = f"-{record['multipliers']['compressor']}"
    return {**record, "multipliers": {**record["multipliers"], "compressor": wrong}}


MUTANTS: dict[str, Mutant] = {
    "ef_tight_rate_root": wrong_bound("ef_tight_rate", "θ for θ²", sympy.sqrt, "rational"),
    "ef21_tight_rate_square": wrong_bound(
        "ef21_tight_rate", "θ⁴ for θ²", lambda bound: bound**2, "rational", "property"
    ),
    "ef_tight_rate_multiplier_sign": Mutant(
        "ef_tight_rate",
        "−ν for ν, the multiplier of the compressor",
        lambda: ((rates.__dict__, "rate_certificates", lambda: list(map(_negated, rate_certificates()))),),
        ("rational",),
    ),
    "ef_heterogeneous_distance_square": wrong_bound(
        "ef_heterogeneous_distance", "η for η²", lambda bound: bound / eta, "smt", "rational", "property"
    ),
    "ef_small_delta_smoothness": wrong_bound(
        "ef_small_delta", "L for L + μ", lambda bound: bound * L / (L + mu), "smt", "property"
    ),
    "ef_tight_step_sign": wrong_bound(
        "ef_tight_step",
        "1 + s for 1 − s",
        lambda bound: bound * (1 + sympy.sqrt(epsilon)) / (1 - sympy.sqrt(epsilon)),
        "property",
    ),
    "decayed_tight_rate_root": wrong_bound("decayed_tight_rate", "θ for θ²", sympy.sqrt, "numeric", "property"),
    "decayed_rate_lower_decay": wrong_bound(
        "decayed_rate_lower",
        "the rate of β = 1 for every β",
        lambda bound: bound.subs(residual_decay, 1),
        "smt",
        "property",
    ),
    "compressed_descent_rate_sign": wrong_bound(
        "compressed_descent_rate",
        "1 − s and 1 + s exchanged",
        lambda bound: bound.subs(sympy.sqrt(epsilon), -sympy.sqrt(epsilon)),
        "rational",
        "property",
    ),
    "gossip_rate_root": wrong_bound(
        "gossip_rate", "θ for θ²", lambda bound: sympy.sqrt(bound), "rational", "numeric", "property"
    ),
    "gossip_mixing_uncompressed": wrong_bound(
        "gossip_mixing",
        "the strength without compression",
        lambda bound: bound.subs(epsilon, 0),
        "smt",
        "property",
    ),
    "gossip_steps_widest": wrong_bound(
        "gossip_steps", "β for ρ + β", lambda bound: bound * widest_gap / (spectral_gap + widest_gap), "smt", "property"
    ),
}
"""Every mutant of these statements, by name."""
