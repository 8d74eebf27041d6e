"""What do the theorems say about my training run? Contraction, step size, rate, iterations, bytes and time, as numbers.

`python -m sparsync.theory.calculator --density 0.001 --law gaussian --dimension 25.6e6 --workers 16 --bandwidth 10Gbit`

Every number comes from `STATEMENTS`; the cost of a step is the ring model, bytes/bandwidth + rounds × latency.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import sympy
from rich.console import Console
from rich.table import Table

from sparsync.theory.language.digits import number
from sparsync.theory.statements import STATEMENTS

VALUE_BYTES, INDEX_BYTES, HEADER_BYTES, HALF_BYTES = 4, 4, 64, 2
"""A float32 value, an int32 index, the header that every exchange begins and ends with, a bfloat16 value."""

LARGEST_DIMENSION = 10**18
"""Beyond it a mistyped number is more probable than a vector."""
_DIGITS = 60
"""Of a ratio or a rate; at the largest dimension one minus it begins after 36 of them at the most."""
_LEAST = sympy.Rational(1, 10**1000)
"""With a smaller positive ratio no other float would change, and as a fraction it could have millions of digits."""
_LARGEST_POWER = 4000
"""Of ten, in a dimension that can be printed to be refused."""
_PLAIN_WIDTH = 140
"""Columns of the tables where the output is not a terminal."""
_BITS = {"kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12}
_ANY, _SQUARE, _CUBE = "top_k", "square_convex", "bell_shaped"


@dataclass(frozen=True)
class Law:
    """A law of the corrected gradient's entries.

    Args:
        label: the statement that gives its exact ratio.
        parameter: name of its shape parameter, if it has one.
        square_up_to: largest shape parameter at which the law has exponent 2.
        cube_up_to: the same for exponent 3.
    """

    label: str
    parameter: str | None = None
    square_up_to: float = math.inf
    cube_up_to: float = math.inf

    def rungs(self, parameters: Mapping[str, float]) -> tuple[str, ...]:
        """The labels of the bounds whose hypotheses the law meets, weakest first."""
        value = parameters.get(self.parameter or "", 0.0)
        return (
            _ANY,
            *((_SQUARE,) if value <= self.square_up_to else ()),
            *((_CUBE,) if value <= self.cube_up_to else ()),
        )


LAWS: dict[str, Law] = {
    # Symmetric with a density that falls away from zero: exponent 3.
    "gaussian": Law("gaussian_law"),
    "laplace": Law("laplace_law"),
    "uniform": Law("uniform_law"),
    "student_t": Law("student_t_law", "df"),
    "generalised_gaussian": Law("generalised_gaussian_law", "beta"),
    # The density of |u| falls for shapes up to 1, that of u² for shapes up to 2.
    "gamma": Law("gamma_law", "shape", square_up_to=2, cube_up_to=1),
    "weibull": Law("weibull_law", "shape", square_up_to=2, cube_up_to=1),
}
"""Every law by name."""
_SHAPES = tuple(dict.fromkeys(law.parameter for law in LAWS.values() if law.parameter))


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        density: k/d.
        dimension: d.
        workers: n.
        bandwidth: bits per second of each worker's link.
        latency_seconds: of one round of a collective.
        law: key of `LAWS`; None asks for any vector.
        parameters: of the law, by name.
        condition_number: L/μ.
        tolerance: factor by which the Lyapunov function is to shrink.

    Raises:
        ValueError: a field out of range, named with its value.
    """

    density: float
    dimension: int
    workers: int
    bandwidth: float
    latency_seconds: float = 0.0
    law: str | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    condition_number: float = 10.0
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        _require(0 < self.density <= 1, f"density must lie in (0, 1], got {self.density}")
        _require(
            1 <= self.dimension <= LARGEST_DIMENSION,
            f"dimension must lie in [1, {LARGEST_DIMENSION:.0e}], got {self.dimension}",
        )
        _require(self.workers >= 1, f"workers must be at least 1, got {self.workers}")
        _require(0 < self.bandwidth < math.inf, f"bandwidth must be positive, got {self.bandwidth}")
        _require(0 <= self.latency_seconds < math.inf, f"latency must be at least 0, got {self.latency_seconds}")
        _require(1 <= self.condition_number < math.inf, f"condition number must be >= 1, got {self.condition_number}")
        _require(0 < self.tolerance < 1, f"tolerance must lie in (0, 1), got {self.tolerance}")
        _require(self.law is None or self.law in LAWS, f"unknown law {self.law!r}; known: {', '.join(LAWS)}")
        wanted = LAWS[self.law].parameter if self.law else None
        _require(
            set(self.parameters) == ({wanted} if wanted else set()),
            f"the law {self.law or 'of any vector'} takes {wanted or 'no parameter'}, got {dict(self.parameters)}",
        )

    @property
    def count(self) -> int:
        """The k of the density."""
        return max(1, round(Fraction(self.density) * self.dimension))


