"""What is assumed of a number? A hypothesis such as `η = 2/(L + μ)` or `‖g‖ ≤ ℓ`, as data that checks read. Ours."""

from dataclasses import dataclass
from typing import Literal

import sympy

from sparsync.theory.language.symbols import LATEX_NAMES

Sign = Literal["=", "≤", "≥"]
_PRINTED: dict[Sign, str] = {"=": "=", "≤": r"\le", "≥": r"\ge"}


@dataclass(frozen=True)
class Given:
    r"""A hypothesis on a number: what is chosen or bounded, and the expression that it equals or is bounded by.

    Args:
        name: by which checks read it, as `statement.given(name)`; it is one word, such as `step_size`.
        left: LaTeX of what is chosen or bounded, such as `\lVert g_t\rVert`.
        sign: "=", "≤" or "≥".
        right: the expression.
        words: the sentence, with `{}` where the formula stands.

    Raises:
        ValueError: the sign is another, or the words have no place for the formula.
    """

    name: str
    left: str
    sign: Sign
    right: sympy.Expr
    words: str = "{}"

    def __post_init__(self) -> None:
        """Refuse a sign that is none, and words without the formula."""
        if self.sign not in _PRINTED:
            raise ValueError(f"the sign must be one of {', '.join(_PRINTED)}, got {self.sign!r}")
        if self.words.count("{}") != 1:
            raise ValueError(f"the words must hold {{}} once, got {self.words!r}")

    def __str__(self) -> str:
        """The hypothesis as LaTeX text."""
        right = sympy.latex(self.right, order="none", symbol_names=LATEX_NAMES)
        return self.words.replace("{}", f"${self.left}{_PRINTED[self.sign]} {right}$")
