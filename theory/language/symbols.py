"""Which letter stands for what, in the paper and in every file of ours.

Each symbol carries the assumptions (integer, positive, …) that `Statement.evaluate` enforces on numbers put in its
place, and that sympy uses to decide signs. Ranks count from one: v_1 is the largest square.
"""

import sympy

from sparsync.theory.language import (
    chunk_symbols,
    cost_symbols,
    decay_symbols,
    difference_symbols,
    feedback_symbols,
    lag_symbols,
    learning_symbols,
    planning_symbols,
    synchronisation_symbols,
)

d = sympy.Symbol("d", integer=True, positive=True)
"""Dimension: number of coordinates of the corrected gradient u."""
k = sympy.Symbol("k", integer=True, positive=True)
"""Number of coordinates sent, 1 ≤ k ≤ d."""
m = sympy.Symbol("m", integer=True, nonnegative=True)
"""Number of coordinates kept back, m = d − k."""
i = sympy.Symbol("i", integer=True, positive=True)
"""Rank of a sent coordinate, i ≤ k."""
j = sympy.Symbol("j", integer=True, positive=True)
"""Rank of a coordinate kept back, j > k."""

v = sympy.IndexedBase("v", nonnegative=True)
"""Sorted squares of u: v_1 ≥ v_2 ≥ … ≥ v_d ≥ 0."""
w = sympy.IndexedBase("w", nonnegative=True)
"""Reference weights; the shape hypotheses read "v_i / w_i is non-increasing in i"."""

kappa = sympy.Symbol("kappa", positive=True)
"""Density, the share of coordinates sent: κ = k/d."""
delta = sympy.Symbol("delta", positive=True)
"""Contraction factor: E‖u − C(u)‖² ≤ (1 − δ)‖u‖²."""
epsilon = sympy.Symbol("epsilon", nonnegative=True)
"""Error factor: ε = 1 − δ."""
p = sympy.Symbol("p", positive=True)
"""Shape exponent of a magnitude profile: π^p / (1 − t) is non-increasing."""
q = sympy.Symbol("q", positive=True)
"""Power of a bound on the ratio: at most (1 − k/d)^q for every k."""
t = sympy.Symbol("t", real=True)
"""Rank as a fraction of the dimension, 0 ≤ t ≤ 1; t = 0 is the largest magnitude."""
s = sympy.Symbol("s", real=True)
"""A fixed value of t: where the profile is cut."""
profile = sympy.Function("pi")
"""Magnitude profile π(t): the magnitude exceeded by the share t of the coordinates, non-increasing."""
f = sympy.Function("f")
"""Density of a magnitude |u|."""

tie_count = sympy.Symbol("tie_count", integer=True, positive=True)
"""Number b of coordinates whose magnitude is the k-th largest."""
layer_size = sympy.Symbol("layer_size", integer=True, positive=True)
"""Number d_l of coordinates of one layer."""
layer_count = sympy.Symbol("layer_count", integer=True, nonnegative=True)
"""Number k_l of coordinates that one layer sends; unlike k it may be zero."""
mean_square = sympy.Symbol("mean_square", positive=True)
"""E u²/B² for a coordinate u with |u| ≤ B: how far the law is from its largest possible energy."""
deviation = sympy.Symbol("deviation", positive=True)
"""Distance x of the ratio of a sample from that of its law."""
energy = sympy.Symbol("energy", positive=True)
"""M = E u² of a law."""
tail_area = sympy.Symbol("tail_area", nonnegative=True)
"""N = sup_θ max(|∫_0^θ (G − F)|, |∫_θ^∞ (G − F)|) for the distribution functions F and G of two laws of squares."""
kurtosis = sympy.Symbol("kurtosis", positive=True)
"""K = E u⁴/(E u²)² ≥ 1."""
failure = sympy.Symbol("failure", positive=True)
"""Probability f, at most 1, with which a statement about a sample may fail."""

df = sympy.Symbol("df", positive=True)
"""Degrees of freedom ν of Student's t; the second moment is finite for ν > 2."""
tail_exponent = sympy.Symbol("beta", positive=True)
"""Exponent β of the generalised Gaussian density, proportional to exp(−|u|^β)."""
shape = sympy.Symbol("shape", positive=True)
"""Shape a of the gamma or Weibull law that the magnitude |u| follows."""
mean = sympy.Symbol("mean", nonnegative=True)
"""Mean of a shifted Gaussian in standard deviations, |μ|/σ."""
share = sympy.Symbol("share", nonnegative=True)
"""Share ω of the coordinates that carry the spikes of a mixture."""
scale = sympy.Symbol("scale", positive=True)
"""Standard deviation s of a spike; the other coordinates have 1."""

selected_count = sympy.Symbol("selected_count", integer=True, nonnegative=True)
"""Number N of coordinates above a threshold; unlike k it may be zero."""
bit_width = sympy.Symbol("bit_width", integer=True, positive=True)
"""Bits b of a magnitude read as an integer: every threshold is below 2^b."""
start_level = sympy.Symbol("start_level", integer=True, nonnegative=True)
"""Level s₀ of the first dyadic interval that a threshold search tries: it has 2^s₀ thresholds."""
lowest = sympy.Symbol("lowest", integer=True, positive=True)
"""Left end of an interval of integers."""
highest = sympy.Symbol("highest", integer=True, positive=True)
"""Right end of an interval of integers."""
capacity = sympy.Symbol("capacity", integer=True, nonnegative=True)
"""Number c of coordinates that a candidate list can hold."""
window_ratio = sympy.Symbol("window_ratio", positive=True)
"""r = b/a, where [a, b) holds the thresholds whose count is accepted."""
pass_count = sympy.Symbol("pass_count", integer=True, positive=True)
"""Number P of passes that a threshold rule may make, each counting one threshold."""
mean_shift = sympy.Symbol("mean_shift", real=True)
"""Mean over standard deviation of the coordinates, with its sign: θ = μ/σ."""

