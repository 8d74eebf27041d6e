"""The page says of the hook's cost what was measured, and nothing of what was not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper.studies.hook_cost import hook_cost_markdown
from tests.support.paper_data import write

PLACE = {"processor_name": "Test & Sons", "date_utc": "2026-01-01T00:00:00+00:00"}


def cost_row(model: str, rank_count: int) -> dict[str, Any]:
    steps = {"plain": [0.100, 0.104, 0.101], "hook": [0.105, 0.140, 0.103]}
    return {
        "model": model,
        "rank_count": rank_count,
        "step_seconds": steps,
        "overhead_share": [0.01, 0.03, 0.02],
        "telemetry_share": 0.0043,
    }


def link_row(model: str, rate: float) -> dict[str, Any]:
    return {
        "model": model,
        "link_bits_per_second": rate,
        "bucket_mib": 0.25,
        "step_seconds": {"plain": [0.5], "watched": [0.25], "dense": [0.6]},
        "watched": {"overlap_share": [0.8, 0.7, 0.9]},
    }


def written(folder: Path, **fields: Any) -> Path:
    write(folder / "hook_cost.json", {"rows": [], "memory": [], "link": [], "provenance": PLACE} | fields)
    return folder


def test_a_line_has_medians_and_ranges(tmp_path: Path) -> None:
    text = hook_cost_markdown(written(tmp_path, rows=[cost_row("resnet20", 2), cost_row("other", 4)]))
    assert text.startswith("\nTest & Sons, 2026-01-01, medians and ranges of rounds:\n\n| model, ranks |")
    assert "\n| ResNet-20, 2 | 101 | 105 | 2.0% [1.0%, 3.0%] | 0.4% |\n" in text
    assert "\n| other, 4 | 101 | 105 |" in text
    assert "link" not in text
    assert "grown" not in text


def test_every_rate_of_a_link_has_a_table(tmp_path: Path) -> None:
    rows = [link_row("gpt", 1e8), link_row("gpt", 1e7), link_row("resnet20", 1e8)]
    text = hook_cost_markdown(written(tmp_path, link=rows))
    slow, fast = text.split("Two ranks with a link of ")[1:]
    assert slow.startswith("10 Mbit/s, in buckets of 0.25 MiB:\n\n")
    assert fast.startswith("100 Mbit/s")
    assert (slow.count("| GPT |"), fast.count("| GPT |"), fast.count("| ResNet-20 |")) == (1, 1, 1)
    assert "| GPT | 500 | 250 | 80.0% [70.0%, 90.0%] |" in fast


def test_what_memory_grew_by_is_said_in_sentences(tmp_path: Path) -> None:
    memory = [{"model": "gpt", "rank_count": 2, "memory_steps": 2000, "grown_bytes": 2**19}]
    text = hook_cost_markdown(written(tmp_path, memory=memory))
    assert text.endswith("\n\nAfter 2,000 steps a process of GPT on 2 ranks had grown by 0.5 MiB.\n")


def test_a_hook_that_was_not_timed_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"hook_cost\.json is missing; `make bench` writes it"):
        hook_cost_markdown(tmp_path)
