r"""How does the claim of a proof step read in LaTeX? Its words stay words, its Unicode mathematics becomes `$…$`.

A claim is written in `theory/` as one would type it, `‖e‖² ≤ Σ_i v_i for all i ≤ k`. Letters that stand alone, signs
and what is written close to them are mathematics; everything else is text. An unknown character is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, groupby

from paper.latex import escape
from paper.statements.claim_signs import (
    ACCENTS,
    ACRONYMS,
    AFTER_A_LETTER,
    BARS,
    CLOSE_AFTER,
    CLOSE_BEFORE,
    CLOSERS,
    DIFFERENTIALS,
    GREEK,
    NAMED,
    OPENERS,
    OPERATORS,
    PLAIN,
    SHORT_LENGTH,
    SHORT_WORDS,
    SIGNS,
    SUBSCRIPTS,
    SUPERSCRIPTS,
)
from sparsync.theory.statements import STATEMENTS

LABEL = re.compile(
    rf"(?<!\w)(?:{'|'.join(sorted((label for label in STATEMENTS if '_' in label), key=len, reverse=True))})(?![\w(])"
)
"""The label of a statement where it is a word of its own; one without an underscore is such only in backquotes."""
_ALWAYS = frozenset("".join(BARS.values()) + "⟨⌈⌊")
"""Brackets that hold nothing but mathematics."""
_TOKEN = re.compile(
    rf"`[^`]*`|\s+|{LABEL.pattern}"
    r"|[A-Za-zÀ-ÿ]{2,}\d*(?:['’–-][A-Za-zÀ-ÿ]{2,}|['’]s\b|['’](?=[\s,.;:)]|$))*"
    rf"|(?<=\w)['’]s\b|[^\W\d_][{''.join(ACCENTS)}]|\d+(?:\.\d+)?|\*\*|\.\."
    rf"|[{re.escape(''.join(SUPERSCRIPTS))}]+|[{re.escape(''.join(SUBSCRIPTS))}]+|."
)


def claim_latex(claim: str, reference: Callable[[str], str]) -> str:
    r"""A claim as LaTeX text: `‖e‖² ≤ 1 for all t` is `$\lVert e\rVert^{2}\le 1$ for all $t$`.

    Args:
        claim: the words of a step.
        reference: how a statement's label, or a word in backquotes, is printed.

    Raises:
        ValueError: an unknown character, or a bracket without its partner; the message holds the claim.
    """
    try:
        tokens = _with_sides(_TOKEN.findall(claim))
        return "".join(_printed(run, reference) for run in _runs(tokens))
    except ValueError as error:
        raise ValueError(f"{error} in the claim {claim!r}") from error


def _with_sides(tokens: list[str]) -> list[str]:
    """The tokens with the two sides of `‖` and `|` told apart; a `|` between spaces is a condition."""
    sides = {bar: cycle(pair) for bar, pair in BARS.items()}
    conditions = {place for place in range(len(tokens)) if _neighbours(tokens, place) == (" ", " ")}
    return [
        token if token not in sides or (token == "|" and place in conditions) else next(sides[token])
        for place, token in enumerate(tokens)
    ]


def _runs(tokens: list[str]) -> Iterator[tuple[bool, list[str]]]:
    """The tokens in runs of mathematics (true) and of text (false)."""
    partners = _partners(tokens)
    mathematical = [_is_mathematics(tokens, place) for place in range(len(tokens))]
    for opening, closing in sorted(partners.items()):
        span = range(opening, closing + 1)
        before, after = tokens[opening - 1 : opening], tokens[closing + 1 : closing + 2]
        glued = any(mathematical[opening - 1] and not token.isspace() for token in before) or any(
            mathematical[closing + 1] and token not in CLOSERS and not token.isspace() for token in after
        )
        if glued or tokens[opening] in _ALWAYS or not any(_is_word(tokens, place) for place in span):
            for place in span:
                mathematical[place] = True
        else:
            mathematical[opening] = mathematical[closing] = False
    for place, token in enumerate(tokens):
        # A space belongs to the formula around it.
        if token.isspace():
            mathematical[place] = mathematical[place - 1] and all(mathematical[place + 1 : place + 2])
    for kind, group in groupby(range(len(tokens)), key=lambda place: mathematical[place]):
        yield kind, [tokens[place] for place in group]


def _partners(tokens: Sequence[str]) -> dict[int, int]:
    """The place of each opening bracket with that of its closing one; half-open intervals mix the kinds."""
    partners, waiting = {}, []
    for place, token in enumerate(tokens):
        if token in OPENERS:
            waiting.append(place)
        elif token in CLOSERS:
            if not waiting:
                raise ValueError(f"{token!r} has no partner")
            partners[waiting.pop()] = place
    if waiting:
        raise ValueError(f"{tokens[waiting[0]]!r} has no partner")
    return partners


def _is_mathematics(tokens: Sequence[str], place: int) -> bool:
    """Whether a token outside all brackets is part of a formula."""
    token = tokens[place]
    before, after = _neighbours(tokens, place)
    if token.isspace() or _is_reference(token) or _is_word(tokens, place):
        return False
    if token in "-–" or (token == "/" and before.isalpha() and after.isalpha()):
        return not (_is_word(tokens, place - 1) or _is_word(tokens, place + 1))
    return token not in {*",;:.?!", "'s", "’s"}


def _is_word(tokens: Sequence[str], place: int) -> bool:
    """Whether a token is a word of the sentence: neither a letter or operator, nor written close to a formula."""
    if not 0 <= place < len(tokens) or not re.fullmatch(r"[A-Za-zÀ-ÿ]+\d*(?:['’–-]\w*)*", tokens[place]):
        return False
    token = tokens[place]
    before, after = _neighbours(tokens, place)
    if token in {"a", "A"}:
        following = tokens[place + 2] if after.isspace() and place + 2 < len(tokens) else ""
        operand = place > 1 and tokens[place - 2] in CLOSE_BEFORE
        return (
            not operand
            and (before.isspace() or before in "([")
            and following not in AFTER_A_LETTER
            and _is_word(tokens, place + 2)
        )
    if len(token) == 1 or token in OPERATORS or token in DIFFERENTIALS:
        return False
    if before in CLOSE_BEFORE or before.isdigit() or before in GREEK or before in SUPERSCRIPTS or after in CLOSE_AFTER:
        return False
    if after and (after in GREEK or after[0] in SUPERSCRIPTS or after[0] in SUBSCRIPTS):
        return False
    is_acronym = token in ACRONYMS or (token.isupper() and len(token) == SHORT_LENGTH)
    return len(token) > SHORT_LENGTH or token.lower() in SHORT_WORDS or is_acronym or _is_proper(token)


def _is_proper(token: str) -> bool:
    """Whether three letters are a name such as Sós, and not a product such as Lpq."""
    return len(token) == SHORT_LENGTH and token.istitle() and re.search("[aeiouyà-ÿ]", token[1:]) is not None


def _neighbours(tokens: Sequence[str], place: int) -> tuple[str, str]:
    """The tokens before and after; a space beyond either end."""
    padded = [" ", *tokens, " "]
    return padded[place], padded[place + 2]


def _printed(run: tuple[bool, list[str]], reference: Callable[[str], str]) -> str:
    mathematical, tokens = run
    if mathematical and not all(token.isdigit() for token in tokens):
        # A sign between words needs something on either side to be a sum.
        before = "{}" if tokens[0] in SIGNS and tokens[1:] and tokens[1].isspace() else ""
        return f"${before}{_mathematics(tokens)}{'{}' if tokens[-1] in SIGNS else ''}$"
    return "".join(reference(token.strip("`")) if _is_reference(token) else _text(token) for token in tokens)


def _is_reference(token: str) -> bool:
    return token.startswith("`") or ("_" in token and token in STATEMENTS)


def _text(word: str) -> str:
    plain = word.replace("’", "'").replace("–", "--")
    if not plain.isascii() and max(plain) > "\u00ff":
        raise ValueError(f"no LaTeX for the word {word!r}")
    return escape(plain)


def _mathematics(tokens: Sequence[str]) -> str:
    """A run of tokens, all of them part of one formula."""
    partners = _partners(tokens)
    printed: list[str] = []
    place = 0
    while place < len(tokens):
        token, place = tokens[place], place + 1
        if token in {"^", "**", "_", "√"}:
            end = _argument_end(tokens, place, partners, signed=token != "√")
            argument = _mathematics(_without_brackets(tokens[place:end]))
            place = end
            printed.append({"_": f"_{{{argument}}}", "√": rf"\sqrt{{{argument}}}"}.get(token, f"^{{{argument}}}"))
        elif token == "*":
            printed.append(_star(tokens, place - 1))
        elif token == "P" and place in partners and set(tokens[place : partners[place]]) & set("<>=≤≥"):
            printed.append(r"\Pr")
        elif token == "E" and tokens[place : place + 1] != ["_"]:
            printed.append(r"\mathbb{E}")
        elif token.isspace():
            printed.append(_space(*_neighbours(tokens, place - 1)))
        elif token in DIFFERENTIALS:
            printed.append(rf"\,{token}" if _neighbours(tokens, place - 1)[0].isspace() and place > 1 else token)
        else:
            printed.append(_atom(token))
    joined = re.sub(r"\s+(?=[\s^_)}\]/,'])", "", "".join(printed)).strip()
    # Two powers in a row, as in x*², need a base for the second.
    return re.sub(r"(\^\{[^{}]*\})(?=[\^'])", r"\1{}", joined)


def _argument_end(tokens: Sequence[str], place: int, partners: Mapping[int, int], *, signed: bool) -> int:
    """Where the argument of a root, power or index ends: a bracket, or a letter or number with its sign or index."""
    if place >= len(tokens):
        raise ValueError(f"nothing follows {tokens[-1]!r}")
    if place in partners:
        return partners[place] + 1
    if tokens[place] in "−-" and signed:
        return _argument_end(tokens, place + 1, partners, signed=True)
    indexed = not signed and tokens[place + 1 : place + 2] == ["_"]
    return _argument_end(tokens, place + 2, partners, signed=True) if indexed else place + 1


def _without_brackets(tokens: Sequence[str]) -> Sequence[str]:
    return tokens[1:-1] if tokens[0] in OPENERS else tokens


def _space(before: str, after: str) -> str:
    """A space of a formula, which shows only beside a name: `mean y`, `kept back`."""
    if _is_name(before) and _is_name(after):
        return r"\ "
    operands = (before[-1].isalnum() or before in CLOSERS) and (after[0].isalnum() or after in OPENERS)
    return r"\," if operands and (_is_name(before) or _is_name(after)) else " "


def _star(tokens: Sequence[str], place: int) -> str:
    """A product where something follows that can be multiplied, else the mark of a solution: `2*d`, `x*`."""
    before, after = _neighbours(tokens, place)
    if before in {" ", "("}:
        return r"\ast "
    multiplied = after[0].isalpha() or after[0].isdecimal() or after[0] in OPENERS
    return r"\," if multiplied else "^{*}"


def _atom(token: str) -> str:
    """One token of a formula."""
    if token in NAMED:
        return rf"\{NAMED[token]} "
    if token in OPERATORS:
        return rf"{OPERATORS[token]} "
    if token in PLAIN:
        return PLAIN[token]
    if token[-1] in ACCENTS:
        return rf"\{ACCENTS[token[-1]]}{{{_atom(token[0]).strip()}}}"
    for table, sign in ((SUPERSCRIPTS, "^"), (SUBSCRIPTS, "_")):
        if token[0] in table:
            return f"{sign}{{{''.join(table[character] for character in token)}}}"
    if _is_name(token):
        return rf"\mathrm{{{token}}}" if "-" not in token else rf"\text{{{token}}}"
    if not re.fullmatch(r"[A-Za-z]+|\d+(?:\.\d+)?", token):
        raise ValueError(f"no LaTeX for {token!r}")
    return token


def _is_name(token: str) -> bool:
    """Whether a word inside a formula is a name, and not a product of letters."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z\d-]+", token) or token in OPERATORS or token in DIFFERENTIALS:
        return False
    return len(token) > SHORT_LENGTH or token.lower() in SHORT_WORDS or "-" in token or _is_proper(token)
