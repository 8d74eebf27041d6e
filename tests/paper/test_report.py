"""The report has a row for every claim, with both numbers and the verdict, and names what was not run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from paper import report
from paper.claims import CLAIMS
from tests.support.paths import ROOT

RECORD = ROOT / "paper" / "data"


def test_the_page_and_the_table_have_every_claim_with_its_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = tmp_path / "data", tmp_path / "generated" / "reproduction.md"
    data.mkdir()
    shutil.copy(RECORD / "dssp_leads.json", data)
    options = ["--data-folder", str(data), "--record-folder", str(RECORD), "--output", str(output)]
    report.main(options)
    rows = [line for line in output.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(CLAIMS)
    for claim, row in zip(CLAIMS, rows, strict=True):
        verdict = "reproduced" if claim.name.startswith("dssp") else "not run"
        assert row.startswith(f"| {claim.text} | {claim.said_in} |")
        assert row.endswith(f"| {verdict} |")
    verdicts = json.loads((output.parent / "verdicts.json").read_text(encoding="utf-8"))
    assert list(verdicts) == [claim.name for claim in CLAIMS]
    assert verdicts["dssp_capped"] == "reproduced"
    printed = " ".join(capsys.readouterr().out.split())
    assert f"2 reproduced, {len(CLAIMS) - 2} not run" in printed


def test_a_result_without_a_field_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "dssp_leads.json").write_text("{}", encoding="utf-8")
    options = ["--data-folder", str(data), "--record-folder", str(RECORD), "--output", str(tmp_path / "page.md")]
    with pytest.raises(SystemExit, match=r"dssp_leads\.json: no field"):
        report.main(options)
    assert not (tmp_path / "page.md").exists()
