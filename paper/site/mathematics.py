r"""How does LaTeX read on a page? Formulas become MathML, which browsers set by themselves; words stay words.

latex2mathml translates. What it lacks for good setting is mended in its tree: bars know their sides, and the names of
operators are set apart from what they act on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert
from latex2mathml.exceptions import DenominatorNotFoundError, ExtraLeftOrMissingRightError, NumeratorNotFoundError
from markupsafe import Markup, escape

from paper.latex import escape as latex_escape
from paper.statements.claims import claim_latex

_REFERENCE = "\ue000{}\ue001"
_REFERENCES = re.compile("\ue000(.*?)\ue001")
"""Marks around a label or a word of code, in the private area of Unicode: no text of ours has them."""
_BARS = (("lVert", "rVert"), ("lvert", "rvert"))
_ROWS = frozenset({"math", "mrow", "mtd", "mstyle", "msqrt"})
_SCRIPTS = frozenset({"msub", "msup", "msubsup", "munder", "munderover", "mover"})
_PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
_INFIX = frozenset({"mod"})
_LIMITS = frozenset({"max", "min", "sup", "inf", "lim", "lim sup", "lim inf"})
"""Operators below which their range stands in a formula of its own."""
_TALL = frozenset({"mfrac", "mtable", "munder", "munderover"})
"""What brackets grow around; browsers set a bracket that could grow, and does not, with too much space."""
_SPACES = {"/": "0", ":": "0.222em"}
"""Around signs to which browsers give another space than TeX does."""
_CAPITALS = frozenset("ΓΔΘΛΞΠΣΦΨΩ")
"""Greek letters that are upright in TeX."""
_THIN = "0.167em"
_SPECIAL = {latex_escape(sign): sign for sign in "\\~^|<>&%$#_{}"}
_TOGETHER = '<span class="together">'
_FAULTS = (
    DenominatorNotFoundError,
    ExtraLeftOrMissingRightError,
    NumeratorNotFoundError,
    IndexError,
    ElementTree.ParseError,
)
"""What latex2mathml raises where it cannot read something."""

Link = Callable[[str], Markup]
"""A label, or another word in backquotes, as HTML."""


def formula_html(latex: str, *, display: bool = False) -> Markup:
    """A formula as MathML; one that cannot be translated is shown as what it is, its LaTeX."""
    found = mathml(latex, display=display)
    return found if found is not None else Markup('<code class="latex">{}</code>').format(latex)


@cache
def mathml(latex: str, *, display: bool = False) -> Markup | None:
    """A formula as MathML, or None where something of it is unknown to the translator."""
    try:
        tree = ElementTree.fromstring(convert(_with_sides(latex), display="block" if display else "inline"))
    except _FAULTS:
        return None
    for element in tree.iter():
        element.tag = element.tag.rpartition("}")[2]
    _tidy(tree)
    if any("\\" in (element.text or "") or not _is_whole(element) for element in tree.iter()):
        return None
    if not display:
        del tree.attrib["display"]
    for element in tree.iter("msub") if display else ():
        element.tag = "munder" if element[0].text in _LIMITS else element.tag
    return Markup(ElementTree.tostring(tree, encoding="unicode"))


def claim_html(claim: str, link: Link) -> Markup:
    """The claim of a step, or a title, with its Unicode mathematics as MathML and its labels linked.

    Raises:
        ValueError: see `claim_latex`.
    """
    return text_html(claim_latex(claim, _REFERENCE.format), link)


def text_html(latex: str, link: Link) -> Markup:
    """LaTeX text with `$…$` in it; every other command is an error.

    Raises:
        ValueError: a command that is none of a sign, or a formula that does not end.
    """
    pieces = re.split(r"(?<!\\)\$", latex)
    if len(pieces) % 2 == 0:
        raise ValueError(f"a formula does not end in {latex!r}")
    parts: list[Markup] = []
    for text, latex_formula in zip(pieces[::2], [*pieces[1::2], None], strict=True):
        # A letter stays beside the hyphen before it, as in Top-k.
        before, word = _parted(text) if latex_formula is not None else (text, "")
        parts.append(_words(before, link))
        if latex_formula is not None:
            shown = formula_html(latex_formula)
            parts.append(Markup(_TOGETHER + "{}{}</span>").format(_words(word, link), shown) if word else shown)
    return Markup("").join(parts)


def with_references(text: str, link: Link) -> Markup:
    """Plain text in which `reference` has marked words."""
    pieces = _REFERENCES.split(text)
    return Markup("").join(link(piece) if place % 2 else escape(piece) for place, piece in enumerate(pieces))


def reference(word: str) -> str:
    """A word, marked for `with_references`."""
    return _REFERENCE.format(word)


def quoted_html(text: str) -> Markup:
    """Plain text in which what stands in backquotes is code."""
    pieces = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if place % 2 else escape(piece) for place, piece in enumerate(pieces)
    )


def capital(html: Markup) -> Markup:
    """The text with a capital letter in front, unless it begins with a formula or a link."""
    start = len(_TOGETHER) if html.startswith(_TOGETHER) else 0
    return html[:start] + html[start : start + 1].upper() + html[start + 1 :]


def _words(latex: str, link: Link) -> Markup:
    plain = latex
    for command, sign in _SPECIAL.items():
        plain = plain.replace(command, sign)
    if "\\" in plain.replace("\\\\", ""):
        raise ValueError(f"an unknown command of LaTeX in {latex!r}")
    return with_references(plain.replace("--", "–").replace("~", "\u00a0"), link)


def _parted(text: str) -> tuple[str, str]:
    """A text and its last word, if that ends with a hyphen; else the text and nothing."""
    word = re.search(r"[^\s\ue000\ue001]*-$", text)
    return (text[: word.start()], word[0]) if word else (text, "")


def _with_sides(latex: str) -> str:
    r"""The formula with `\left` and `\right` before bars, so that they grow and lie close to what they hold."""
    for opening, closing in _BARS:
        if latex.count(rf"\{opening}") == latex.count(rf"\{closing}"):
            latex = latex.replace(rf"\{opening}", rf"\left\{opening}").replace(rf"\{closing}", rf"\right\{closing}")
    return (
        latex.replace(r"\left\left", r"\left")
        .replace(r"\right\right", r"\right")
        .replace(r"\arg", r"\operatorname{arg}")
    )


def _tidy(element: Element) -> None:
    """Mend a tree in place, the leaves first."""
    for child in element:
        _tidy(child)
    element[:] = [_unwrapped(child) for child in element]
    text = element.text or ""
    if element.tag == "mo" and text in _SPACES:
        element.attrib |= {"lspace": _SPACES[text], "rspace": _SPACES[text]}
    if element.tag == "mi" and text in _CAPITALS:
        element.set("mathvariant", "normal")
    if not any(child.tag in _TALL for child in element.iter()):
        for child in element:
            if child.tag == "mo" and child.get("stretchy") == "true":
                child.set("stretchy", "false")
    if element.tag in _ROWS:
        element[:] = list(_spaced(list(element)))


def _unwrapped(element: Element) -> Element:
    """A row of one element as that element, and a row of upright letters as one name."""
    if element.tag != "mrow" or not len(element):
        return element
    if len(element) == 1:
        return element[0]
    if all(child.tag == "mi" and child.get("mathvariant") == "normal" for child in element):
        name = Element("mi")
        name.text = "".join(child.text or "" for child in element)
        return name
    return element


def _spaced(row: list[Element]) -> Iterator[Element]:
    """The elements of a row, with a thin space around the name of an operator, but none before its brackets."""
    for before, element, following in zip([None, *row], row, [*row[1:], None], strict=False):
        name = element[0] if element.tag in _SCRIPTS else element
        is_operator = (
            name.tag in {"mi", "mo"} and len(name.text or "") > 1 and (name.text or "").replace(" ", "").isalpha()
        )
        if is_operator and name.text not in _INFIX:
            name.tag = "mi"
            name.attrib.pop("movablelimits", None)
            if before is not None and before.tag not in {"mo", "mspace"}:
                yield Element("mspace", width=_THIN)
        yield element
        if is_operator and name.tag == "mi" and following is not None and not _opens(following):
            yield Element("mspace", width=_THIN)


def _is_whole(element: Element) -> bool:
    """Whether a fraction, root or script has as many parts as its kind needs."""
    return len(element) == _PARTS.get(element.tag, len(element))


def _opens(element: Element) -> bool:
    """Whether an element is a bracket, an operator between two terms, or a row that a bracket begins."""
    if element.tag == "mrow" and len(element):
        return _opens(element[0])
    return element.tag in {"mo", "mspace"}
