"""The page says of messages what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.studies.wire import wire_markdown
from tests.support.paper_data import write


def test_a_line_has_sizes_by_entry_and_speeds_by_byte(tmp_path: Path) -> None:
    row = {
        "values": "int8",
        "entry_count": 1000,
        "dimension": 1_000_000,
        "message_bytes": 2500,
        "index_bits": 11.5,
        "fewest_index_bits": 11.25,
        "encode_seconds": 1e-6,
        "decode_seconds": 2e-6,
    }
    place = {"processor_name": "Test & Sons", "date_utc": "2026-01-01T00:00:00+00:00"}
    write(tmp_path / "wire.json", {"rows": [row], "provenance": place})
    text = wire_markdown(tmp_path)
    assert text.startswith("\nTest & Sons, 2026-01-01, one thread")
    assert text.endswith("|\n| int8 | 1,000 of 1,000,000 | 2.50 | 11.50 (11.25) | 2.50 | 1.25 |\n")


def test_messages_that_were_not_timed_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"wire\.json is missing; `make bench` writes it"):
        wire_markdown(tmp_path)
