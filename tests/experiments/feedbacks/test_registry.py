"""Every variant follows its recursion, conserves what it says, and is another where its hyperparameters say so.

Gradients and hyperparameters are multiples of small powers of two, so that in float64 no sum is rounded and all
comparisons are exact; roots and quotients are rounded alike everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.experiments.averaging.payloads import mean_in_rank_order
from sparsync.experiments.feedbacks.feedback import Feedback, Memory, StepLocation
from sparsync.experiments.feedbacks.registry import FEEDBACKS, new_feedback
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.feedback import ErrorFeedback
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS

DIMENSION, STEPS, WORKERS, K = 12, 6, 4, 3
Settings = tuple[tuple[str, float], ...]
DYADIC: dict[str, Settings] = {
    "ef21_sgdm": (("momentum", 0.25),),
    "econtrol": (("control", 0.5),),
    "dgc": (("momentum", 0.5),),
    "decayed": (("decay", 0.5),),
    "rmsprop": (("averaging", 0.5), ("epsilon", 0.25)),
}
"""Hyperparameters that no rounding follows, but where there are roots; the other variants have none."""


def made(name: str, settings: Settings | None = None) -> Feedback:
    """A variant with its step size outside, where all can have it."""
    chosen = DYADIC.get(name, ()) if settings is None else settings
    return new_feedback(name, chosen, step_location="outside")


def gradients() -> list[list[Tensor]]:
    """Whole numbers [steps][workers]."""
    stream = torch.Generator().manual_seed(3)
    drawn = torch.randint(-50, 51, (STEPS, WORKERS, DIMENSION), generator=stream).double()
    return [list(rows) for rows in drawn]


class Played:
    """A variant on all workers, fed with gradients.

    Args:
        feedback: the variant.
        selector: key of `SELECTORS`.
    """

    def __init__(self, feedback: Feedback, selector: str = "top_k") -> None:
        self.memories = [feedback.memory(DIMENSION, dtype=torch.float64, device="cpu") for _ in range(WORKERS)]
        self.corrected: list[list[Tensor]] = []
        self.payloads: list[list[SparsePayload]] = []
        self.delivered: list[Tensor] = []
        self.pending: list[list[Tensor]] = []
        for rows in gradients():
            corrected = [feedback.correct(memory, g, 1.0) for memory, g in zip(self.memories, rows, strict=True)]
            payloads = [SELECTORS[selector](vector, K) for vector in corrected]
            for memory, vector, payload in zip(self.memories, corrected, payloads, strict=True):
                feedback.settle(memory, vector, payload)
            mean = mean_in_rank_order(payloads)
            (first, *others) = [feedback.deliver(memory, mean) for memory in self.memories]
            assert all(torch.equal(other, first) for other in others)
            self.corrected.append(corrected)
            self.payloads.append(payloads)
            self.delivered.append(first.clone())
            self.pending.append([feedback.pending(memory).clone() for memory in self.memories])

    def sent(self, worker: int) -> Tensor:
        """What a worker sent in each step, [steps, d]."""
        return torch.stack([payloads[worker].dense() for payloads in self.payloads])


def top(vector: Sequence[float]) -> list[float]:
    """Top-k in plain Python: of equals, those of lowest index."""
    chosen = sorted(range(len(vector)), key=lambda place: (-abs(vector[place]), place))[:K]
    return [value if place in chosen else 0.0 for place, value in enumerate(vector)]


def combined(*terms: tuple[float, Sequence[float]]) -> list[float]:
    return [sum(factor * vector[place] for factor, vector in terms) for place in range(DIMENSION)]


State = dict[str, list[float]]


def ef14(state: State, g: list[float]) -> tuple[list[float], list[float]]:
    u = combined((1, state["e"]), (1, g))
    state["e"] = combined((1, u), (-1, top(u)))
    return u, top(u)


def decayed(state: State, g: list[float]) -> tuple[list[float], list[float]]:
    u = combined((0.5, state["e"]), (1, g))
    state["e"] = combined((1, u), (-1, top(u)))
    return u, top(u)


def ef21(state: State, g: list[float]) -> tuple[list[float], list[float]]:
    u = combined((1, g), (-1, state["h"]))
    state["h"] = combined((1, state["h"]), (1, top(u)))
    return u, state["h"]


def ef21_sgdm(state: State, g: list[float]) -> tuple[list[float], list[float]]:
    state["v"] = combined((0.75, state["v"]), (0.25, g))
    return ef21(state, state["v"])


def econtrol(state: State, g: list[float]) -> tuple[list[float], list[float]]:
    u = combined((0.5, state["e"]), (1, g), (-1, state["h"]))
    state["h"] = combined((1, state["h"]), (1, top(u)))
    state["e"] = combined((1, state["e"]), (1, g), (-1, state["h"]))
    return u, state["h"]


def dgc(state: State, g: list[float]) -> tuple[list[float], list[float]]:
    state["v"] = combined((0.5, state["v"]), (1, g))
    u, sent = ef14(state, state["v"])
    state["v"] = [0.0 if there else value for value, there in zip(state["v"], sent, strict=True)]
    return u, sent


def rmsprop(state: State, g: list[float]) -> tuple[list[float], list[float]]:
    state["v"] = combined((0.5, state["v"]), (0.5, [x * x for x in g]))
    state["h"] = combined((0.5, state["h"]), (0.5, [1.0] * DIMENSION))
    roots = [math.sqrt(v / weight) + 0.25 for v, weight in zip(state["v"], state["h"], strict=True)]
    return ef14(state, [x / root for x, root in zip(g, roots, strict=True)])


REFERENCES: dict[str, Callable[[State, list[float]], tuple[list[float], list[float]]]] = {
    "ef14": ef14,
    "ef21": ef21,
    "ef21_sgdm": ef21_sgdm,
    "econtrol": econtrol,
    "dgc": dgc,
    "decayed": decayed,
    "rmsprop": rmsprop,
}
"""One step of one worker in plain Python: u, and its part of the mean that is delivered."""


ROUNDED = {"rmsprop": 2.0**-46}
"""Relative. MKL's root need not be the nearest number; six steps add a few such errors, 2⁻⁵² each, of terms that may
cancel to a sixteenth."""


@pytest.mark.parametrize("name", FEEDBACKS)
def test_a_variant_replaces_vectors_and_changes_none(name: str) -> None:
    feedback = made(name)
    memory = feedback.memory(DIMENSION, dtype=torch.float64, device="cpu")
    for rows in gradients():
        held = dict(memory)
        values = {vector: entries.clone() for vector, entries in memory.items()}
        corrected = feedback.correct(memory, rows[0], 1.0)
        payload = SELECTORS["top_k"](corrected, K)
        feedback.settle(memory, corrected, payload)
        feedback.deliver(memory, payload.dense())
        assert all(torch.equal(held[vector], values[vector]) for vector in values)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_variant_follows_its_recursion(name: str) -> None:
    played = Played(made(name))
    states: list[State] = [{letter: [0.0] * DIMENSION for letter in "ehv"} for _ in range(WORKERS)]
    for step, rows in enumerate(gradients()):
        results = [REFERENCES[name](state, g.tolist()) for state, g in zip(states, rows, strict=True)]
        tolerance = ROUNDED.get(name, 0.0)
        for (u, _), made_here in zip(results, played.corrected[step], strict=True):
            assert made_here.tolist() == pytest.approx(u, rel=tolerance, abs=0)
        mean = combined(*((1 / WORKERS, part) for _, part in results))
        assert played.delivered[step].tolist() == pytest.approx(mean, rel=tolerance, abs=0)


def test_every_variant_has_a_recursion_in_plain_python() -> None:
    assert REFERENCES.keys() == FEEDBACKS.keys()


def own(worker: int) -> Tensor:
    """The gradients of a worker, [steps, d]."""
    return torch.stack([rows[worker] for rows in gradients()])


def average(g: Tensor, weight_of_old: float, weight_of_new: float) -> Tensor:
    return torch.stack([*accumulate(g, lambda m, x: weight_of_old * m + weight_of_new * x, initial=0 * g[0])][1:])


def keep_a_sum(wanted: Tensor, played: Played, worker: int) -> None:
    assert torch.equal(played.sent(worker).sum(0) + played.pending[-1][worker], wanted.sum(0))


def keep_an_estimate(wanted: Tensor, played: Played, worker: int) -> None:
    assert torch.equal(played.sent(worker).sum(0), played.memories[worker]["estimate"])
    assert torch.equal(played.memories[worker]["estimate"] + played.pending[-1][worker], wanted[-1])


def keep_a_sum_of_estimates(wanted: Tensor, played: Played, worker: int) -> None:
    assert torch.equal(played.sent(worker).cumsum(0).sum(0) + played.pending[-1][worker], wanted.sum(0))


def keep_a_fading_sum(wanted: Tensor, played: Played, worker: int) -> None:
    assert torch.equal(average(wanted - played.sent(worker), 0.5, 1.0)[-1], played.pending[-1][worker])


LAWS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Played, int], None]]] = {
    "ef14": (lambda g: g, keep_a_sum),
    "ef21": (lambda g: g, keep_an_estimate),
    "ef21_sgdm": (lambda g: average(g, 0.75, 0.25), keep_an_estimate),
    "econtrol": (lambda g: g, keep_a_sum_of_estimates),
    "decayed": (lambda g: g, keep_a_fading_sum),
}
"""What the docstrings say is conserved, of the gradients or of their averages."""


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("selector", ["top_k", "gaussian_k", "keep_all"])
def test_what_a_variant_says_is_conserved(name: str, selector: str) -> None:
    averaged, law = LAWS[name]
    played = Played(made(name), selector)
    for worker in range(WORKERS):
        law(averaged(own(worker)), played, worker)


@pytest.mark.parametrize("masking", [0, 1])
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_with_momentum_all_velocities_are_sent_or_pending(momentum: float, masking: int) -> None:
    played = Played(made("dgc", (("momentum", momentum), ("masking", masking))))
    for worker in range(WORKERS):
        velocity, total = torch.zeros(DIMENSION).double(), torch.zeros(DIMENSION).double()
        for g, sent in zip(own(worker), played.sent(worker), strict=True):
            velocity = momentum * velocity + g
            total += velocity
            velocity = torch.where(sent != 0, 0.0, velocity) if masking else velocity
        assert torch.equal(played.sent(worker).sum(0) + played.pending[-1][worker], total)


@pytest.mark.parametrize("name", sorted(FEEDBACKS.keys() - {"ef21_sgdm", "rmsprop"}))
def test_where_everything_is_sent_a_step_is_the_mean_gradient(name: str) -> None:
    means = [torch.stack(rows).mean(0) for rows in gradients()]
    assert torch.equal(torch.stack(Played(made(name), "keep_all").delivered), torch.stack(means))


def test_where_everything_is_sent_momentum_before_is_heavy_ball_after() -> None:
    played = Played(made("dgc", (("momentum", 0.5), ("masking", 0))), "keep_all")
    means = torch.stack([torch.stack(rows).mean(0) for rows in gradients()])
    assert torch.equal(torch.stack(played.delivered), average(means, 0.5, 1.0))


SPECIAL: dict[str, tuple[str, Settings, str]] = {
    "ef21_sgdm of weight 1 is ef21": ("ef21_sgdm", (("momentum", 1.0),), "ef21"),
    "econtrol without control is ef21": ("econtrol", (("control", 0.0),), "ef21"),
    "dgc without momentum is ef14": ("dgc", (("momentum", 0.0),), "ef14"),
    "decay by 1 is ef14": ("decayed", (("decay", 1.0),), "ef14"),
}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("embedded", pixels="unit")


RUN = Run(selector="top_k", model="fnn2", density=0.02, step_location="outside", steps=6, evaluate_every=6, workers=2)


@pytest.mark.parametrize("claim", SPECIAL)
def test_training_with_a_special_case_has_the_bits_of_the_other(claim: str, data: Dataset) -> None:
    name, settings, other = SPECIAL[claim]
    one = simulate(replace(RUN, feedback=name, feedback_settings=settings), data)
    plain = simulate(replace(RUN, feedback=other, kernel="reference"), data)
    assert torch.equal(one.parameters, plain.parameters)
    assert one.steps == plain.steps
    unlike = simulate(replace(RUN, feedback=name, feedback_settings=DYADIC[name]), data)
    assert not torch.equal(unlike.parameters, plain.parameters)


@pytest.mark.parametrize("location", ["inside", "outside"])
def test_decay_by_1_is_ef14_wherever_the_step_size_stands(location: StepLocation, data: Dataset) -> None:
    run = replace(RUN, step_location=location)
    one = simulate(replace(run, feedback="decayed", feedback_settings=(("decay", 1.0),)), data)
    assert torch.equal(one.parameters, simulate(run, data).parameters)


@pytest.mark.parametrize("location", ["inside", "outside"])
def test_the_object_for_a_loop_of_ones_own_is_ef14(location: StepLocation) -> None:
    feedback, stream = new_feedback("ef14", step_location=location), torch.Generator().manual_seed(2)
    memory: Memory = feedback.memory(100, dtype=torch.float32, device="cpu")
    kept = ErrorFeedback(100, step_location=location)
    for _ in range(5):
        gradient = torch.randn(100, generator=stream)
        corrected = feedback.correct(memory, gradient, 0.1)
        assert torch.equal(corrected, kept.correct(gradient, 0.1))
        payload = SELECTORS["top_k"](corrected, 7)
        feedback.settle(memory, corrected, payload)
        kept.store_residual(corrected, payload)
        assert torch.equal(feedback.pending(memory), kept.residual)


@pytest.mark.parametrize("name", FEEDBACKS)
def test_a_memory_begins_with_zeros_and_a_gradient_is_not_changed(name: str) -> None:
    feedback = made(name)
    memory = feedback.memory(DIMENSION, dtype=torch.float64, device="cpu")
    assert all(vector.shape == (DIMENSION,) and not bool(vector.any()) for vector in memory.values())
    gradient = gradients()[0][0]
    before = gradient.clone()
    corrected = feedback.correct(memory, gradient, 1.0)
    assert corrected.data_ptr() != gradient.data_ptr()
    feedback.settle(memory, corrected, SELECTORS["top_k"](corrected, K))
    assert torch.equal(gradient, before)


@pytest.mark.parametrize("name", FEEDBACKS)
def test_every_variant_refuses_what_does_not_fit_its_memory(name: str) -> None:
    feedback = made(name)
    memory = feedback.memory(4, dtype=torch.float32, device="cpu")
    with pytest.raises(ValueError, match=r"\(4,\), got \(5,\)"):
        feedback.correct(memory, torch.zeros(5), 0.1)
    shorter = torch.ones(3)
    with pytest.raises(ValueError, match=r"shape \(4,\), got \(3,\)"):
        feedback.settle(memory, shorter, SELECTORS["top_k"](shorter, 1))
    with pytest.raises(ValueError, match="dimension must be an int of at least 1, got 0"):
        feedback.memory(0, dtype=torch.float32, device="cpu")


@pytest.mark.parametrize("name", sorted(FEEDBACKS.keys() - {"ef14", "decayed"}))
def test_a_variant_without_a_choice_says_where_its_step_size_stands(name: str) -> None:
    message = f"feedback '{name}' has no such choice: its step size stands outside, got step_location 'inside'"
    with pytest.raises(ValueError, match=message):
        Run(selector="top_k", feedback=name)


@pytest.mark.parametrize("name", [name for name in FEEDBACKS if made(name).fusion is None])
def test_a_variant_that_the_kernel_does_not_know_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=r"kernel 'native': \w+\(.*\) has no kernel"):
        replace(RUN, feedback=name, kernel="native")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("ef15", (), "unknown feedback 'ef15'; known: ef14, ef21"),
        ("dgc", (("decay", 0.5),), "'dgc' has no hyperparameter 'decay'; it has: momentum, masking"),
        ("ef14", (("step_location", 1.0),), "no hyperparameter 'step_location'; it has: none"),
        ("decayed", (("decay", 0.5), ("decay", 0.75)), "'decay' is given twice, as 0.5 and 0.75"),
        ("decayed", (("decay", 1.5),), "decay must lie in [0, 1], got 1.5"),
        ("decayed", (("decay", float("nan")),), "decay must lie in [0, 1], got nan"),
        ("ef21_sgdm", (("momentum", 0.0),), "momentum must lie in (0, 1], got 0.0"),
        ("econtrol", (("control", -0.5),), "control must lie in [0, 1], got -0.5"),
        ("dgc", (("momentum", 1.0),), "momentum must lie in [0, 1), got 1.0"),
        ("dgc", (("masking", 0.5),), "masking must be 0 or 1, got 0.5"),
        ("rmsprop", (("averaging", 1.0),), "averaging must lie in (0, 1), got 1.0"),
        ("rmsprop", (("averaging", 0.0),), "averaging must lie in (0, 1), got 0.0"),
        ("rmsprop", (("epsilon", 1e-60),), "epsilon must be finite and at least 1.1754943508222875e-38, got 1e-60"),
    ],
)
def test_a_run_refuses_what_is_no_variant_or_no_hyperparameter(name: str, settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        replace(RUNS["fnn3_top_k"], feedback=name, feedback_settings=settings, step_location="outside")
