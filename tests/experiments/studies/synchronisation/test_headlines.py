"""In the settings of publications, what closed forms predict is what the simulation gives."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from sparsync.experiments.studies.synchronisation import headlines
from sparsync.experiments.studies.synchronisation.headlines import SETTINGS, case_count, headline_cases, run_contestant
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import Pool


def _rows(setting: str) -> dict[str, dict[str, Any]]:
    return {label: run_contestant((setting, label)) for label in SETTINGS[setting].contestants}


def test_only_a_broken_bound_makes_two_fixed_speeds_faster_than_bsp() -> None:
    """Speeds 1 and 1/3: whoever keeps a lead is as slow as the slow one, in 3000 s, but for that lead."""
    rows = _rows("two processors of fixed speeds")
    for label in ("bsp", "ssp 3", "ssp 15", "dssp"):
        assert 1000 <= rows[label]["mean_steps"] <= 1000 + rows[label]["largest_gap"] / 2
        assert rows[label]["largest_gap"] <= 16
    for label in ("dssp printed", "asp"):
        assert rows[label]["mean_steps"] == (3000 + 1000) / 2
        assert rows[label]["largest_gap"] == 2000


@pytest.mark.slow
def test_a_shared_line_gives_the_times_of_two_stages() -> None:
    """Eight messages fill the line for a second, as long as a step takes; BSP has nothing to overlap."""
    seconds = SETTINGS["a shared line"].seconds
    rows = _rows("a shared line")
    shares = {"bsp": 0.0, "osp half": 1 / 2, "osp three quarters": 3 / 4, "osp most": 15 / 16}
    assert rows.keys() == shares.keys()
    for label, deferred in shares.items():
        line = {"compute_time": 1.0, "message_size": 1.0, "deferred_size": deferred, "n": 8, "bandwidth": 8.0}
        predicted = seconds / STATEMENTS["osp_time"].evaluate(**line)
        # The first round has nothing deferred to wait for, and of the last only the step may be finished.
        assert rows[label]["mean_steps"] == pytest.approx(predicted, abs=1)


@pytest.mark.slow
def test_what_is_read_over_a_shared_line_costs_time() -> None:
    """The first worker has read after an eighth of a second; its step and eight messages later all have reported."""
    free, both = (_rows(name) for name in ("a shared line", "shared lines, both ways"))
    assert both["bsp"]["mean_steps"] == pytest.approx(SETTINGS["a shared line"].seconds / (1 / 8 + 1 + 1), abs=1)
    assert free.keys() == both.keys()
    assert all(both[label]["mean_steps"] < free[label]["mean_steps"] for label in free)


def test_balanced_batches_leave_nothing_to_wait_for() -> None:
    """Three workers of speed 1 and one of 1/2: 3.5 usual batches a second, against 4 every two seconds."""
    rows = _rows("unequal processors")
    assert rows["bsp"]["mean_steps"] == 1000
    # Three workers compute for half of the time, one for all of it; nothing travels.
    assert rows["bsp"]["computing"] == pytest.approx((3 * 0.5 + 1) / 4)
    assert rows["bsp"]["waiting"] == pytest.approx(1 - rows["bsp"]["computing"])
    assert rows["lb_bsp"]["mean_steps"] == pytest.approx(2000 * 3.5 / 4, rel=0.02)


def test_no_policy_beats_workers_that_never_wait() -> None:
    rows = _rows("intervals of 1 to 1.5 s")
    free = sum(3000 / seconds for seconds in (1.0, 1.17, 1.31, 1.5)) / 4
    assert rows["asp"]["mean_steps"] == pytest.approx(free, abs=1)
    assert rows["bsp"]["mean_steps"] == 2000
    assert max(row["mean_steps"] for row in rows.values()) <= free


def test_messages_cost_those_most_who_send_every_step() -> None:
    rows = _rows("three edge workers")
    # A round of BSP: the slowest step of 3 s, then 8 s in each direction.
    assert rows["bsp"]["mean_steps"] == (3000 - 3) // (3 + 8 + 8) + 1
    assert rows["bsp"]["computing"] < rows["ssp 40"]["computing"] < rows["adsp"]["computing"]


@pytest.mark.slow
def test_barriers_of_blocks_let_workers_of_different_words_do_more_than_one_of_all() -> None:
    rows = _rows("workers of different words")
    assert rows["parameter database"]["mean_steps"] > 1.05 * rows["bsp"]["mean_steps"]
    assert rows["parameter database"]["waiting"] < rows["bsp"]["waiting"]


def test_the_study_is_the_same_in_every_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = headline_cases()
    assert case_count("smoke") == case_count("full") == len(set(cases)) == len(cases)
    chosen = cases[:2]
    monkeypatch.setattr(headlines, "headline_cases", lambda: chosen)
    advanced: list[None] = []
    # Whole studies run in several processes: what these are told survives the way there.
    assert pickle.loads(pickle.dumps((run_contestant, cases))) == (run_contestant, cases)
    study = headlines.run_headlines("smoke", Pool(advance=lambda: advanced.append(None)))
    assert study["rows"] == [run_contestant(case) for case in chosen]
    assert len(advanced) == 2
