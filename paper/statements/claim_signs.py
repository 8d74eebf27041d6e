"""Which LaTeX stands for which sign, operator and short word of a claim? The tables that `claims.py` reads by."""

from __future__ import annotations

_LETTERS = "αβγδεζηθικλμνξπρστφχψωΓΔΘΛΞΦΨΩ"
_LETTER_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau varphi chi psi omega "
    "Gamma Delta Theta Lambda Xi Phi Psi Omega"
)
GREEK = dict(zip(_LETTERS, _LETTER_NAMES.split(), strict=True))
_NORM, _SIZE = "⟦⟧", "⟬⟭"
BARS = {"‖": _NORM, "|": _SIZE}
"""Brackets whose two sides look alike, and the signs that stand for either side once they are told apart."""
NAMED = (
    GREEK
    | {"ϕ": "phi", "ℓ": "ell", "∞": "infty", "∂": "partial", "∇": "nabla", "…": "dots", "∅": "emptyset", "⊤": "top"}
    | {"Σ": "sum", "∑": "sum", "Π": "prod", "∏": "prod", "∫": "int", "∀": "forall", "∃": "exists", "∖": "setminus"}
    | {"≤": "le", "≥": "ge", "≠": "neq", "≈": "approx", "≡": "equiv", "∼": "sim", "~": "sim", "∝": "propto"}
    | {"∈": "in", "∉": "notin", "⊂": "subset", "⊆": "subseteq", "∪": "cup", "∩": "cap", "≪": "ll", "≫": "gg"}
    | {"→": "to", "↦": "mapsto", "⇒": "Rightarrow", "⇔": "Leftrightarrow", "↓": "downarrow", "↑": "uparrow"}
    | {"·": "cdot", "×": "times", "±": "pm", "∓": "mp", "∘": "circ", "⊙": "odot", "⊗": "otimes", "⊕": "oplus"}
    | {"⟨": "langle", "⟩": "rangle", "⌈": "lceil", "⌉": "rceil", "⌊": "lfloor", "⌋": "rfloor"}
    | {_NORM[0]: "lVert", _NORM[1]: "rVert", _SIZE[0]: "lvert", _SIZE[1]: "rvert", "|": "mid"}
    | {"⪯": "preceq", "⪰": "succeq", "ℝ": "mathbb{R}", "ℕ": "mathbb{N}", "ℤ": "mathbb{Z}", "𝔼": "mathbb{E}"}
    | {sign: sign for sign in "%#&{}"}
)
"""Signs that are commands in LaTeX, by the commands' names."""
PLAIN = {sign: sign for sign in "=<>+-/!'.,;:()[]"} | {
    "−": "-",
    "–": "-",
    "′": "'",
    "″": "''",
    "..": r"\dots ",
    "½": r"\tfrac{1}{2}",
    "¼": r"\tfrac{1}{4}",
}
"""Signs that need no command, and the few that need more than one."""
SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱᵀᵗᵏ", "0123456789+-()niTtk", strict=True))
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ᵢⱼₖₗₘₙₜₓₐₑ", "0123456789+-()ijklmntxae", strict=True))
ACCENTS = {"\u0303": "tilde", "\u0304": "bar", "\u0302": "hat"}
"""Characters that combine with the letter before them."""
OPENERS, CLOSERS = frozenset("([{⟨⌈⌊⟦⟬"), frozenset(")]}⟩⌉⌋⟧⟭")

SIGNS = frozenset("+−-·")
"""Signs between two terms or factors."""
CLOSE_BEFORE = frozenset(")]}⟩⌉⌋⟦⟧⟬⟭*/·^_√−+=<>≤≥→")
CLOSE_AFTER = frozenset({*"(_^*⟦⟧⟬⟭/·√", "**"})
"""What makes a name of a word that is written close to it: `tail(w)`, `‖mean‖`."""

_COMMANDS = "max min sup inf lim ln log exp sin cos tan sinh cosh tanh arcsin arccos arctan gcd det"
_NAMES = "Re Im erf erfc erfinv Beta Var"
OPERATORS = (
    {name: rf"\{name}" for name in _COMMANDS.split()}
    | {name: rf"\operatorname{{{name}}}" for name in _NAMES.split()}
    | {"mod": r"\bmod", "argmax": r"\arg\max", "argmin": r"\arg\min", "limsup": r"\limsup", "liminf": r"\liminf"}
)
DIFFERENTIALS = frozenset({"dt", "dx", "dy", "dz", "ds", "du", "da", "dw"})

ACRONYMS = frozenset({"EF", "LP", "QP"})
SHORT_LENGTH = 3
_SHORT = (
    "ad add aim all an and any are as at be bit box but by can cap cut do due end few fit fix for gap get got "
    "had has hit  ho how if iff in is it its key lag law lay led let lie lot low map may met mix nd net new no "
    "nor not now nth odd of off  old on one or our out own pad pay per put ran raw rd run say see set six so "
    "st sub sum ten th the tie tol to too top  try two up use vs was way we yet"
)
SHORT_WORDS = frozenset(_SHORT.split())
"""English words of at most `SHORT_LENGTH` letters; other letters that short are a product, as in `hr = mz`."""
_AFTER = (
    "and are as at be beside by exceeds falls for from gives grows has have holds if iff in increases is it "
    "lies makes obeys of on or than that there to times turns where which while with"
)
AFTER_A_LETTER = frozenset(_AFTER.split())
"""Words before which `a` is a letter, as in `the phase of a is 0`, and not the article."""
