"""What README and the pages of paper/docs hold: blocks of code, links, headings and commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "paper" / "docs").glob("*.md"))]


def python_block(page: Path, mark: str) -> str:
    """The one Python block of a page that holds a text."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    (found,) = [block for block in blocks if mark in block]
    return str(found)


def links(text: str) -> list[str]:
    """The targets of all links and pictures outside of code, but for those into the web."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]


def anchors(text: str) -> set[str]:
    """The names of a page's headings: in small letters, hyphens for spaces, other signs left out."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def module_commands(text: str) -> list[tuple[str, list[str]]]:
    """Every `-m sparsync.…` of the page's shell blocks and code in lines: the module and the words behind it."""
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    inline = re.findall(r"`(python -m [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    found = []
    for line in [*lines, *inline]:
        before, mark, behind = line.partition("-m sparsync.")
        if mark and not before.lstrip().startswith("#"):
            module, *words = shlex.split(behind, comments=True)
            found.append((f"sparsync.{module}", words))
    return found


def make_targets(text: str) -> set[str]:
    """Every target of `make …` in shell blocks and code in lines."""
    return set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, flags=re.MULTILINE))
