"""Random schedules of kills (in a checkpoint too), stops and resizes: nothing is lost, and nothing hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparsync.experiments.checkpoints.folder import Folder
from tests.support.schedules.episodes import STEPS, lost_mass, play, schedule
from tests.support.slow_cases import slow_except

SEEDS = range(100)
KILLED = -9


@pytest.mark.parametrize("seed", slow_except(set(range(4)), SEEDS))
def test_a_run_in_episodes_owes_and_has_sent_what_was_made(seed: int, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    for episode in schedule(seed):
        statuses, said = play(episode, tmp_path)
        assert KILLED in statuses or not any(statuses), (episode, statuses, said)
        for checkpoint in Folder(tmp_path / "kept", 1).checkpoints():
            assert checkpoint.damage() == ""
    assert Folder(tmp_path / "kept", 1).checkpoints()[0].step == STEPS
    error, bound = lost_mass(tmp_path)
    assert error <= bound