n = sympy.Symbol("n", integer=True, positive=True)
"""Number of workers."""
T = sympy.Symbol("T", integer=True, positive=True)
"""Number of updates."""
eta = sympy.Symbol("step_size", positive=True)
"""Step size η."""
L = sympy.Symbol("smoothness", positive=True)
"""Smoothness: the gradient is L-Lipschitz."""
mu = sympy.Symbol("mu", positive=True)
"""Strong convexity, μ ≤ L."""
sigma_squared = sympy.Symbol("second_moment", nonnegative=True)
"""Bound σ² on the second moment E‖g‖² of a stochastic gradient."""
variance = sympy.Symbol("variance", nonnegative=True)
"""Bound σ₀² on the variance E‖g − ∇f‖² of a stochastic gradient."""
dissimilarity = sympy.Symbol("dissimilarity", nonnegative=True)
"""Bound ζ² on the mean of ‖∇f_i − ∇f‖² over the workers i."""
residual_weight = sympy.Symbol("residual_weight", positive=True)
"""Weight ω of the residuals in a Lyapunov function, over L."""
gap = sympy.Symbol("gap", nonnegative=True)
"""f(x_0) − f*: how far the start lies above the smallest value."""
step_variation = sympy.Symbol("step_variation", nonnegative=True)
"""V = Σ_t |η_t − η_{t+1}|, the total variation of the step sizes."""
balance = sympy.Symbol("balance", nonnegative=True)
"""Magnitude b < 1 of the coordinate that a worker keeps back, relative to the one it sends."""
compression = sympy.Symbol("compression", positive=True)
"""Compression c = d/k ≥ 1."""
tau = sympy.Symbol("delay", integer=True, nonnegative=True)
"""Delay τ: the gradient applied at a step was taken τ steps earlier."""
beta = sympy.Symbol("momentum", nonnegative=True)
"""Heavy-ball momentum γ, in [0, 1)."""
gradient = sympy.Symbol("gradient", real=True)
"""One coordinate of the gradient g_t taken at step t."""
virtual_iterate = sympy.Symbol("virtual_iterate", real=True)
"""One coordinate of x̃_t: the iterate if everything kept back or under way had already arrived."""

staleness = sympy.Symbol("staleness", integer=True, nonnegative=True)
"""Staleness s: a worker may start an iteration if none is more than s iterations behind it."""
gap_bound = sympy.Symbol("gap_bound", integer=True, nonnegative=True)
"""Largest lead G of any worker over the slowest, in completed iterations."""
longest_duration = sympy.Symbol("longest_duration", positive=True)
"""Duration of an iteration of the slowest worker."""
horizon = sympy.Symbol("horizon", positive=True)
"""Time during which iterations are counted."""
lipschitz = sympy.Symbol("lipschitz", positive=True)
"""Lipschitz constant ℓ of the losses themselves, not of their gradients."""
radius = sympy.Symbol("radius", positive=True)
"""Size F of the feasible set: half the squared distance of two points is at most F²."""

compute_time = sympy.Symbol("compute_time", positive=True)
"""Time T_c in which a worker computes one gradient."""
message_size = sympy.Symbol("message_size", positive=True)
"""Bytes M that one worker exchanges per iteration."""
deferred_size = sympy.Symbol("deferred_size", nonnegative=True)
"""Bytes S ≤ M of them that are exchanged while the next gradient is computed."""
bandwidth = sympy.Symbol("bandwidth", positive=True)
"""Bytes per unit of time B that a link shared by all workers carries."""
exchange_time = sympy.Symbol("exchange_time", positive=True)
"""Time t_s of a full exchange of gradients or parameters."""
flag_time = sympy.Symbol("flag_time", nonnegative=True)
"""Time t_f in which all workers agree whether to exchange."""
synchronised_share = sympy.Symbol("synchronised_share", nonnegative=True)
"""Share p of the steps after which workers exchange, at most 1."""
least_speed_up = sympy.Symbol("least_speed_up", positive=True)
"""Factor φ ≥ 1 by which training is to be faster than with an exchange after every step."""
awaited_count = sympy.Symbol("awaited_count", integer=True, positive=True)
"""Number b of workers that a barrier waits for, b ≤ n; the other n − b are backups."""
mean_duration = sympy.Symbol("mean_duration", positive=True)
"""Mean d̄ of an iteration's duration."""
commit_time = sympy.Symbol("commit_time", positive=True)
"""Time O for which a worker waits while its change is committed and the model read."""
commit_count = sympy.Symbol("commit_count", integer=True, positive=True)
"""Number C of commits that every worker is to make in one period."""
period = sympy.Symbol("period", positive=True)
"""Length Γ of a period."""
laggard_count = sympy.Symbol("laggard_count", integer=True, nonnegative=True)
"""Number b of the other workers that are too far behind for a barrier to be passed."""
sample_count = sympy.Symbol("sample_count", integer=True, nonnegative=True)
"""Number β of other workers that a sampled barrier looks at."""
lag_threshold = sympy.Symbol("lag_threshold", integer=True, nonnegative=True)
"""Lag r up to which a law of lags is arbitrary; beyond it decays geometrically."""
lag_decay = sympy.Symbol("lag_decay", positive=True)
"""Factor a < 1 from the weight of one lag beyond the threshold to that of the next."""
lag_weight = sympy.Symbol("lag_weight", nonnegative=True)
"""Weight F, at most 1, of the lags up to the threshold; the lag r + j beyond it has the weight a^j."""
grid_rows = sympy.Symbol("grid_rows", integer=True, positive=True)
"""Rows R of the grid on which workers are placed."""
grid_columns = sympy.Symbol("grid_columns", integer=True, positive=True)
"""Columns C of the grid on which workers are placed."""
gradient_spread = sympy.Symbol("gradient_spread", nonnegative=True)
"""Bound Z² on the mean over the workers of E‖g_i − ḡ‖², ḡ the mean of their gradients."""
replica_mean = sympy.Symbol("replica_mean", real=True)
"""One coordinate of the mean x̄_t of all workers' parameters."""
arrival_share = sympy.Symbol("arrival_share", positive=True)
"""p ≤ 1, where a gradient is l updates old with probability p(1 − p)^l."""
mean_move = sympy.Symbol("mean_move", real=True)
"""One coordinate of the expected last move D_{t−1} = E[x_t − x_{t−1}]."""
local_count = sympy.Symbol("local_count", integer=True, positive=True)
"""Number H of gradients that a worker adds up before it sends."""
look_ahead = sympy.Symbol("look_ahead", integer=True, positive=True)
"""Number R of iterations of each worker that a planned barrier may choose from."""
shortest_duration = sympy.Symbol("shortest_duration", positive=True)
"""Duration of an iteration of the fastest worker."""
duration_product = sympy.Symbol("duration_product", positive=True)
"""Product P of the durations of all workers but the slowest."""
shortest_range = sympy.Symbol("shortest_range", nonnegative=True)
"""min(max Z − min Z) over all sets Z of one time of each worker."""
extra_count = sympy.Symbol("extra_count", integer=True, nonnegative=True)
"""Number r of iterations by which a lower staleness may be exceeded."""

