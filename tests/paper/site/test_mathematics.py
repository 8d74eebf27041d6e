"""Formulas become MathML that is set as TeX would; what cannot be read is shown as it is, or refused."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from paper.site.mathematics import capital, claim_html, formula_html, mathml, quoted_html, text_html
from paper.site.statements import code, label_link


def parsed(latex: str, *, display: bool = False) -> ElementTree.Element:
    found = mathml(latex, display=display)
    assert found is not None
    return ElementTree.fromstring(found)


def words(latex: str) -> list[str]:
    return [element.text or "" for element in parsed(latex).iter() if element.text]


@pytest.mark.parametrize("sign", ["Vert", "vert"])
def test_bars_know_their_sides(sign: str) -> None:
    bars = list(parsed(rf"\l{sign} u\r{sign}^2").iter("mo"))
    assert [bar.get("form") for bar in bars] == ["prefix", "postfix"]


def test_brackets_grow_around_fractions_only() -> None:
    (low, _), (tall, _) = (parsed(rf"\left({inner}\right)").iter("mo") for inner in ("x", r"\frac{a}{b}"))
    assert (low.get("stretchy"), tall.get("stretchy")) == ("false", "true")


def test_operators_are_words_apart_from_what_they_act_on() -> None:
    assert [element.tag for element in parsed(r"2\ln n")] == ["mrow"]
    assert [element.tag for element in parsed(r"2\ln n")[0]] == ["mn", "mspace", "mi", "mspace", "mi"]
    assert [element.tag for element in parsed(r"\max(a)")[0]] == ["mi", "mo", "mi", "mo"]
    assert words(r"\mathrm{erf}(x)") == ["erf", "(", "x", ")"]


def test_limits_stand_below_in_a_formula_of_its_own() -> None:
    assert parsed(r"\min_{i} x_i", display=True).find(".//munder") is not None
    assert parsed(r"\min_{i} x_i").find(".//munder") is None


@pytest.mark.parametrize("latex", [r"\unknown x", r"\frac{1}", r"\left( x"])
def test_what_cannot_be_read_is_shown_as_it_is(latex: str) -> None:
    assert mathml(latex) is None
    assert formula_html(latex) == Markup('<code class="latex">{}</code>').format(latex)


def test_a_claim_keeps_its_words_sets_its_formulas_and_links_its_labels() -> None:
    html = claim_html("‖e‖² ≤ 1 by top_k, or `other`", label_link)
    assert '<a href="top_k.html"><code>top_k</code></a>' in html
    assert html.endswith("or <code>other</code>")
    assert html.startswith("<math>")
    assert text_html(r"a \& b \textless{} c", code) == "a &amp; b &lt; c"


def test_a_letter_stays_beside_its_hyphen() -> None:
    together = text_html("a Top-$k$ rule", code)
    assert together == 'a <span class="together">Top-<math><mi>k</mi></math></span> rule'


def test_unknown_commands_and_open_formulas_of_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown command"):
        text_html(r"a \foo b", code)
    with pytest.raises(ValueError, match="does not end"):
        text_html("a $b", code)


def test_the_first_letter_is_a_capital_unless_it_belongs_to_a_formula() -> None:
    assert capital(Markup("word")) == "Word"
    assert capital(Markup("<math>x</math> is")) == "<math>x</math> is"
    assert capital(Markup('<span class="together">top-</span>')) == '<span class="together">Top-</span>'
    assert quoted_html("a `b` <c>") == "a <code>b</code> &lt;c&gt;"
