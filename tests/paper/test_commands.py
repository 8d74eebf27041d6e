"""A caption's command makes what it stands under, and every figure and table has one."""

from __future__ import annotations

import re

import pytest

from paper.commands import command_definitions, commands, remaking
from paper.figures import FIGURES
from tests.support.paths import ROOT


@pytest.mark.parametrize(
    ("results", "words"),
    [
        (("decays",), "make reproduce ONLY=decays"),
        (("convergence", "races"), 'make reproduce ONLY="convergence races"'),
        (("variants",), "make reproduce ONLY=variants PROFILE=record"),
        (("kernels", "wire"), "make bench show"),
        (("verify", "formal"), "make verify formal show"),
        (("links", "crossovers"), "make links reproduce ONLY=crossovers"),
    ],
)
def test_a_command_names_what_finds_the_results_and_draws_last(results: tuple[str, ...], words: str) -> None:
    assert remaking(results) == words


def test_what_has_no_results_has_no_command() -> None:
    with pytest.raises(ValueError, match="no results"):
        remaking(())


def test_every_figure_has_a_command_of_goals_that_the_makefile_has() -> None:
    goals = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(FIGURES) <= set(commands())
    for words in commands().values():
        named = re.sub(r'ONLY="[^"]*"|[A-Z]+=\S+', "", words).split()
        assert named[0] == "make"
        assert set(named[1:]) <= goals
        assert named[-1] in ("reproduce", "show")


def test_latex_finds_a_command_by_the_name_of_a_figure() -> None:
    text = command_definitions(ROOT)
    assert r"\expandafter\def\csname reproduce:race_finals\endcsname{make reproduce ONLY=" in text
    assert r'ONLY="races race\_finals" PROFILE=record}' in text