ratio = sympy.Symbol("rho", nonnegative=True)
"""Relative error ‖u − C(u)‖² / ‖u‖² of a compressor C, for one vector u."""
expected_ratio = sympy.Symbol("rho_E", nonnegative=True)
"""Relative error averaged over the compressor's own randomness, for one vector u."""
mean_slope = sympy.Symbol("epsilon_mean", nonnegative=True)
"""Slope ∂ε/∂m of a law's ratio in its mean, at fixed density."""
mean_ratio = sympy.Symbol("rho_n", nonnegative=True)
"""Relative error of the average: ‖mean_i u_i − mean_i C(u_i)‖² / ‖mean_i u_i‖² over the workers i."""
residual_energy = sympy.Symbol("residual_energy", nonnegative=True)
"""E‖e_t‖², the energy that error feedback keeps back."""
drift = sympy.Symbol("drift", nonnegative=True)
"""E‖x̃_T − x̃_0 + Σ_{t<T} η_t g_t‖²: how far the virtual iterate leaves the path of uncompressed updates."""
gradient_energy = sympy.Symbol("gradient_energy", nonnegative=True)
"""min_{t<T} E‖∇f(x_t)‖²."""
stationary_energy = sympy.Symbol("stationary_energy", nonnegative=True)
"""E|f'(x)|² where the update leaves the second moments as they are."""
inverse_square = sympy.Symbol("inverse_square", positive=True)
"""1/δ²."""
crossover = sympy.Symbol("crossover", nonnegative=True)
"""Number of updates T* from which one term of a rate is at most another."""
roundest_count = sympy.Symbol("roundest_count", integer=True, nonnegative=True)
"""Number of elements of an interval of integers with the most trailing zero bits."""
counted_thresholds = sympy.Symbol("counted_thresholds", integer=True, nonnegative=True)
"""Number of distinct thresholds that a search counts, each one pass over the vector."""
answer_count = sympy.Symbol("answer_count", integer=True, nonnegative=True)
"""Number of results of a threshold search that agree with a candidate list."""
reachable_count = sympy.Symbol("reachable_count", integer=True, nonnegative=True)
"""Number of thresholds that a rule can count within its passes."""
start_length = sympy.Symbol("start_length", nonnegative=True)
"""Length of the set of ln t₀ from which a threshold rule ends with an accepted count."""
passes_taken = sympy.Symbol("passes_taken", integer=True, nonnegative=True)
"""Number of passes until a threshold rule accepts a count."""
worst_passes = sympy.Symbol("worst_passes", integer=True, nonnegative=True)
"""The largest number of passes until a threshold rule accepts a count, over the starts near its window."""
rise_count = sympy.Symbol("rise_count", integer=True, positive=True)
"""Number q₊ of moves of the released rule that raise a threshold, up to powers of three, by 3^a₊/2^q₊ > 1."""
rise_power = sympy.Symbol("rise_power", integer=True, positive=True)
"""Power a₊ of three in the rise."""
fall_count = sympy.Symbol("fall_count", integer=True, positive=True)
"""Number q₋ of moves of the released rule that lower a threshold, up to powers of three, by 2^q₋/3^a₋ > 1."""
fall_power = sympy.Symbol("fall_power", integer=True, positive=True)
"""Power a₋ of three in the fall."""
counted_share = sympy.Symbol("counted_share", nonnegative=True)
"""Share of the coordinates that the first pass of a threshold rule counts."""
returned_share = sympy.Symbol("returned_share", nonnegative=True)
"""Share of the coordinates that a threshold rule returns."""

gini = sympy.Symbol("gini", nonnegative=True)
"""Gini index Σ_{i,j} |v_i − v_j| / (2 d Σ v) of the squares v."""
strict_excess = sympy.Symbol("strict_excess", nonnegative=True)
"""Relative error of a strict threshold at the k-th largest magnitude, minus that of Top-k."""
layer_excess = sympy.Symbol("layer_excess", nonnegative=True)
"""Relative error of Top-k in each layer, minus that of Top-k in the whole vector for the same total."""
deviation_probability = sympy.Symbol("deviation_probability", nonnegative=True)
"""Probability that for some k the ratio of a sample is x or more away from that of its law."""
ratio_distance = sympy.Symbol("ratio_distance", nonnegative=True)
"""sup_κ |ρ_G(κ) − ρ_F(κ)| of the ratios of two laws."""
sample_deviation = sympy.Symbol("sample_deviation", nonnegative=True)
"""max_k of |ratio of a sample at k − ratio of its law at k/d|."""
failure_probability = sympy.Symbol("failure_probability", nonnegative=True)
"""Probability that a Gaussian vector has a larger ratio at k = 1 than (1 − 1/d)^q."""

