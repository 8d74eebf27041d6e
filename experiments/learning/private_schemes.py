"""How do a server and its clients train one model? Federated averaging, large batches and split learning as talks.

Federated: the model goes down, or what changed of it; the sum of each client's local gradients comes up, dense,
selected or masked; the server steps along their mean, weighed by examples of the shards. With one local step, all
clients and shards of one size that is SGD on a large batch; `large_batch` weighs by examples of the step and is so for
any shards. Split: a client's activations go up and the gradient at them comes down; client after client.

Bytes are those of `theory/learning/byte_laws.py`; the setting of their comparison is that of Singh, Vepakomma, Gupta
and Raskar 2019, arXiv 1909.09145. Federated averaging: McMahan et al. 2017, arXiv 1602.05629.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import vector_to_parameters

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning.federated_clients import (
    FIXED_POINT,
    Client,
    FederatedSettings,
    new_model,
    participants,
)
from sparsync.experiments.learning.secure_aggregation import MASK_BYTES, SERVER, add_up, overhead_bytes, take_part
from sparsync.experiments.parties.talk import Talk, give, give_unless_lost, take, take_unless_lost
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.models import FlatModel, new_network
from sparsync.theory.learning.byte_laws import federated_epoch_bytes, split_epoch_bytes

VALUE_BYTES, INDEX_BYTES, LABEL_BYTES = 4, 4, 1
"""Of what travels: float32, int32 and uint8."""


@dataclass(frozen=True)
class Meeting:
    """One exchange of the server with its clients.

    Args:
        chosen: ranks that were told to take part.
        survivors: of these, whose vectors are in the mean.
        present_count: clients that are there when it ends.
        selected_count: entries of all who sent, together; 0 where nothing is selected.
        union_count: entries that anybody selected.
        alone_share: of the entries that survivors selected, those that one survivor alone did: under masks the server
            reads them in the sum; 0 where nothing is selected.
    """

    chosen: tuple[int, ...]
    survivors: tuple[int, ...]
    present_count: int
    selected_count: int = 0
    union_count: int = 0
    alone_share: float = 0.0


@dataclass
class Minutes:
    """What a server saw of a run, besides its model.

    Args:
        meetings: of federated schemes.
        example_counts: of the clients, by rank from 1.
        sample_count: examples whose activations came, in split learning.
    """

    meetings: list[Meeting] = field(default_factory=list)
    example_counts: list[int] = field(default_factory=list)
    sample_count: int = 0


def federated_server(
    settings: FederatedSettings, model: FlatModel, client_count: int, advance: Callable[[], None]
) -> Talk[Minutes]:
    """The server's part; the model is trained in place, and every exchange advances.

    Raises:
        ExchangeError: a client is lost and nothing is masked, or too few are left.
        FloatingPointError: the mean is not finite.
    """
    present = list(range(1, client_count + 1))
    minutes = Minutes(example_counts=(yield from _example_counts(client_count)))
    for exchange in range(settings.exchanges):
        chosen = participants(settings, present, minutes.example_counts, exchange)
        roster = [0] * client_count
        for rank in chosen:
            roster[rank - 1] = minutes.example_counts[rank - 1]
        for rank in present:
            yield from give_unless_lost(rank, "roster", torch.tensor(roster))
        if settings.density == 1:
            for rank in chosen:
                yield from give_unless_lost(rank, "model", model.parameters)
        meet = _masked_mean if settings.secure else _plain_mean
        mean, found = yield from meet(settings, model.parameters, weights_by_rank(settings, roster))
        if not bool(mean.isfinite().all()):
            raise FloatingPointError(f"exchange {exchange}: the mean is not finite; try a smaller step size")
        _step(model.parameters, mean, found.places, settings.step_size)
        present = [rank for rank in present if rank not in chosen or rank in found.survivors]
        minutes.meetings.append(found.meeting(chosen, len(present)))
        if found.places is not None:
            for rank in present:
                yield from give_unless_lost(rank, "mean indices", found.places.int())
                yield from give_unless_lost(rank, "mean values", mean)
        advance()
    return minutes


def federated_client(settings: FederatedSettings, client: Client) -> Talk[None]:
    """A client's part."""
    yield from give(SERVER, "example count", torch.tensor(client.count))
    for exchange in range(settings.exchanges):
        roster = yield from take(SERVER, "roster")
        weights = weights_by_rank(settings, roster.tolist())
        if client.rank in weights:
            if settings.density == 1:
                client.model.parameters.copy_((yield from take(SERVER, "model")))
            leaves = settings.leaves(client.rank, exchange)
            yield from _contribution(settings, client, weights, leaves=leaves)
            if leaves:
                return
        if settings.density < 1:
            places = yield from take(SERVER, "mean indices")
            mean = yield from take(SERVER, "mean values")
            _step(client.model.parameters, mean, places.long(), settings.step_size)


