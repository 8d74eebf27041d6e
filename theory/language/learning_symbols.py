"""Letters of the statements on curvature, distance correlation, bytes of private learning, and consensus.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

cut_values = sympy.Symbol("cut_values", integer=True, positive=True)
"""Number q of values at the cut of a split network, of one example."""
example_count = sympy.Symbol("example_count", positive=True)
"""Number p of examples of all clients."""
value_bytes = sympy.Symbol("value_bytes", positive=True)
"""Bytes s of a value that travels."""
index_bytes = sympy.Symbol("index_bytes", positive=True)
"""Bytes j of a position that travels."""
label_bytes = sympy.Symbol("label_bytes", nonnegative=True)
"""Bytes ℓ of a label that travels; 0 where labels stay."""
passed_count = sympy.Symbol("passed_count", nonnegative=True)
"""Parameters h that a client hands to the next, once an epoch: ηN of N, or 0 where everybody keeps its own."""
round_count = sympy.Symbol("round_count", positive=True)
"""Exchanges R of an epoch."""
split_bytes = sympy.Symbol("split_bytes", nonnegative=True)
"""Bytes of an epoch of split learning."""
federated_bytes = sympy.Symbol("federated_bytes", nonnegative=True)
"""Bytes of an epoch of federated averaging."""
large_batch_bytes = sympy.Symbol("large_batch_bytes", nonnegative=True)
"""Bytes of an epoch of synchronous SGD through a server."""
ring_bytes = sympy.Symbol("ring_bytes", nonnegative=True)
"""Bytes of an epoch of synchronous SGD with ring all-reduces."""
selected_bytes = sympy.Symbol("selected_bytes", nonnegative=True)
"""Bytes of an epoch of federated averaging with selected entries."""
split_crossover = sympy.Symbol("split_crossover", real=True)
"""Number of examples at which split learning and federated averaging send equally much."""
batch_crossover = sympy.Symbol("batch_crossover", positive=True)
"""Batch at which split learning and synchronous SGD send equally much."""
safe_density = sympy.Symbol("safe_density", positive=True)
"""Largest density at which selected entries never cost more than all of them."""
mean_union = sympy.Symbol("mean_union", nonnegative=True)
"""E|∪_i S_i| of the sets S_i of n clients."""
union_size = sympy.Symbol("union_size", integer=True, nonnegative=True)
"""|∪_i S_i|."""
unmasked_sum = sympy.Symbol("unmasked_sum", real=True)
"""What a server is left with when it has taken off the masks that it knows, modulo 2^w."""
input_sum = sympy.Symbol("input_sum", real=True)
"""Sum of the integers of the clients that survive."""
unknown_masks = sympy.Symbol("unknown_masks", real=True)
"""Sum, with their signs, of the masks in the survivors' messages that the server could not take off."""
fixed_scale = sympy.Symbol("fixed_scale", positive=True)
"""Steps of a fixed-point number per unit."""
magnitude_bound = sympy.Symbol("magnitude_bound", nonnegative=True)
"""Largest magnitude of a number that a client adds."""
encoding_error = sympy.Symbol("encoding_error", nonnegative=True)
"""|decoded sum − sum|."""
encoded_magnitude = sympy.Symbol("encoded_magnitude", nonnegative=True)
"""|sum of the integers|."""
clip_norm = sympy.Symbol("clip_norm", positive=True)
"""Length C to which the gradient of an example is shortened."""
clipped_move = sympy.Symbol("clipped_move", nonnegative=True)
"""‖Σ clip(g) with an example − that without‖."""
largest_entry = sympy.Symbol("largest_entry", positive=True)
"""The largest entry a of a sum."""
selected_move = sympy.Symbol("selected_move", nonnegative=True)
"""max ‖Top_k(sum with an example) − Top_k(sum without)‖²."""
order = sympy.Symbol("order", integer=True, positive=True)
"""Order α of a Rényi divergence."""
sample_share = sympy.Symbol("sample_share", positive=True)
"""Probability q with which an example is in a step."""
noise_ratio = sympy.Symbol("noise_ratio", positive=True)
"""Deviation σ of the noise over the clipping length."""
renyi_divergence = sympy.Symbol("renyi_divergence", nonnegative=True)
"""Rényi divergence of a private step with an example from that without."""
loss_factor = sympy.Symbol("loss_factor", positive=True)
"""e^ε of (ε, δ)-differential privacy."""
loss_excess = sympy.Symbol("loss_excess", nonnegative=True)
"""δ of (ε, δ)-differential privacy."""
membership_advantage = sympy.Symbol("membership_advantage", real=True)
"""Share of members that an attack names, less the share of others that it names."""

LATEX_NAMES: dict[sympy.Symbol, str] = {
    cut_values: "q",
    example_count: "p",
    value_bytes: "s",
    index_bytes: "j",
    label_bytes: r"\ell",
    passed_count: "h",
    round_count: "R",
    split_bytes: r"\text{bytes, split}",
    federated_bytes: r"\text{bytes, federated}",
    large_batch_bytes: r"\text{bytes, large batch}",
    ring_bytes: r"\text{bytes, ring}",
    selected_bytes: r"\text{bytes, selected}",
    split_crossover: "p^{*}",
    batch_crossover: "B^{*}",
    safe_density: r"\kappa^{*}",
    mean_union: r"\mathbb{E}\,|\bigcup_i S_i|",
    union_size: r"|\bigcup_i S_i|",
    unmasked_sum: r"\text{unmasked sum}",
    input_sum: r"\sum_{i\in S}x_i",
    unknown_masks: "M",
    fixed_scale: "r",
    magnitude_bound: "b",
    encoding_error: r"|\text{decoded sum}-\sum_i x_i|",
    encoded_magnitude: r"|\text{sum of the integers}|",
    clip_norm: "C",
    clipped_move: r"\lVert\sum_{i}\mathrm{clip}(g_i)-\sum_{i\neq l}\mathrm{clip}(g_i)\rVert",
    largest_entry: "a",
    selected_move: r"\max\lVert\mathrm{Top}_k(g+v)-\mathrm{Top}_k(g)\rVert^{2}",
    order: r"\alpha",
    sample_share: "q",
    noise_ratio: r"\sigma",
    renyi_divergence: r"D_{\alpha}",
    loss_factor: r"e^{\epsilon}",
    loss_excess: r"\delta",
    membership_advantage: r"\mathrm{TPR}-\mathrm{FPR}",
}
"""How they print."""
