"""Real processes have the bits of the simulation; who is killed is named, or recovered where vectors are masked."""

from __future__ import annotations

import os
import signal
from functools import partial
from itertools import count
from typing import Any

import pytest
import torch.distributed as dist

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning import federated, federated_clients
from sparsync.experiments.learning.federated import SYSTEM, result, run, simulated
from sparsync.experiments.learning.federated_clients import FederatedSettings
from sparsync.experiments.parties.party import CPU, Party
from sparsync.experiments.parties.talk import Books, side_by_side
from sparsync.experiments.training.data import load_dataset
from tests.support.pages import python_block
from tests.support.paths import ROOT
from tests.support.workers import run_workers

DATA = load_dataset("embedded")
SHORT: dict[str, Any] = {"rounds": 3, "local_steps": 2, "batch_size": 8, "examples": 90}
KINDS: list[dict[str, Any]] = [
    {},
    {"scheme": "large_batch"},
    {"scheme": "split"},
    {"density": 0.02, "secure": True, "drop_client": 2},
    {"clip": 1.0, "noise": 1.0, "seeded_noise": True, "density": 0.02, "sampled_clients": 2},
]


def settings(**changes: Any) -> FederatedSettings:
    return FederatedSettings(**{**SHORT, **changes})


def all_kinds() -> list[Any]:
    # The server would import Opacus, for seconds.
    setattr(federated, "epsilon", lambda *_, **__: 1.0)  # noqa: B010  # in this process alone
    return [run(settings(**kind), Party(dist.get_rank(), dist.get_world_size(), timeout_seconds=30)) for kind in KINDS]


def test_real_processes_have_the_bits_of_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federated, "epsilon", lambda *_, **__: 1.0)
    server, *clients = run_workers(all_kinds, 4)
    assert clients == [[None] * len(KINDS)] * 3
    for kind, found in zip(KINDS, server, strict=True):
        trained, books = simulated(settings(**kind), 3, data=DATA)
        assert found == result(settings(**kind), DATA, trained, books), kind


def with_a_death(*, secure: bool) -> tuple[Any, str]:
    rank = dist.get_rank()
    right, calls = federated_clients.Client.local_gradients, count()

    def dying(client: federated_clients.Client) -> Any:
        if next(calls) == 1 and client.rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return right(client)

    setattr(federated_clients.Client, "local_gradients", dying)  # noqa: B010  # in this process alone
    try:
        return run(settings(secure=secure), Party(rank, dist.get_world_size(), timeout_seconds=10)), ""
    except ExchangeError as error:
        return None, str(error)


def test_without_masks_a_client_that_is_killed_ends_the_run_with_its_name() -> None:
    (found, words), *_ = run_workers(partial(with_a_death, secure=False), 3, killed={2})
    assert found is None
    assert "takes 'update' from rank 2" in words


def test_with_masks_the_run_goes_on_without_a_client_that_is_killed() -> None:
    (found, words), *others = run_workers(partial(with_a_death, secure=True), 4, killed={2})
    assert words == ""
    assert found["lost"] == [{"rank": 2, "exchange": 1}]
    assert others == [(None, ""), None, (None, "")]
    assert 0 <= found["accuracy"] <= 1


def test_the_line_says_what_was_sent_and_what_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federated, "epsilon", lambda *_, **__: 1.5)
    of = settings(secure=True, drop_client=1, clip=1.0, noise=1.0)
    trained, books = simulated(of, 3, data=DATA)
    record = result(of, DATA, trained, books)
    line = SYSTEM.line({**record, "settings": vars(of)})
    assert "ε = 1.50 at δ = 1e-05, client" in line
    assert "alone" not in line
    assert "client 1 lost in exchange 1" in line
    stated = next(row for row in record["stated"] if row["subjects"] == ["masked vector"])
    assert f"masked vector: {stated['bytes']} bytes, stated {stated['bytes']}" in line


def test_the_account_says_whose_knowledge_of_the_seed_undoes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federated, "epsilon", lambda *_, **__: 1.5)
    sources = []
    for noise in ({"noise": 0.0}, {"noise": 1.0}, {"noise": 1.0, "seeded_noise": True}):
        of = settings(rounds=1, clip=1.0, **noise)
        record = result(of, DATA, *simulated(of, 2, data=DATA))
        sources.append(record["noise_source"])
        line = SYSTEM.line({**record, "settings": vars(of)})
        assert ("ε = 1.50 at δ = 1e-05, only against those who do not know the seed" in line) == of.seeded_noise
    assert sources == [None, "operating system", "seed"]


@pytest.mark.parametrize("secure", [True, False])
def test_entries_that_one_client_alone_selected_are_counted_and_said_where_masks_should_hide_them(
    *, secure: bool
) -> None:
    of = settings(secure=secure, density=0.02)
    trained, books = simulated(of, 3, data=DATA)
    record = result(of, DATA, trained, books)
    shares = [meeting.alone_share for meeting in trained.minutes.meetings]
    assert record["alone_share"] == pytest.approx(sum(shares) / 3)
    assert 0 < record["alone_share"] < 1
    line = SYSTEM.line({**record, "settings": vars(of)})
    assert (f"{record['alone_share']:.0%} of selected entries were one client's alone and not hidden" in line) == secure
    dense = settings(rounds=1)
    assert result(dense, DATA, *simulated(dense, 2, data=DATA))["alone_share"] is None


def test_the_account_is_of_the_client_with_the_largest_rate_and_the_steps_that_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[float, float, int]] = []

    def noted(noise: float, rate: float, steps: int, *, delta: float) -> float:
        asked.append((noise, rate, steps))
        return rate

    monkeypatch.setattr(federated, "epsilon", noted)
    of = settings(clip=1.0, noise=2.0)
    trained, _ = simulated(of, 3, data=DATA)
    counts = trained.minutes.example_counts
    assert federated.spent(of, trained.minutes) == min(1.0, 8 / min(counts))
    assert set(asked) == {(2.0, min(1.0, 8 / count), 6) for count in counts}
    assert federated.spent(settings(clip=1.0), trained.minutes) is None
    assert federated.spent(settings(), trained.minutes) is None


def test_progress_is_promised_and_kept() -> None:
    for kind in KINDS:
        of, steps = settings(**kind), list[None]()
        members = [federated._Member(of, DATA, rank, 3, CPU) for rank in range(4)]
        side_by_side([member.talk(partial(steps.append, None)) for member in members], Books())
        assert len(steps) == SYSTEM.step_count(of), kind


def test_the_program_of_the_page_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    exec(python_block(ROOT / "paper" / "docs" / "learning.md", "federated import simulated"), {})
    # Three masked vectors of 25,450 entries and a weight, of 8 bytes each, in 2 · 1 exchanges.
    assert capsys.readouterr().out == f"{2 * 3 * 8 * 25_451} (1, 2, 3)\n"
