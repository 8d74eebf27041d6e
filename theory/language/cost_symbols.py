"""Letters of the statements on the cost of messages, supersteps, farms and buckets.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

# Collectives.

message_seconds = sympy.Symbol("message_seconds", nonnegative=True)
"""Time α of a message, whatever it holds; between nodes where there are nodes."""
byte_seconds = sympy.Symbol("byte_seconds", positive=True)
"""Time β of a byte that travels; between nodes where there are nodes."""
merge_seconds = sympy.Symbol("merge_seconds", nonnegative=True)
"""Time γ in which a worker adds a byte that it received to what it has."""
inner_message_seconds = sympy.Symbol("inner_message_seconds", nonnegative=True)
"""Time α₁ of a message between two workers of a node."""
inner_byte_seconds = sympy.Symbol("inner_byte_seconds", positive=True)
"""Time β₁ of a byte that travels between two workers of a node."""
doubling_count = sympy.Symbol("doubling_count", integer=True, nonnegative=True)
"""Number D = ⌈log₂ n⌉ of rounds in which one worker's word can reach n."""
node_workers = sympy.Symbol("node_workers", integer=True, positive=True)
"""Number m of workers of a node."""
node_count = sympy.Symbol("node_count", integer=True, positive=True)
"""Number g of nodes."""
node_union_size = sympy.Symbol("node_union_size", integer=True, nonnegative=True)
"""Number u of coordinates that some worker of a node selected, the same at every node."""
union_ratio = sympy.Symbol("union_ratio", positive=True)
"""Coordinates r ≥ 1 that some worker selected, for each of one worker's."""
node_union_ratio = sympy.Symbol("node_union_ratio", positive=True)
"""Coordinates r₁ ≥ 1 that some worker of a node selected, for each of one worker's."""
collective_seconds = sympy.Symbol("collective_seconds", nonnegative=True)
"""Time until the last worker has the result of a collective."""
crossover_density = sympy.Symbol("crossover_density", nonnegative=True)
"""Density κ* up to which a sparse collective is faster than a dense one, of all that there can be."""
density_limit = sympy.Symbol("density_limit", nonnegative=True)
"""Limit of κ* for many workers."""
doublings_density_limit = sympy.Symbol("doublings_density_limit", nonnegative=True)
"""Limit of Dκ* for many workers."""
workers_density_limit = sympy.Symbol("workers_density_limit", nonnegative=True)
"""Limit of nκ* for many workers."""
workers_times_density = sympy.Symbol("workers_times_density", nonnegative=True)
"""nκ*."""
crossover_workers = sympy.Symbol("crossover_workers", positive=True)
"""Number n* of workers with which an all-gather of payloads takes as long as an all-reduce."""

# Farms, hypersteps and buckets.