@dataclass(frozen=True)
class Rung:
    """What one bound promises.

    Args:
        label: the statement.
        epsilon: bound on the relative error.
        delta: 1 − ε, with all its digits where ε is near 1.
        gain: δ/κ.
        step_size: tight step size of error feedback times the smoothness L.
        rate: tight worst-case factor per iteration.
        iterations: after which the Lyapunov function has shrunk by the tolerance.
    """

    label: str
    epsilon: float
    delta: float
    gain: float
    step_size: float
    rate: float
    iterations: int


@dataclass(frozen=True)
class Exchange:
    """What one collective costs per step.

    Args:
        name: how the gradient is exchanged.
        sent_bytes: what one worker sends.
        seconds: bytes/bandwidth + rounds × latency.
    """

    name: str
    sent_bytes: int
    seconds: float


def rungs(question: Question) -> list[Rung]:
    """Every applicable bound, then the exact law, then the steady states of error feedback."""
    k, d = question.count, question.dimension
    density = Fraction(k, d)
    law = LAWS[question.law] if question.law else None
    labels = law.rungs(question.parameters) if law else (_ANY,)
    ratios = {label: STATEMENTS[label].exact(k=k, d=d) for label in labels}
    if law:
        ratios[law.label] = STATEMENTS[law.label].exact(kappa=density, **question.parameters)
    for label in ("steady_drift", "steady_noise"):
        ratios[label] = STATEMENTS[label].exact(kappa=density)
    return [_rung(label, ratio, question) for label, ratio in ratios.items()]


def exchanges(question: Question) -> list[Exchange]:
    """The collectives of the ring model: dense all-reduce in float32 and bfloat16, sparse all-gather; with headers."""
    n, d, k = question.workers, question.dimension, question.count
    headers = 2 * (n - 1) * HEADER_BYTES
    dense = {
        name: -(-2 * (n - 1) * size * d // n) for name, size in (("float32", VALUE_BYTES), ("bfloat16", HALF_BYTES))
    }
    sparse = (n - 1) * k * (VALUE_BYTES + INDEX_BYTES)
    # Before and after, headers are gathered in n - 1 rounds.
    costs = [(f"dense all-reduce, {name}", headers + sent, 4 * (n - 1)) for name, sent in dense.items()]
    costs.append(("sparse all-gather, float32 + int32", headers + sparse, 3 * (n - 1)))
    return [
        Exchange(name, sent, 8 * sent / question.bandwidth + rounds * question.latency_seconds)
        for name, sent, rounds in costs
    ]


def bits_per_second(text: str) -> float:
    """A bandwidth such as `10Gbit` or `2.5e8` (bits per second).

    Raises:
        ValueError: no such bandwidth.
    """
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kMGT]bit)?(?:/s|ps)?\s*", text)
    try:
        value = float(match[1]) * _BITS.get(match[2], 1.0) if match else math.nan
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ValueError(f"bandwidth must be a number with kbit, Mbit, Gbit or Tbit, got {text!r}")
    return value


