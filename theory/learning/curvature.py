"""How near does Kronecker-factored curvature come to the full matrix, and what does a selection of factors keep of it?

A layer's block of the Fisher matrix is A ⊗ G (Martens and Grosse 2015, arXiv 1503.05671), and blocks between layers are
left out. `kfac_eigenbasis` is what Pauloski, Zhang, Huang, Xu and Foster 2020 (arXiv 2007.00784) compute, as released;
factored damping is that of Martens and Grosse. The bounds are ours, by Kantorovich's inequality and by projections.
"""

import sympy

from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    block_error,
    clamped_error,
    coupling,
    damping,
    decrease_share,
    entry_count,
    factored_share,
    gradient_entry,
    input_eigenvalue,
    kept_count,
    kept_share,
    negative_energy,
    output_eigenvalue,
    preconditioned_entry,
    row_count,
    selection_error,
)

BLOCKS = (
    r"$F$ has no negative eigenvalue, $D$ is its diagonal blocks",
    r"$\rho=\lVert(D+\gamma I)^{-1/2}(F-D)(D+\gamma I)^{-1/2}\rVert$",
)

_TURN_IN, _TURN_OUT = sympy.symbols("c_in s_in", real=True), sympy.symbols("c_out s_out", real=True)
_ENTRIES = sympy.symbols("w:4", real=True)
_TESTS = sympy.symbols("t:4", real=True)
_VALUES_IN, _VALUES_OUT = sympy.symbols("a:2", nonnegative=True), sympy.symbols("b:2", nonnegative=True)
_LEFT, _RIGHT = sympy.symbols("p q", positive=True)
_SHARE = sympy.Symbol("y", nonnegative=True)
_EIGENVALUE = sympy.Symbol("nu", real=True)
_KEPT_DIAGONAL, _LESS = sympy.symbols("i less", nonnegative=True)


def kfac_eigenbasis() -> Statement:
    """(A ⊗ G + γI)⁻¹ divides the entry of the gradient in the eigenbases of A and G by ab + γ.

    With A = Q_A diag(a) Q_Aᵀ, G = Q_G diag(b) Q_Gᵀ and V = Q_G V̂ Q_Aᵀ the equation G V A + γV = W is
    diag(b) V̂ diag(a) + γV̂ = Q_Gᵀ W Q_A, an equation for each entry.
    """
    bound = gradient_entry / (input_eigenvalue * output_eigenvalue + damping)
    return Statement(
        label="kfac_eigenbasis",
        title="Damped Kronecker product in eigenbases",
        assumptions=(
            r"$(A\otimes G+\gamma I)\,\mathrm{vec}\,V=\mathrm{vec}\,W$; $a,b$ are eigenvalues of $A,G$",
            r"$v,w$ are the entries of $V,W$ there, in the eigenbases",
        ),
        relation=sympy.Eq(preconditioned_entry, bound, evaluate=False),
        domain=(),
        source="Pauloski et al. 2020, as released; re-derived",
        derivation=(
            Step("G V A = Q_G diag(b) V̂ diag(a) Q_Aᵀ", _turned_residue, argued="for more than two inputs and outputs"),
            Step(
                "abv + γv = w has the one solution w/(ab + γ)",
                lambda: sympy.solve(_entry_equation(preconditioned_entry), preconditioned_entry)[0] - bound,
                concludes=bound,
            ),
        ),
    )


