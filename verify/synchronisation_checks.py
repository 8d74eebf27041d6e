"""What evidence is there for the statements on synchronisation, besides their derivations? One file per theme.

Barriers' times in `verify/barrier_checks.py`, planned and elastic barriers in `verify/elastic_barrier_checks.py` and
`verify/superstep_checks.py`, sampled ones in `verify/sampling_barrier_checks.py` and `verify/regret_tail_checks.py`,
mixing in `verify/mixing_checks.py`, `verify/epoch_checks.py` and `verify/grid_rate_checks.py`, random delays and late
commits in `verify/perturbation_checks.py`, coherent stale gradients in `verify/coherence_checks.py`. Ours.
"""

from sparsync.verify import (
    barrier_checks,
    coherence_checks,
    elastic_barrier_checks,
    epoch_checks,
    grid_rate_checks,
    mixing_checks,
    perturbation_checks,
    regret_tail_checks,
    sampling_barrier_checks,
    superstep_checks,
)
from sparsync.verify.outcome import Check, Grade

CHECKS: dict[str, dict[Grade, Check]] = {
    **barrier_checks.CHECKS,
    **sampling_barrier_checks.CHECKS,
    **regret_tail_checks.CHECKS,
    **elastic_barrier_checks.CHECKS,
    **superstep_checks.CHECKS,
    **mixing_checks.CHECKS,
    **grid_rate_checks.CHECKS,
    **epoch_checks.CHECKS,
    **perturbation_checks.CHECKS,
    **coherence_checks.CHECKS,
}
"""Every check of this family, by label and grade."""
