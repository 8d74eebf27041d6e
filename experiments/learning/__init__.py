"""Learning systems around the core: second-order, split, federated and self-paced, each with what Top-k makes of it."""
