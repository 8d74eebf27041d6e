"""Letters of the statements on samples, densities, shares and shards.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

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
telling_rounds = sympy.Symbol("telling_rounds", integer=True, positive=True)
"""Number R of rounds in which ranks tell samples; in the last one, all keys in doubt."""
told_count = sympy.Symbol("told_count", nonnegative=True)
"""Samples that are told in R rounds, for the best lengths of segments, were they no whole numbers."""
merged_bytes = sympy.Symbol("merged_bytes", nonnegative=True)
"""Bytes that all ranks send in a tree of pairwise merges that keep k entries."""

# Densities and switches.

greedy_energy = sympy.Symbol("greedy_energy", nonnegative=True)
"""Σ_l E_l(k_l) of the counts that are raised one by one, E_l(k) the sum of the k largest squares of layer l."""
largest_energy = sympy.Symbol("largest_energy", nonnegative=True)
"""The largest Σ_l E_l(k_l) of all counts that keep within every capacity."""
captured_energy = sympy.Symbol("captured_energy", nonnegative=True)
"""Σ_l E_l(k_l) of any counts."""
priced_capacity = sympy.Symbol("priced_capacity", nonnegative=True)
"""Σ_b p_b C_b: a price p_b ≥ 0 for each entry of capacity C_b."""
squares_above = sympy.Symbol("squares_above", nonnegative=True)
"""Σ_{l,i} (v_{l,i} − λ_l)_+: by how much the squares of layer l exceed λ_l, the sum of the prices that it pays."""
entry_gain = sympy.Symbol("entry_gain", positive=True)
"""c, to which δ/κ tends as κ → 0."""
fixed_seconds = sympy.Symbol("fixed_seconds", positive=True)
"""a: seconds of a step besides those in which entries travel."""
dense_seconds = sympy.Symbol("dense_seconds", positive=True)
"""b: seconds that a sparse all-gather of all d entries would take beyond a."""
whole_steps = sympy.Symbol("whole_steps", positive=True)
"""N: steps to the tolerance where every entry is sent."""
run_seconds = sympy.Symbol("run_seconds", positive=True)
"""Seconds to the tolerance."""
least_run_seconds = sympy.Symbol("least_run_seconds", positive=True)
"""The least seconds to the tolerance, over all densities."""
sparse_crossover = sympy.Symbol("sparse_crossover", positive=True)
"""The b/a at which the best density takes as long as the ring that sends every entry."""
synchronous_seconds = sympy.Symbol("synchronous_seconds", positive=True)
"""s: seconds of n reports that wait for each other."""
asynchronous_seconds = sympy.Symbol("asynchronous_seconds", positive=True)
"""r: seconds of n reports that wait for nobody."""
later_updates = sympy.Symbol("later_updates", integer=True, nonnegative=True)
"""h: updates of n reports from the switch on."""
restart_seconds = sympy.Symbol("restart_seconds", nonnegative=True)
"""o: seconds of the switch itself."""
saved_seconds = sympy.Symbol("saved_seconds", real=True)
"""Seconds of a run that never switches less those of one that does."""

# Shares.

flat_time = sympy.Symbol("flat_time", nonnegative=True)
"""Time F = max_i (c_i + m_i x_i) that the slowest worker takes for next to nothing."""
logical_count = sympy.Symbol("logical_count", integer=True, positive=True)
"""Number E of logical workers of a job."""
overload = sympy.Symbol("overload", positive=True)
"""Overload f = max_i A_i/C_i of devices of type i that host A_i logical workers."""
total_capability = sympy.Symbol("total_capability", positive=True)
"""Σ_i N_i C_i, the steps of logical workers per unit of time that all devices could do."""
best_gain = sympy.Symbol("best_gain", real=True)
"""The largest sum of what jobs gain from their devices."""
averager_count = sympy.Symbol("averager_count", integer=True, positive=True)
"""Number m of the n peers that average; the others are clients."""
total_bandwidth = sympy.Symbol("total_bandwidth", positive=True)
"""Σ_i b_i over the peers that average, in vectors per unit of time."""
least_bandwidth = sympy.Symbol("least_bandwidth", positive=True)
"""The least b_i of the peers that average."""
largest_bandwidth = sympy.Symbol("largest_bandwidth", positive=True)
"""The largest b_i of the peers that average."""
gradient_share = sympy.Symbol("gradient_share", positive=True)
"""Part α of a whole vector that one gradient has as it travels."""
mean_share = sympy.Symbol("mean_share", positive=True)
"""Part β of a whole vector that the mean has as it travels."""
entry_cost = sympy.Symbol("entry_cost", positive=True)
"""Number e of values that cost as much as one entry with its index."""
parts_time = sympy.Symbol("parts_time", nonnegative=True)
"""Least time of the slowest worker over all splits of a batch in parts of examples."""
waste = sympy.Symbol("waste", nonnegative=True)
"""Σ_i N_i(C_i − A_i/f) + (Σ_i N_i A_i − E)/f, steps per unit of time that devices could have done."""
greedy_gain = sympy.Symbol("greedy_gain", real=True)
"""The sum of what jobs gain if each device goes where it gains most."""
butterfly_seconds = sympy.Symbol("butterfly_seconds", nonnegative=True)
"""Least time of the slowest peer of a butterfly all-reduce over all shares."""
whole_seconds = sympy.Symbol("whole_seconds", nonnegative=True)
"""Time of the slowest peer of a butterfly whose d values are shared by the rule of Hagenbach-Bischoff."""
scattered_seconds = sympy.Symbol("scattered_seconds", nonnegative=True)
"""Least time of the slowest peer of a butterfly of gradients that have little in common."""
exchange_factor = sympy.Symbol("exchange_factor", nonnegative=True)
"""Time of a butterfly of equal peers that send sparse gradients, over that of whole vectors."""

# Sharding.

state_bytes = sympy.Symbol("state_bytes", positive=True)
"""Bytes c of a parameter, its gradient and what the optimiser keeps of it."""
sample_bytes = sympy.Symbol("sample_bytes", positive=True)
"""Bytes a that a sample leaves for the backward pass."""
sample_seconds = sympy.Symbol("sample_seconds", positive=True)
"""Seconds t that a device computes on a sample."""
memory_bytes = sympy.Symbol("memory_bytes", positive=True)
"""Bytes M of a device."""
least_state_bytes = sympy.Symbol("least_state_bytes", nonnegative=True)
"""Bytes S of states that a device keeps at least."""
least_exchange_seconds = sympy.Symbol("least_exchange_seconds", nonnegative=True)
"""Seconds T of communication that a step takes at least."""
sharding_ratio = sympy.Symbol("sharding_ratio", positive=True)
"""Seconds of communication of a sharded operator, to those of a replicated one."""
replica_density = sympy.Symbol("replica_density", positive=True)
"""Largest density κ* ≤ 1 at which a replicated operator takes no longer than a sharded one."""
residual_bytes = sympy.Symbol("residual_bytes", nonnegative=True)
"""Bytes r of what error feedback keeps of a parameter."""
moving_density = sympy.Symbol("moving_density", nonnegative=True)
"""Largest density at which replicas are in a quickest plan; 0 where they are in none."""
replica_price = sympy.Symbol("replica_price", positive=True)
"""Seconds that replicating an operator saves, to the bytes that it takes more."""
split_choices = sympy.Symbol("split_choices", integer=True, nonnegative=True)
"""Number of choices that are taken neither whole nor not at all."""
relaxation_excess = sympy.Symbol("relaxation_excess", nonnegative=True)
"""Seconds of the best whole choice, less those of the relaxation."""
sample_throughput = sympy.Symbol("sample_throughput", nonnegative=True)
"""Samples per second of all devices."""

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
    telling_rounds: "R",
    told_count: r"\min_L\,\text{samples told}",
    merged_bytes: r"\text{bytes, tree of merges}",
    greedy_energy: r"\sum_lE_l(k_l^{\mathrm{greedy}})",
    largest_energy: r"\max_k\sum_lE_l(k_l)",
    captured_energy: r"\sum_lE_l(k_l)",
    priced_capacity: r"\sum_bp_bC_b",
    squares_above: r"\sum_{l,i}(v_{l,i}-\lambda_l)_{+}",
    entry_gain: "c",
    fixed_seconds: "a",
    dense_seconds: "b",
    whole_steps: "N",
    run_seconds: r"\text{seconds}",
    least_run_seconds: r"\min_{\kappa}\text{seconds}",
    sparse_crossover: r"(\frac{b}{a})^{*}",
    synchronous_seconds: "s",
    asynchronous_seconds: "r",
    later_updates: "h",
    restart_seconds: "o",
    saved_seconds: r"\text{seconds saved}",
    flat_time: "F",
    logical_count: "E",
    overload: "f",
    total_capability: r"\sum_iN_iC_i",
    best_gain: "G",
    averager_count: "m",
    total_bandwidth: r"b_{\Sigma}",
    least_bandwidth: r"b_{\min}",
    largest_bandwidth: r"b_{\max}",
    gradient_share: r"\alpha",
    mean_share: r"\beta",
    entry_cost: "e",
    parts_time: r"\text{time of parts of examples}",
    waste: r"\text{waste}",
    greedy_gain: r"\text{sum of the greedy division}",
    butterfly_seconds: r"\min_w\max_i\frac{1+(n-2)w_i}{b_i}",
    whole_seconds: r"\max_i\frac{d+(n-2)d_i}{b_i}",
    scattered_seconds: r"\min_w\max_it_i",
    exchange_factor: r"\frac{\text{time}}{\text{time of whole vectors}}",
    state_bytes: "c",
    sample_bytes: "a",
    sample_seconds: "t",
    memory_bytes: "M",
    least_state_bytes: "S",
    least_exchange_seconds: "T",
    sharding_ratio: r"\frac{\text{seconds sharded}}{\text{seconds replicated}}",
    replica_density: r"\kappa^{*}",
    residual_bytes: "r",
    moving_density: r"\kappa^{*}",
    replica_price: r"\frac{\text{seconds saved}}{\text{bytes more}}",
    split_choices: r"\text{divided choices}",
    relaxation_excess: r"\text{seconds}-\text{seconds relaxed}",
    sample_throughput: r"\text{samples per second}",
}
"""How they print."""
