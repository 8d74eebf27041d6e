"""Durations are kept by name, a newer one in the place of an older, and other files are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparsync.verify.tools.durations import note_duration, read_durations


def test_a_newer_duration_replaces_an_older_of_its_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    assert read_durations(path) == {}
    note_duration(path, "races", 2.0, job_count=1)
    note_duration(path, "phases", 3.0, job_count=2, beside=("steady_state",))
    note_duration(path, "races", 5.0, job_count=2)
    found = read_durations(path)
    assert {name: one["duration_seconds"] for name, one in found.items()} == {"races": 5.0, "phases": 3.0}
    assert found["phases"]["beside"] == ["steady_state"]
    assert found["races"]["processor_name"]


@pytest.mark.parametrize("text", ["", "[]", '{"seconds": 1}'])
def test_another_file_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "durations.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"durations\.json holds no durations"):
        read_durations(path)
