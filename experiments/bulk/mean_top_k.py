"""Which k entries of the mean of all ranks' vectors are largest? Two ways that begin with whole vectors.

`scattered_top_k` is exact: a reduce-scatter, after which each rank has a part of the mean, and `exact_top_k` of those.
`gathered_gaussian_k` is what training does without it: each rank selects of its own vector, all are sent all that is
selected, and average that; what is small on every rank may be large in the mean, and is missed. The third way is
gTop-k's tree, see `gtop_k.py`.
"""

from __future__ import annotations

from torch import Tensor

from sparsync.experiments.averaging.messages import Average, Conversation, Place
from sparsync.experiments.averaging.registry import procedure
from sparsync.experiments.bulk.butterfly import reduce_scatter
from sparsync.experiments.bulk.gtop_k import begun_alike
from sparsync.experiments.bulk.shard_top_k import ROUNDS, exact_top_k, share_sizes
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS


def scattered_top_k(vector: Tensor, k: int, place: Place, *, rounds: int = ROUNDS) -> Conversation[SparsePayload]:
    """Those of the k largest entries of the mean that lie in this rank's part of it; of all ranks together, exactly k.

    Args:
        vector: [d] float16, bfloat16, float32 or float64, of one length on all ranks.
        k: 1 ≤ k ≤ d.
        place: of this rank, whose part is `share_sizes(d, P)[rank]` entries.
        rounds: of `exact_top_k`.

    Raises:
        ValueError: see `reduce_scatter` and `exact_top_k`; a mean that is not finite is named on every rank alike.
    """
    scattered = yield from reduce_scatter(vector, share_sizes(len(vector), place.size), place.rank)
    return (yield from exact_top_k(scattered.total / place.size, k, place, rounds=rounds))


def gathered_gaussian_k(vector: Tensor, k: int, place: Place) -> Conversation[Average]:
    """The mean of what all ranks select by Gaussian-k, between ⌈2k/3⌉ and ⌊4k/3⌋ entries each.

    Args:
        vector: [d], of one length on all ranks.
        k: 1 ≤ k ≤ d.
        place: of this rank.

    Raises:
        ValueError: see `begun_alike`.
        ExchangeError: on every rank alike, where what arrives is not what was sent.
    """
    vector = yield from begun_alike("gathered gaussian-k", vector, k)
    payload = SELECTORS["gaussian_k"](vector, k)
    return (yield from procedure("sparse", place)(payload, 0))