tolerance = sympy.Symbol("tolerance", positive=True)
"""Share of the starting Lyapunov value that is to be reached, at most 1."""
lyapunov_factor = sympy.Symbol("lyapunov_factor", nonnegative=True)
"""sup V_{t+1}/V_t over the functions, compressors and states of a class: its worst-case rate per step."""
function_factor = sympy.Symbol("function_factor", nonnegative=True)
"""sup (f(x_{t+1}) − f*)/(f(x_t) − f*) over the functions, compressors and points of a class."""
heterogeneity = sympy.Symbol("heterogeneity", positive=True)
"""ζ² = ‖∇f_i(x*)‖² of each of two workers, x* the minimiser of their mean: how much their functions differ there."""
limit_distance = sympy.Symbol("limit_distance", nonnegative=True)
"""lim ‖x_t − x*‖² as t → ∞."""
best_step = sympy.Symbol("best_step", positive=True)
"""The step size η with the smallest worst-case rate."""
steps_needed = sympy.Symbol("steps_needed", nonnegative=True)
"""Number T, as a real number, from which V_T is at most the tolerance times V_0, for every function of a class."""

stable_limit = sympy.Symbol("stable_limit", positive=True)
"""Supremum of the products ηλ of step size and curvature for which a recursion is asymptotically stable."""
best_radius = sympy.Symbol("best_radius", nonnegative=True)
"""Smallest spectral radius of a recursion over all step sizes: its best asymptotic rate."""
speed_up = sympy.Symbol("speed_up", nonnegative=True)
"""Time of K iterations with a barrier after each, over the time with bounded staleness, on the same durations."""
lead = sympy.Symbol("lead", integer=True, nonnegative=True)
"""c_i − min_j c_j: completed iterations of a worker beyond the slowest's."""
iteration_rate = sympy.Symbol("iteration_rate", nonnegative=True)
"""Iterations of one worker per unit of time."""
throughput = sympy.Symbol("throughput", nonnegative=True)
"""Long-run iterations of all workers per unit of time."""
misread_count = sympy.Symbol("misread_count", integer=True, nonnegative=True)
"""Number of updates by which the views of one round differ from the sequential order: lacking or too many."""
regret = sympy.Symbol("regret", real=True)
"""Σ_t f_t(x̃_t) − Σ_t f_t(x*): losses at the views x̃_t beyond those of a fixed x*."""
next_virtual_iterate = sympy.Symbol("next_virtual_iterate", real=True)
"""One coordinate of x̃_{t+1}."""

iteration_time = sympy.Symbol("iteration_time", positive=True)
"""Time from the start of one iteration to that of the next, in the long run."""
two_stage_speed_up = sympy.Symbol("two_stage_speed_up", nonnegative=True)
"""Iteration time of one exchange after each gradient, over that of an exchange in two stages."""
selective_speed_up = sympy.Symbol("selective_speed_up", nonnegative=True)
"""Time of a number of steps with an exchange after each, over the time with selected exchanges."""
largest_share = sympy.Symbol("largest_share", nonnegative=True)
"""Share of the steps after which workers exchange, where a speed-up is at least φ."""
expected_wait = sympy.Symbol("expected_wait", nonnegative=True)
"""E d_(b): expected b-th smallest of the workers' durations."""
waiting_share = sympy.Symbol("waiting_share", nonnegative=True)
"""Share of the time for which a worker waits."""
pass_probability = sympy.Symbol("pass_probability", nonnegative=True)
"""Probability that a sample of the other workers holds no laggard."""
mean_lag = sympy.Symbol("mean_lag", nonnegative=True)
"""E γ of a lag γ."""
mean_square_lag = sympy.Symbol("mean_square_lag", nonnegative=True)
"""E γ² of a lag γ."""
mixing_entry = sympy.Symbol("mixing_entry", nonnegative=True)
"""Weight of any worker's parameters in any other's after one round in rows and one in columns."""
disagreement = sympy.Symbol("disagreement", nonnegative=True)
"""(1/n) Σ_i E‖x_i − x̄‖² over the workers' parameters."""
next_replica_mean = sympy.Symbol("next_replica_mean", real=True)
"""One coordinate of x̄_{t+1}."""
next_mean_move = sympy.Symbol("next_mean_move", real=True)
"""One coordinate of D_t = E[x_{t+1} − x_t]."""
perturbation = sympy.Symbol("perturbation", nonnegative=True)
"""E‖x̃_t − x_t‖²: how far the iterate is from the virtual iterate."""
swept_range = sympy.Symbol("swept_range", nonnegative=True)
"""max Z − min Z of the set Z that a sweep through all workers' times returns."""