def weights_by_rank(settings: FederatedSettings, roster: Sequence[int]) -> dict[int, float]:
    """Of those who take part, over the largest: examples of the shard, or of the step where all meet after each.

    Args:
        settings: those of the run.
        roster: by rank from 1, the examples of those who take part; 0 of all others.
    """
    together = settings.scheme == "large_batch"
    counts = [min(settings.batch_size, count) if together else count for count in roster]
    return {rank: count / max(counts) for rank, count in enumerate(counts, start=1) if count}


def split_server(
    settings: FederatedSettings, upper: nn.Module, client_count: int, advance: Callable[[], None]
) -> Talk[Minutes]:
    """The server's part: the upper layers, trained in place; client after client, and every round advances.

    Raises:
        ValueError: no client has an example.
        FloatingPointError: a gradient is not finite.
    """
    minutes = Minutes(example_counts=(yield from _example_counts(client_count)))
    if not any(minutes.example_counts):
        raise ValueError(f"none of the {client_count} clients has an example")
    for _ in range(settings.rounds):
        for rank in (rank for rank, count in enumerate(minutes.example_counts, start=1) if count):
            for _ in range(settings.local_steps):
                activations = (yield from take(rank, "activations")).requires_grad_()
                labels = (yield from take(rank, "labels")).long()
                upper.zero_grad()
                functional.cross_entropy(upper(activations), labels).backward()
                slope = activations.grad
                assert slope is not None, "the upper layers read the activations"
                if not bool(slope.isfinite().all()):
                    raise FloatingPointError(f"the gradient for client {rank} is not finite; try a smaller step size")
                minutes.sample_count += len(labels)
                yield from give(rank, "gradients at the cut", slope)
                descend(upper, settings.step_size)
        advance()
    return minutes


def split_client(settings: FederatedSettings, client: Client, lower: nn.Module, client_count: int) -> Talk[None]:
    """A client's part: the lower layers, trained in place, which it may take from the client before and hand on."""
    yield from give(SERVER, "example count", torch.tensor(client.count))
    passes = settings.pass_weights and client_count > 1
    before, after = (client.rank - 2) % client_count + 1, client.rank % client_count + 1
    for turn in range(settings.rounds):
        if passes and (turn or client.rank > 1):
            set_weights(lower, (yield from take(before, "client layers", is_patient=True)))
        for _ in range(settings.local_steps if client.count else 0):
            images, labels = client.examples(client.next_batch())
            lower.zero_grad()
            activations = lower(images)
            # Where layers are not passed on, the turns of all others come first.
            yield from give(SERVER, "activations", activations.detach(), is_patient=True)
            yield from give(SERVER, "labels", labels.to(torch.uint8))
            activations.backward((yield from take(SERVER, "gradients at the cut")))
            descend(lower, settings.step_size)
        if passes:
            yield from give(after, "client layers", weights_of(lower))
    if passes and client.rank == 1:
        set_weights(lower, (yield from take(before, "client layers", is_patient=True)))


