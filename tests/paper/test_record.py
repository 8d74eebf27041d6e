"""The record is replaced by a whole run of a clean tree, and by nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from paper import record
from tests.support.paper_data import write_results

OPTIONS = ["--profile", "quick"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean checkout with a record, and a whole run of quick."""
    (tmp_path / "paper" / "data").mkdir(parents=True)
    (tmp_path / "paper" / "data" / "kernels-old.json").write_text("{}", encoding="utf-8")
    (tmp_path / "paper" / "data" / "races.json").write_text("{}", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("build/\n", encoding="utf-8")
    write_results(tmp_path / "build" / "quick" / "data")
    (tmp_path / "build" / "quick" / "run.json").write_text(json.dumps({"failed": []}), encoding="utf-8")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_a_profile_leaves_out_stays_as_recorded(checkout: Path) -> None:
    (checkout / "build" / "quick" / "data" / "variants.json").unlink()
    record.require_recordable("quick", root=checkout)
    (checkout / "build" / "quick").rename(checkout / "build" / "record")
    with pytest.raises(FileNotFoundError, match=r"variants\.json is missing"):
        record.require_recordable("record", root=checkout)


def test_a_whole_run_becomes_the_record_and_what_it_did_not_measure_stays(checkout: Path) -> None:
    record.main(OPTIONS)
    data = checkout / "paper" / "data"
    assert json.loads((data / "races.json").read_text(encoding="utf-8"))["profile"] == "quick"
    assert (data / "kernels-old.json").exists()
    assert sorted(path.name for path in (checkout / "paper").iterdir()) == ["data"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("changed", "the tree has changes"),
        ("no run", "run `make reproduce PROFILE=quick` to its end first"),
        ("failed", "these failed: studies"),
        ("missing", r"races\.json is missing"),
        ("dirty", "not made from a clean tree"),
    ],
)
def test_anything_else_is_refused_and_the_record_stays(fault: str, message: str, checkout: Path) -> None:
    whole, races = checkout / "build" / "quick" / "run.json", checkout / "build" / "quick" / "data" / "races.json"
    if fault == "changed":
        (checkout / "new").touch()
    elif fault == "no run":
        whole.unlink()
    elif fault == "failed":
        whole.write_text(json.dumps({"failed": ["studies"]}), encoding="utf-8")
    elif fault == "missing":
        races.unlink()
    else:
        content = json.loads(races.read_text(encoding="utf-8"))
        content["provenance"]["git_dirty"] = True
        races.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SystemExit, match=message):
        record.main(OPTIONS)
    assert (checkout / "paper" / "data" / "races.json").read_text(encoding="utf-8") == "{}"
