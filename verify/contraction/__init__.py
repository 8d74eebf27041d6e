"""Evidence for `theory/contraction/`: linear programmes, exact certificates, searches and counterexamples."""
