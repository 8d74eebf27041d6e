"""What does a step of sharded and of replicated operators take? Rings are carried out, part by part.

Parts that a device hands to its neighbour are counted as they are handed over; a ring that ends without the sums, or
without everybody's part, is refused. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple


class Network(NamedTuple):
    """Devices, seconds of a message and of a byte, and bytes of a value."""

    devices: int
    message: Fraction
    byte: Fraction
    size: int


class Choice(NamedTuple):
    """Bytes of memory and seconds of a step."""

    bytes: Fraction
    seconds: Fraction


def reduce_scattered(vectors: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """Of vectors with a part for each device, the sum that each device ends with, and how many parts each passed on."""
    devices, held, passed = len(vectors), [list(vector) for vector in vectors], 0
    for turn in range(devices - 1):
        parts = [(device - turn - 1) % devices for device in range(devices)]
        values = [held[device][part] for device, part in enumerate(parts)]
        for device, (part, value) in enumerate(zip(parts, values, strict=True)):
            held[(device + 1) % devices][part] += value
        passed += 1
    return [held[device][device] for device in range(devices)], passed


def all_gathered(parts: Sequence[int]) -> tuple[list[list[int]], int]:
    """What each device ends with, of the parts that each of them begins with, and how many parts each passed on."""
    devices, passed = len(parts), 0
    held: list[dict[int, int]] = [{device: part} for device, part in enumerate(parts)]
    for turn in range(devices - 1):
        sent = [((device - turn) % devices, held[device][(device - turn) % devices]) for device in range(devices)]
        for device, (place, part) in enumerate(sent):
            held[(device + 1) % devices][place] = part
        passed += 1
    return [[own[place] for place in range(devices)] for own in held], passed


def passed_parts(devices: int, kept: str) -> int:
    """Parts that each device passes on in a step of an operator that is `replicated` or `sharded`.

    Raises:
        ValueError: a device ends without what it needs.
    """
    parameters = [7**device for device in range(devices)]
    gradients = [[11**device * (part + 1) for part in range(devices)] for device in range(devices)]
    sums = [sum(own[part] for own in gradients) for part in range(devices)]
    found, passed = reduce_scattered(gradients)
    if found != sums:
        raise ValueError(f"{devices} devices end with {found} instead of {sums}")
    for wanted in [sums] if kept == "replicated" else [parameters, parameters]:
        everywhere, more = all_gathered(wanted)
        passed += more
        if everywhere != [wanted] * devices:
            raise ValueError(f"{devices} devices end with {everywhere} instead of {wanted}")
    return passed


def kept_choice(network: Network, part: Fraction | int, states: int, kept: str) -> Choice:
    """An operator with so many values a part, and bytes of states a value."""
    count = passed_parts(network.devices, kept)
    seconds = count * (network.message + part * network.size * network.byte)
    values = part * network.devices if kept == "replicated" else part
    return Choice(Fraction(states * values), seconds)


def pairs_seconds(network: Network, pairs: Fraction, index: int) -> Fraction:
    """Of an all-gather of so many values and positions of each device."""
    _, passed = all_gathered([0] * network.devices)
    return passed * (network.message + pairs * (network.size + index) * network.byte)


def operator_plans(network: Network, parts: Sequence[int], states: int) -> list[Choice]:
    """All of several operators, each sharded or replicated."""
    choices = [[kept_choice(network, part, states, way) for way in ("sharded", "replicated")] for part in parts]
    return [Choice(*(sum(numbers, Fraction(0)) for numbers in zip(*taken, strict=True))) for taken in product(*choices)]