latency = sympy.Symbol("latency", positive=True)
"""Latency L of a message, whatever it carries."""
send_time = sympy.Symbol("send_time", positive=True)
"""Time t_s in which what the master tells one worker passes, without the latency."""
receive_time = sympy.Symbol("receive_time", nonnegative=True)
"""Time t_r in which the answers of all workers pass, without their latencies."""
master_time = sympy.Symbol("master_time", nonnegative=True)
"""Time t_p in which the master makes the next approximation of the answers."""
work_time = sympy.Symbol("work_time", positive=True)
"""Time t_w in which one worker alone does the whole list."""
farm_size = sympy.Symbol("farm_size", integer=True, positive=True)
"""Number K of workers of a farm, besides the master."""
dispatch_time = sympy.Symbol("dispatch_time", positive=True)
"""Time a in which the master tells one worker what to do."""
collect_time = sympy.Symbol("collect_time", positive=True)
"""Time b in which the master takes one worker's answer."""
payload_share = sympy.Symbol("payload_share", positive=True)
"""Share ρ of t_s that is left where only some entries are sent, positions included; it may be above 1."""
list_length = sympy.Symbol("list_length", integer=True, positive=True)
"""Number ℓ of parts of a list, whose results are folded into one."""
map_time = sympy.Symbol("map_time", positive=True)
"""Time t_m in which one worker alone makes the results of all parts of the list."""
fold_time = sympy.Symbol("fold_time", positive=True)
"""Time t_a in which two results become one."""
round_time = sympy.Symbol("round_time", positive=True)
"""Time t_c of a message on its way down a tree and of one on its way up."""
tree_depth = sympy.Symbol("tree_depth", integer=True, nonnegative=True)
"""Depth q of a tree of 2^q workers."""
farm_time = sympy.Symbol("farm_time", positive=True)
"""Time of an iteration of a farm whose phases do not overlap."""
pipelined_farm_time = sympy.Symbol("pipelined_farm_time", positive=True)
"""The same where each begins as soon as it can."""
farm_boundary = sympy.Symbol("farm_boundary", positive=True)
"""The real number of workers, one or more, with which an iteration of a farm is shortest."""
best_farm_size = sympy.Symbol("best_farm_size", integer=True, positive=True)
"""The least number of workers with which an iteration of a farm is shortest."""
farm_speed_up = sympy.Symbol("farm_speed_up", nonnegative=True)
"""How many times as fast as one worker a farm is."""
selected_boundary = sympy.Symbol("selected_boundary", positive=True)
"""The boundary of a farm whose master sends the share ρ."""
boundary_gain = sympy.Symbol("boundary_gain", positive=True)
"""How many times as far as without a selection the boundary of a farm is."""
tree_farm_time = sympy.Symbol("tree_farm_time", positive=True)
"""Time of an iteration of 2^q workers in a tree that folds results on their way up."""
gathered_farm_time = sympy.Symbol("gathered_farm_time", positive=True)
"""The same where the master folds all of them."""
tree_boundary = sympy.Symbol("tree_boundary", positive=True)
"""The real number of workers, from one to one a part, with which an iteration in a folding tree is shortest."""
best_tree_depth = sympy.Symbol("best_tree_depth", integer=True, nonnegative=True)
"""The least depth with which an iteration in a folding tree is shortest."""
gathered_boundary = sympy.Symbol("gathered_boundary", positive=True)
"""The same where the master folds all results."""
superstep_work = sympy.Symbol("superstep_work", nonnegative=True)
"""Most operations w of a processor in a superstep."""
relation_size = sympy.Symbol("relation_size", integer=True, nonnegative=True)
"""Most words h that a processor sends, or takes, in a superstep."""
word_cost = sympy.Symbol("word_cost", nonnegative=True)
"""Operations g in whose time every processor can send one word and take one."""
barrier_cost = sympy.Symbol("barrier_cost", nonnegative=True)
"""Operations l in whose time all processors meet."""
fetch_cost = sympy.Symbol("fetch_cost", nonnegative=True)
"""Operations e in whose time a word of external memory is read or written."""
token_words = sympy.Symbol("token_words", nonnegative=True)
"""Words C of all tokens that a processor fetches in a hyperstep."""
hyperstep_work = sympy.Symbol("hyperstep_work", nonnegative=True)
"""Time T of the supersteps of each of some equal hypersteps."""
hyperstep_count = sympy.Symbol("hyperstep_count", integer=True, positive=True)
"""Number H of hypersteps."""
computing_total = sympy.Symbol("computing_total", nonnegative=True)
"""Time W = Σ_h T_h of the supersteps of all hypersteps."""
fetching_total = sympy.Symbol("fetching_total", nonnegative=True)
"""Time E = Σ_h eC_h in which all tokens are fetched."""
mismatch_total = sympy.Symbol("mismatch_total", nonnegative=True)
"""D, by how much computing and fetching differ in all hypersteps, or those of two neighbours."""
superstep_time = sympy.Symbol("superstep_time", nonnegative=True)
"""Time of a superstep."""
streamed_time = sympy.Symbol("streamed_time", nonnegative=True)
"""Time of hypersteps whose tokens are fetched during the one before."""
whole_stream_time = sympy.Symbol("whole_stream_time", nonnegative=True)
"""The same from the first word that is fetched to the last operation."""
unoverlapped_time = sympy.Symbol("unoverlapped_time", nonnegative=True)
"""Time of hypersteps whose tokens are fetched while nothing is computed."""
matrix_side = sympy.Symbol("matrix_side", integer=True, positive=True)
"""Rows n of square matrices."""
outer_count = sympy.Symbol("outer_count", integer=True, positive=True)
"""Outer blocks M along a side of a matrix."""
grid_side = sympy.Symbol("grid_side", integer=True, positive=True)
"""Processors N along a side of a grid."""
block_side = sympy.Symbol("block_side", positive=True)
"""Rows k = n/M of an outer block."""
cannon_time = sympy.Symbol("cannon_time", nonnegative=True)
"""Time of Cannon's product over outer blocks."""
cannon_sent_words = sympy.Symbol("cannon_sent_words", nonnegative=True)
"""Words that all processors send in Cannon's product over outer blocks."""
cannon_external_words = sympy.Symbol("cannon_external_words", nonnegative=True)
"""Words that all processors read and write in external memory for it."""
cannon_balance = sympy.Symbol("cannon_balance", nonnegative=True)
"""The largest e with which computing hides what Cannon's product fetches."""
vector_length = sympy.Symbol("vector_length", integer=True, positive=True)
"""Entries n of a vector."""
core_count = sympy.Symbol("core_count", integer=True, positive=True)
"""Number p of processors."""
inner_product_time = sympy.Symbol("inner_product_time", nonnegative=True)
"""Time of an inner product of two streams."""
forward_time = sympy.Symbol("forward_time", nonnegative=True)
"""Time T_f of a forward pass."""
bucket_count = sympy.Symbol("bucket_count", integer=True, positive=True)
"""Number B of buckets of a gradient."""
bucket_backward = sympy.Symbol("bucket_backward", positive=True)
"""Time c of the backward pass through each of equal buckets."""
bucket_sending = sympy.Symbol("bucket_sending", positive=True)
"""Time t in which each of equal buckets is sent."""
first_backward = sympy.Symbol("first_backward", positive=True)
"""Time c_1 after which the first bucket is ready."""
last_sending = sympy.Symbol("last_sending", positive=True)
"""Time t_B in which the last bucket is sent."""
backward_total = sympy.Symbol("backward_total", positive=True)
"""Time W of the whole backward pass."""
sending_total = sympy.Symbol("sending_total", positive=True)
"""Time S in which all buckets are sent."""
message_latency = sympy.Symbol("message_latency", positive=True)
"""Time α of a message that does not depend on its bytes."""
gradient_bytes = sympy.Symbol("gradient_bytes", positive=True)
"""Bytes m of what is sent of a gradient."""
equal_makespan = sympy.Symbol("equal_makespan", positive=True)
"""Time from the start of the forward pass to the end of the last of equal buckets."""
bucket_makespan = sympy.Symbol("bucket_makespan", positive=True)
"""The same of buckets of any sizes."""
best_bucket_count = sympy.Symbol("best_bucket_count", integer=True, positive=True)
"""The least number of equal buckets with which a step is shortest."""

