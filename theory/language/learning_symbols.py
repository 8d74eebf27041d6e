"""Letters of the statements on curvature, distance correlation, bytes of private learning, and consensus.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

input_eigenvalue = sympy.Symbol("input_eigenvalue", nonnegative=True)
"""Eigenvalue a of the factor A of a layer's inputs."""
output_eigenvalue = sympy.Symbol("output_eigenvalue", nonnegative=True)
"""Eigenvalue b of the factor G of the gradients at a layer's outputs."""
damping = sympy.Symbol("damping", positive=True)
"""Damping γ that is added to a matrix of curvature."""
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
    input_eigenvalue: "a",
    output_eigenvalue: "b",
    damping: r"\gamma",
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