def split_network(settings: FederatedSettings, data: Dataset, device: torch.device) -> tuple[nn.Module, nn.Module]:
    """The layers below and above the cut, with the parameters that the whole network begins with.

    Raises:
        ValueError: nothing is left on one side.
    """
    network = new_network(settings.model, data.feature_count, data.class_count, None).to(device)
    vector_to_parameters(new_model(settings, data, device).parameters.clone(), network.parameters())
    assert isinstance(network, nn.Sequential), "models of vectors are layer upon layer"
    if not settings.cut < len(network):
        raise ValueError(f"cut must be below the {len(network)} modules of {settings.model!r}, got {settings.cut}")
    return network[: settings.cut], network[settings.cut :]


def weights_of(layers: nn.Module) -> Tensor:
    """[m], all of them, one after another."""
    return torch.cat([parameter.detach().flatten() for parameter in layers.parameters()])


def set_weights(layers: nn.Module, weights: Tensor) -> None:
    """From such a vector."""
    vector_to_parameters(weights.clone(), layers.parameters())


@torch.no_grad()
def descend(layers: nn.Module, step_size: float) -> None:
    """A step along the gradients that are there."""
    for parameter in layers.parameters():
        assert parameter.grad is not None, "every layer has a gradient"
        parameter.sub_(parameter.grad, alpha=step_size)


def stated_bytes(
    settings: FederatedSettings, minutes: Minutes, *, parameter_count: int, cut_values: int, lower_count: int
) -> dict[tuple[str, ...], float]:
    """What theory says of the bytes of what was run, by the subjects that they are the sum of.

    Args:
        settings: those of the run.
        minutes: who took part, and how much was selected.
        parameter_count: N.
        cut_values: q.
        lower_count: parameters of the client's layers, ηN.
    """
    meetings, clients = minutes.meetings, len(minutes.example_counts)
    if settings.scheme == "split":
        total = split_epoch_bytes().evaluate(
            example_count=minutes.sample_count,
            cut_values=cut_values,
            label_bytes=LABEL_BYTES,
            n=clients,
            passed_count=lower_count * settings.rounds if settings.pass_weights and clients > 1 else 0,
            value_bytes=VALUE_BYTES,
        )
        return {("activations", "labels", "gradients at the cut", "client layers"): total}
    asked = sum(len(meeting.chosen) for meeting in meetings)
    stated: dict[tuple[str, ...], float] = {}
    if settings.secure:
        kept = [(len(meeting.survivors), meeting.union_count or parameter_count) for meeting in meetings]
        stated["masked vector",] = MASK_BYTES * sum(survivors * (count + 1) for survivors, count in kept)
        stated["public keys", "sealed shares", "survivors", "shares of masks"] = sum(
            overhead_bytes(len(meeting.chosen), len(meeting.chosen) - len(meeting.survivors)) for meeting in meetings
        )
    if settings.density == 1 and settings.secure:
        stated["model",] = VALUE_BYTES * parameter_count * asked
    elif settings.density == 1:
        stated["model", "update"] = federated_epoch_bytes().evaluate(
            n=1, d=parameter_count, round_count=asked, value_bytes=VALUE_BYTES
        )
    else:
        selected = sum(meeting.selected_count for meeting in meetings)
        down = sum(meeting.union_count * meeting.present_count for meeting in meetings)
        stated["mean indices", "mean values"] = (INDEX_BYTES + VALUE_BYTES) * down
        stated["indices",] = INDEX_BYTES * selected
        told = sum(meeting.union_count * len(meeting.chosen) for meeting in meetings)
        stated["union" if settings.secure else "values",] = INDEX_BYTES * (told if settings.secure else selected)
    return stated


def _example_counts(client_count: int) -> Talk[list[int]]:
    counts: list[int] = []
    for rank in range(1, client_count + 1):
        counts.append(int((yield from take(rank, "example count"))))
    return counts


