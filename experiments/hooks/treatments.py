"""What is sent of each parameter's gradient: a density of its own, all of it, or nothing. Rules by name, first match.

`treatment_of` answers for one parameter; `check_rules` refuses a rule that fits no parameter.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

Treatment = Literal["dense", "excluded"] | float
"""A density k/d in (0, 1]; "dense": every entry is sent, without a residual; "excluded": none is, and each rank keeps
its own gradient."""
COMPARED_STEPS = (*range(10_000), *(2**power for power in range(14, 31)))
"""Densities of these steps are compared between ranks before the first is sent, and stay as they were then."""


@dataclass(frozen=True)
class Rules:
    """How the parameters of a model are treated.

    Args:
        given: regular expressions, searched for in a parameter's name in this order; the first that is found decides.
        vectors_are_dense: parameters of at most one dimension, as biases and the scales of norms, are dense unless a
            rule says otherwise.

    Raises:
        ValueError: an expression that is none, or a treatment that is none; each named.
    """

    given: Mapping[str, Treatment]
    vectors_are_dense: bool = True

    def __post_init__(self) -> None:
        for pattern, treatment in self.given.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"rule {pattern!r} is no regular expression: {error}") from None
            if treatment not in ("dense", "excluded"):
                require_density(treatment, f"rule {pattern!r}")

    def check(self, names: Iterable[str]) -> None:
        """Every rule decides for at least one of the names.

        Raises:
            ValueError: one does not, and is named.
        """
        deciding = {self._deciding(name) for name in names}
        for pattern in self.given:
            if pattern not in deciding:
                raise ValueError(f"rule {pattern!r} decides for no parameter of the model")

    def treatment(self, name: str, parameter: Tensor, density: float) -> Treatment:
        """What is sent of a parameter's gradient where `density` is that of all without a rule."""
        pattern = self._deciding(name)
        if pattern is not None:
            return self.given[pattern]
        return "dense" if self.vectors_are_dense and parameter.ndim <= 1 else density

    def _deciding(self, name: str) -> str | None:
        return next((pattern for pattern in self.given if re.search(pattern, name)), None)


class Density:
    """The density of all that has no rule, at every step, and what ranks have compared of it.

    Args:
        given: k/d, or a function of the step alone, from 0.
    """

    def __init__(self, given: float | Callable[[int], float]) -> None:
        self._given = given
        self._compared: dict[int, float] = {}

    def at(self, step: int) -> float:
        """The density of a step.

        Raises:
            ValueError: not a number in (0, 1], or another one than ranks have compared.
        """
        given = self._given(step) if callable(self._given) else self._given
        density = require_density(given, f"density of step {step}")
        if (before := self._compared.get(step, density)) != density:
            raise ValueError(
                f"density of step {step}: it is {density!r}, and was {before!r} as ranks compared it; a density must "
                "depend on the step alone"
            )
        return density

    def compared(self) -> float | dict[int, float]:
        """What all ranks must have alike: the number, or the values of the function at `COMPARED_STEPS`."""
        if not callable(self._given):
            return self._given
        if not self._compared:
            self._compared = {step: self._given(step) for step in COMPARED_STEPS}
        return self._compared


def require_density(density: object, what: str) -> float:
    """The density, if it is one.

    Raises:
        ValueError: not a number in (0, 1].
    """
    if isinstance(density, bool) or not isinstance(density, int | float) or not 0 < density <= 1 or math.isnan(density):
        raise ValueError(f"{what}: expected a density in (0, 1], got {density!r}")
    return float(density)
