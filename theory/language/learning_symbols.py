"""Letters of the statements on curvature, distance correlation, bytes of private learning, and consensus.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

sample_size = sympy.Symbol("sample_size", integer=True, positive=True)
"""Number n of examples of two paired samples."""
first_distance = sympy.Symbol("first_distance", positive=True)
"""ā, the mean distance of two different examples in the first sample."""
second_distance = sympy.Symbol("second_distance", positive=True)
"""b̄, the same in the second sample."""
first_excess = sympy.Symbol("first_excess", nonnegative=True)
"""ψ_a = n²V(a, a)/((n − 1)ā²) − 1: by how much a sample's distance variance exceeds that of equal distances."""
second_excess = sympy.Symbol("second_excess", nonnegative=True)
"""ψ_b, the same of the second sample."""
corrected_covariance = sympy.Symbol("corrected_covariance", real=True)
"""U(a, b), the sum of the products of U-centred distances over n(n − 3)."""
row_covariance = sympy.Symbol("row_covariance", real=True)
"""(1/n) Σ_i (ā_i − ā)(b̄_i − b̄), ā_i the mean distance of example i from the others."""
centred_distance = sympy.Symbol("centred_distance", real=True)
"""B_ij, a doubly centred distance of the second sample."""
distance_covariance = sympy.Symbol("distance_covariance", real=True)
"""V(a, b), the mean of the products of all n² doubly centred distances."""
squared_correlation = sympy.Symbol("squared_correlation", nonnegative=True)
"""V(a, b)/√(V(a, a) V(b, b)), the square of the biased distance correlation."""
permuted_covariance = sympy.Symbol("permuted_covariance", real=True)
"""The mean of V(a, b∘σ) over all n! permutations σ of the second sample."""
permuted_correlation = sympy.Symbol("permuted_correlation", nonnegative=True)
"""The mean over all permutations of the square of the biased distance correlation."""
permuted_square = sympy.Symbol("permuted_square", nonnegative=True)
"""The mean over all permutations of the square of U(a, b∘σ)/√(U(a, a) U(b, b))."""
covariance_slope = sympy.Symbol("covariance_slope", real=True)
"""∂V(a, b)/∂a_ij, where a_ji moves with a_ij."""
penalty = sympy.Symbol("penalty", positive=True)
"""Penalty ρ of the augmented Lagrangian L = Σ_i [f_i(w_i) + α_i·(w_i − z) + (ρ/2)‖w_i − z‖²] + ‖z‖²."""
batch_curvature = sympy.Symbol("batch_curvature", nonnegative=True)
"""Bound φ on the eigenvalues of every ∇²f_i, f_i the squared loss of a batch."""
mean_proposal = sympy.Symbol("mean_proposal", real=True)
"""One coordinate of ū, the mean of the proposals w_i + α_i/ρ of n batches."""
proposal_energy = sympy.Symbol("proposal_energy", nonnegative=True)
"""‖ū‖²."""
consensus_move = sympy.Symbol("consensus_move", nonnegative=True)
"""‖Δz‖² of a step."""
model_move = sympy.Symbol("model_move", nonnegative=True)
"""Σ_i ‖Δw_i‖² of a step."""
model_distance = sympy.Symbol("model_distance", nonnegative=True)
"""Σ_i ‖w_i − z‖²."""
consensus_energy = sympy.Symbol("consensus_energy", nonnegative=True)
"""z² of the one consensus coordinate."""
loss = sympy.Symbol("loss", nonnegative=True)
"""Loss ℓ of an example."""
pace = sympy.Symbol("pace", positive=True)
"""Pace λ: an example has weight where its loss is below."""
raised_pace = sympy.Symbol("raised_pace", positive=True)
"""The pace λ⁺ of the next round."""
error_energy = sympy.Symbol("error_energy", nonnegative=True)
"""‖ē‖² of the mean ē of what all lack of the proposals."""
damping = sympy.Symbol("damping", positive=True)
"""Damping γ: what is added to the eigenvalues of a curvature, or the part of a step that is taken."""