def _contribution(
    settings: FederatedSettings, client: Client, weights: Mapping[int, float], *, leaves: bool
) -> Talk[None]:
    """What a client sends of its local gradients."""
    values, places = client.local_gradients(), None
    if settings.density < 1:
        payload = client.selected(values)
        places, values = payload.indices.long(), payload.values
        yield from give(SERVER, "indices", payload.indices)
    if not settings.secure:
        yield from give(SERVER, "update" if places is None else "values", values)
        return
    if places is not None:
        union = (yield from take(SERVER, "union")).long()
        spread = values.new_zeros(len(union))
        spread[torch.searchsorted(union, places)] = values
        values = spread
    # The weight of whoever is lost must not be in the sum either.
    weight = torch.tensor([weights[client.rank]], dtype=torch.float64)
    encoded = FIXED_POINT.encode(torch.cat([values.cpu().double() * weight, weight]), len(weights))
    yield from take_part(client.rank, list(weights), encoded, settings.quorum(len(weights)), leaves=leaves)


@dataclass(frozen=True, eq=False)
class _Found:
    """Of a mean: the places of its entries, None where it has all; whose vectors are in it; who selected which."""

    places: Tensor | None
    survivors: tuple[int, ...]
    selected: Mapping[int, Tensor]

    def meeting(self, chosen: Sequence[int], present_count: int) -> Meeting:
        if self.places is None:
            return Meeting(tuple(chosen), self.survivors, present_count)
        kept = [self.selected[rank] for rank in self.survivors]
        _, counts = torch.cat(kept).unique(return_counts=True)
        return Meeting(
            chosen=tuple(chosen),
            survivors=self.survivors,
            present_count=present_count,
            selected_count=sum(map(len, self.selected.values())),
            union_count=len(self.places),
            alone_share=int((counts == 1).sum()) / sum(map(len, kept)),
        )


def _plain_mean(
    settings: FederatedSettings, parameters: Tensor, weights: Mapping[int, float]
) -> Talk[tuple[Tensor, _Found]]:
    """The weighed mean, added in the order of ranks."""
    total = torch.zeros_like(parameters)
    touched: dict[int, Tensor] = {}
    for rank, weight in weights.items():
        if settings.density == 1:
            total += (yield from take(rank, "update")) * weight
            continue
        places = (yield from take(rank, "indices")).long()
        total[places] += (yield from take(rank, "values")) * weight
        touched[rank] = places
    mean = total / math.fsum(weights.values())
    if settings.density == 1:
        return mean, _Found(None, tuple(weights), {})
    union = torch.cat(list(touched.values())).unique()
    return mean[union], _Found(union, tuple(weights), touched)


def _masked_mean(
    settings: FederatedSettings, parameters: Tensor, weights: Mapping[int, float]
) -> Talk[tuple[Tensor, _Found]]:
    """The same of those who survive, from the sum alone; who selected which places is seen.

    So the sum is the very entry of a client at every place that it alone selected.
    """
    chosen, union = list(weights), None
    present, touched = chosen, dict[int, Tensor]()
    if settings.density < 1:
        for rank in chosen:
            found = yield from take_unless_lost(rank, "indices")
            if isinstance(found, Tensor):
                touched[rank] = found.long()
        if not touched:
            raise ExchangeError(f"of the clients {chosen} none is left")
        # Whose places never came, or not as they were sent, has entries outside the union, and is not talked to again.
        present, union = list(touched), torch.cat(list(touched.values())).unique()
        for rank in present:
            yield from give_unless_lost(rank, "union", union.int())
    summed = yield from add_up(chosen, settings.quorum(len(chosen)), present=present)
    decoded = FIXED_POINT.decode(summed.total)
    return (decoded[:-1] / decoded[-1]).to(parameters), _Found(union, summed.survivors, touched)


def _step(parameters: Tensor, mean: Tensor, places: Tensor | None, step_size: float) -> None:
    if places is None:
        parameters.sub_(mean, alpha=step_size)
    else:
        parameters[places] -= step_size * mean
