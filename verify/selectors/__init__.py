"""Evidence for `theory/selectors/`."""
