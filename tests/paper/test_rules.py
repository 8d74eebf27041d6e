"""Every rule has a name: its own, or one made from that of its function."""

from __future__ import annotations

import pytest

from paper.rules import METHODS, RULES, in_order, named
from sparsync.experiments.training.adaptive import ADAPTIVE_SELECTORS
from sparsync.kernels.selection import SELECTORS


@pytest.mark.parametrize("name", [*SELECTORS, *ADAPTIVE_SELECTORS])
def test_every_selector_can_be_named_and_drawn(name: str) -> None:
    rule = named(name)
    assert rule.title
    assert rule.look.colour


@pytest.mark.parametrize(
    ("name", "title", "cited", "legend"),
    [
        ("top_k", "Top-$k$", "Top-$k$", "Top-$k$"),
        (
            "gaussian_k_released",
            "Gaussian-$k$, released",
            r"Gaussian-$k$, released \citep{shi2019}",
            "Gaussian-$k$ (released)",
        ),
        ("first_k", "First-$k$", "First-$k$", "First-$k$"),
        ("first_k_released", "First-$k$ released", "First-$k$ released", "First-$k$ released"),
        ("a%b", r"A\%b", r"A\%b", r"A\%b"),
    ],
)
def test_a_name_has_its_forms(name: str, title: str, cited: str, legend: str) -> None:
    assert (named(name).title, named(name).cited, named(name).look.title) == (title, cited, legend)


def test_titles_and_looks_tell_rules_apart() -> None:
    assert len({rule.title for rule in RULES.values()}) == len(RULES)
    assert len({look.colour for look in METHODS.values()}) == len(METHODS)


def test_rules_without_an_entry_come_last() -> None:
    assert in_order({"z", "top_k", "b", "dense"}) == ["dense", "top_k", "b", "z"]
