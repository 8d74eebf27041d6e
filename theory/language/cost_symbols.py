"""Letters of the statements on the cost of communication, memory and rounds.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

# Collectives.

# Farms.

# Hypersteps.

# Regular samples.
segment_length = sympy.Symbol("segment_length", integer=True, positive=True)
"""L: each rank's samples are every L-th of its keys in order."""
segment_count = sympy.Symbol("segment_count", integer=True, positive=True)
"""Number a of samples of each rank where all have as many keys, aL."""
oversampling = sympy.Symbol("oversampling", integer=True, positive=True)
"""r: L = ⌈d/(rn²)⌉, so that of equal shards each rank tells rn samples at most."""
sample_excess = sympy.Symbol("sample_excess", nonnegative=True)
"""Keys up to the m-th sample of all ranks, beyond the mL that it stands for."""
bucket_size = sympy.Symbol("bucket_size", nonnegative=True)
"""Keys of the largest bucket."""
received_count = sympy.Symbol("received_count", nonnegative=True)
"""Keys that a rank receives from others for its bucket, at most."""
sort_bytes = sympy.Symbol("sort_bytes", nonnegative=True)
"""The h-relations of a sort, added up over its supersteps, in bytes."""
best_segment = sympy.Symbol("best_segment", positive=True)
"""The L at which samples and what a bucket may have too much take fewest bytes together."""
threshold_error = sympy.Symbol("threshold_error", nonnegative=True)
"""By how much the number of keys up to a sample differs from k."""
candidate_count = sympy.Symbol("candidate_count", nonnegative=True)
"""Keys of all ranks that samples leave undecided whether they are among the first k."""
exact_bytes = sympy.Symbol("exact_bytes", nonnegative=True)
"""Bytes that all ranks send to find the k largest entries in two rounds of samples."""
told_count = sympy.Symbol("told_count", nonnegative=True)
"""Samples that are told in R rounds, for the best lengths of segments, were they no whole numbers."""
merged_bytes = sympy.Symbol("merged_bytes", nonnegative=True)
"""Bytes that all ranks send in a tree of pairwise merges that keep k entries."""

LATEX_NAMES: dict[sympy.Symbol, str] = {
    segment_length: "L",
    segment_count: "a",
    oversampling: "r",
    sample_excess: r"|\{x\leq S_m\}|-mL",
    bucket_size: r"\max_j|B_j|",
    received_count: r"\text{keys received}",
    sort_bytes: r"\text{h-relations in bytes}",
    best_segment: "L^{*}",
    threshold_error: r"||\{x\leq S_m\}|-k|",
    candidate_count: r"\text{candidates}",
    exact_bytes: r"\text{bytes, exact Top-}k",
    told_count: r"\min_L\,\text{samples told}",
    merged_bytes: r"\text{bytes, tree of merges}",
}
"""How they print."""
