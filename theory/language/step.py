"""What is a step of a proof? A claim in words, and the computation that decides it, or a word on what it leaves open.

A step is computed if its computation decides all of its claim, and argued if something of it is prose. That the steps
together make the proof is for the reader to see. Ours.
"""

from collections.abc import Callable
from dataclasses import dataclass

import sympy
from sympy.logic.boolalg import Boolean


@dataclass(frozen=True)
class Step:
    """One step of a derivation: a claim in words and the computation that decides it.

    Args:
        claim: the step, as a reader would say it.
        compute: runs the step; returns an expression that must simplify to 0 or a condition that must simplify to true.
            None where nothing can be computed.
        concludes: the bound that the derivation has reached with this step, if it has reached one.
        argued: what of the claim the computation does not decide, in words; empty where it decides all.

    Raises:
        ValueError: nothing is computed, and nothing said to be argued.
    """

    claim: str
    compute: Callable[[], sympy.Basic] | None
    concludes: sympy.Expr | None = None
    argued: str = ""

    def __post_init__(self) -> None:
        """Refuse a claim with neither a computation nor an argument."""
        if self.compute is None and not self.argued:
            raise ValueError(f"the step {self.claim!r} is neither computed nor argued")

    def holds(self) -> bool:
        """Execute the step; true iff it comes out as zero or true, or nothing is computed."""
        if self.compute is None:
            return True
        residue = self.compute()
        if isinstance(residue, Boolean):
            return bool(sympy.simplify(residue) == sympy.true)
        return bool(sympy.simplify(residue) == 0)