def factored_damping() -> Statement:
    """(A + √γI)⁻¹ ⊗ (G + √γI)⁻¹ leaves (ab + γ)/((a + √γ)(b + √γ)) of an entry: at most all, as little as nothing.

    It damps by √γ(a + b) more. Of a = b it leaves half or more; of a direction without curvature, ab = 0, which A ⊗ G
    would divide by γ, it leaves 1/(1 + a/√γ), or 1/(1 + b/√γ): nothing in the limit.
    """
    bound = (input_eigenvalue * output_eigenvalue + damping) / (
        (input_eigenvalue + sympy.sqrt(damping)) * (output_eigenvalue + sympy.sqrt(damping))
    )
    return Statement(
        label="factored_damping",
        title="What damping both factors leaves of a step",
        assumptions=(r"$a,b$ are eigenvalues of $A,G$",),
        relation=sympy.Eq(factored_share, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "an entry is divided by (a + √γ)(b + √γ) for ab + γ",
                lambda: _exactly_damped() / _factored_damped() - bound,
                concludes=bound,
            ),
            Step("that is √γ(a + b) more, so that the share is at most 1", _more_damping),
            Step("where a = b the share is at least 1/2: (a − √γ)² ≥ 0", _equal_values),
            Step("where b = 0 it is 1/(1 + a/√γ), which tends to 0", _flat_direction),
        ),
    )


def block_diagonal_error() -> Statement:
    """Leaving out what couples the blocks changes the damped inverse by ρ/(1 − ρ) of itself at most.

    With N = (D + γI)^(−1/2) (F − D) (D + γI)^(−1/2) the change is (I + N)⁻¹ − I, whose eigenvalues are −ν/(1 + ν) for
    those of N, and |ν| ≤ ρ. Two blocks always attain it: the eigenvalues of N then come in pairs ±ν. In the plain norm
    the error is at most 1/γ of that.
    """
    bound = coupling / (1 - coupling)
    return Statement(
        label="block_diagonal_error",
        title="Damped inverse of the diagonal blocks",
        assumptions=BLOCKS,
        relation=sympy.Le(block_error, bound, evaluate=False),
        domain=(coupling < 1,),
        source="ours",
        derivation=(
            Step(
                "(D + γI)^(1/2) (F + γI)⁻¹ (D + γI)^(1/2) = (I + N)⁻¹",
                _scaled_inverse,
                argued="for blocks other than two of one row",
            ),
            Step(
                "(I + N)⁻¹ − I has the eigenvalues 1/(1 + ν) − 1 = −ν/(1 + ν)",
                lambda: 1 / (1 + _EIGENVALUE) - 1 + _change(_EIGENVALUE),
                argued="that a function of N has those of the eigenvalues of N",
            ),
            Step("for ν = −yρ with 0 ≤ y ≤ 1 its size is at most ρ/(1 − ρ)", lambda: _is_largest(-1)),
            Step("for ν = yρ too", lambda: _is_largest(1)),
            Step("ν = −ρ attains it", lambda: -_change(-coupling) - bound, concludes=bound),
            Step("two blocks have the eigenvalues ρ and −ρ", _paired_eigenvalues, argued="for blocks of several rows"),
        ),
    )


def block_diagonal_step() -> Statement:
    """The best step along (D + γI)⁻¹∇ takes 1 − ρ² or more of what the full damped step takes off the quadratic model.

    With x = (D + γI)^(−1/2)∇ and M = I + N the share is (xᵀx)²/((xᵀMx)(xᵀM⁻¹x)), with the eigenvalues of M in
    [1 − ρ, 1 + ρ]: Kantorovich's inequality. Two blocks attain it for a gradient along one left singular vector of
    their coupling.
    """
    bound = 1 - coupling**2
    return Statement(
        label="block_diagonal_step",
        title="A step with the diagonal blocks",
        assumptions=(
            *BLOCKS,
            r"$f_\gamma(x-u)=f(x)-\nabla^{\mathsf T}u+\frac{1}{2}u^{\mathsf T}(F+\gamma I)u$",
        ),
        relation=sympy.Ge(decrease_share, bound, evaluate=False),
        domain=(coupling < 1,),
        source="ours, by Kantorovich's inequality",
        derivation=(
            Step("max_t of t∇ᵀu − ½t²uᵀHu is (∇ᵀu)²/(2uᵀHu); for u = H⁻¹∇ it is ½∇ᵀH⁻¹∇", _best_length),
            Step("1/μ ≤ (2 − μ)/(1 − ρ²) between 1 − ρ and 1 + ρ: (μ − 1 + ρ)(1 + ρ − μ) ≥ 0", _chord),
            Step(
                "so (xᵀMx)(xᵀM⁻¹x) ≤ y(2 − y)/(1 − ρ²) ≤ 1/(1 − ρ²) for xᵀx = 1 and y = xᵀMx",
                _largest_product,
                argued="that what holds for every eigenvalue holds for the mean over them, weighted by x",
            ),
            Step(
                "equal weights on 1 − ρ and 1 + ρ attain it",
                lambda: 1 / (_half_each(1) * _half_each(-1)) - bound,
                concludes=bound,
            ),
        ),
    )