# Described where they are defined.
mean_smoothness = difference_symbols.mean_smoothness
estimate_energy = difference_symbols.estimate_energy
free_share = difference_symbols.free_share
averaging = difference_symbols.averaging
control = difference_symbols.control
start_distance = difference_symbols.start_distance
mean_excess = difference_symbols.mean_excess
weighted_excess = difference_symbols.weighted_excess
virtual_distance = difference_symbols.virtual_distance
lag_energy = difference_symbols.lag_energy
monitoring_count = synchronisation_symbols.monitoring_count
least_weight = synchronisation_symbols.least_weight
mean_spread = synchronisation_symbols.mean_spread
coherence = synchronisation_symbols.coherence
misread_mean = synchronisation_symbols.misread_mean
misread_cap = synchronisation_symbols.misread_cap
step_scale = synchronisation_symbols.step_scale
regret_excess = synchronisation_symbols.regret_excess
epoch_factor = synchronisation_symbols.epoch_factor
mean_disagreement = synchronisation_symbols.mean_disagreement
mean_gradient_energy = synchronisation_symbols.mean_gradient_energy
regret_tail = synchronisation_symbols.regret_tail
mean_contribution = synchronisation_symbols.mean_contribution
inclusion_covariance = synchronisation_symbols.inclusion_covariance
failure_chance = synchronisation_symbols.failure_chance
others_share = synchronisation_symbols.others_share
others_sum = synchronisation_symbols.others_sum
class_sum = synchronisation_symbols.class_sum
weighted_mean = synchronisation_symbols.weighted_mean
sample_bias = synchronisation_symbols.sample_bias
shared_failure_bias = synchronisation_symbols.shared_failure_bias
class_error = synchronisation_symbols.class_error
total_batch = synchronisation_symbols.total_batch
harmonic_batch = synchronisation_symbols.harmonic_batch
batch_spread = synchronisation_symbols.batch_spread
weighted_error = synchronisation_symbols.weighted_error
unweighted_error = synchronisation_symbols.unweighted_error
epoch_length = synchronisation_symbols.epoch_length
epoch_root = synchronisation_symbols.epoch_root
target_batch = synchronisation_symbols.target_batch
largest_batch = synchronisation_symbols.largest_batch
total_rate = synchronisation_symbols.total_rate
fixed_examples = synchronisation_symbols.fixed_examples
least_time = synchronisation_symbols.least_time
greedy_time = synchronisation_symbols.greedy_time
digit_entry = synchronisation_symbols.digit_entry
growth = synchronisation_symbols.growth
update_time = synchronisation_symbols.update_time
switch_count = synchronisation_symbols.switch_count
time_to_whole = synchronisation_symbols.time_to_whole
block_value = synchronisation_symbols.block_value
access_distance = synchronisation_symbols.access_distance
database_block = synchronisation_symbols.database_block
sample_size = learning_symbols.sample_size
first_distance = learning_symbols.first_distance
second_distance = learning_symbols.second_distance
first_excess = learning_symbols.first_excess
second_excess = learning_symbols.second_excess
corrected_covariance = learning_symbols.corrected_covariance
row_covariance = learning_symbols.row_covariance
centred_distance = learning_symbols.centred_distance
distance_covariance = learning_symbols.distance_covariance
squared_correlation = learning_symbols.squared_correlation
permuted_covariance = learning_symbols.permuted_covariance
permuted_correlation = learning_symbols.permuted_correlation
permuted_square = learning_symbols.permuted_square
covariance_slope = learning_symbols.covariance_slope
penalty = learning_symbols.penalty
batch_curvature = learning_symbols.batch_curvature
mean_proposal = learning_symbols.mean_proposal
proposal_energy = learning_symbols.proposal_energy
consensus_move = learning_symbols.consensus_move
model_move = learning_symbols.model_move
model_distance = learning_symbols.model_distance
consensus_energy = learning_symbols.consensus_energy
loss = learning_symbols.loss
pace = learning_symbols.pace
raised_pace = learning_symbols.raised_pace
error_energy = learning_symbols.error_energy
damping = learning_symbols.damping
consensus = learning_symbols.consensus
printed_excess = learning_symbols.printed_excess
lagrangian_change = learning_symbols.lagrangian_change
least_penalty = learning_symbols.least_penalty
models_first_change = learning_symbols.models_first_change
excess_lagrangian = learning_symbols.excess_lagrangian
weighted_loss = learning_symbols.weighted_loss
objective_change = learning_symbols.objective_change
consensus_change = learning_symbols.consensus_change
largest_damping = learning_symbols.largest_damping
cut_values = learning_symbols.cut_values
example_count = learning_symbols.example_count
value_bytes = learning_symbols.value_bytes
index_bytes = learning_symbols.index_bytes
label_bytes = learning_symbols.label_bytes
passed_count = learning_symbols.passed_count
round_count = learning_symbols.round_count
split_bytes = learning_symbols.split_bytes
federated_bytes = learning_symbols.federated_bytes
large_batch_bytes = learning_symbols.large_batch_bytes
ring_bytes = learning_symbols.ring_bytes
selected_bytes = learning_symbols.selected_bytes
split_crossover = learning_symbols.split_crossover
batch_crossover = learning_symbols.batch_crossover
safe_density = learning_symbols.safe_density
mean_union = learning_symbols.mean_union
union_size = learning_symbols.union_size
unmasked_sum = learning_symbols.unmasked_sum
input_sum = learning_symbols.input_sum
unknown_masks = learning_symbols.unknown_masks
fixed_scale = learning_symbols.fixed_scale
magnitude_bound = learning_symbols.magnitude_bound
encoding_error = learning_symbols.encoding_error
encoded_magnitude = learning_symbols.encoded_magnitude
clip_norm = learning_symbols.clip_norm
clipped_move = learning_symbols.clipped_move
largest_entry = learning_symbols.largest_entry
selected_move = learning_symbols.selected_move
order = learning_symbols.order
sample_share = learning_symbols.sample_share
noise_ratio = learning_symbols.noise_ratio
renyi_divergence = learning_symbols.renyi_divergence
loss_factor = learning_symbols.loss_factor
loss_excess = learning_symbols.loss_excess
membership_advantage = learning_symbols.membership_advantage
input_eigenvalue = learning_symbols.input_eigenvalue
output_eigenvalue = learning_symbols.output_eigenvalue
gradient_entry = learning_symbols.gradient_entry
coupling = learning_symbols.coupling
kept_count = learning_symbols.kept_count
row_count = learning_symbols.row_count
entry_count = learning_symbols.entry_count
selection_error = learning_symbols.selection_error
negative_energy = learning_symbols.negative_energy
parameter_count = learning_symbols.parameter_count
triangle_entries = learning_symbols.triangle_entries
basis_entries = learning_symbols.basis_entries
owned_entries = learning_symbols.owned_entries
factor_period = learning_symbols.factor_period
decomposition_period = learning_symbols.decomposition_period
input_size = learning_symbols.input_size
output_size = learning_symbols.output_size
preconditioned_entry = learning_symbols.preconditioned_entry
factored_share = learning_symbols.factored_share
block_error = learning_symbols.block_error
decrease_share = learning_symbols.decrease_share
kept_share = learning_symbols.kept_share
clamped_error = learning_symbols.clamped_error
everyone_bytes = learning_symbols.everyone_bytes
owners_bytes = learning_symbols.owners_bytes
crossover_period = learning_symbols.crossover_period

