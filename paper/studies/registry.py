"""Every study of the paper, in the order of the text. A new one is a file or a folder here and a line below."""

from __future__ import annotations

from paper.studies import (
    advice,
    barriers,
    budgets,
    contraction,
    decays,
    density_costs,
    elastic,
    engine_speed,
    hook_cost,
    kernels,
    ledger,
    overview,
    phases,
    quadratics,
    real_races,
    refinement,
    sampled_lags,
    staleness,
    steady_state,
    switching,
)
from paper.studies.convergence import study as convergence
from paper.studies.gradient_laws import study as gradient_laws
from paper.studies.headlines import study as headlines
from paper.studies.learning import kfac, private, self_paced, split
from paper.studies.links import study as links
from paper.studies.original import study as original
from paper.studies.planning import (
    crossovers,
    farms,
    global_selection,
    layer_densities,
    planning_seconds,
    predicted_steps,
    scaling,
    sequence_groups,
    sharded_plans,
    streams,
)
from paper.studies.races import study as races
from paper.studies.study import Study
from paper.studies.variants import study as variants

STUDIES: dict[str, Study] = {
    "ledger": ledger.STUDY,
    "contraction": contraction.STUDY,
    "phases": phases.STUDY,
    "steady_state": steady_state.STUDY,
    "gradient_laws": gradient_laws.STUDY,
    "quadratics": quadratics.STUDY,
    "decays": decays.STUDY,
    "density_costs": density_costs.STUDY,
    "refinement": refinement.STUDY,
    "kernels": kernels.STUDY,
    "hook_cost": hook_cost.STUDY,
    "convergence": convergence.STUDY,
    "variants": variants.STUDY,
    "kfac": kfac.STUDY,
    "links": links.STUDY,
    "planning_seconds": planning_seconds.STUDY,
    "predicted_steps": predicted_steps.STUDY,
    "elastic": elastic.STUDY,
    "engine_speed": engine_speed.STUDY,
    "races": races.STUDY,
    "barriers": barriers.STUDY,
    "sampled_lags": sampled_lags.STUDY,
    "switching": switching.STUDY,
    "budgets": budgets.STUDY,
    "staleness": staleness.STUDY,
    "real_races": real_races.STUDY,
    "advice": advice.STUDY,
    "split": split.STUDY,
    "private": private.STUDY,
    "farms": farms.STUDY,
    "streams": streams.STUDY,
    "headlines": headlines.STUDY,
    "self_paced": self_paced.STUDY,
    "global_selection": global_selection.STUDY,
    "crossovers": crossovers.STUDY,
    "scaling": scaling.STUDY,
    "original": original.STUDY,
    "layer_densities": layer_densities.STUDY,
    "sharded_plans": sharded_plans.STUDY,
    "sequence_groups": sequence_groups.STUDY,
    "overview": overview.STUDY,
}
"""By the name of the study's file."""