def triangle_selection() -> Statement:
    """The k largest of upper triangles are max(k, 2k − r)/s or more of the energy of the whole symmetric matrices.

    An entry off the diagonal stands for two. If i of the k are diagonal, they stand for 2k − i of s entries, and what
    is left out is nowhere larger. At worst i = min(k, r). Entries off the diagonal times √2, where selected, would be
    k/((s + r)/2): more. Source: ours.
    """
    bound = sympy.Max(kept_count, 2 * kept_count - row_count) / entry_count
    return Statement(
        label="triangle_selection",
        title="Top-k of the upper triangles of symmetric matrices",
        assumptions=(
            r"$C$ keeps the $k$ largest entries of the upper triangles, and their mirror images",
            r"the matrices have $r$ rows and $s$ entries together",
        ),
        relation=sympy.Ge(kept_share, bound, evaluate=False),
        domain=(sympy.Le(2 * kept_count, entry_count + row_count), sympy.Le(row_count, entry_count)),
        source="ours",
        derivation=(
            Step(
                "of 2k − i entries, none below h, and s − (2k − i), none above h, the first have (2k − i)/s or more",
                _kept_energy,
            ),
            Step("the fewest are those with i = min(k, r)", _most_diagonal),
            Step(
                "2k − min(k, r) = max(k, 2k − r), attained by equal magnitudes",
                lambda: (
                    sympy.simplify(_counted(sympy.Min(kept_count, row_count)).rewrite(sympy.Piecewise))
                    - sympy.simplify(bound.rewrite(sympy.Piecewise))
                ),
                concludes=bound,
            ),
        ),
    )


def clamped_factor() -> Statement:
    """A selected factor without its negative eigenvalues is nearer to the factor, by the sum of their squares.

    With X = P − N, both without negative eigenvalues and PN = 0, ‖X − S‖² = ‖P − S‖² + 2⟨S, N⟩ + ‖N‖², and
    ⟨S, N⟩ ≥ 0; it is 0 where S has nothing along the eigenvectors of N. X₊ = P is the nearest such matrix to X.
    """
    bound = selection_error - negative_energy
    return Statement(
        label="clamped_factor",
        title="Negative eigenvalues of a selected factor",
        assumptions=(
            r"$S$ has no negative eigenvalue, $X$ is symmetric",
            r"$e$ is the sum of the squares of the negative eigenvalues of $X$",
        ),
        relation=sympy.Le(clamped_error, bound, evaluate=False),
        domain=(negative_energy <= selection_error,),
        source="ours, by projection onto a convex set",
        derivation=(
            Step(
                "‖P − N − S‖² = ‖P − S‖² + 2⟨S, N⟩ + ‖N‖², in the eigenbasis of X",
                _clamped_difference,
                argued="for more than two eigenvalues",
            ),
            Step(
                "⟨S, N⟩ = νs ≥ 0, s being an entry of S = LLᵀ on its diagonal",
                _inner_product,
                argued="for more than two eigenvalues",
            ),
            Step(
                "so ‖P − S‖² is at most ‖X − S‖² − ‖N‖², where ⟨S, N⟩ = 0",
                lambda: _without(selection_error, negative_energy) - bound,
                concludes=bound,
            ),
        ),
    )


def _rotation(cosine: sympy.Symbol, sine: sympy.Symbol) -> sympy.Matrix:
    return sympy.Matrix([[cosine, -sine], [sine, cosine]])


