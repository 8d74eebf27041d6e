"""However a run ends, what is open then shows as it was done, or, of who is not heard in time, as far as is known."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

import pytest

from sparsync.experiments.engine.real import server as real
from sparsync.experiments.engine.real.letters import Exchanged, Failed, Ready, Sending
from sparsync.experiments.engine.real.lines import Happening
from sparsync.experiments.engine.real.server import WorkerLostError
from sparsync.experiments.racing.contest import VOCABULARIES
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.trace import Applied, Released, Sent
from tests.support.fitting import usual_for
from tests.support.launch.real_runs import real_server, require_within, usual_conditions, usual_race

PATIENT = usual_conditions(lost_after=60.0)
SECONDS = 1.5


class Disturbed(queue.SimpleQueue[Happening]):
    """What comes, but for what somebody does with it on its way.

    Args:
        inner: what comes.
        disturb: is given each, and gives what is heard instead, if anything is.
    """

    def __init__(self, inner: queue.SimpleQueue[Happening], disturb: Callable[[Happening], Happening | None]) -> None:
        self._inner, self._disturb = inner, disturb

    def get(self, block: bool = True, timeout: float | None = None) -> Happening:
        """See `queue.SimpleQueue`."""
        heard = self._disturb(self._inner.get(block, timeout))
        if heard is None:
            raise queue.Empty
        return heard

    def empty(self) -> bool:
        """See `queue.SimpleQueue`."""
        return self._inner.empty()


def test_a_message_that_the_server_had_in_its_hands_when_time_was_up_is_heard() -> None:
    race = usual_race(seconds=SECONDS)
    began = time.monotonic()
    held: list[int] = []

    def hold(happening: Happening) -> Happening:
        if not held and isinstance(happening.what, Sending) and time.monotonic() - began > SECONDS / 2:
            held.append(happening.worker)
            time.sleep(SECONDS)
        return happening

    with real_server(make_policy("asp", {}), race, PATIENT) as (server, _):
        server._happenings = Disturbed(server._happenings, hold)
        began = time.monotonic()
        server.run()
        server.finish()
    last = [event for event in server.trace if isinstance(event, Sent | Released) and event.worker == held[0]][-1]
    assert isinstance(last, Sent)
    assert server.is_clear
    # Of one that was not heard the last message would be one of nothing.
    assert all(event.sent_bytes for event in server.trace if isinstance(event, Sent))


@pytest.mark.parametrize("name", ["asp", "osp"])
def test_what_a_worker_that_fell_silent_went_on_from_is_reckoned(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where messages that it adds to the model, as in OSP, were applied since then."""
    monkeypatch.setattr(real, "HEAR_OUT_SECONDS", 0.0)
    race = usual_race(data=VOCABULARIES, seconds=SECONDS, selector="top_k", density=0.05)
    silent: list[float] = []

    def silence(happening: Happening) -> Happening | None:
        is_silenced = isinstance(happening.what, Ready) and happening.worker == 0 and len(silent) > 2
        silent.extend([time.monotonic()] * (isinstance(happening.what, Ready) and happening.worker == 0))
        return None if is_silenced else happening

    with real_server(make_policy(name, usual_for(name, 4)), race, PATIENT) as (server, _):
        server._happenings = Disturbed(server._happenings, silence)
        server.run()
        server.finish()
    assert server.is_clear
    last = [place for place, event in enumerate(server.trace) if isinstance(event, Released) and event.worker == 0][-1]
    assert any(isinstance(event, Applied) for event in server.trace[last:])


def test_a_mix_that_fails_without_a_lost_worker_ends_the_run() -> None:
    def fail(happening: Happening) -> Happening:
        is_first = isinstance(happening.what, Exchanged) and happening.what.number == 0
        return happening._replace(what=Failed("nobody came", misses_another=True)) if is_first else happening

    with real_server(make_policy("dybw", usual_for("dybw", 4)), usual_race(seconds=60.0), PATIENT) as (server, _):
        server._happenings = Disturbed(server._happenings, fail)
        began = time.monotonic()
        with pytest.raises(WorkerLostError, match="nobody came; which worker was lost is not known"):
            server.run()
        # Told apart from the 60 s of the run.
        require_within(began, 30.0)
