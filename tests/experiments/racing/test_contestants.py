"""Who races: everybody once, with each parameter set once, and only if all can; and what is said of each."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest

from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.race import main
from sparsync.experiments.racing.contest import QUADRATIC, Race, outcome_line, require_fitting, run_contestant
from sparsync.experiments.racing.entries import read_contestants


@pytest.mark.parametrize(
    ("names", "words", "message"),
    [
        # Labels tell what is not as usual, and traces are stored by label.
        (["ssp", "ssp:staleness=3"], [], "'ssp:staleness=3' races already"),
        (["ssp:staleness=3.0", "bsp", "ssp"], [], "'ssp' races already"),
        (["ssp:staleness=3,staleness=5"], [], "'ssp:staleness=3,staleness=5' sets staleness twice"),
        (["ssp"], ["--staleness", "3", "--staleness=5"], "option '--staleness' is given twice"),
        (["ds_sync"], ["--group-size", "2", "--group_size", "3"], "option '--group_size' is given twice"),
    ],
)
def test_nobody_races_twice_and_nothing_is_set_twice(names: list[str], words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        read_contestants(names, words)


def test_one_s_own_parameter_goes_before_the_common_one() -> None:
    assert read_contestants(["ssp", "ssp:staleness=3"], ["--staleness", "5"]) == [
        ("ssp", {"staleness": 5}),
        ("ssp", {"staleness": 3}),
    ]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("pssp:sample=4", "error: sample must be at most 3, the number of others, got 4\n"),
        ("backup:backups=4", "error: backups must be fewer than the 4 workers, got 4\n"),
        ("local_sgd:period=1.5", "error: period must be an int, got 1.5\n"),
        ("parameter_database:writes=3", "error: writes must be tuples of blocks, one for each worker, got 3\n"),
    ],
)
def test_nobody_races_before_all_are_known_to_fit(
    policy: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raced = []
    monkeypatch.setattr("sparsync.experiments.race.run_contestant", lambda *_, **__: raced.append("somebody"))
    monkeypatch.setattr(sys, "argv", ["race", "--policy", "bsp", policy, "--workers", "4", "--data", QUADRATIC])
    with pytest.raises(SystemExit) as caught:
        main()
    assert (caught.value.code, capsys.readouterr().err, raced) == (2, message, [])


@pytest.mark.parametrize("name", POLICIES)
def test_usual_parameters_fit_four_workers(name: str) -> None:
    require_fitting(Race(data=QUADRATIC, workers=4), name, {})
    require_fitting(Race(data=QUADRATIC, workers=4), "elastic_bsp", {"monitoring": 0})
    require_fitting(Race(data=QUADRATIC, workers=4), "parameter_database", {"writes": ((3,),) * 4})  # type: ignore[dict-item]


def test_a_line_says_what_a_contestant_reached_for_what() -> None:
    race = Race(data=QUADRATIC, workers=2, seconds=12.0, points=1)
    outcome = run_contestant(race, "bsp")
    line = outcome_line(race, outcome)
    reached = r"bsp: f − min f \S+ after 12 simulated s and 8 steps of 2 workers"
    assert re.fullmatch(reached + r", \S+ kB sent and \S+ kB read, 33% of the time waiting", line)
    assert f"f − min f {outcome.points[-1].quality:.3g} after" in line
    assert ": test accuracy" in outcome_line(replace(race, data="embedded"), outcome)
