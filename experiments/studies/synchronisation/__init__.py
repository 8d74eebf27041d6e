"""Studies of synchronisation models."""
