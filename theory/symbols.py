"""Which letter stands for what, in the paper and in every file of ours.

Each symbol carries the assumptions (integer, positive, …) that `Statement.evaluate` enforces on numbers put in its
place, and that sympy uses to decide signs. Ranks count from one: v_1 is the largest square.
"""

import sympy

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
t = sympy.Symbol("t", real=True)
"""Rank as a fraction of the dimension, 0 ≤ t ≤ 1; t = 0 is the largest magnitude."""
s = sympy.Symbol("s", real=True)
"""A fixed value of t: where the profile is cut."""
profile = sympy.Function("pi")
"""Magnitude profile π(t): the magnitude exceeded by the share t of the coordinates, non-increasing."""
f = sympy.Function("f")
"""Density of a magnitude |u|."""

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
tau = sympy.Symbol("delay", integer=True, nonnegative=True)
"""Delay τ: the gradient applied at a step was taken τ steps earlier."""
beta = sympy.Symbol("momentum", nonnegative=True)
"""Heavy-ball momentum, in [0, 1)."""

ratio = sympy.Symbol("rho", nonnegative=True)
"""Relative error ‖u − C(u)‖² / ‖u‖² of a compressor C, for one vector u."""
expected_ratio = sympy.Symbol("rho_E", nonnegative=True)
"""Relative error averaged over the compressor's own randomness, for one vector u."""

LATEX_NAMES = {
    eta: r"\eta",
    L: "L",
    mu: r"\mu",
    sigma_squared: r"\sigma^{2}",
    tau: r"\tau",
    beta: r"\beta",
    ratio: r"\frac{\lVert u-C(u)\rVert^{2}}{\lVert u\rVert^{2}}",
    expected_ratio: r"\frac{\mathbb{E}\,\lVert u-C(u)\rVert^{2}}{\lVert u\rVert^{2}}",
}
"""How a symbol prints in the paper where not as its own name, which is the argument's name in `evaluate`."""
