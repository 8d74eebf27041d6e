"""A site replaces another as a whole, a fault leaves the old one, and its parts know where they come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper.claims import CLAIMS
from paper.results import reads_recorded, result
from paper.site import __main__ as command
from paper.site import build as building
from paper.site.claims import shown_claims
from paper.site.figures import Figure, figures
from paper.site.pages import json_html
from paper.site.sources import ROOT, Sources, importing_tests
from paper.site.statements import entries
from paper.verdicts import Verdict

RECORD = ROOT / "paper" / "data"


def test_a_fault_leaves_the_old_site_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "site"
    (old / "assets").mkdir(parents=True)
    (old / "assets" / "colours.css").write_text("old")

    def fail(*_arguments: object, **_options: object) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(building, "pages", fail)
    monkeypatch.setattr(building, "_content", lambda *_arguments: None)
    with pytest.raises(SystemExit, match="error: a fault"):
        command.main(["--data-folder", str(RECORD), "--output-folder", str(old)])
    assert (old / "assets" / "colours.css").read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="is not a site"):
        building.build(RECORD, tmp_path, cache_folder=tmp_path / "cache")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_missing_results_are_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"error: .*\.json.* is missing"):
        command.main(["--data-folder", str(tmp_path), "--output-folder", str(tmp_path / "site")])
    assert not (tmp_path / "site").exists()


def test_a_figure_is_drawn_once_for_the_same_results_and_anew_for_others(tmp_path: Path) -> None:
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    content = (RECORD / "quadratics.json").read_bytes()
    (data / "quadratics.json").write_bytes(content)

    def drawn() -> Figure:
        (figure,) = figures(data, cache, Sources(), names=("tight_rate",))
        return figure

    first = drawn()
    assert first.reads == ("quadratics.json",)
    assert first.command == "make reproduce ONLY=quadratics"
    assert first.caption.startswith("Shrinkage per step")
    when = first.image.stat().st_mtime_ns
    assert drawn().image.stat().st_mtime_ns == when
    (data / "quadratics.json").write_bytes(content + b"\n")
    assert drawn().image != first.image
    assert not first.image.exists()


def test_what_is_read_is_known_within_the_context_only() -> None:
    with reads_recorded() as reads:
        result(RECORD, "races")
        with reads_recorded() as inner:
            result(RECORD, "wire")
    result(RECORD, "kfac")
    assert ([path.stem for path in reads], [path.stem for path in inner]) == (["races"], ["wire"])


def test_claims_are_judged_on_a_run_where_there_is_one(tmp_path: Path) -> None:
    formal = json.loads((RECORD / "formal.json").read_text(encoding="utf-8"))
    formal["theorems"][0]["axioms"] = ["choice"]
    (tmp_path / "formal.json").write_text(json.dumps(formal), encoding="utf-8")
    sources = Sources()
    by_label = entries(RECORD, sources, [])
    shown = shown_claims(RECORD, tmp_path, figures=[], entries=by_label, sources=sources)
    verdicts = {one.claim.name: one.judgement.verdict for one in shown}
    assert verdicts.pop("formal") is Verdict.NOT_REPRODUCED
    assert set(verdicts.values()) == {Verdict.NOT_RUN}
    assert next(one.reads for one in shown if one.claim.name == "torchrun") == ("torchrun.json",)


def test_claims_rest_on_statements_that_there_are() -> None:
    known = set(entries(RECORD, Sources(), []))
    assert {label for claim in CLAIMS for label in claim.statements} <= known


def test_the_tests_of_a_study_are_found_by_what_they_import() -> None:
    assert "tests/paper/studies/test_quadratics.py" in importing_tests("paper.studies.quadratics")
    assert importing_tests("paper.studies.nothing") == []


def test_json_cannot_end_its_element() -> None:
    shown = json_html({"a": "</script>&"})
    assert "<" not in shown
    assert json.loads(shown) == {"a": "</script>&"}


def test_a_file_that_is_not_there_is_not_linked() -> None:
    with pytest.raises(FileNotFoundError, match=r"no file theory/nothing\.py"):
        Sources().place("theory/nothing.py")
