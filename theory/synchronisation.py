"""When is it worth waiting for one another? The family of statements on synchronisation.

Barriers and their times are in `theory/barriers.py`, planned and elastic ones in `theory/elastic_barriers.py` and
`theory/look_ahead.py`, sampled ones in `theory/sampling_barriers.py`; mixing without a server in `theory/mixing.py`;
what random delays and late commits do in `theory/perturbations.py`. Bounded staleness is in the family on delay.
"""

from sparsync.theory.barriers import (
    adsp_waiting_share,
    backup_waiting,
    osp_speed_up,
    osp_time,
    selsync_share,
    selsync_speed_up,
)
from sparsync.theory.elastic_barriers import dssp_lead, dssp_regret, zipline_sweep, zipline_two_workers
from sparsync.theory.look_ahead import zipline_waiting
from sparsync.theory.mixing import grid_disagreement, grid_mixing, mixing_mean
from sparsync.theory.perturbations import additive_perturbation, geometric_staleness
from sparsync.theory.sampling_barriers import (
    psp_lag_mean,
    psp_lag_second_moment,
    psp_pass_bound,
    psp_pass_probability,
)
from sparsync.theory.statement import Statement

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
    "zipline_sweep": zipline_sweep(),
    "zipline_two_workers": zipline_two_workers(),
    "zipline_waiting": zipline_waiting(),
    "dssp_lead": dssp_lead(),
    "dssp_regret": dssp_regret(),
    "grid_mixing": grid_mixing(),
    "grid_disagreement": grid_disagreement(),
    "mixing_mean": mixing_mean(),
    "geometric_staleness": geometric_staleness(),
    "additive_perturbation": additive_perturbation(),
}
"""The statements of this family, by label."""
