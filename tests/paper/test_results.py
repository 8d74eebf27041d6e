"""A result file is read as often as it is asked for, or once where that is said; either way it is known who asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.results import each_read_once, reads_recorded, result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, 1)
    return tmp_path


def write(folder: Path, value: int) -> None:
    (folder / "races.json").write_text(f'{{"value": {value}}}', encoding="utf-8")


def test_a_file_that_has_changed_is_read_again(folder: Path) -> None:
    assert result(folder, "races")["value"] == 1
    write(folder, 2)
    assert result(folder, "races")["value"] == 2


def test_within_the_context_and_those_inside_it_a_file_is_read_once(folder: Path) -> None:
    with each_read_once():
        first = result(folder, "races")
        write(folder, 2)
        with each_read_once():
            assert result(folder, "races") is first
        assert result(folder, "races") is first
    assert result(folder, "races")["value"] == 2


def test_who_asks_for_what_is_kept_is_recorded_as_well(folder: Path) -> None:
    with each_read_once():
        result(folder, "races")
        with reads_recorded() as reads:
            result(folder, "races")
    assert reads == [folder / "races.json"]


def test_what_is_gone_or_broken_is_an_error_though_others_were_kept(folder: Path) -> None:
    with each_read_once():
        result(folder, "races")
        (folder / "races.json").unlink()
        with pytest.raises(FileNotFoundError, match=r"races\.json is missing"):
            result(folder, "races")
        (folder / "wire.json").write_text("{", encoding="utf-8")
        with pytest.raises(ValueError, match="is not JSON"):
            result(folder, "wire")
