"""Exact mathematics: each statement with its assumptions and an executed derivation; no arrays, no randomness."""