def _turned_residue() -> sympy.Expr:
    """Σ t_ij of the entries of G V A − Q_G diag(b) V̂ diag(a) Q_Aᵀ, with free t, where c² + s² = 1 for both turns."""
    inside, outside = _rotation(*_TURN_IN), _rotation(*_TURN_OUT)
    entries, values_in, values_out = sympy.Matrix(2, 2, _ENTRIES), sympy.diag(*_VALUES_IN), sympy.diag(*_VALUES_OUT)
    factor_in, factor_out = inside * values_in * inside.T, outside * values_out * outside.T
    residue = (
        factor_out * outside * entries * inside.T * factor_in - outside * values_out * entries * values_in * inside.T
    )
    total = sympy.Add(*(test * entry for test, entry in zip(_TESTS, residue, strict=True)))
    circles = [cosine**2 + sine**2 - 1 for cosine, sine in (_TURN_IN, _TURN_OUT)]
    return sympy.reduced(sympy.expand(total), circles, *_TURN_IN, *_TURN_OUT)[1]


def _entry_equation(entry: sympy.Expr) -> sympy.Expr:
    return input_eigenvalue * output_eigenvalue * entry + damping * entry - gradient_entry


def _exactly_damped(inside: sympy.Expr = input_eigenvalue, outside: sympy.Expr = output_eigenvalue) -> sympy.Expr:
    return inside * outside + damping


def _factored_damped() -> sympy.Expr:
    return (input_eigenvalue + sympy.sqrt(damping)) * (output_eigenvalue + sympy.sqrt(damping))


def _more_damping() -> sympy.Basic:
    more = sympy.expand(_factored_damped() - _exactly_damped())
    same = sympy.expand(more - sympy.sqrt(damping) * (input_eigenvalue + output_eigenvalue)) == 0
    return sympy.S(bool(same and more.is_nonnegative))


def _equal_values() -> sympy.Expr:
    share = (_exactly_damped() / _factored_damped()).subs(output_eigenvalue, input_eigenvalue)
    root = sympy.sqrt(damping)
    return sympy.simplify(
        share - sympy.Rational(1, 2) - (input_eigenvalue - root) ** 2 / (2 * (input_eigenvalue + root) ** 2)
    )


def _flat_direction() -> sympy.Basic:
    share = sympy.simplify((_exactly_damped() / _factored_damped()).subs(output_eigenvalue, 0))
    is_stated = sympy.simplify(share - 1 / (1 + input_eigenvalue / sympy.sqrt(damping))) == 0
    return sympy.S(bool(is_stated and sympy.limit(share, input_eigenvalue, sympy.oo) == 0))


def _scaled_inverse() -> sympy.Expr:
    """Of D + γI = diag(p², q²) and a coupling of ρpq: the difference in all entries, with free factors."""
    full = sympy.Matrix([[_LEFT**2, coupling * _LEFT * _RIGHT], [coupling * _LEFT * _RIGHT, _RIGHT**2]])
    root = sympy.diag(_LEFT, _RIGHT)
    difference = root * full.inv() * root - sympy.Matrix([[1, coupling], [coupling, 1]]).inv()
    return sympy.simplify(sum((test * entry for test, entry in zip(_TESTS, difference, strict=True)), sympy.S.Zero))


def _change(eigenvalue: sympy.Expr) -> sympy.Expr:
    return eigenvalue / (1 + eigenvalue)


def _is_largest(sign: int) -> sympy.Basic:
    """ρ/(1 − ρ) less the change at ν = ±yρ, with ρ = r/(1 + r) and y = 1/(1 + z), has no negative coefficient."""
    odds, rest = sympy.symbols("r z", nonnegative=True)
    change = sign * _change(sign * _SHARE * coupling)
    room = (coupling / (1 - coupling) - change).subs({coupling: odds / (1 + odds), _SHARE: 1 / (1 + rest)})
    parts = sympy.fraction(sympy.cancel(sympy.together(room)))
    return sympy.S(all(bool(sympy.expand(part).is_nonnegative) for part in parts))


