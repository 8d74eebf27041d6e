"""The map of the folders is that of the tree: rooms that hold Python files, arrows that are imports."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from paper.folder_map import FOLDERS, arrows, folder_map, imported, main, rooms
from tests.support.paths import ROOT


@pytest.fixture(scope="module", autouse=True)
def _files_are_parsed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paper.folder_map.imported", cache(imported))
        yield


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    (tmp_path / "verify" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "verify" / "notes").mkdir()
    (tmp_path / "verify" / "notes" / "a.md").write_text("sparsync.kernels")
    (tmp_path / "verify" / "deep" / "er" / "a.py").write_text("from sparsync.theory.b import C\nimport numpy\n")
    (tmp_path / "paper" / "d.py").write_text("import sparsync.verify.e\nfrom paper import f\n")
    return tmp_path


def test_the_tracked_map_is_that_of_the_tree() -> None:
    assert (ROOT / "paper" / "docs" / "map.svg").read_text(encoding="utf-8") == folder_map(), "run `make docs`"


def test_rooms_are_folders_with_python_files_at_any_depth(tree: Path) -> None:
    assert rooms(tree / "verify") == ["deep"]


def test_arrows_are_imports_of_other_folders(tree: Path) -> None:
    assert arrows(tree, FOLDERS) == [("paper", "verify"), ("verify", "theory")]
    assert imported("from sparsync import kernels\nfrom . import x\nimport torch.nn") == {"kernels", "torch"}


def test_the_arrows_of_the_tree_lead_down_and_paper_and_experiments_do_not_meet() -> None:
    order = list(FOLDERS)
    found = arrows(ROOT, FOLDERS)
    assert all(order.index(name) < order.index(target) for name, target in found)
    assert {target for name, target in found if name == "tests"} == {*FOLDERS} - {"tests"}
    assert {target for name, target in found if name == "experiments"} == {"verify", "kernels", "theory"}
    assert {target for name, target in found if name == "paper"} == {"verify", "theory"}
    assert {target for name, target in found if name == "verify"} == {"kernels", "theory"}


def test_the_picture_has_a_box_a_name_and_a_line_for_everything(tree: Path) -> None:
    picture = ET.fromstring(folder_map(tree))
    space = "{http://www.w3.org/2000/svg}"
    words = ["".join(text.itertext()) for text in picture.iter(f"{space}text")]
    assert all(any(line.startswith(f"{name}/") for line in words) for name in FOLDERS)
    assert "deep" in words
    # The ground and a box each; beside the arrows, a head for each colour.
    assert len(list(picture.iter(f"{space}rect"))) == 1 + len(FOLDERS)
    assert sum("marker-end" in path.attrib for path in picture.iter(f"{space}path")) == 2


def test_the_command_writes_the_map_and_names_what_it_cannot_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paper.folder_map.folder_map", lambda: "the map")
    main(["--output", str(tmp_path / "map.svg")])
    assert (tmp_path / "map.svg").read_text(encoding="utf-8") == "the map"
    with pytest.raises(SystemExit, match="error: "):
        main(["--output", "/dev/null/map.svg"])