message_seconds = cost_symbols.message_seconds
byte_seconds = cost_symbols.byte_seconds
merge_seconds = cost_symbols.merge_seconds
inner_message_seconds = cost_symbols.inner_message_seconds
inner_byte_seconds = cost_symbols.inner_byte_seconds
doubling_count = cost_symbols.doubling_count
node_workers = cost_symbols.node_workers
node_count = cost_symbols.node_count
node_union_size = cost_symbols.node_union_size
union_ratio = cost_symbols.union_ratio
node_union_ratio = cost_symbols.node_union_ratio
collective_seconds = cost_symbols.collective_seconds
crossover_density = cost_symbols.crossover_density
density_limit = cost_symbols.density_limit
doublings_density_limit = cost_symbols.doublings_density_limit
workers_density_limit = cost_symbols.workers_density_limit
workers_times_density = cost_symbols.workers_times_density
crossover_workers = cost_symbols.crossover_workers
latency = cost_symbols.latency
send_time = cost_symbols.send_time
receive_time = cost_symbols.receive_time
master_time = cost_symbols.master_time
work_time = cost_symbols.work_time
farm_size = cost_symbols.farm_size
dispatch_time = cost_symbols.dispatch_time
collect_time = cost_symbols.collect_time
payload_share = cost_symbols.payload_share
list_length = cost_symbols.list_length
map_time = cost_symbols.map_time
fold_time = cost_symbols.fold_time
round_time = cost_symbols.round_time
tree_depth = cost_symbols.tree_depth
farm_time = cost_symbols.farm_time
pipelined_farm_time = cost_symbols.pipelined_farm_time
farm_boundary = cost_symbols.farm_boundary
best_farm_size = cost_symbols.best_farm_size
farm_speed_up = cost_symbols.farm_speed_up
selected_boundary = cost_symbols.selected_boundary
boundary_gain = cost_symbols.boundary_gain
tree_farm_time = cost_symbols.tree_farm_time
gathered_farm_time = cost_symbols.gathered_farm_time
tree_boundary = cost_symbols.tree_boundary
best_tree_depth = cost_symbols.best_tree_depth
gathered_boundary = cost_symbols.gathered_boundary
superstep_work = cost_symbols.superstep_work
relation_size = cost_symbols.relation_size
word_cost = cost_symbols.word_cost
barrier_cost = cost_symbols.barrier_cost
fetch_cost = cost_symbols.fetch_cost
token_words = cost_symbols.token_words
hyperstep_work = cost_symbols.hyperstep_work
hyperstep_count = cost_symbols.hyperstep_count
computing_total = cost_symbols.computing_total
fetching_total = cost_symbols.fetching_total
mismatch_total = cost_symbols.mismatch_total
superstep_time = cost_symbols.superstep_time
streamed_time = cost_symbols.streamed_time
whole_stream_time = cost_symbols.whole_stream_time
unoverlapped_time = cost_symbols.unoverlapped_time
matrix_side = cost_symbols.matrix_side
outer_count = cost_symbols.outer_count
grid_side = cost_symbols.grid_side
block_side = cost_symbols.block_side
cannon_time = cost_symbols.cannon_time
cannon_sent_words = cost_symbols.cannon_sent_words
cannon_external_words = cost_symbols.cannon_external_words
cannon_balance = cost_symbols.cannon_balance
vector_length = cost_symbols.vector_length
core_count = cost_symbols.core_count
inner_product_time = cost_symbols.inner_product_time
forward_time = cost_symbols.forward_time
bucket_count = cost_symbols.bucket_count
bucket_backward = cost_symbols.bucket_backward
bucket_sending = cost_symbols.bucket_sending
first_backward = cost_symbols.first_backward
last_sending = cost_symbols.last_sending
backward_total = cost_symbols.backward_total
sending_total = cost_symbols.sending_total
message_latency = cost_symbols.message_latency
gradient_bytes = cost_symbols.gradient_bytes
equal_makespan = cost_symbols.equal_makespan
bucket_makespan = cost_symbols.bucket_makespan
best_bucket_count = cost_symbols.best_bucket_count
segment_length = planning_symbols.segment_length
segment_count = planning_symbols.segment_count
oversampling = planning_symbols.oversampling
sample_excess = planning_symbols.sample_excess
bucket_size = planning_symbols.bucket_size
received_count = planning_symbols.received_count
sort_bytes = planning_symbols.sort_bytes
best_segment = planning_symbols.best_segment
threshold_error = planning_symbols.threshold_error
candidate_count = planning_symbols.candidate_count
exact_bytes = planning_symbols.exact_bytes
telling_rounds = planning_symbols.telling_rounds
told_count = planning_symbols.told_count
merged_bytes = planning_symbols.merged_bytes
greedy_energy = planning_symbols.greedy_energy
largest_energy = planning_symbols.largest_energy
captured_energy = planning_symbols.captured_energy
priced_capacity = planning_symbols.priced_capacity
squares_above = planning_symbols.squares_above
entry_gain = planning_symbols.entry_gain
fixed_seconds = planning_symbols.fixed_seconds
dense_seconds = planning_symbols.dense_seconds
whole_steps = planning_symbols.whole_steps
run_seconds = planning_symbols.run_seconds
least_run_seconds = planning_symbols.least_run_seconds
sparse_crossover = planning_symbols.sparse_crossover
synchronous_seconds = planning_symbols.synchronous_seconds
asynchronous_seconds = planning_symbols.asynchronous_seconds
later_updates = planning_symbols.later_updates
restart_seconds = planning_symbols.restart_seconds
saved_seconds = planning_symbols.saved_seconds
flat_time = planning_symbols.flat_time
logical_count = planning_symbols.logical_count
overload = planning_symbols.overload
total_capability = planning_symbols.total_capability
best_gain = planning_symbols.best_gain
averager_count = planning_symbols.averager_count
total_bandwidth = planning_symbols.total_bandwidth
least_bandwidth = planning_symbols.least_bandwidth
largest_bandwidth = planning_symbols.largest_bandwidth
gradient_share = planning_symbols.gradient_share
mean_share = planning_symbols.mean_share
entry_cost = planning_symbols.entry_cost
parts_time = planning_symbols.parts_time
waste = planning_symbols.waste
greedy_gain = planning_symbols.greedy_gain
butterfly_seconds = planning_symbols.butterfly_seconds
whole_seconds = planning_symbols.whole_seconds
scattered_seconds = planning_symbols.scattered_seconds
exchange_factor = planning_symbols.exchange_factor
state_bytes = planning_symbols.state_bytes
sample_bytes = planning_symbols.sample_bytes
sample_seconds = planning_symbols.sample_seconds
memory_bytes = planning_symbols.memory_bytes
least_state_bytes = planning_symbols.least_state_bytes
least_exchange_seconds = planning_symbols.least_exchange_seconds
sharding_ratio = planning_symbols.sharding_ratio
replica_density = planning_symbols.replica_density
residual_bytes = planning_symbols.residual_bytes
moving_density = planning_symbols.moving_density
replica_price = planning_symbols.replica_price
split_choices = planning_symbols.split_choices
relaxation_excess = planning_symbols.relaxation_excess
sample_throughput = planning_symbols.sample_throughput
chain_length = feedback_symbols.chain_length
distance_share = feedback_symbols.distance_share
mean_distance = feedback_symbols.mean_distance
spectral_gap = feedback_symbols.spectral_gap
widest_gap = feedback_symbols.widest_gap
best_mixing = feedback_symbols.best_mixing
server_model = feedback_symbols.server_model
known_model = feedback_symbols.known_model
residual = feedback_symbols.residual
exact_model = feedback_symbols.exact_model
delta_up = feedback_symbols.delta_up
delta_down = feedback_symbols.delta_down
server_energy = feedback_symbols.server_energy

