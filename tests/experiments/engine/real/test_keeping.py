"""A server that died goes on where it was kept last, with the same policy, and nothing unaccounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.engine.real.keeping import Kept, ServerKeeper
from sparsync.experiments.engine.real.server import Server
from sparsync.experiments.engine.replay import Replay
from sparsync.experiments.engine.shared_model import Download
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.files import Recording
from sparsync.verify.monitors.judge import judge_trace
from sparsync.verify.monitors.trace import Departed, Joined, Stepped
from tests.support.fitting import usual_for
from tests.support.launch.real_runs import real_server, usual_race


class DiedError(Exception):
    """The server did."""


class Keeping:
    """Keeps the server once, as soon as that is possible after some steps of all; it dies two happenings later."""

    def __init__(self, server: Server, keeper: ServerKeeper) -> None:
        self.server, self.keeper = server, keeper
        self.happening_count = -1

    def look(self) -> None:
        if self.happening_count < 0 and min(self.server.view.clock) > 2 and self.server.is_clear:
            self.keeper.keep(self.server, recording(self.server))
            self.happening_count = self.server.event_count
        elif 0 <= self.happening_count < self.server.event_count - 2:
            raise DiedError

    def keep(self) -> None:
        return


def recording(server: Server) -> Recording:
    return Recording(
        run={"name": "kept"},
        cluster={},
        guarantee=server.guarantee,
        worker_count=4,
        initial=server.header.initial,
        arithmetic=server.shared.layout.arithmetic,
    )


def keeper(folder: Path, **settings: Any) -> ServerKeeper:
    return ServerKeeper(folder, every_seconds=0.5, settings={"policy": "x", **settings})


@pytest.mark.parametrize(
    ("name", "download"),
    [
        ("asp", "dense"),
        ("bsp", "sparse"),
        pytest.param("osp", "sparse", marks=pytest.mark.slow),
        *(pytest.param(name, "dense", marks=pytest.mark.slow) for name in ("pssp", "backup", "osp", "elastic_bsp")),
    ],
)
def test_a_server_that_died_goes_on_from_where_it_was_kept(name: str, download: Download, tmp_path: Path) -> None:
    options: dict[str, Any] = {"selector": "top_k", "density": 0.1, "download": download}
    parameters, race = usual_for(name, 4), usual_race(seconds=60.0, **options)
    with real_server(make_policy(name, parameters), race) as (server, _), pytest.raises(DiedError):
        server.run(Keeping(server, keeper(tmp_path)))
    kept = keeper(tmp_path).find(server.shared.layout)
    assert kept is not None
    assert max(event.time for event in kept.events) <= kept.until
    assert kept.events == server.trace[: len(kept.events)]
    steps = max(server.view.clock) + 6
    with real_server(make_policy(name, parameters), race, kept=kept, steps=steps) as (second, _):
        second.run()
        second.finish()
    assert second.trace[: len(kept.events)] == kept.events
    rest = second.trace[len(kept.events) :]
    assert [(e.worker, e.reason) for e in rest if isinstance(e, Departed)][:4] == [(w, "crashed") for w in range(4)]
    assert sorted(event.worker for event in rest if isinstance(event, Joined)) == [0, 1, 2, 3]
    assert {event.worker for event in rest if isinstance(event, Stepped)} == {0, 1, 2, 3}
    assert second.view.clock == [steps] * 4
    judge_trace(second.header, second.guarantee, second.trace, second.view.now)
    fresh = Replay(
        make_policy(name, parameters),
        second.header,
        second.trace,
        block_bytes=second.shared.layout.block_bytes,
        seed=race.seed,
        download=download,
    )
    assert fresh.run() == len(second.trace)


def test_what_is_damaged_or_of_another_run_is_refused_by_name(tmp_path: Path) -> None:
    with real_server(make_policy("asp", {}), usual_race(seconds=60.0)) as (server, _), pytest.raises(DiedError):
        server.run(Keeping(server, keeper(tmp_path)))
    layout = server.shared.layout
    with pytest.raises(ValueError, match="of another run: policy was 'x' and is 'y'"):
        keeper(tmp_path, policy="y").find(layout)
    assert isinstance(keeper(tmp_path).find(layout), Kept)
    (place,) = tmp_path.glob("step-*/trace.jsonl")
    place.write_bytes(place.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"no checkpoint is whole: .*trace.jsonl is not what was written"):
        keeper(tmp_path).find(layout)
