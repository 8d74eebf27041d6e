"""Evidence for `theory/tight_rates/`: performance estimation, certificates and searches."""
