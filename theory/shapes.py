"""How does the shape of a profile or a vector decide what Top-k leaves? Exponents, Lorenz curves, ties, layers."""

from sparsync.theory.statement import Statement

STATEMENTS: dict[str, Statement] = {}
"""The statements of this file, by label."""
