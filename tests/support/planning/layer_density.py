"""The oracle of `experiments/planners/layer_density.py`: messages followed one by one, and an integer program."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import product
from typing import Any

from sparsync.experiments.planners.layer_density import Layer, Question
from sparsync.experiments.planners.plan import Plan
from tests.support.planning.oracle import Oracle

MOST_LAYERS, MOST_GROUPS, MOST_ENTRIES = 4, 3, 3
MEDIUM_LAYERS, MEDIUM_GROUPS, MEDIUM_ENTRIES = 8, 4, 40


def drawn(numbers: random.Random, layer_count: int, group_count: int, most_entries: int) -> Question:
    """Layers whose backward pass takes about as long as their messages; squares repeat; budgets may be too short."""
    layers = []
    for _ in range(layer_count):
        groups = numbers.randint(1, group_count)
        squares = sorted((numbers.choice((0.25, 1.0, numbers.uniform(0, 9))) for _ in range(groups)), reverse=True)
        layers.append(
            Layer(
                backward_seconds=numbers.uniform(0, most_entries * group_count),
                counts=tuple(numbers.randint(1, most_entries) for _ in range(groups)),
                squares=tuple(squares),
                selection_seconds=numbers.choice((0.0, 0.5)),
            )
        )
    question = Question(
        tuple(layers),
        latency_seconds=numbers.uniform(0, 1),
        byte_seconds=numbers.uniform(0.02, 0.2),
        message_bytes=numbers.choice((0, 4)),
    )
    return replace(question, budget_seconds=numbers.choice((None, float(question.budget) * numbers.uniform(0.8, 1.6))))


def small(numbers: random.Random) -> Question:
    return drawn(numbers, numbers.randint(1, MOST_LAYERS), MOST_GROUPS - 1, MOST_ENTRIES)


def medium(numbers: random.Random) -> Question:
    return drawn(numbers, MEDIUM_LAYERS, MEDIUM_GROUPS, MEDIUM_ENTRIES)


def spread(layer: Layer) -> list[float]:
    """Its squares, one for each entry."""
    return [square for count, square in zip(layer.counts, layer.squares, strict=True) for _ in range(count)]


def last_arrival(question: Question, counts: Sequence[int]) -> Fraction:
    """The clock of the device and of the link, from message to message."""
    device, link = Fraction(0), Fraction(0)
    for layer, count in zip(question.layers, counts, strict=True):
        device += Fraction(layer.backward_seconds) + Fraction(layer.selection_seconds)
        sent_bytes = question.message_bytes + question.entry_bytes * count
        link = max(link, device) + Fraction(question.latency_seconds) + Fraction(question.byte_seconds) * sent_bytes
    return link


def budget_of(question: Question) -> Fraction:
    """What is given, or the backward pass and one message of one entry."""
    if question.budget_seconds is not None:
        return Fraction(question.budget_seconds)
    device = sum(
        (Fraction(layer.backward_seconds) + Fraction(layer.selection_seconds) for layer in question.layers), Fraction(0)
    )
    sent_bytes = question.message_bytes + question.entry_bytes
    return device + Fraction(question.latency_seconds) + Fraction(question.byte_seconds) * sent_bytes


def left_out(question: Question, counts: Sequence[int]) -> float:
    """The squares that are not sent, over all squares."""
    squares = [[Fraction(square) for square in spread(layer)] for layer in question.layers]
    unsent = sum((sum(own[count:], Fraction(0)) for own, count in zip(squares, counts, strict=True)), Fraction(0))
    return float(unsent / sum((sum(own, Fraction(0)) for own in squares), Fraction(0)))


def brute(question: Question) -> float | None:
    """All counts, in the order of what they capture; the first that arrives in time is best."""
    budget, squares = budget_of(question), [spread(layer) for layer in question.layers]
    choices = product(*(range(1, len(own) + 1) for own in squares))

    def captured(counts: Sequence[int]) -> float:
        return sum(sum(own[:count]) for own, count in zip(squares, counts, strict=True))

    best, best_energy = None, -1.0
    for counts in choices:
        energy = captured(counts)
        # Of energies that are equal but for roundings each is as good.
        if energy > best_energy and last_arrival(question, counts) <= budget:
            best, best_energy = counts, energy
    return None if best is None else left_out(question, best)


def program(question: Question) -> float | None:
    """Entries by group as integers, arrivals as numbers, one inequality for each wait."""
    cvxpy: Any = import_module("cvxpy")

    groups = [cvxpy.Variable(len(layer.counts), integer=True) for layer in question.layers]
    ends = cvxpy.Variable(len(groups))
    constraints = [ends[-1] <= float(budget_of(question))]
    device = 0.0
    for place, (layer, entries) in enumerate(zip(question.layers, groups, strict=True)):
        device += layer.backward_seconds + layer.selection_seconds
        sent_bytes = question.message_bytes + question.entry_bytes * entries.sum()
        own = question.latency_seconds + question.byte_seconds * sent_bytes
        constraints += [
            ends[place] >= device + own,
            entries >= 0,
            entries <= list(layer.counts),
            entries.sum() >= 1,
        ]
        if place:
            constraints.append(ends[place] >= ends[place - 1] + own)
    energies = [list(map(float.__mul__, layer.squares, map(float, layer.counts))) for layer in question.layers]
    captured = sum(entries @ list(layer.squares) for entries, layer in zip(groups, question.layers, strict=True))
    problem = cvxpy.Problem(cvxpy.Maximize(captured), constraints)
    problem.solve(solver=cvxpy.HIGHS, mip_rel_gap=1e-9)
    if problem.status == cvxpy.INFEASIBLE:
        return None
    assert problem.status == cvxpy.OPTIMAL, problem.status
    total = sum(map(sum, energies))
    return float((total - problem.value) / total)


def objective_of(question: Question, plan: Plan) -> float:
    counts = plan.choice["counts"]
    assert isinstance(counts, list)
    assert all(1 <= count <= layer.size for count, layer in zip(counts, question.layers, strict=True))
    end = last_arrival(question, counts)
    assert end <= budget_of(question)
    assert abs(plan.parts["backward"] + plan.parts["selection"] + plan.parts["exposed"] - float(end)) <= 1e-12 * float(
        end
    )
    return left_out(question, counts)


def more(question: Question, numbers: random.Random) -> Question:
    """A longer budget, or a faster link with the same one."""
    budget = math.nextafter(float(budget_of(question)), math.inf)
    if numbers.random() < 0.5:
        return replace(question, budget_seconds=budget * numbers.uniform(1, 1.5))
    faster = numbers.uniform(1, 3)
    return replace(question, budget_seconds=budget, byte_seconds=question.byte_seconds / faster)


ORACLE = Oracle(small, brute, medium, program, objective_of, more)
"""A faster link whose bytes take less, at a fixed budget."""
