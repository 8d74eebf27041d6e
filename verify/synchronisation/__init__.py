"""Evidence for `theory/synchronisation/`."""
