"""Evidence that the statements hold: margins, property tests, worst-case programmes, exact certificates."""
