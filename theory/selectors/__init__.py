"""What threshold rules keep: counts, passes, and the rule released with Gaussian-k."""