LATEX_NAMES: dict[sympy.Symbol, str] = {
    message_seconds: r"\alpha",
    byte_seconds: r"\beta",
    merge_seconds: r"\gamma",
    inner_message_seconds: r"\alpha_1",
    inner_byte_seconds: r"\beta_1",
    doubling_count: "D",
    node_workers: "m",
    node_count: "g",
    node_union_size: "u",
    union_ratio: "r",
    node_union_ratio: "r_1",
    collective_seconds: r"\text{seconds}",
    crossover_density: r"\kappa^{*}",
    density_limit: r"\lim_{n\to\infty}\kappa^{*}",
    doublings_density_limit: r"\lim_{n\to\infty}D\kappa^{*}",
    workers_density_limit: r"\lim_{n\to\infty}n\kappa^{*}",
    workers_times_density: r"n\kappa^{*}",
    crossover_workers: "n^{*}",
    latency: "L",
    send_time: "t_s",
    receive_time: "t_r",
    master_time: "t_p",
    work_time: "t_w",
    farm_size: "K",
    dispatch_time: "a",
    collect_time: "b",
    payload_share: r"\rho",
    list_length: r"\ell",
    map_time: "t_m",
    fold_time: "t_a",
    round_time: "t_c",
    tree_depth: "q",
    farm_time: "T_K",
    pipelined_farm_time: "T_K",
    farm_boundary: "K^{*}",
    best_farm_size: r"\min\{K:T_K=\min_j T_j\}",
    farm_speed_up: r"\frac{T_1}{T_K}",
    selected_boundary: r"K^{*}(\rho)",
    boundary_gain: r"\frac{K^{*}(\rho)}{K^{*}(1)}",
    tree_farm_time: "T_{2^q}",
    gathered_farm_time: "T_{2^q}",
    tree_boundary: "K^{*}",
    best_tree_depth: r"\min\{q:T_{2^q}=\min_j T_{2^j}\}",
    gathered_boundary: "K^{*}",
    superstep_work: "w",
    relation_size: "h",
    word_cost: "g",
    barrier_cost: "l",
    fetch_cost: "e",
    token_words: "C",
    hyperstep_work: "T",
    hyperstep_count: "H",
    computing_total: "W",
    fetching_total: "E",
    mismatch_total: "D",
    superstep_time: r"\text{time of a superstep}",
    streamed_time: r"\tilde{T}",
    whole_stream_time: r"\text{time of a stream}",
    unoverlapped_time: r"\sum_h(T_h+eC_h)",
    matrix_side: "n",
    outer_count: "M",
    grid_side: "N",
    block_side: "k",
    cannon_time: r"\tilde{T}",
    cannon_sent_words: r"\text{words sent}",
    cannon_external_words: r"\text{external words}",
    cannon_balance: r"\max\{e:T\geq eC\}",
    vector_length: "n",
    core_count: "p",
    inner_product_time: r"\tilde{T}",
    forward_time: "T_f",
    bucket_count: "B",
    bucket_backward: "c",
    bucket_sending: "t",
    first_backward: "c_1",
    last_sending: "t_B",
    backward_total: "W",
    sending_total: "S",
    message_latency: r"\alpha",
    gradient_bytes: "m",
    equal_makespan: r"\text{time of a step}",
    bucket_makespan: r"\text{time of a step}",
    best_bucket_count: r"\min\{B:T_B=\min_j T_j\}",
}
"""How they print."""
