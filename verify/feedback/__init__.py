"""Evidence for `theory/feedback/`."""
