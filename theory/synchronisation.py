"""When is it worth waiting for one another? The family of statements on synchronisation.

Barriers and their times are in `theory/barriers.py`, planned and elastic ones in `theory/elastic_barriers.py`,
`theory/look_ahead.py` and `theory/superstep_regret.py`, sampled ones in `theory/sampling_barriers.py` and
`theory/regret_tails.py`; mixing without a server in `theory/mixing.py`, `theory/mixing_epochs.py` and
`theory/grid_rates.py`; what random delays and late commits do in `theory/perturbations.py`, and what coherent stale
gradients do in `theory/coherent_descent.py`. Bounded staleness is in the family on delay.
"""

from sparsync.theory.barriers import (
    adsp_waiting_share,
    backup_waiting,
    osp_speed_up,
    osp_time,
    selsync_share,
    selsync_speed_up,
)
from sparsync.theory.coherent_descent import coherence_rate
from sparsync.theory.elastic_barriers import dssp_lead, dssp_regret, zipline_sweep, zipline_two_workers
from sparsync.theory.grid_rates import ds_sync_rate, grid_mean_disagreement
from sparsync.theory.look_ahead import zipline_waiting
from sparsync.theory.mixing import grid_disagreement, grid_mixing, mixing_mean
from sparsync.theory.mixing_epochs import epoch_disagreement
from sparsync.theory.perturbations import additive_perturbation, geometric_staleness
from sparsync.theory.regret_tails import regret_tail_bound
from sparsync.theory.sampling_barriers import (
    psp_lag_mean,
    psp_lag_second_moment,
    psp_pass_bound,
    psp_pass_probability,
)
from sparsync.theory.statement import Statement
from sparsync.theory.superstep_regret import arrival_regret, elastic_lead, elastic_regret

STATEMENTS: dict[str, Statement] = {
    "osp_time": osp_time(),
    "osp_speed_up": osp_speed_up(),
    "selsync_speed_up": selsync_speed_up(),
    "selsync_share": selsync_share(),
    "backup_waiting": backup_waiting(),
    "adsp_waiting_share": adsp_waiting_share(),
    "psp_pass_probability": psp_pass_probability(),
    "psp_pass_bound": psp_pass_bound(),
    "psp_lag_mean": psp_lag_mean(),
    "psp_lag_second_moment": psp_lag_second_moment(),
    "regret_tail": regret_tail_bound(),
    "zipline_sweep": zipline_sweep(),
    "zipline_two_workers": zipline_two_workers(),
    "zipline_waiting": zipline_waiting(),
    "dssp_lead": dssp_lead(),
    "dssp_regret": dssp_regret(),
    "elastic_lead": elastic_lead(),
    "elastic_regret": elastic_regret(),
    "arrival_regret": arrival_regret(),
    "grid_mixing": grid_mixing(),
    "grid_disagreement": grid_disagreement(),
    "grid_mean_disagreement": grid_mean_disagreement(),
    "ds_sync_rate": ds_sync_rate(),
    "mixing_mean": mixing_mean(),
    "epoch_disagreement": epoch_disagreement(),
    "coherence_rate": coherence_rate(),
    "geometric_staleness": geometric_staleness(),
    "additive_perturbation": additive_perturbation(),
}
"""The statements of this family, by label."""
