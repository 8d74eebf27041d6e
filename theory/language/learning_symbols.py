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
"""The pace λ⁺ ≥ λ of the next round."""
error_energy = sympy.Symbol("error_energy", nonnegative=True)
"""‖ē‖² of the mean ē of what all lack of the proposals."""
damping = sympy.Symbol("damping", positive=True)
"""Damping γ ≤ 1 of the step z ← z + γ(θ·mean − z)."""

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
}
"""How they print."""
