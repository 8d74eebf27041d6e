"""Split learning trains as one process with the whole network does, bit for bit; labels stay where they should."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning import split
from sparsync.experiments.learning.cut_layer import (
    ACTIVATION_SLOPES,
    ACTIVATIONS,
    FEATURE_SLOPES,
    FEATURES,
    HELD_OUT,
    HELD_OUT_REPLY,
    LABELS,
    SERVER,
    WEIGHTS,
    Client,
)
from sparsync.experiments.learning.decoder_attack import Leak
from sparsync.experiments.learning.distance_correlation import distance_correlation
from sparsync.experiments.learning.split import (
    REPORT,
    SYSTEM,
    SplitSettings,
    client_talk,
    line,
    server_talk,
    simulated,
    summary,
)
from sparsync.experiments.parties.party import Party
from sparsync.experiments.parties.talk import Books, Talk, carry, side_by_side
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.descent import new_descent
from sparsync.experiments.training.models import FlatModel
from sparsync.kernels.selection import SELECTORS, target_count
from tests.support.pages import python_block
from tests.support.paths import ROOT
from tests.support.workers import run_workers, torchrun

WHOLE = load_dataset("embedded")
DATA = replace(
    WHOLE,
    train_images=WHOLE.train_images[:240],
    train_labels=WHOLE.train_labels[:240],
    test_images=WHOLE.test_images[:50],
    test_labels=WHOLE.test_labels[:50],
)
QUICK = SplitSettings(steps=12, turn_steps=2, batch_size=16, attack_steps=0)


def monolithic(settings: SplitSettings, data: Dataset, client_count: int) -> tuple[Tensor, list[float]]:
    """Parameters after training in one process, with the clients' batches in the order of their turns; the losses.

    The loop is one of the model and the update rule that everything else here trains with: nothing of split learning.
    """
    model = FlatModel(
        settings.model, feature_count=data.feature_count, class_count=data.class_count, seed=settings.seed
    )
    network = model.part(0, settings.layer_count).network
    descent = new_descent(
        settings.optimiser, model.parameters, momentum=settings.momentum, weight_decay=0.0, step_location="outside"
    )
    shards = [
        (data.train_images[first::client_count], data.train_labels[first::client_count])
        for first in range(client_count)
    ]
    schedules = [
        BatchSchedule(len(images), worker_count=1, batch_size=settings.batch_size, seed=settings.seed)
        for images, _ in shards
    ]
    done, losses = [0] * client_count, []
    for step in range(settings.steps):
        who = step // settings.turn_steps % client_count
        batch = schedules[who].batch(done[who], 0)
        done[who] += 1
        images, labels = shards[who][0][batch], shards[who][1][batch]
        if not settings.leakage_weight and settings.density == 1:
            loss, _ = model.loss_and_gradient(images, labels)
            losses.append(loss)
        else:
            model.gradient.zero_()
            at_cut = network[: 2 * settings.cut](images)
            if settings.density < 1:
                k = target_count(settings.density, at_cut.numel())
                kept = SELECTORS[settings.selector](at_cut.detach().flatten(), k).indices.long()
                mask = torch.zeros(at_cut.numel())
                mask[kept] = 1
                at_cut = at_cut * mask.view_as(at_cut)
            taught = functional.cross_entropy(network[2 * settings.cut :](at_cut), labels)
            whole = taught
            if settings.leakage_weight:
                whole = taught + settings.leakage_weight * distance_correlation(images, at_cut, bias=settings.leakage)
            whole.backward()
            losses.append(taught.item())
        descent.apply(model.gradient, settings.step_size)
    return model.parameters, losses


def whole_parameters(settings: SplitSettings, parties: list[Any]) -> Tensor:
    """The parameters of the parties together: the last client's and the server's."""
    last_client = settings.turns(len(parties) - 1)[-1][0]
    (client, server) = (parties[rank].model for rank in (last_client, SERVER))
    first, end = 2 * settings.cut, settings.layer_count - settings.labels_stay
    parts = [client.part(0, first), server.part(first, end), client.part(end, settings.layer_count)]
    return torch.cat([part.parameters for part in parts])


@pytest.mark.parametrize("client_count", [1, 3])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimiser": "adamw", "step_size": 0.01},
        {"model": "deep3", "cut": 2},
        {"leakage_weight": 3.0},
        {"leakage_weight": 3.0, "leakage": "corrected"},
        {"density": 0.1},
        {"density": 0.1, "leakage_weight": 3.0},
    ],
)
@pytest.mark.parametrize("labels_stay", [False, True])
def test_split_training_is_monolithic_training_bit_for_bit(
    client_count: int, changes: dict[str, Any], labels_stay: bool
) -> None:
    settings = replace(QUICK, **changes, labels_stay=labels_stay)
    parties, _ = simulated(settings, DATA, client_count=client_count)
    parameters, losses = monolithic(settings, DATA, client_count)
    assert torch.equal(whole_parameters(settings, parties), parameters)
    assert parties[SERVER].losses == ([] if labels_stay else losses)


def test_what_is_not_handed_on_changes_the_training() -> None:
    """Weights without the momentum, or clients that keep weights of their own, train otherwise: the oracle sees it."""
    parameters, _ = monolithic(QUICK, DATA, 3)
    apart, _ = simulated(replace(QUICK, weights_stay=True), DATA, client_count=3)
    assert not torch.equal(whole_parameters(QUICK, apart), parameters)
    for forgets in (False, True):
        books = Books()
        talks: list[Talk[Any]] = [server_talk(QUICK, DATA, Party(0, 4))]
        clients = (client_talk(QUICK, DATA, Party(rank, 4), books) for rank in (1, 2, 3))
        talks += [_changing(talk, _velocity_forgotten()) if forgets else talk for talk in clients]
        assert torch.equal(whole_parameters(QUICK, side_by_side(talks, books)), parameters) is not forgets


def _velocity_forgotten() -> Callable[[str, Tensor], Tensor]:
    """Of weights and their velocity, which are handed over by turns, the velocity is taken for zeros."""
    scales = cycle((1.0, 0.0))
    return lambda subject, taken: taken * next(scales) if subject == WEIGHTS else taken


def _changing(talk: Talk[Any], change: Callable[[str, Tensor], Tensor]) -> Talk[Any]:
    """A party that takes something else than it is given."""
    found = None
    while True:
        try:
            wish = talk.send(found)
        except StopIteration as end:
            return end.value
        found = yield wish
        found = change(wish.subject, found) if isinstance(found, Tensor) else found


def rank_of(settings: SplitSettings) -> tuple[Any, Tensor, list[dict[str, object]]]:
    rank, size = dist.get_rank(), dist.get_world_size()
    books, party = Books(), Party(rank, size)
    talk = client_talk(settings, DATA, party, books) if rank else server_talk(settings, DATA, party)
    trained = carry(talk, books)
    result = summary(trained, books) if rank == SERVER else None
    return result, trained.model.parameters, books.rows()


REAL = replace(QUICK, labels_stay=True, density=0.2, leakage_weight=2.0, leakage="corrected", attack_steps=5)


def test_real_ranks_train_as_all_parties_in_one_process_do() -> None:
    answers = run_workers(partial(rank_of, REAL), 3)
    parties, books = simulated(REAL, DATA, client_count=2)
    for (_, parameters, rows), party, rank in zip(answers, parties, range(3), strict=True):
        assert torch.equal(parameters, party.model.parameters)
        assert rows == [row for row in books.rows() if rank in (row["sender"], row["receiver"])]
    result, wanted = answers[SERVER][0], summary(parties[SERVER], books)
    unlike = {name for name in wanted if result[name] != wanted[name]}
    # The server takes no weights, so that it knows from whom they went, not to whom.
    assert unlike == {"traffic"}


def test_labels_go_to_the_server_or_stay_and_bytes_are_those_of_the_shapes() -> None:
    server_width, batch, steps, numbers = 200, 16, 12, 4
    for stays in (False, True):
        settings = replace(QUICK, labels_stay=stays)
        parties, books = simulated(settings, DATA, client_count=1)
        per_batch = {ACTIVATIONS: server_width * numbers, ACTIVATION_SLOPES: server_width * numbers}
        per_batch |= dict.fromkeys((FEATURES, FEATURE_SLOPES), server_width * numbers) if stays else {LABELS: 8}
        held_out = 50 * numbers
        wanted = {subject: size * batch * steps for subject, size in per_batch.items()}
        assert summary(parties[SERVER], books)["sent_bytes"] == sum(wanted.values())
        wanted |= {HELD_OUT: held_out * server_width, HELD_OUT_REPLY: held_out * (server_width if stays else 10)}
        found = {subject: books.total(subject=subject) for _, _, subject in books.bytes}
        assert {name: size for name, size in found.items() if name != REPORT} == wanted


def test_in_the_u_shape_the_bytes_say_nothing_of_labels_but_the_slopes_do() -> None:
    settings = replace(QUICK, labels_stay=True)
    shifted = replace(DATA, train_labels=(DATA.train_labels + 1) % 10, test_labels=(DATA.test_labels + 1) % 10)
    books, heard = zip(*(_heard(settings, data) for data in (DATA, shifted)), strict=True)
    assert books[0].rows() == books[1].rows()
    assert LABELS not in {subject for _, _, subject in books[0].bytes}
    first, other = ([(subject, tensor) for subject, tensor in tensors][:2] for tensors in heard)
    assert [subject for subject, _ in first] == [ACTIVATIONS, FEATURE_SLOPES]
    assert torch.equal(first[0][1], other[0][1])
    # What the server still hears of labels: the slopes of the loss in its features.
    assert not torch.equal(first[1][1], other[1][1])


def _heard(settings: SplitSettings, data: Dataset) -> tuple[Books, list[tuple[str, Tensor]]]:
    """All that the server takes, in order."""
    books, heard = Books(), list[tuple[str, Tensor]]()

    def hear(subject: str, taken: Tensor) -> Tensor:
        heard.append((subject, taken.clone()))
        return taken

    server = _changing(server_talk(settings, data, Party(0, 2)), hear)
    side_by_side([server, client_talk(settings, data, Party(1, 2), books)], books)
    return books, heard


def test_sending_a_tenth_takes_that_share_of_the_slopes_and_weights_go_past_the_server() -> None:
    whole, tenth = (simulated(replace(QUICK, density=d), DATA, client_count=3)[1] for d in (1.0, 0.1))
    assert tenth.total(subject=ACTIVATION_SLOPES) * 10 == whole.total(subject=ACTIVATION_SLOPES)
    assert tenth.total(subject=ACTIVATIONS) < 0.2 * whole.total(subject=ACTIVATIONS)
    # Six turns of three clients: five times the first layer and its velocity.
    assert whole.total(subject=WEIGHTS) == 5 * 2 * 4 * (784 * 200 + 200)
    assert not [key for key in whole.bytes if key[2] == WEIGHTS and SERVER in key[:2]]


def some_words(talk: Talk[Any], count: int) -> Talk[None]:
    """The first of what a party gives and takes; then it ends."""
    found = None
    for _ in range(count):
        found = yield talk.send(found)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("lost", [SERVER, 1])
def test_a_party_that_ends_early_is_named_to_the_other(lost: int, count: int) -> None:
    books = Books()
    talks: list[Talk[Any]] = [server_talk(QUICK, DATA, Party(0, 2)), client_talk(QUICK, DATA, Party(1, 2), books)]
    talks[lost] = some_words(talks[lost], count)
    with pytest.raises(ExchangeError, match=f"rank {lost} has ended"):
        side_by_side(talks, books)


def others_of_a_lost_rank(lost: int) -> str:
    """What the others say, where one is killed in the middle of the training."""
    rank, books, party = dist.get_rank(), Books(), Party(dist.get_rank(), dist.get_world_size())
    talk: Talk[Any] = client_talk(QUICK, DATA, party, books) if rank else server_talk(QUICK, DATA, party)
    if rank == lost:
        carry(some_words(talk, 7), books)
        os.kill(os.getpid(), signal.SIGKILL)
    with pytest.raises(ExchangeError) as caught:
        carry(talk, books, timeout_seconds=10.0)
    return str(caught.value)


@pytest.mark.parametrize("lost", [1, pytest.param(SERVER, marks=pytest.mark.slow)])
def test_of_real_ranks_one_that_is_killed_is_an_error_of_the_others(lost: int) -> None:
    errors = run_workers(partial(others_of_a_lost_rank, lost), 2, killed=[lost])
    assert f"rank {lost}" in errors[1 - lost]


STEP_SECONDS = 1.1


def slowly(*, weights_stay: bool) -> dict[str, Any] | None:
    """A run in which a whole turn and the attack each take longer than one waits for another."""
    step = Client.step

    def slow_step(client: Client, inputs: Tensor, labels: Tensor) -> Talk[None]:
        time.sleep(STEP_SECONDS)
        yield from step(client, inputs, labels)

    def slow_attack(*_: object, **__: object) -> Leak:
        time.sleep(4 * STEP_SECONDS)
        return Leak(0.25, 3.0, 4.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "step", slow_step)
        patch.setattr(split, "attacked", slow_attack)
        patch.setattr(split, "load_dataset", lambda _: DATA)
        settings = replace(QUICK, steps=8, weights_stay=weights_stay, attack_steps=1)
        return split.run(settings, Party(dist.get_rank(), 4, timeout_seconds=2.5 * STEP_SECONDS))


@pytest.mark.parametrize("weights_stay", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_turns_of_others_and_the_attack_may_take_longer_than_one_waits(*, weights_stay: bool) -> None:
    assert run_workers(partial(slowly, weights_stay=weights_stay), 4)[SERVER]["explained_share"] == 0.25


@pytest.mark.parametrize("leakage_weight", [0.0, 2.0])
@pytest.mark.parametrize("labels_stay", [False, True])
def test_batches_of_one_train(leakage_weight: float, labels_stay: bool) -> None:
    """The biased form of one example is zero, with the slope zero; the corrected one is refused."""
    settings = replace(QUICK, batch_size=1, leakage_weight=leakage_weight, labels_stay=labels_stay)
    parties, books = simulated(settings, DATA, client_count=1)
    parameters, _ = monolithic(settings, DATA, 1)
    assert torch.equal(whole_parameters(settings, parties), parameters)
    found = summary(parties[SERVER], books)
    assert found["dcor"] == {"biased": 0.0, "corrected": None}
    assert "corrected undefined" in line(found)


def test_activations_that_are_all_alike_have_a_leakage_of_zero_and_no_nan() -> None:
    dark = replace(
        DATA, train_images=torch.zeros_like(DATA.train_images), test_images=torch.zeros_like(DATA.test_images)
    )
    for leakage in ("biased", "corrected"):
        settings = replace(QUICK, leakage_weight=5.0, leakage=leakage)
        parties, books = simulated(settings, dark, client_count=1)
        assert summary(parties[SERVER], books)["dcor"] == {"biased": 0.0, "corrected": 0.0}
        assert bool(parties[1].model.parameters.isfinite().all())


def test_a_run_that_diverges_says_so() -> None:
    with pytest.raises(FloatingPointError, match="try a smaller step size"):
        simulated(replace(QUICK, step_size=1e30), DATA, client_count=1)


@pytest.mark.parametrize("weight", [2.0, 20.0])
def test_a_penalty_lowers_the_correlation_that_it_is_of(weight: float) -> None:
    found = {}
    for leakage_weight in (0.0, weight):
        settings = replace(QUICK, steps=40, batch_size=32, leakage_weight=leakage_weight, leakage="corrected")
        parties, books = simulated(settings, DATA, client_count=1)
        found[leakage_weight] = summary(parties[SERVER], books)["dcor"]["corrected"]
    assert found[weight] < found[0.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "resnet20"}, "unknown model 'resnet20'; known: fnn2, fnn3"),
        ({"cut": 3}, "cut must be 1 to the 2 hidden layers of fnn3, got 3"),
        ({"model": "fnn2", "labels_stay": True}, "the server keeps one too, got 1"),
        ({"density": 0.0}, r"density must lie in \(0, 1\], got 0.0"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"attack_steps": -1}, "attack_steps must be at least 0, got -1"),
        ({"uniform_noise": math.inf}, "uniform_noise must be finite and >= 0, got inf"),
        ({"step_size": 0.0}, "step_size must be finite and positive, got 0.0"),
        ({"momentum": 1.0}, r"momentum must lie in \[0, 1\), got 1.0"),
        ({"leakage": "fair"}, "unknown leakage 'fair'; known: biased, corrected"),
        ({"selector": "all"}, "unknown selector 'all'"),
        ({"optimiser": "lamb"}, "unknown optimiser 'lamb'"),
        ({"data": "text"}, "got the data 'text'"),
        ({"leakage_weight": 1.0, "leakage": "corrected", "batch_size": 3}, "batches of at least 4, got 3"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SplitSettings(**changes)


def test_the_line_of_the_page_runs_on_real_processes(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    options = ["--steps", "20", "--attack-steps", "5", "--leakage-weight", "1", "--leakage", "biased"]
    command = ["--nproc-per-node", "2", "-m", "sparsync.experiments.learn", "--system", "split"]
    done = torchrun(*command, "--output", str(output), *options)
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text(encoding="utf-8"))
    assert result["client_count"] == 1
    assert result["subject_bytes"][ACTIVATIONS] == 20 * 64 * 200 * 4
    assert SYSTEM.line(result) in done.stdout


def test_the_program_of_the_page_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    exec(python_block(ROOT / "paper" / "docs" / "learning.md", "attacked("), {})
    leakage, share = map(float, capsys.readouterr().out.split())
    assert 0 < leakage < 1
    assert 0 < share < 1