def _paired_eigenvalues() -> sympy.Basic:
    eigenvalues = sympy.Matrix([[0, coupling], [coupling, 0]]).eigenvals()
    return sympy.S(set(eigenvalues) == {coupling, -coupling})


def _best_length() -> sympy.Expr:
    """Both decreases, with ∇ᵀu = y and uᵀHu = p; for the full step y = p."""
    length = sympy.Symbol("length", real=True)
    model = length * _SHARE - length**2 * _LEFT / 2
    (best,) = sympy.solve(sympy.diff(model, length), length)
    along = model.subs(length, best) - _SHARE**2 / (2 * _LEFT)
    return sympy.simplify(along) + sympy.simplify(model.subs({length: 1, _SHARE: _LEFT}) - _LEFT / 2)


def _chord() -> sympy.Expr:
    """μ times the difference of both sides, times 1 − ρ²."""
    value = sympy.Symbol("mu", positive=True)
    room = value * ((2 - value) - (1 - coupling**2) / value)
    return sympy.expand(room - (value - 1 + coupling) * (1 + coupling - value))


def _largest_product() -> sympy.Expr:
    """1 − y(2 − y) = (1 − y)²."""
    return sympy.expand(1 - _SHARE * (2 - _SHARE) - (1 - _SHARE) ** 2)


def _half_each(power: int) -> sympy.Expr:
    return sympy.together(((1 - coupling) ** power + (1 + coupling) ** power) / 2)


def _counted(diagonal: sympy.Expr) -> sympy.Expr:
    """Share of the entries for which k stand, of which so many are diagonal."""
    return (2 * kept_count - diagonal) / entry_count


def _kept_energy() -> sympy.Basic:
    """With squares h + x for those kept and h − x' for the others, of which there are s less those: share − count/s."""
    height, more, less, kept, others = sympy.symbols("h more less kept others", positive=True)
    share = kept * (height + more) / (kept * (height + more) + others * (height - less))
    numerator, _ = sympy.fraction(sympy.together(share - kept / (kept + others)))
    return sympy.S(bool(sympy.expand(numerator / kept).is_nonnegative))


def _most_diagonal() -> sympy.Basic:
    """One diagonal entry fewer stands for more; and there are no more than k or r."""
    step = _counted(_KEPT_DIAGONAL) - _counted(_KEPT_DIAGONAL + 1)
    return sympy.S(bool(sympy.simplify(step).is_positive))


def _clamped_difference() -> sympy.Expr:
    """For X = diag(p, −q) and any symmetric S."""
    first, cross, last = sympy.symbols("s:3", real=True)
    factor = sympy.Matrix([[first, cross], [cross, last]])
    clamped, negative = sympy.diag(_LEFT, 0), sympy.diag(0, _RIGHT)

    def square(matrix: sympy.Matrix) -> sympy.Expr:
        return (matrix.T * matrix).trace()

    inner = (factor.T * negative).trace()
    difference = square(clamped - negative - factor) - square(clamped - factor) - 2 * inner - square(negative)
    return sympy.expand(difference)


def _inner_product() -> sympy.Basic:
    first, cross, last = sympy.symbols("l:3", real=True)
    half = sympy.Matrix([[first, 0], [cross, last]])
    inner = (half * half.T * sympy.diag(0, _RIGHT)).trace()
    return sympy.S(bool(inner.is_nonnegative))


def _without(whole: sympy.Expr, part: sympy.Expr) -> sympy.Expr:
    """The largest ‖P − S‖², for ⟨S, N⟩ ≥ 0."""
    return (whole - 2 * _LESS - part).subs(_LESS, 0)


STATEMENTS = by_label(
    __name__,
    kfac_eigenbasis,
    factored_damping,
    block_diagonal_error,
    block_diagonal_step,
    triangle_selection,
    clamped_factor,
)
"""The statements of this file."""
