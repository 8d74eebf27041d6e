"""Evidence for `theory/laws/`: quadrature, samples, differential equations and ball arithmetic."""
