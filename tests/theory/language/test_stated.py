"""A file's statements are built when they are looked at, once, and each label stands for one statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sparsync.theory.contraction.ladder import random_k, top_k
from sparsync.theory.language.stated import Stated, by_label, joined
from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import FAMILIES, MODULES, STATEMENTS


def counted(builder: Callable[[], Statement]) -> tuple[list[str], Callable[[], Statement]]:
    """A builder of the same name, and what notes each of its calls."""
    calls: list[str] = []

    def build() -> Statement:
        calls.append(builder.__name__)
        return builder()

    build.__name__ = builder.__name__
    return calls, build


def test_a_statement_is_built_at_the_first_look_and_no_other() -> None:
    calls, build = counted(top_k)
    whole = joined(by_label("a.module", build), by_label("another.module", random_k))
    assert (list(whole), len(whole), "top_k" in whole, "top" in whole) == (["top_k", "random_k"], 2, True, False)
    assert calls == []
    assert whole["top_k"] is whole["top_k"]
    assert whole["top_k"].module == "a.module"
    assert calls == ["top_k"]


def test_a_label_may_be_given_where_a_function_has_another_name() -> None:
    def of_the_largest() -> Statement:
        return top_k()

    assert by_label("a.module", random_k, top_k=of_the_largest)["top_k"].label == "top_k"
    with pytest.raises(ValueError, match="statement 'of_the_largest' has the label 'top_k'"):
        by_label("a.module", of_the_largest)["of_the_largest"]


def test_no_two_statements_have_one_label() -> None:
    with pytest.raises(ValueError, match=r"a\.module: two statements have one label among \['top_k', 'top_k'\]"):
        by_label("a.module", top_k, top_k)
    with pytest.raises(ValueError, match=r"two statements have one label: \['top_k'\]"):
        joined(by_label("a.module", top_k, random_k), by_label("another.module", top_k))


def test_what_is_put_in_place_of_a_statement_is_found_there() -> None:
    whole = joined(by_label("a.module", top_k, random_k))
    other = replace(top_k(), title="another")
    whole["top_k"] = other
    assert list(whole.values()) == [other, whole["random_k"]]
    del whole["top_k"]
    assert list(whole) == ["random_k"]
    with pytest.raises(KeyError, match="top_k"):
        whole["top_k"]


@pytest.mark.parametrize("label", STATEMENTS)
def test_a_statement_is_found_under_its_label_and_knows_its_file(label: str) -> None:
    (family,) = (title for title, found in FAMILIES.items() if label in found)
    (module,) = (module for module in MODULES[family] if label in module.STATEMENTS)
    assert isinstance(module.STATEMENTS, Stated)
    assert STATEMENTS[label] is FAMILIES[family][label] is module.STATEMENTS[label]
    assert (STATEMENTS[label].label, STATEMENTS[label].module) == (label, module.__name__)
