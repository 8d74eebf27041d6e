"""What evidence is there for the bounds on tails of gamma and Laplace laws, besides their derivations?

A search over densities and parameters, in `verify/laws/margins.py`, and near κ = 1 ball arithmetic. Ours.
"""

from sparsync.theory.laws.gamma_tails import STATEMENTS
from sparsync.verify.laws import edges
from sparsync.verify.laws.searches import gain_checks
from sparsync.verify.tools.edges import Remark
from sparsync.verify.tools.outcome import Check, Grade

CHECKS: dict[str, dict[Grade, Check]] = {label: gain_checks(label) for label in STATEMENTS}
"""Every check of these statements, by label and grade."""
EDGES: dict[str, tuple[Remark, ...]] = {label: edges.EDGES[label] for label in STATEMENTS}
"""What is said of the conditions of these statements, by label."""
