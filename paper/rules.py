"""What is each selection rule called, and how is it drawn? The one place for names of rules: tables and legends derive.

A rule that has no entry is called after its name in `SELECTORS`, so that a new one needs no line here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paper.latex import escape
from paper.style import BLACK, BLUE, GREEN, GREY, PURPLE, VERMILION, Dash, Look


@dataclass(frozen=True)
class Rule:
    """How a rule is called in LaTeX and, where curves show it, drawn.

    Args:
        name: its own, shared by its variants.
        variant: which of several of this name.
        source: key of the bibliography.
        colour: of its curves; none where no figure of all methods has it.
        dash: of its curves.
    """

    name: str
    variant: str = ""
    source: str = ""
    colour: str = ""
    dash: Dash = "-"

    @property
    def title(self) -> str:
        """Name and variant: `DGC, released`."""
        return f"{self.name}, {self.variant}" if self.variant else self.name

    @property
    def cited(self) -> str:
        """The title with its source."""
        return rf"{self.title} \citep{{{self.source}}}" if self.source else self.title

    @property
    def look(self) -> Look:
        """Its curve, whose title has the variant in brackets."""
        return Look(f"{self.name} ({self.variant})" if self.variant else self.name, self.colour or GREY, self.dash)


RULES: dict[str, Rule] = {
    "dense": Rule("dense", colour=BLACK, dash=(0, (4, 1.5))),
    "top_k": Rule("Top-$k$", colour=BLUE),
    "dgc": Rule("Top-$k$", "momentum before", "lin2018", PURPLE, (0, (6, 2))),
    "random_k": Rule("Rand-$k$", colour=GREY, dash=(0, (1, 1))),
    "gaussian_k": Rule("Gaussian-$k$", "ours", colour=GREEN, dash=(0, (3, 2))),
    "gaussian_k_released": Rule("Gaussian-$k$", "released", "shi2019", VERMILION, (0, (5, 1, 1, 1))),
    "dgc_released": Rule("DGC", "released", "lin2018"),
    "dgc_grace": Rule("DGC in GRACE", source="xu2021"),
    "sidco_released": Rule("SIDCo", "two stages", "abdelmoniem2021"),
    "sidco_adaptive": Rule("SIDCo", "adapted"),
    "sidco, best number of stages": Rule("SIDCo", "best number in hindsight"),
    "oktopk_released": Rule("Ok-Topk", "local"),
}
"""By name in `SELECTORS`, `ADAPTIVE_SELECTORS` and, of DGC's memory, `FEEDBACKS`; in tables' order."""

METHODS: dict[str, Look] = {name: rule.look for name, rule in RULES.items() if rule.colour}
"""The methods that curves show, the same way in every figure."""


def named(name: str) -> Rule:
    """The rule of this name; one without an entry has a title made from it: `First-$k$` for `first_k`."""
    words = escape(name.replace("_", " "))
    return RULES.get(name, Rule(re.sub(r"(\w) k\b", r"\1-$k$", words[:1].upper() + words[1:])))


def in_order(names: set[str]) -> list[str]:
    """Names in the order of `RULES`, those without an entry last."""
    return [name for name in RULES if name in names] + sorted(names - set(RULES))
