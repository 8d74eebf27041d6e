"""Discrete-event simulation of parallel training: policies decide who waits, the engine moves all mass."""
