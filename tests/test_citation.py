"""CITATION.cff is valid by the schema of its version, and says what the package does."""

from __future__ import annotations

import tomllib

import pytest
from cffconvert import Citation

from tests.support.paths import ROOT

TEXT = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_file_is_valid_by_its_schema() -> None:
    Citation(TEXT, src="CITATION.cff").validate()


@pytest.mark.parametrize(("old", "new"), [("type: software", "type: ware"), ("cff-version: 1.2.0\n", "")])
def test_a_wrong_file_is_not(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(Exception, match=r"ware|cff-version"):
        Citation(TEXT.replace(old, new)).validate()


def test_version_and_licence_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = Citation(TEXT).cffobj
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert [author["name"] for author in cited["authors"]] == [author["name"] for author in project["authors"]]
