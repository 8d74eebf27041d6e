"""Letters of the statements on elastic barriers, epochs of mixing, stale descent, random lags and sampled sums.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

monitoring_count = sympy.Symbol("monitoring_count", integer=True, nonnegative=True)
"""Number M of iterations that every worker ends before the next barrier is planned."""
least_weight = sympy.Symbol("least_weight", positive=True)
"""The least weight a > 0 that a worker gives to itself or to an active neighbour."""
mean_spread = sympy.Symbol("mean_spread", nonnegative=True)
"""Mean over the steps of the spread of the workers' gradients, (1/n) Σ_i E‖g_i − ḡ‖²."""
coherence = sympy.Symbol("coherence", positive=True)
"""Coherence ν ≤ 1: E⟨∇f(x_t), ∇f(x_{t−l})⟩ ≥ νE‖∇f(x_t)‖² where x_{t−l} is read at step t."""
misread_mean = sympy.Symbol("misread_mean", nonnegative=True)
"""Bound m on the expected number of updates that a view misreads, given everything before it."""
misread_cap = sympy.Symbol("misread_cap", positive=True)
"""The largest number b ≥ m of updates that a view misreads."""
step_scale = sympy.Symbol("step_scale", positive=True)
"""Scale σ of steps σ/√t."""
regret_excess = sympy.Symbol("regret_excess", positive=True)
"""Number x by which an average regret exceeds its expected bound."""
total_batch = sympy.Symbol("total_batch", positive=True)
"""Number B of examples of all reports that make an update."""
harmonic_batch = sympy.Symbol("harmonic_batch", positive=True)
"""Harmonic mean h of the batches of n reports."""
batch_spread = sympy.Symbol("batch_spread", nonnegative=True)
"""Squared coefficient of variation c² of the batches of n reports: (1/n) Σ_i (nb_i/B − 1)²."""
epoch_length = sympy.Symbol("epoch_length", integer=True, positive=True)
"""Number B of steps of an epoch of mixing."""
epoch_root = sympy.Symbol("epoch_root", nonnegative=True)
"""Factor r < 1 by which an epoch of mixing shortens the differences from the mean."""
target_batch = sympy.Symbol("target_batch", positive=True)
"""Number B of examples with which an update is due."""
largest_batch = sympy.Symbol("largest_batch", positive=True)
"""Largest number b of examples of one report."""
total_rate = sympy.Symbol("total_rate", positive=True)
"""Examples R of all workers per unit of time."""
fixed_examples = sympy.Symbol("fixed_examples", nonnegative=True)
"""Examples A = Σ_i c_i/m_i that workers could do in their fixed times c_i, an example taking m_i."""
least_time = sympy.Symbol("least_time", nonnegative=True)
"""The least time in which any split of the examples can be finished."""
growth = sympy.Symbol("growth", integer=True, positive=True)
"""Number g of versions after which the group that an update waits for grows by one worker."""
block_value = sympy.Symbol("block_value", real=True)
"""One coordinate of a block after t rounds of bulk-synchronous training."""
access_distance = sympy.Symbol("access_distance", integer=True, positive=True)
"""Links ℓ of a path of workers, each of whom reads what the next writes or writes what the next reads."""

epoch_factor = sympy.Symbol("epoch_factor", nonnegative=True)
"""Disagreement after an epoch of mixing over that before it."""
mean_disagreement = sympy.Symbol("mean_disagreement", nonnegative=True)
"""Mean over the steps of (1/n) Σ_i E‖x_i − x̄‖²."""
mean_gradient_energy = sympy.Symbol("mean_gradient_energy", nonnegative=True)
"""(1/T) Σ_{t<T} E‖∇f(x̄_t)‖²."""
regret_tail = sympy.Symbol("regret_tail", nonnegative=True)
"""Probability that the average regret exceeds F²/(ηT) + ηℓ²(1/2 + m) by x or more."""
weighted_error = sympy.Symbol("weighted_error", nonnegative=True)
"""E‖Σ_i (b_i/B)g_i − ∇f‖², g_i the mean of b_i gradients."""
unweighted_error = sympy.Symbol("unweighted_error", nonnegative=True)
"""E‖(1/n) Σ_i g_i − ∇f‖², g_i the mean of b_i gradients."""
update_time = sympy.Symbol("update_time", positive=True)
"""Time t_T of the T-th update."""
digit_entry = sympy.Symbol("digit_entry", nonnegative=True)
"""Entry of the product of the mixing matrices of all digits."""
greedy_time = sympy.Symbol("greedy_time", nonnegative=True)
"""Time in which a split is finished that gives each example to whom finishes it first."""
switch_count = sympy.Symbol("switch_count", integer=True, nonnegative=True)
"""Reports that are added before an update waits for all workers."""
time_to_whole = sympy.Symbol("time_to_whole", nonnegative=True)
"""Time from which an update waits for all workers."""
database_block = sympy.Symbol("database_block", real=True)
"""One coordinate of version t + 1 of a block."""

