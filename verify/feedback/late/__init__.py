"""Evidence for how late error feedback is."""
