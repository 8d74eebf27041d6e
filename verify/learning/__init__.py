"""Evidence for `theory/learning/`."""