total_sent = lag_symbols.total_sent
total_created = lag_symbols.total_created
total_aligned = lag_symbols.total_aligned
first_energy = lag_symbols.first_energy
last_energy = lag_symbols.last_energy
lag = lag_symbols.lag
sent_energy = lag_symbols.sent_energy
created_energy = lag_symbols.created_energy
persistent_energy = lag_symbols.persistent_energy
level_count = lag_symbols.level_count
up_probability = lag_symbols.up_probability
send_rate = lag_symbols.send_rate
flatness = lag_symbols.flatness
sending_period = lag_symbols.sending_period
effective_step = lag_symbols.effective_step
effective_limit = lag_symbols.effective_limit
period_radius = lag_symbols.period_radius
worst_radius = lag_symbols.worst_radius

residual_decay = decay_symbols.residual_decay
mean_residual = decay_symbols.mean_residual
mean_change = decay_symbols.mean_change
forgotten_energy = decay_symbols.forgotten_energy
local_bias = decay_symbols.local_bias
memory_weight = decay_symbols.memory_weight
resting_energy = decay_symbols.resting_energy
slope_share = decay_symbols.slope_share
spectral_factor = decay_symbols.spectral_factor

chunk_size = chunk_symbols.chunk_size
chunk_number = chunk_symbols.chunk_number
chunk_excess = chunk_symbols.chunk_excess
mean_chunk_excess = chunk_symbols.mean_chunk_excess
chunk_law_ratio = chunk_symbols.chunk_law_ratio
law_excess = chunk_symbols.law_excess
excess_slope = chunk_symbols.excess_slope
density_at_level = chunk_symbols.density_at_level
kept_level = chunk_symbols.kept_level
selected_ratio = chunk_symbols.selected_ratio
value_error = chunk_symbols.value_error
value_count = chunk_symbols.value_count
lost_share = chunk_symbols.lost_share

