"""Evidence for `theory/delay/`."""
