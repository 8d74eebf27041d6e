"""Does a density for each layer keep more than one for all, where both are exchanged in the same seconds?

Three networks train with Top-k and error feedback, and what is looked at is a worker's corrected gradient. The planner
`layer_density` gives the counts of entries, so that each layer's exchange hides under the backward pass of those in
front of it but for a given share of a step. Beside it stand one density for all layers in the same seconds, and Top-k
of the whole vector, of which nothing hides, in the same seconds too. Entries are judged by the energy that they leave
out: of the gradient that the counts were planned for, and of all workers' gradients some steps later. Seconds are those
of a model, so that nothing is measured here but gradients. Read by `paper/studies/planning/layer_densities.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsync.experiments.planners.layer_density import Layer, Question, arrival, grouped, plan
from sparsync.experiments.planners.plan import InfeasibleError
from sparsync.experiments.simulate import simulate
from sparsync.experiments.sizing.operators import Operator, operators_of
from sparsync.experiments.studies.planning.density_rates import density_rates, switches
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.models import new_network
from sparsync.experiments.training.runs import Run
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

Floats = NDArray[numpy.float64]

WORKER_COUNT = 4
OPERATIONS_PER_SECOND = 1e11
"""That a device sustains; a multiplication and an addition are two."""
BITS_PER_SECOND = (1e8, 3e8, 1e9)
LATENCY_SECONDS = 20e-6
"""Of a message; an all-gather by doubling has log₂ n of them, one after another."""
EXPOSED_SHARE = 0.1
"""Of the seconds of a step without exchanges, for which the exchange may last beyond the backward pass."""
TRAINED_DENSITY = 0.01
_ENTRY_BYTES = 8
"""A float32 and an int32."""
_ROUNDS = (WORKER_COUNT - 1).bit_length()
_HALVINGS = 50
_BACKWARD_SHARE, _STEP_SHARE = 2, 3
"""The backward pass has two products for each of the forward pass, and both together three."""


@dataclass(frozen=True)
class Setup:
    """What is trained.

    Args:
        model: see `Run.model`.
        data: see `Run.data`.
        batch_size: examples of a worker and step.
        step_size: that the study of variants found best for ResNet-20 and GPT, that of links for FNN-3.
    """

    model: str
    data: str
    batch_size: int
    step_size: float


SETUPS: dict[str, Setup] = {
    "fnn3": Setup("fnn3", "embedded", batch_size=128, step_size=0.128),
    "resnet20": Setup("resnet20", "embedded", batch_size=8, step_size=0.032),
    "gpt": Setup("gpt", "text", batch_size=2, step_size=0.064),
}
"""By network."""


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        models: keys of `SETUPS`.
        planned_step: the update whose corrected gradients the counts are planned for.
        later_step: that on whose gradients they are tried.
        seed_count: trainings of each network.
        dimension: of the vectors of `density_rates`.
    """

    models: tuple[str, ...]
    planned_step: int
    later_step: int
    seed_count: int
    dimension: int


_ALL = tuple(SETUPS)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(("fnn3",), planned_step=4, later_step=6, seed_count=1, dimension=10_000),
    "quick": Sizes(_ALL, planned_step=6, later_step=8, seed_count=2, dimension=1_000_000),
    "record": Sizes(_ALL, planned_step=80, later_step=100, seed_count=5, dimension=1_000_000),
}
SIZES["full"] = SIZES["record"]


@dataclass(frozen=True)
class _Case:
    setup: Setup
    planned_step: int
    later_step: int
    seed: int


@dataclass(frozen=True)
class Message:
    """Layers that are sent together.

    Args:
        names: of the operators, in the order of the forward pass.
        backward_seconds: of their backward pass, of a worker's batch.
        places: of their parameters in the gradient.
    """

    names: tuple[str, ...]
    backward_seconds: float
    places: tuple[slice, ...]

    def squares(self, gradient: Tensor) -> Floats:
        """Of the entries of a gradient [d] that it holds, the largest first."""
        held = torch.cat([gradient[place] for place in self.places]).double().square()
        return numpy.sort(held.numpy())[::-1]


