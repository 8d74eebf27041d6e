"""Numbers and words of the result files read in LaTeX as they should."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper import latex
from tests.support.drawing import plain


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("gaussian_k", r"gaussian\_k"),
        ("50% of $1 & #2", r"50\% of \$1 \& \#2"),
        ("{a}", r"\{a\}"),
        ("C:\\x", r"C:\textbackslash{}x"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
    ],
)
def test_escaped_text_reads_as_it_was(text: str, escaped: str) -> None:
    assert latex.escape(text) == escaped


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="\\~^|<>")))
def test_escaping_only_puts_backslashes_before_special_characters(text: str) -> None:
    escaped = latex.escape(text)
    assert re.sub(r"\\([&%$#_{}])", r"\1", escaped) == text
    assert not re.search(r"(?<!\\)[&%$#_{}]", escaped)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (latex.decimal(-0.004, 2), "0.00"),
        (latex.decimal(-0.25, 1), "-0.2"),
        (latex.signed(0.26, 1), "+0.3"),
        (latex.signed(-0.26, 1), "-0.3"),
        (latex.signed(0.004, 2), "0.00"),
        (latex.percent(0.805), "80.5"),
        (latex.integer(1992), "1992"),
        (latex.integer(199210), r"199\,210"),
        (latex.shortest(0.1), "0.1"),
        (latex.size(6400), r"6.40\,kB"),
        (latex.size(501_000), r"501\,kB"),
        (latex.size(3_187_360), r"3.19\,MB"),
        (latex.size(123_456_789), r"123\,MB"),
        (latex.fraction("10/18"), "5/9"),
        (latex.fraction("2"), "2"),
    ],
)
def test_numbers_are_formatted_for_reading(shown: str, text: str) -> None:
    assert plain(shown) == text


@pytest.mark.parametrize("show", [latex.percent, latex.shortest, latex.size, lambda value: latex.decimal(value, 1)])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(show: Callable[[float], str], value: float) -> None:
    with pytest.raises(ValueError, match=str(value)):
        show(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1000, "10^{3}"), (25_600_000, r"2.56\cdot 10^{7}"), (999_999, "10^{6}"), (0.5, r"5\cdot 10^{-1}")],
)
def test_large_numbers_are_written_with_a_power_of_ten(value: float, text: str) -> None:
    assert latex.scientific(value) == rf"\ensuremath{{{text}}}"
