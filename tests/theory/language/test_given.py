from dataclasses import replace

import pytest
import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, mu
from sparsync.theory.statements import STATEMENTS

STEP = Given("step_size", r"\eta", "=", 2 / (L + mu), words="with {} for all steps")


def test_a_hypothesis_is_printed_from_the_expression_that_checks_read() -> None:
    assert str(STEP) == r"with $\eta= \frac{2}{\mu + L}$ for all steps"
    statement = replace(STATEMENTS["top_k"], assumptions=("any vector", STEP))
    assert statement.given("step_size") == 2 / (L + mu)
    assert statement.assumption_texts == ("any vector", str(STEP))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="top_k: no assumption is named 'step'"):
        STATEMENTS["top_k"].given("step")


@pytest.mark.parametrize(("sign", "words"), [("<", "{}"), ("=", "no place"), ("=", "{} and {}")])
def test_a_sign_or_words_that_cannot_be_printed_are_refused(sign: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"got '{sign if words == '{}' else words}'"):
        Given("step_size", r"\eta", sign, sympy.Integer(1), words=words)  # type: ignore[arg-type]


def test_a_step_is_computed_or_argued() -> None:
    with pytest.raises(ValueError, match="'so' is neither computed nor argued"):
        Step("so", None)
    assert Step("so", None, argued="by induction").holds()
    assert not Step("so", lambda: sympy.Integer(1), argued="in part").holds()


def test_a_domain_admits_or_not() -> None:
    statement = STATEMENTS["top_k"]
    assert statement.admits(k=1, d=2)
    assert not statement.admits(k=3, d=2)
    assert not statement.admits(k=1.5, d=2)
    with pytest.raises(ValueError, match="expected the parameters"):
        statement.admits(k=1)
