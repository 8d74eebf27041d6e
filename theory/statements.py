"""Which statements are there? One dict per family, of the files in its folder; all evidence and tables run over them.

Building a statement builds formulas only; its derivation runs when `Step.holds` is called.
"""

from types import ModuleType

from sparsync.theory.contraction import (
    chunk_assignments,
    chunk_orders,
    chunks,
    ladder,
    quantised,
    sample_moments,
    samples,
    shapes,
    small_dimensions,
    ties_and_layers,
)
from sparsync.theory.cost import (
    buckets,
    butterflies,
    collectives,
    crossover_limits,
    crossovers,
    densities,
    farm_boundaries,
    farms,
    global_selection,
    hypersteps,
    node_collectives,
    regular_sampling,
    replica_plans,
    run_seconds,
    sharding,
    shares,
    streamed_products,
)
from sparsync.theory.delay import (
    decaying_regret,
    delayed_rate,
    stability,
    stale_regret,
    staleness,
    turn_stability,
    virtual_iterate,
)
from sparsync.theory.feedback import (
    averaged_rates,
    bidirectional,
    complexity,
    conservation,
    controlled,
    convex_rates,
    decay_floors,
    decayed,
    decayed_descent,
    difference_rates,
    heterogeneous,
    local_steps,
    lower_bounds,
    lyapunov_rate,
    momentum,
    rates,
    residual,
    steady_state,
    worker_rates,
)
from sparsync.theory.feedback.late import coordinate_lag, lag, sending_periods
from sparsync.theory.language.statement import Statement
from sparsync.theory.laws import (
    chunk_costs,
    chunk_laws,
    formulas,
    gamma_tails,
    gaussian_tails,
    heavy_tails,
    mixture_tails,
    stretched_tails,
    two_bit_laws,
    weibull_tails,
)
from sparsync.theory.learning import (
    byte_laws,
    compressed_consensus,
    consensus,
    curvature,
    curvature_bytes,
    distance_correlation,
    masked_sums,
    privacy_losses,
    selected_exchanges,
    self_paced,
)
from sparsync.theory.selectors import count_band, released_laws, released_rotation, released_rule
from sparsync.theory.synchronisation import (
    accumulation,
    barriers,
    batches,
    block_versions,
    coherent_descent,
    elastic_barriers,
    epoch_rates,
    grid_rates,
    growing_groups,
    look_ahead,
    mixing,
    mixing_epochs,
    perturbations,
    regret_tails,
    sampled_sums,
    sampling_barriers,
    superstep_regret,
)
from sparsync.theory.tight_rates import decayed_rates, gossip
from sparsync.theory.tight_rates import rates as tight_rates

MODULES: dict[str, tuple[ModuleType, ...]] = {
    "Contraction": (
        ladder,
        shapes,
        ties_and_layers,
        chunks,
        chunk_orders,
        chunk_assignments,
        quantised,
        samples,
        sample_moments,
        small_dimensions,
    ),
    "Laws": (
        formulas,
        gaussian_tails,
        heavy_tails,
        gamma_tails,
        stretched_tails,
        weibull_tails,
        mixture_tails,
        chunk_laws,
        chunk_costs,
        two_bit_laws,
    ),
    "Selectors": (count_band, released_rule, released_rotation, released_laws),
    "Error feedback": (
        conservation,
        residual,
        rates,
        worker_rates,
        lyapunov_rate,
        convex_rates,
        difference_rates,
        averaged_rates,
        controlled,
        momentum,
        complexity,
        steady_state,
        lag,
        coordinate_lag,
        sending_periods,
        decayed,
        local_steps,
        decayed_descent,
        decay_floors,
        lower_bounds,
        heterogeneous,
        bidirectional,
    ),
    "Tight rates": (tight_rates, decayed_rates, gossip),
    "Delay": (stability, turn_stability, delayed_rate, virtual_iterate, staleness, stale_regret, decaying_regret),
    "Synchronisation": (
        barriers,
        sampling_barriers,
        sampled_sums,
        regret_tails,
        elastic_barriers,
        look_ahead,
        superstep_regret,
        batches,
        accumulation,
        growing_groups,
        block_versions,
        mixing,
        grid_rates,
        mixing_epochs,
        epoch_rates,
        coherent_descent,
        perturbations,
    ),
    "Learning systems": (
        curvature,
        curvature_bytes,
        distance_correlation,
        byte_laws,
        selected_exchanges,
        masked_sums,
        privacy_losses,
        consensus,
        self_paced,
        compressed_consensus,
    ),
    "Cost models": (
        collectives,
        node_collectives,
        crossovers,
        crossover_limits,
        farms,
        farm_boundaries,
        hypersteps,
        streamed_products,
        buckets,
        regular_sampling,
        global_selection,
        densities,
        run_seconds,
        shares,
        butterflies,
        sharding,
        replica_plans,
    ),
}
"""The files that hold statements, by family, in the order of the paper."""

FAMILIES: dict[str, dict[str, Statement]] = {
    title: {label: statement for module in modules for label, statement in module.STATEMENTS.items()}
    for title, modules in MODULES.items()
}
"""Families by title, in the order of the paper."""

STATEMENTS: dict[str, Statement] = {
    label: statement for family in FAMILIES.values() for label, statement in family.items()
}
"""Every statement by label."""
