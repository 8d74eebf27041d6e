"""How long does it take to become accurate over a link? Steps to an accuracy times seconds of a step.

Steps are those of the simulation, `link_accuracy_*.json`, seconds are measured, `links.json`. Sparse training over a
link makes the steps of the simulation bit for bit. Dense training does so but for the order of additions, bfloat16 is
added in float32 there, and PowerSGD is ours. The target of a seed is half a point below what dense training with that
seed ends with. Of ways of sending that make the same steps the fastest at that rate counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

from paper.comparisons import ratio
from paper.results import Result, result
from sparsync.verify.tools.intervals import Estimate

MODELS = {"fnn3": "FNN-3", "resnet20": "ResNet-20", "gpt": "GPT"}
"""By name, in the order of tables."""
TRAINED = ("fnn3", "resnet20", "gpt")
"""Those whose accuracies are known."""


@dataclass(frozen=True)
class Reached:
    """When a method reaches its target.

    Args:
        way: by which it is sent.
        step_seconds: of a step.
        steps: by seed; None where it does not get there.
    """

    way: str
    step_seconds: float
    steps: tuple[int | None, ...]

    @property
    def seconds(self) -> list[float] | None:
        """By seed; None if one of them does not get there."""
        found = [step for step in self.steps if step is not None]
        return [self.step_seconds * step for step in found] if len(found) == len(self.steps) else None


class Links:
    """All studies of links, put together.

    Args:
        data_folder: of the results.

    Raises:
        FileNotFoundError: one of them was not run.
    """

    def __init__(self, data_folder: Path) -> None:
        self._folder, self.links = data_folder, result(data_folder, "links")

    @cached_property
    def cells(self) -> dict[tuple[str, str, float], Result]:
        """By model, way of sending, and Mbit/s."""
        return {
            (cell["model"], way_of(cell), float(cell["mbit_per_second"])): cell for cell in self.links.records("cells")
        }

    @cached_property
    def accuracies(self) -> dict[str, Result]:
        """By model, what its methods reached after how many steps."""
        return {model: result(self._folder, f"link_accuracy_{model}") for model in TRAINED}

    @property
    def models(self) -> list[str]:
        """Those that were measured."""
        found = {model for model, _, _ in self.cells}
        return [model for model in MODELS if model in found]

    @property
    def rates(self) -> list[float]:
        """Mbit/s, ascending."""
        return sorted({rate for _, _, rate in self.cells})

    @cached_property
    def round_count(self) -> int:
        """How often everything was measured."""
        return min((len(cell["round_seconds"]) for cell in self.cells.values()), default=0)

    def step_seconds(self, model: str, way: str, rate: float) -> float | None:
        """Of the slowest rank, the median over rounds; None if it was not measured."""
        cell = self.cells.get((model, way, rate))
        return None if cell is None else float(cell["slowest_seconds"])

    @property
    def methods(self) -> list[str]:
        """What was trained, dense training first."""
        return list(dict.fromkeys(name for study in self.accuracies.values() for name in study["ways"]))

    @property
    def seed_count(self) -> int:
        """Of the runs of every network."""
        return min(len(study["seeds"]) for study in self.accuracies.values())

    def runs(self, model: str, method: str) -> list[Result]:
        """What was trained of a method, the shortest run first; nothing if it was not."""
        found = self.accuracies[model].records("runs") if model in self.accuracies else []
        return sorted((run for run in found if run["method"] == method), key=lambda run: int(run["lasting"]))

    def targets(self, model: str) -> list[float] | None:
        """The accuracy to reach, by seed; None if dense training was not run, or diverged."""
        runs = self.runs(model, self.methods[0])
        ends = [path[-1] for path in runs[0]["test_accuracy"]] if runs else [None]
        return None if None in ends else [end - self.accuracies[model]["lost_share"] for end in ends]

    def steps(self, model: str, method: str) -> tuple[int | None, ...] | None:
        """After how many steps a method was first seen at its target, by seed; None if it was not trained.

        In the shortest run that gets there on all seeds; where none does, in the longest.
        """
        targets, found = self.targets(model), None
        for run in self.runs(model, method) if targets is not None else []:
            pairs = zip(run["test_accuracy"], targets or [], strict=True)
            found = tuple(_first(run["steps"], path, target) for path, target in pairs)
            if None not in found:
                break
        return found

    def reached(self, model: str, method: str, rate: float) -> Reached | None:
        """By the fastest way at a rate; None if the method was not trained, or no way of it was measured."""
        steps = self.steps(model, method)
        if steps is None:
            return None
        timed = [(self.step_seconds(model, way, rate), way) for way in self.accuracies[model]["ways"][method]]
        measured = [(seconds, way) for seconds, way in timed if seconds is not None]
        if not measured:
            return None
        seconds, way = min(measured)
        return Reached(way, seconds, steps)

    def dense(self, model: str, rate: float) -> Reached | None:
        """Whole gradients, in float32 or bfloat16: whichever takes less time by the mean over seeds."""
        return self._fastest(model, rate, [name for name in self.methods if is_whole(name)])

    def sparse(self, model: str, rate: float) -> Reached | None:
        """The setting of Top-k or Gaussian-k that takes least time; None if none reaches the target on all seeds."""
        return self._fastest(model, rate, [name for name in self.methods if is_sparse(name)])

    def gain(self, model: str, rate: float) -> Estimate | None:
        """The logarithm of the time of `sparse` over that of `dense`, paired by seed."""
        pair = [found.seconds if found else None for found in (self.sparse(model, rate), self.dense(model, rate))]
        both = [seconds for seconds in pair if seconds is not None]
        return ratio(*both) if len(both) == len(pair) else None

    def gain_by_round(self, model: str, rate: float) -> list[float]:
        """The ratio of the same two ways, by the seconds of each round alone; the geometric mean over seeds."""
        gain, pair = self.gain(model, rate), (self.sparse(model, rate), self.dense(model, rate))
        if gain is None:
            return []
        sparse, dense = (self.cells[model, found.way, rate] for found in pair if found is not None)
        usual = sparse["slowest_seconds"] / dense["slowest_seconds"]
        seconds = zip(sparse["round_seconds"], dense["round_seconds"], strict=True)
        return [math.exp(gain.value) * first / second / usual for first, second in seconds]

    def fastest_steps(self, model: str, rate: float, *, whole: bool) -> list[float]:
        """By round, seconds of the fastest step that sends all of the gradient, or of the fastest sparse one."""
        chosen = is_whole if whole else is_sparse
        timed = [
            cell["round_seconds"]
            for (name, way, its_rate), cell in self.cells.items()
            if (name, its_rate) == (model, rate) and chosen(way)
        ]
        return [min(seconds) for seconds in zip(*timed, strict=True)]

    def _fastest(self, model: str, rate: float, methods: Sequence[str]) -> Reached | None:
        found = [self.reached(model, method, rate) for method in methods]
        timed = [(sum(each.seconds), each) for each in found if each is not None and each.seconds is not None]
        return min(timed, key=lambda pair: pair[0])[1] if timed else None


def _first(steps: Sequence[int], path: Sequence[float | None], target: float) -> int | None:
    """The first step at which an accuracy is at its target."""
    pairs = zip(steps, path, strict=True)
    return next((step for step, accuracy in pairs if accuracy is not None and accuracy >= target), None)


def way_of(cell: Result) -> str:
    """The name of its method."""
    return str(cell["name"]).removeprefix(f"{cell['model']}, ").removesuffix(f", {cell['mbit_per_second']:g} Mbit/s")


def is_whole(name: str) -> bool:
    """Whether all of the gradient is sent, as it is or in bfloat16."""
    return name in ("hook dense", "hook dense_bfloat16") or name.startswith("loop keep_all")


def is_sparse(name: str) -> bool:
    """Whether Top-k or Gaussian-k with error feedback goes over the link in few entries."""
    words = name.replace(",", "").split()
    return words[0] in ("loop", "hook") and words[1] in ("top_k", "gaussian_k") and not words[-1].startswith("dense")


def communication_share(cell: Result) -> float:
    """Of a step, what is neither computing nor selecting: communicating, agreeing and waiting."""
    phases, step = cell.record("phase_seconds"), median(cell["step_seconds"])
    return 1 - float((phases["compute"] + phases["select"]) / step)