consensus = sympy.Symbol("consensus", real=True)
"""One coordinate of the z that minimises L."""
printed_excess = sympy.Symbol("printed_excess", nonnegative=True)
"""L after the printed step of z, minus L after the right one."""
lagrangian_change = sympy.Symbol("lagrangian_change", real=True)
"""L after a step of z, then all w_i, then all α_i, minus L before."""
least_penalty = sympy.Symbol("least_penalty", nonnegative=True)
"""Infimum of the ρ for which L rises in no step."""
models_first_change = sympy.Symbol("models_first_change", real=True)
"""L after a step of all w_i, then z, then all α_i, minus L before."""
excess_lagrangian = sympy.Symbol("excess_lagrangian", real=True)
"""L minus the objective at w_i = z."""
weighted_loss = sympy.Symbol("weighted_loss", real=True)
"""min over v in [0, 1] of vℓ − λv."""
objective_change = sympy.Symbol("objective_change", real=True)
"""Σ v_j(ℓ_j − λ) after weights and pace are new, minus that before."""
consensus_change = sympy.Symbol("consensus_change", real=True)
"""L after a step of z alone, minus L before."""
largest_damping = sympy.Symbol("largest_damping", positive=True)
"""Largest γ for which L and a multiple of the error energy are proved to fall together."""
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
split_crossover = sympy.Symbol("split_crossover", nonnegative=True)
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
input_eigenvalue = sympy.Symbol("input_eigenvalue", nonnegative=True)
"""Eigenvalue a of the factor A of a layer's inputs."""
output_eigenvalue = sympy.Symbol("output_eigenvalue", nonnegative=True)
"""Eigenvalue b of the factor G of the gradients at a layer's outputs."""
gradient_entry = sympy.Symbol("gradient_entry", real=True)
"""Entry w of a layer's gradient in the eigenbases of its factors."""
coupling = sympy.Symbol("coupling", nonnegative=True)
"""ρ = ‖(D + γI)^(−1/2) (F − D) (D + γI)^(−1/2)‖ of a matrix F and its diagonal blocks D."""
kept_count = sympy.Symbol("kept_count", integer=True, positive=True)
"""Number k of entries of upper triangles that are sent."""
row_count = sympy.Symbol("row_count", integer=True, positive=True)
"""Number r of the rows of all symmetric matrices that are sent together: their diagonal entries."""
entry_count = sympy.Symbol("entry_count", integer=True, positive=True)
"""Number s of the entries of all these matrices, in both triangles."""
selection_error = sympy.Symbol("selection_error", nonnegative=True)
"""‖X − S‖² of a symmetric matrix X in the place of a matrix S without negative eigenvalues."""
negative_energy = sympy.Symbol("negative_energy", nonnegative=True)
"""Sum e of the squares of the negative eigenvalues of X."""
parameter_count = sympy.Symbol("parameter_count", integer=True, positive=True)
"""Number d of the parameters."""
triangle_entries = sympy.Symbol("triangle_entries", integer=True, positive=True)
"""Entries f of the upper triangles of all factors."""
basis_entries = sympy.Symbol("basis_entries", integer=True, positive=True)
"""Numbers e of the eigenvectors and eigenvalues of the worker who has the most."""
owned_entries = sympy.Symbol("owned_entries", integer=True, positive=True)
"""Entries o of the gradients of the layers of the worker who has the most."""
factor_period = sympy.Symbol("factor_period", integer=True, positive=True)
"""Steps p from one averaging of factors to the next."""
decomposition_period = sympy.Symbol("decomposition_period", integer=True, positive=True)
"""Steps q from one decomposition to the next."""
input_size = sympy.Symbol("input_size", integer=True, positive=True)
"""Rows m of the factor A."""
output_size = sympy.Symbol("output_size", integer=True, positive=True)
"""Rows l of the factor G."""

preconditioned_entry = sympy.Symbol("preconditioned_entry", real=True)
"""Entry of (A ⊗ G + γI)⁻¹ applied to a gradient, in the eigenbases of A and G."""
factored_share = sympy.Symbol("factored_share", nonnegative=True)
"""An entry of (A + √γI)⁻¹ ⊗ (G + √γI)⁻¹ applied to a gradient, over that of (A ⊗ G + γI)⁻¹."""
block_error = sympy.Symbol("block_error", nonnegative=True)
"""‖(D + γI)^(1/2) ((F + γI)⁻¹ − (D + γI)⁻¹) (D + γI)^(1/2)‖."""
decrease_share = sympy.Symbol("decrease_share", nonnegative=True)
"""What the best step along (D + γI)⁻¹∇ takes of the quadratic model with F + γI, over what (F + γI)⁻¹∇ takes."""
kept_share = sympy.Symbol("kept_share", nonnegative=True)
"""‖C(S)‖²/‖S‖² of symmetric matrices S whose upper triangles are selected from, in Frobenius norms."""
clamped_error = sympy.Symbol("clamped_error", nonnegative=True)
"""‖X₊ − S‖², X₊ being X with its negative eigenvalues set to zero."""
everyone_bytes = sympy.Symbol("everyone_bytes", nonnegative=True)
"""Bytes a step that all workers hand over where everyone preconditions, without headers."""
owners_bytes = sympy.Symbol("owners_bytes", nonnegative=True)
"""Bytes a step that all workers hand over where the owners of layers precondition, without headers."""
crossover_period = sympy.Symbol("crossover_period", positive=True)
"""Steps between decompositions at which both schemes hand over as much for a layer."""

