"""Variants of error feedback: what a worker does with what it did not send, one file each."""
