r"""How does LaTeX read on a page? Formulas become MathML, which browsers set by themselves; words stay words.

latex2mathml translates. What it lacks for good setting is mended in its tree: bars know their sides, and the names of
operators are set apart from what they act on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import zip_longest
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
_INFIX = frozenset({"mod"})
_LIMITS = frozenset({"max", "min", "sup", "inf", "lim", "lim sup", "lim inf"})
"""Operators below which their range stands in a formula of its own."""
_THIN = "0.167em"
_SPECIAL = {latex_escape(sign): sign for sign in "\\~^|<>&%$#_{}"}
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
    if any("\\" in (element.text or "") for element in tree.iter()):
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
    return Markup("").join(
        formula_html(piece) if place % 2 else _words(piece, link) for place, piece in enumerate(pieces)
    )


def with_references(text: str, link: Link) -> Markup:
    """Plain text in which `reference` has marked words."""
    pieces = _REFERENCES.split(text)
    return Markup("").join(link(piece) if place % 2 else escape(piece) for place, piece in enumerate(pieces))


def reference(word: str) -> str:
    """A word, marked for `with_references`."""
    return _REFERENCE.format(word)


def capital(html: Markup) -> Markup:
    """The text with a capital letter in front, unless it begins with a formula or a link."""
    return html if html.startswith("<") else Markup(html[:1].upper()) + html[1:]


def _words(latex: str, link: Link) -> Markup:
    plain = latex
    for command, sign in _SPECIAL.items():
        plain = plain.replace(command, sign)
    if "\\" in plain.replace("\\\\", ""):
        raise ValueError(f"an unknown command of LaTeX in {latex!r}")
    return with_references(plain.replace("--", "–").replace("~", "\u00a0"), link)


def _with_sides(latex: str) -> str:
    r"""The formula with `\left` and `\right` before bars, so that they grow and lie close to what they hold."""
    for opening, closing in _BARS:
        if latex.count(rf"\{opening}") == latex.count(rf"\{closing}"):
            latex = latex.replace(rf"\{opening}", rf"\left\{opening}").replace(rf"\{closing}", rf"\right\{closing}")
    return latex.replace(r"\left\left", r"\left").replace(r"\right\right", r"\right").replace(
        r"\arg", r"\operatorname{arg}"
    )


def _tidy(element: Element) -> None:
    """Mend a tree in place, the leaves first."""
    for child in element:
        _tidy(child)
    element[:] = [_unwrapped(child) for child in element]
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
    """The elements of a row, with a thin space between the name of an operator and what it acts on."""
    for element, following in zip_longest(row, row[1:]):
        name = element[0] if element.tag in _SCRIPTS else element
        is_operator = name.tag in {"mi", "mo"} and len(name.text or "") > 1 and (name.text or "").replace(" ", "").isalpha()
        if is_operator and name.text not in _INFIX:
            name.tag = "mi"
            name.attrib.pop("movablelimits", None)
        yield element
        if is_operator and name.tag == "mi" and following is not None and not _opens(following):
            yield Element("mspace", width=_THIN)


def _opens(element: Element) -> bool:
    """Whether an element is a bracket, an operator between two terms, or a row that a bracket begins."""
    if element.tag == "mrow" and len(element):
        return _opens(element[0])
    return element.tag in {"mo", "mspace"}