def run_layer_densities(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Train, plan and compare; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        `runs`: of each `model` and `seed` the `links`, see `compared`; `messages`: of each model, in the order of the
        forward pass, their `names`, `sizes` and `backward_seconds`; `density_rates` and `switches`: see
        `density_rates.py`.
    """
    sizes, cases = sized(SIZES, profile_name), _cases(profile_name)
    return {
        "profile": profile_name,
        "worker_count": WORKER_COUNT,
        "operations_per_second": OPERATIONS_PER_SECOND,
        "bits_per_second": list(BITS_PER_SECOND),
        "latency_seconds": LATENCY_SECONDS,
        "exposed_share": EXPOSED_SHARE,
        "trained_density": TRAINED_DENSITY,
        "planned_step": sizes.planned_step,
        "later_step": sizes.later_step,
        "seeds": list(range(sizes.seed_count)),
        "batch_sizes": {name: SETUPS[name].batch_size for name in sizes.models},
        "messages": {name: _described(messages_of(SETUPS[name])) for name in sizes.models},
        "runs": pool.run(run_case, cases),
        "density_rates": density_rates(sizes.dimension),
        "switches": switches(),
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_layer_densities` advances."""
    return len(_cases(profile_name))


def run_case(case: _Case) -> dict[str, Any]:
    """Train one network on one seed, and compare on every link."""
    setup = case.setup
    seen: dict[int, list[Tensor]] = {}

    def observe(step_count: int, corrected: Sequence[Tensor]) -> None:
        if step_count in (case.planned_step, case.later_step):
            seen[step_count] = [gradient.clone() for gradient in corrected]

    run = Run(
        selector="top_k",
        model=setup.model,
        data=setup.data,
        density=TRAINED_DENSITY,
        batch_size=setup.batch_size,
        step_size=setup.step_size,
        momentum=0.9,
        steps=case.later_step,
        evaluate_every=case.later_step,
        test_limit=1,
        seed=case.seed,
        workers=WORKER_COUNT,
    )
    result = simulate(run, _data(setup.data), observe)
    if result.diverged_at_step is not None:
        raise FloatingPointError(f"{setup.model}, seed {case.seed}: {result.divergence}")
    messages = messages_of(setup)
    planned = [message.squares(seen[case.planned_step][0]) for message in messages]
    later = [[message.squares(gradient) for message in messages] for gradient in seen[case.later_step]]
    links = [compared(messages, planned, later, bits_per_second) for bits_per_second in BITS_PER_SECOND]
    return {"model": setup.model, "seed": case.seed, "links": links}


def compared(
    messages: Sequence[Message], planned: Sequence[Floats], later: Sequence[Sequence[Floats]], bits_per_second: float
) -> dict[str, Any]:
    """What is left out in the same seconds by counts of each layer, by one density, and by Top-k of the whole vector.

    Args:
        messages: in the order of the forward pass.
        planned: squares of each, of the gradient that counts are planned for, the largest first.
        later: the same of each of the gradients that they are tried on.
        bits_per_second: of the link.

    Returns:
        `densities`: of each message, and `one_density`; `entry_share`: of all entries, that each way sends; `left_out`:
        share of the planned gradient's energy by way, with that of Top-k of as many entries as were planned, `free`,
        which is not bound to any layer's time; `later_left_out`: the mean of the later ones. None but for
        `bits_per_second` where not even an entry of each message is in time.
    """
    question = question_of(messages, planned, bits_per_second)
    sizes = [len(squares) for squares in planned]
    try:
        found: Any = plan(question).choice["counts"]
    except InfeasibleError:
        missing = dict.fromkeys(("densities", "one_density", "entry_share", "left_out", "later_left_out"))
        return {"bits_per_second": bits_per_second, **missing}
    counts = list(reversed(found))
    one_density, one_counts = common_density(question)
    ways = {"layers": counts, "one": list(reversed(one_counts))}
    wholes = {"whole": whole_count(question), "free": sum(counts)}

    def left_out(squares: Sequence[Floats]) -> dict[str, float]:
        together = [numpy.sort(numpy.concatenate(squares))[::-1]]
        return {name: share_left_out(squares, own) for name, own in ways.items()} | {
            name: share_left_out(together, [count]) for name, count in wholes.items()
        }

    tried = [left_out(squares) for squares in later]
    sent = {name: sum(own) for name, own in ways.items()} | wholes
    return {
        "bits_per_second": bits_per_second,
        "densities": [count / size for count, size in zip(counts, sizes, strict=True)],
        "one_density": one_density,
        "entry_share": {name: count / sum(sizes) for name, count in sent.items()},
        "left_out": left_out(planned),
        "later_left_out": {name: fmean(one[name] for one in tried) for name in sent},
    }


def question_of(messages: Sequence[Message], squares: Sequence[Floats], bits_per_second: float) -> Question:
    """The planner's, of messages in the order of the forward pass, which it has in that of the backward pass."""
    layers = [Layer(message.backward_seconds, *grouped(own)) for message, own in zip(messages, squares, strict=True)]
    backward = sum(message.backward_seconds for message in messages)
    return Question(
        tuple(reversed(layers)),
        latency_seconds=_ROUNDS * LATENCY_SECONDS,
        byte_seconds=8 / bits_per_second,
        entry_bytes=_ENTRY_BYTES * (WORKER_COUNT - 1),
        budget_seconds=backward * (1 + EXPOSED_SHARE * _STEP_SHARE / _BACKWARD_SHARE),
    )


def common_density(question: Question) -> tuple[float, list[int]]:
    """The largest density that all layers may have, and its counts; an entry of each is sent in any case."""
    sizes = [layer.size for layer in question.layers]
    lower, upper = 0.0, 1.0
    if arrival(question, sizes) <= question.budget:
        return 1.0, sizes
    for _ in range(_HALVINGS):
        middle = (lower + upper) / 2
        fits = arrival(question, _counts_at(middle, sizes)) <= question.budget
        lower, upper = (middle, upper) if fits else (lower, middle)
    return lower, _counts_at(lower, sizes)


def whole_count(question: Question) -> int:
    """Entries of one message of all layers, which begins when the backward pass ends, in the same seconds; or 0."""
    left = question.budget - question.ready_seconds[-1] - question.message_seconds
    return min(max(0, int(left // question.entry_seconds)), sum(layer.size for layer in question.layers))


def share_left_out(squares: Sequence[Floats], counts: Sequence[int]) -> float:
    """Of the energy of all messages, by the largest entries of each, so many.

    Args:
        squares: of each message, the largest first.
        counts: of each.
    """
    left = sum(float(own[count:].sum()) for own, count in zip(squares, counts, strict=True))
    return left / sum(float(own.sum()) for own in squares)


def messages_of(setup: Setup) -> list[Message]:
    """In the order of the forward pass: a new one begins with every operator that multiplies.

    Norms, which have few parameters and take no time to speak of, go with the operator in front of them. Embeddings in
    front of all others are a message.
    """
    data = _data(setup.data)
    groups: list[list[Operator]] = [[]]
    for operator in operators_of(_network(setup, data), data.train_images[:1]):
        if operator.forward_flops and groups[-1]:
            groups.append([])
        groups[-1].append(operator)
    places: dict[str, list[slice]] = {}
    start = 0
    for name, parameter in _network(setup, data).named_parameters():
        places.setdefault(name.rpartition(".")[0], []).append(slice(start, start + parameter.numel()))
        start += parameter.numel()
    return [
        Message(
            tuple(operator.name for operator in group if operator.parameter_count),
            _BACKWARD_SHARE
            * setup.batch_size
            * sum(operator.forward_flops for operator in group)
            / OPERATIONS_PER_SECOND,
            tuple(place for operator in group for place in places.get(operator.name, [])),
        )
        for group in groups
    ]


def _cases(profile_name: ProfileName) -> list[_Case]:
    sizes = sized(SIZES, profile_name)
    # The long trainings first.
    return [
        _Case(SETUPS[name], sizes.planned_step, sizes.later_step, seed)
        for seed in range(sizes.seed_count)
        for name in reversed(sizes.models)
    ]


def _counts_at(density: float, sizes: Sequence[int]) -> list[int]:
    return [max(1, int(density * size)) for size in sizes]


def _described(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [
        {
            "names": list(message.names),
            "size": sum(place.stop - place.start for place in message.places),
            "backward_seconds": message.backward_seconds,
        }
        for message in messages
    ]


def _network(setup: Setup, data: Dataset) -> torch.nn.Module:
    shape = data.image_shape if data.kind == "images" else None
    return new_network(setup.model, data.feature_count, data.class_count, shape)


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