mean_contribution = sympy.Symbol("mean_contribution", real=True)
"""x̄, the mean of what the workers would contribute."""
inclusion_covariance = sympy.Symbol("inclusion_covariance", real=True)
"""Cov(π, x) = (1/n) Σ_w (π_w − π̄)(x_w − x̄) of inclusion probabilities and contributions."""
failure_chance = sympy.Symbol("failure_chance", nonnegative=True)
"""Probability q ≤ 1 that all holders of a class are gone together."""
others_share = sympy.Symbol("others_share", positive=True)
"""Share s ≤ 1 of those who are no holders in the sum of all workers' sampling weights."""
others_sum = sympy.Symbol("others_sum", real=True)
"""O, the sum of the contributions of those who are no holders."""
class_sum = sympy.Symbol("class_sum", real=True)
"""Y, the sum of the contributions of the holders of a class."""
weighted_mean = sympy.Symbol("weighted_mean", real=True)
"""E Σ_{w∈S} x_w/(nπ_w) over samples S."""
sample_bias = sympy.Symbol("sample_bias", real=True)
"""E (1/β) Σ_{w∈S} x_w − x̄ over samples S of β workers."""
shared_failure_bias = sympy.Symbol("shared_failure_bias", real=True)
"""E Σ_{w∈S} x_w/π_w − Σ_w x_w, given that all holders of a class are gone."""
class_error = sympy.Symbol("class_error", nonnegative=True)
"""E (Z − Y)² of the part Z that the holders have in a weighted sum over a sample."""

LATEX_NAMES = {
    monitoring_count: "M",
    least_weight: "a",
    mean_spread: r"\bar{Z}^{2}",
    coherence: r"\nu",
    misread_mean: "m",
    misread_cap: "b",
    step_scale: r"\sigma",
    regret_excess: "x",
    epoch_factor: r"\frac{\sum_i\lVert x_i^{+}-\bar{x}\rVert^{2}}{\sum_i\lVert x_i-\bar{x}\rVert^{2}}",
    mean_disagreement: r"\frac{1}{nT}\sum_{t=1}^{T}\sum_i\mathbb{E}\,\lVert x_i-\bar{x}\rVert^{2}",
    mean_gradient_energy: r"\frac{1}{T}\sum_{t<T}\mathbb{E}\,\lVert\nabla f(\bar{x}_t)\rVert^{2}",
    regret_tail: (
        r"\Pr\{\frac{1}{T}\sum_t(f_t(\tilde{x}_t)-f_t(x^{*}))\geq"
        r"\frac{F^{2}}{\eta T}+\eta\ell^{2}(\frac{1}{2}+m)+x\}"
    ),
    mean_contribution: r"\bar{x}",
    inclusion_covariance: r"\mathrm{Cov}(\pi,x)",
    failure_chance: "q",
    others_share: "s",
    others_sum: "O",
    class_sum: "Y",
    weighted_mean: r"\mathbb{E}\sum_{w\in S}\frac{x_w}{n\pi_w}",
    sample_bias: r"\mathbb{E}\,\frac{1}{\beta}\sum_{w\in S}x_w-\bar{x}",
    shared_failure_bias: r"\mathbb{E}[\sum_{w\in S}\frac{x_w}{\pi_w}\mid\text{failure}]-\sum_w x_w",
    class_error: r"\mathbb{E}(Z-Y)^{2}",
    total_batch: "B",
    harmonic_batch: "h",
    batch_spread: "c^{2}",
    weighted_error: r"\mathbb{E}\,\lVert\sum_i\frac{b_i}{B}g_i-\nabla f\rVert^{2}",
    unweighted_error: r"\mathbb{E}\,\lVert\frac{1}{n}\sum_i g_i-\nabla f\rVert^{2}",
    epoch_length: "B",
    epoch_root: "r",
    target_batch: "B",
    largest_batch: "b",
    total_rate: "R",
    growth: "g",
    digit_entry: r"(W_d\dots W_1)_{ij}",
    fixed_examples: "A",
    least_time: r"\min_{b}\max_i t_i(b_i)",
    greedy_time: r"\text{time of the greedy split}",
    update_time: "t_T",
    switch_count: r"\text{reports until the barrier is whole}",
    time_to_whole: r"\text{time until the barrier is whole}",
    block_value: "x_b(t)",
    access_distance: r"\ell",
    database_block: "x_b^{(t+1)}",
}
"""How they print."""