def whole_number(text: str) -> int:
    """A count such as `25600000` or `25.6e6`.

    Raises:
        ValueError: not a whole number of at least 1.
    """
    power = re.search(r"[eE]\+?([0-9]+)\s*$", text)
    try:
        # A power of ten is not written out where the whole could not be printed.
        value = Fraction(text) if power is None or float(power[1]) <= _LARGEST_POWER else Fraction(0)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if value.denominator != 1 or value < 1:
        raise ValueError(f"expected a whole number of at least 1, got {text!r}")
    return int(value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status, 2 for values that make no sense."""
    options = _parser().parse_args(arguments)
    try:
        question = Question(
            density=options.density,
            dimension=whole_number(options.dimension),
            workers=options.workers,
            bandwidth=bits_per_second(options.bandwidth),
            latency_seconds=options.latency,
            law=options.law,
            parameters={name: value for name in _SHAPES if (value := getattr(options, name)) is not None},
            condition_number=options.condition_number,
            tolerance=options.tolerance,
        )
        tables = (_rung_table(question), _exchange_table(question))
    except ValueError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PLAIN_WIDTH)
    for table in tables:
        console.print(table)
    return 0


def _rung(label: str, ratio: sympy.Expr, question: Question) -> Rung:
    """From the exact ratio: near 1, where k/d is small, a float has lost what counts."""
    value = _digits(ratio)
    share = _LEAST if 0 < value < _LEAST else sympy.Rational(str(value))
    function = {"mu": 1, "smoothness": question.condition_number, "epsilon": Fraction(int(share.p), int(share.q))}
    rate = STATEMENTS["ef_tight_rate"].exact(**function)
    step_size = STATEMENTS["ef_tight_step"].evaluate(**function) * question.condition_number
    steps = sympy.log(sympy.Rational(question.tolerance)) / sympy.log(rate)
    return Rung(
        label,
        epsilon=float(value),
        delta=float(1 - share),
        gain=float((1 - share) * question.dimension / question.count),
        step_size=step_size,
        rate=float(_digits(rate)),
        iterations=1 if rate == 0 else int(sympy.ceiling(number(steps))),
    )


def _digits(value: sympy.Expr) -> sympy.Expr:
    """The value itself if it is rational, else as a number of so many digits that one minus it keeps 20 of them."""
    return value if value.is_Rational else sympy.N(value, _DIGITS, maxn=400)


def _rung_table(question: Question) -> Table:
    table = Table(
        title=f"k = {question.count} of d = {question.dimension}, L/μ = {question.condition_number:g}",
        caption="a law holds for large d; steady_*: where idealised feedback settles, no bound for a single vector",
    )
    for heading in (
        "statement",
        "ε",
        "δ",
        "δ/κ",
        "tight step × L",
        "tight rate",
        f"iterations to {question.tolerance:g}",
    ):
        table.add_column(heading, justify="left" if heading == "statement" else "right")
    for rung in rungs(question):
        table.add_row(
            rung.label,
            f"{rung.epsilon:.6f}",
            f"{rung.delta:.3e}",
            f"{rung.gain:.2f}",
            f"{rung.step_size:.3e}",
            f"{rung.rate:.9f}",
            f"{rung.iterations:,}",
        )
    return table


def _exchange_table(question: Question) -> Table:
    table = Table(title=f"{question.workers} workers, {question.bandwidth:g} bit/s each, per step")
    for heading in ("collective", "bytes sent by a worker", "seconds", "of dense float32"):
        table.add_column(heading, justify="left" if heading == "collective" else "right")
    costs = exchanges(question)
    for cost in costs:
        share = f"{cost.seconds / costs[0].seconds:.4f}" if costs[0].seconds else "-"
        table.add_row(cost.name, f"{cost.sent_bytes:,}", f"{cost.seconds:.3e}", share)
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.theory.calculator", description="What the theorems say about a training run."
    )
    parser.add_argument("--density", type=float, required=True, help="k/d")
    parser.add_argument("--dimension", required=True, help="d, such as 25.6e6")
    parser.add_argument("--workers", type=int, required=True, help="n")
    parser.add_argument("--bandwidth", required=True, help="of each worker's link, such as 10Gbit")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds of one round of a collective")
    parser.add_argument("--law", help=f"of the entries: {', '.join(LAWS)}; any vector if left out")
    for name in _SHAPES:
        takers = ", ".join(law for law in LAWS if LAWS[law].parameter == name)
        parser.add_argument(f"--{name}", type=float, help=f"parameter of the law: {takers}")
    parser.add_argument("--condition-number", type=float, default=10.0, help="L/μ")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="by which the Lyapunov function is to shrink")
    return parser


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


if __name__ == "__main__":
    raise SystemExit(main())