LATEX_NAMES = {
    eta: r"\eta",
    L: "L",
    mu: r"\mu",
    sigma_squared: r"\sigma^{2}",
    variance: r"\sigma_0^{2}",
    dissimilarity: r"\zeta^{2}",
    residual_weight: r"\omega",
    gap: r"(f(x_0)-f^{*})",
    step_variation: "V",
    balance: "b",
    compression: "c",
    tau: r"\tau",
    beta: r"\gamma",
    gradient: "g_t",
    virtual_iterate: r"\tilde{x}_t",
    staleness: "s",
    gap_bound: "G",
    longest_duration: r"d_{\max}",
    horizon: "t",
    lipschitz: r"\ell",
    radius: "F",
    tie_count: "b",
    layer_size: r"d_l",
    layer_count: r"k_l",
    mean_square: r"\bar{v}",
    deviation: "x",
    gini: r"\frac{\sum_{i,j}|v_i-v_j|}{2d\sum_i v_i}",
    strict_excess: r"\rho(\text{strict threshold})-\rho(\text{Top-}k)",
    layer_excess: r"\rho(\text{Top-}k_l\text{ in each layer})-\rho(\text{Top-}k)",
    deviation_probability: r"\Pr\{\max_k|\rho_{k}(u)-\rho(k/d)|\geq x\}",
    energy: "M",
    tail_area: "N",
    kurtosis: "K",
    failure: "f",
    ratio_distance: r"\sup_{\kappa}|\rho_G(\kappa)-\rho_F(\kappa)|",
    sample_deviation: r"\max_k|\rho_{k}(u)-\rho(k/d)|",
    failure_probability: r"\Pr\{\rho_{1}(u)>(1-1/d)^{q}\}",
    df: r"\nu",
    shape: "a",
    mean: "m",
    share: r"\omega",
    scale: "s",
    selected_count: "N",
    bit_width: "b",
    start_level: "s_{0}",
    lowest: r"\ell",
    highest: "h",
    capacity: "c",
    window_ratio: "r",
    pass_count: "P",
    mean_shift: r"\theta",
    roundest_count: r"\text{roundest thresholds}",
    counted_thresholds: r"\text{thresholds counted}",
    answer_count: r"\text{answers}",
    reachable_count: r"\text{reachable thresholds}",
    start_length: r"\left|\{\ln t_0\}\right|",
    passes_taken: r"\text{passes}",
    worst_passes: r"\max_{a/2\leq t_0<3b/2}\text{passes}",
    rise_count: "q_{+}",
    rise_power: "a_{+}",
    fall_count: "q_{-}",
    fall_power: "a_{-}",
    counted_share: r"\text{share at the first pass}",
    returned_share: r"\text{share returned}",
    mean_slope: r"\frac{\partial\epsilon}{\partial m}",
    ratio: r"\frac{\lVert u-C(u)\rVert^{2}}{\lVert u\rVert^{2}}",
    expected_ratio: r"\frac{\mathbb{E}\,\lVert u-C(u)\rVert^{2}}{\lVert u\rVert^{2}}",
    mean_ratio: r"\frac{\lVert\frac{1}{n}\sum_i(u_i-C(u_i))\rVert^{2}}{\lVert\frac{1}{n}\sum_i u_i\rVert^{2}}",
    residual_energy: r"\mathbb{E}\,\lVert e_t\rVert^{2}",
    drift: r"\mathbb{E}\,\lVert\tilde{x}_T-\tilde{x}_0+\sum_{t<T}\eta_t g_t\rVert^{2}",
    gradient_energy: r"\min_{t<T}\mathbb{E}\,\lVert\nabla f(x_t)\rVert^{2}",
    stationary_energy: r"\mathbb{E}\,|f'(x)|^{2}",
    inverse_square: r"\frac{1}{\delta^{2}}",
    crossover: r"T^{*}",
    tolerance: r"\text{tol}",
    lyapunov_factor: r"\sup\frac{V_{t+1}}{V_t}",
    function_factor: r"\sup\frac{f(x_{t+1})-f^{*}}{f(x_t)-f^{*}}",
    heterogeneity: r"\zeta^{2}",
    limit_distance: r"\lim_{t\to\infty}\|x_t-x^{*}\|^2",
    best_step: r"\eta^{*}",
    steps_needed: r"\frac{\ln\text{tol}}{\ln\rho^{*}}",
    stable_limit: r"\sup\{\eta\lambda : x_t\to 0\text{ from every start}\}",
    best_radius: r"\min_{\eta}\max_i|z_i|",
    speed_up: r"\frac{\max_i C^{\mathrm{BSP}}_i(K)}{\max_i C_i(K)}",
    lead: r"c_i-\min_j c_j",
    iteration_rate: r"\frac{c_i(t)}{t}",
    throughput: r"\lim_{t\to\infty}\frac{1}{t}\sum_i c_i(t)",
    misread_count: r"\text{updates misread in a round}",
    regret: r"\sum_t f_t(\tilde{x}_t)-f_t(x^{*})",
    next_virtual_iterate: r"\tilde{x}_{t+1}",
    compute_time: "T_c",
    message_size: "M",
    deferred_size: "S",
    bandwidth: "B",
    exchange_time: "t_s",
    flag_time: "t_f",
    synchronised_share: "p",
    least_speed_up: r"\phi",
    awaited_count: "b",
    mean_duration: r"\bar{d}",
    commit_time: "O",
    commit_count: "C",
    period: r"\Gamma",
    laggard_count: "b",
    sample_count: r"\beta",
    lag_threshold: "r",
    lag_decay: "a",
    lag_weight: "F",
    grid_rows: "R",
    grid_columns: "C",
    gradient_spread: "Z^{2}",
    replica_mean: r"\bar{x}_t",
    arrival_share: "p",
    mean_move: r"D_{t-1}",
    local_count: "H",
    look_ahead: "R",
    shortest_duration: r"d_{\min}",
    duration_product: "P",
    shortest_range: r"\min_Z(\max Z-\min Z)",
    extra_count: "r",
    iteration_time: r"\text{time of an iteration}",
    two_stage_speed_up: r"\frac{T_c+nM/B}{\text{time of an iteration}}",
    selective_speed_up: r"\text{speed-up}",
    largest_share: "p",
    expected_wait: r"\mathbb{E}\,d_{(b)}",
    waiting_share: r"\text{share of waiting}",
    pass_probability: r"\Pr\{\text{pass}\}",
    mean_lag: r"\mathbb{E}\,\gamma",
    mean_square_lag: r"\mathbb{E}\,\gamma^{2}",
    mixing_entry: r"(W_{\mathrm{rows}}W_{\mathrm{columns}})_{ij}",
    disagreement: r"\frac{1}{n}\sum_i\mathbb{E}\,\lVert x_i-\bar{x}\rVert^{2}",
    next_replica_mean: r"\bar{x}_{t+1}",
    next_mean_move: r"D_t",
    perturbation: r"\mathbb{E}\,\lVert\tilde{x}_t-x_t\rVert^{2}",
    swept_range: r"\text{range found}",
    **synchronisation_symbols.LATEX_NAMES,
    **difference_symbols.LATEX_NAMES,
    **learning_symbols.LATEX_NAMES,
    **cost_symbols.LATEX_NAMES,
    **planning_symbols.LATEX_NAMES,
    **decay_symbols.LATEX_NAMES,
    **chunk_symbols.LATEX_NAMES,
    **feedback_symbols.LATEX_NAMES,
    **lag_symbols.LATEX_NAMES,
}
"""How a symbol prints in the paper where not as its own name, which is the argument's name in `evaluate`."""
