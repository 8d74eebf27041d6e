"""Letters of the statements on curvature, distance correlation, bytes of private learning, and consensus.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

LATEX_NAMES: dict[sympy.Symbol, str] = {}
"""How they print."""
