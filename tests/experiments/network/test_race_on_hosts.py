"""A real race on hosts of its own: whoever has the slower link is slow, its trace keeps its promises and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparsync.experiments.hosts import absence, slow_hosts
from sparsync.experiments.network import run_across
from sparsync.experiments.racing.forecast import observe
from sparsync.verify import judge

NEEDS_LINKS = pytest.mark.skipif(bool(absence()), reason=absence())
RATES = (200.0, 100.0, 100.0, 5.0)
"""Mbit/s, of the server and of three workers."""


@pytest.mark.slow
@NEEDS_LINKS
def test_a_rate_limited_link_makes_a_worker_slow_and_the_trace_tells_by_how_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, trace = tmp_path / "result.json", tmp_path / "asp.jsonl"
    race = ("-m", "sparsync.experiments.race_real", "--policy", "asp", "--model", "fnn2", "--slowness", "none")
    with slow_hosts(4, *RATES) as hosts:
        results = run_across(hosts, [*race, "--seconds", "5", "--output", str(output), "--trace", str(trace)], 240)
    assert [result.status for result in results] == [0] * 4, results
    assert json.loads(output.read_text(encoding="utf-8"))["links_mbit"] == list(RATES)
    assert judge.main([str(trace)]) == 0
    assert "asp.jsonl: asp kept its promises" in capsys.readouterr().out
    found = observe(trace)
    assert found.recording.run["links_mbit"] == list(RATES)
    for link in (found.cluster.upload, found.cluster.download):
        # No faster than its bucket lets it be, but for what passes at once; how much slower depends on other work.
        assert link.own_rates[2] < 1.1 * 1e6 * RATES[3] / 8
        assert link.own_rates[2] < link.bytes_per_second / 2
        assert link.own_rates[2] < min(link.own_rates[:2])
