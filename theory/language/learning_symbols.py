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
}
"""How they print."""
