"""Finding each other: nobody is silent because the store is, and who is missed comes again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from torch._C._distributed_c10d import TCPStore
from torch.distributed.distributed_c10d import PrefixStore

from sparsync.experiments.engine.real.lines import Begun, Happening
from sparsync.experiments.engine.real.roads import Announcements, Pulse, Signs
from sparsync.experiments.engine.real.wire import Channel
from sparsync.experiments.engine.worker_vectors import layout_of
from sparsync.experiments.racing.real import Gate, meet_server
from tests.support.launch.real_runs import PATIENCE_SECONDS, usual_conditions, usual_race


@pytest.fixture
def announcements() -> Announcements:
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    return Announcements(PrefixStore("engine", store))


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def a_gate(announcements: Announcements, *, worker_count: int, timeout_seconds: float) -> Gate:
    race = usual_race()
    layout = layout_of(race.make_problem(), race.descent())
    return Gate(announcements, layout, worker_count=worker_count, timeout_seconds=timeout_seconds)


def is_opening(name: str) -> bool:
    return any(thread.name == name for thread in threading.enumerate())


class Hanging(Announcements):
    """The second look at a pulse is answered when it may be."""

    def __init__(self) -> None:
        self.count = 0
        self.may_answer = threading.Event()

    def pulse(self, worker: int, incarnation: int) -> int:
        del worker, incarnation
        self.count += 1
        if self.count == 2:
            assert self.may_answer.wait(PATIENCE_SECONDS)
        return 1


def test_a_store_that_does_not_answer_makes_no_worker_silent_and_nobody_wait() -> None:
    hanging = Hanging()
    signs = Signs(hanging, patience_seconds=1.0)
    assert signs.silent({0: 0}) == {}
    wait_for(lambda: hanging.count == 2)
    time.sleep(1.5)
    assert signs.silent({0: 0}) == {}
    hanging.may_answer.set()
    wait_for(lambda: hanging.count == 3)
    assert signs.silent({0: 0}) == {}
    # It answers, and there is no other pulse.
    wait_for(lambda: signs.silent({0: 0}))
    signs.stop()


def test_a_life_without_pulse_is_found_and_neither_another_nor_the_next(announcements: Announcements) -> None:
    pulse, signs = Pulse(announcements, 0, 0), Signs(announcements, patience_seconds=1.5)
    announcements.beat(1, 0)
    wait_for(lambda: signs.silent({0: 0, 1: 0}))
    found = signs.silent({0: 0, 1: 0})
    assert set(found) == {1}
    assert found[1] > 1.5
    assert signs.silent({0: 0, 1: 1}) == {}
    pulse.stop()
    wait_for(lambda: 0 in signs.silent({0: 0}))
    signs.stop()


class Late(Announcements):
    """The first life that begins here was announced long ago."""

    is_first = True

    def announce(self, worker: int) -> int:
        if self.is_first:
            self.is_first = False
            return self.lives(worker) - 1
        return super().announce(worker)


def test_a_worker_that_the_server_has_missed_begins_another_life(announcements: Announcements) -> None:
    gate = a_gate(announcements, worker_count=1, timeout_seconds=0.3)
    announcements.announce(0)
    wait_for(lambda: is_opening("open 0.0"))
    wait_for(lambda: not is_opening("open 0.0"))
    late, met = Late(announcements._store), list[Channel]()
    thread = threading.Thread(target=lambda: met.append(meet_server(late, 0, usual_conditions(lost_after=0.3))))
    thread.start()
    (line,) = gate.first_lines(PATIENCE_SECONDS)
    thread.join(PATIENCE_SECONDS)
    assert line.incarnation == met[0].incarnation >= 1
    gate.close()


def test_when_the_run_is_over_nobody_begins_another_life(announcements: Announcements) -> None:
    announcements.end("done")
    with pytest.raises(RuntimeError):
        meet_server(announcements, 0, usual_conditions(lost_after=0.1))
    assert announcements.lives(0) == 1


def test_who_announces_itself_and_does_not_come_keeps_no_other_from_coming_in(announcements: Announcements) -> None:
    gate = a_gate(announcements, worker_count=2, timeout_seconds=PATIENCE_SECONDS / 10)
    announcements.announce(0)
    wait_for(lambda: is_opening("open 0.0"))
    channel = meet_server(announcements, 1, usual_conditions())
    happening: Happening = gate.happenings.get(timeout=PATIENCE_SECONDS)
    assert isinstance(happening.what, Begun)
    assert (happening.worker, channel.incarnation) == (1, 0)
    assert is_opening("open 0.0")
    gate.close()