LATEX_NAMES: dict[sympy.Symbol, str] = {
    sample_size: "n",
    first_distance: r"\bar{a}",
    second_distance: r"\bar{b}",
    first_excess: r"\psi_a",
    second_excess: r"\psi_b",
    corrected_covariance: "U(a,b)",
    row_covariance: "C",
    centred_distance: "B_{ij}",
    distance_covariance: "V(a,b)",
    squared_correlation: r"\frac{V(a,b)}{\sqrt{V(a,a)V(b,b)}}",
    permuted_covariance: r"\frac{1}{n!}\sum_{\sigma}V(a,b\circ\sigma)",
    permuted_correlation: r"\frac{1}{n!}\sum_{\sigma}\frac{V(a,b\circ\sigma)}{\sqrt{V(a,a)V(b,b)}}",
    permuted_square: r"\frac{1}{n!}\sum_{\sigma}\frac{U(a,b\circ\sigma)^{2}}{U(a,a)U(b,b)}",
    covariance_slope: r"\frac{\partial V(a,b)}{\partial a_{ij}}",
    penalty: r"\rho",
    batch_curvature: r"\phi",
    mean_proposal: r"\bar{u}",
    proposal_energy: r"\lVert\bar{u}\rVert^{2}",
    consensus_move: r"\lVert\Delta z\rVert^{2}",
    model_move: r"\sum_i\lVert\Delta w_i\rVert^{2}",
    model_distance: r"\sum_i\lVert w_i-z\rVert^{2}",
    consensus_energy: r"z^{2}",
    loss: r"\ell",
    pace: r"\lambda",
    raised_pace: r"\lambda^{+}",
    error_energy: r"\lVert\bar{e}\rVert^{2}",
    damping: r"\gamma",
    consensus: r"\arg\min_z\mathcal{L}",
    printed_excess: r"\mathcal{L}(\bar{u})-\min_z\mathcal{L}",
    lagrangian_change: r"\mathcal{L}^{+}-\mathcal{L}",
    least_penalty: r"\inf\{\rho:\mathcal{L}\text{ rises in no step}\}",
    models_first_change: r"\mathcal{L}^{+}-\mathcal{L}",
    excess_lagrangian: r"\mathcal{L}-F(z)",
    weighted_loss: r"\min_{0\leq v\leq1}(v\ell-\lambda v)",
    objective_change: r"F^{+}-F",
    consensus_change: r"\mathcal{L}(z^{+})-\mathcal{L}(z)",
    largest_damping: r"\max\gamma",
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
    input_eigenvalue: "a",
    output_eigenvalue: "b",
    gradient_entry: "w",
    coupling: r"\rho",
    kept_count: "k",
    row_count: "r",
    entry_count: "s",
    selection_error: r"\lVert X-S\rVert^{2}",
    negative_energy: "e",
    parameter_count: "d",
    triangle_entries: "f",
    basis_entries: "e",
    owned_entries: "o",
    factor_period: "p",
    decomposition_period: "q",
    input_size: "m",
    output_size: "l",
    preconditioned_entry: "v",
    factored_share: r"\frac{v_{\mathrm{factored}}}{v}",
    block_error: r"\lVert(D+\gamma I)^{1/2}((F+\gamma I)^{-1}-(D+\gamma I)^{-1})(D+\gamma I)^{1/2}\rVert",
    decrease_share: (
        r"\frac{\max_t(f(x)-f_\gamma(x-t(D+\gamma I)^{-1}\nabla))}{f(x)-f_\gamma(x-(F+\gamma I)^{-1}\nabla)}"
    ),
    kept_share: r"\frac{\lVert C(S)\rVert^{2}}{\lVert S\rVert^{2}}",
    clamped_error: r"\lVert X_{+}-S\rVert^{2}",
    everyone_bytes: r"\text{bytes of a step}",
    owners_bytes: r"\text{bytes of a step}",
    crossover_period: r"q^{*}",
}
"""How they print."""
