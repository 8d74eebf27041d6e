"""The table of messages says what the messages are."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from sparsync.experiments.studies.kernels.wire import main, wire_row


def test_random_positions_take_few_more_bits_than_any_code_needs() -> None:
    row = wire_row("fp32", 2000, 2_000_000)
    assert row.entry_count == 2000
    # By counting the sets, exactly; lgamma loses digits where its values are large and nearly cancel.
    fewest = math.log2(math.comb(2_000_000, 2000)) / 2000
    assert row.fewest_index_bits == pytest.approx(fewest, rel=1e-9)
    # The header has 24 bytes.
    assert fewest < row.index_bits < 1.05 * fewest + 8 * 24 / 2000
    assert row.message_bytes == pytest.approx(2000 * (4 + row.index_bits / 8))


def test_fewer_bits_for_values_make_shorter_messages() -> None:
    lengths = [wire_row(values, 1000, 100_000).message_bytes for values in ("fp32", "bf16", "int8", "int2")]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == len(lengths)


def test_the_command_prints_a_row_for_every_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sparsync.experiments.studies.kernels.wire._SIZES", ((100, 10_000),))
    main(["--output", str(tmp_path / "wire.json")])
    printed, names = capsys.readouterr().out, ["exact", "fp32", "bf16", "int8", "int2"]
    assert all(name in printed for name in names)
    assert [row["values"] for row in json.loads((tmp_path / "wire.json").read_text())["rows"]] == names
