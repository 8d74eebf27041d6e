"""Evidence for the statements of `theory/cost/`."""
