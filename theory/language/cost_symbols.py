"""Letters of the statements on the cost of communication, memory and rounds.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

# Collectives.

# Farms.

# Hypersteps.

# Regular samples.

LATEX_NAMES: dict[str, str] = {}
"""How they print."""
