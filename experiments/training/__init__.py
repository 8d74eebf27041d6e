"""Distributed SGD with error feedback: data, models, workers, collectives and the loop."""
