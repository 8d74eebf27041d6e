"""What evidence is there for when plans move from shards to replicas? All plans of a few operators are compared.

In exact fractions: rings are carried out; samples per second of every plan are found from what it keeps and exchanges.
Ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.language.symbols import n, residual_bytes, state_bytes
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.simulated.shards import Choice, Network, kept_choice, pairs_seconds
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check


@dataclass(frozen=True)
class Setting:
    """Where a network of a few operators is planned.

    Args:
        network: devices and what a byte takes; messages take nothing besides.
        parts: by operator, values of a part.
        index: bytes of a position.
        states: bytes that a parameter takes.
        residual: bytes of a residual.
        memory: bytes of a device.
    """

    network: Network
    parts: tuple[int, ...]
    index: int
    states: int
    residual: int
    memory: Fraction

    @property
    def size(self) -> int:
        """Parameters of all operators."""
        return sum(self.parts) * self.network.devices

    @cached_property
    def parameter_bytes(self) -> tuple[Fraction, Fraction]:
        """What is assumed that a sharded parameter takes, and a replicated one."""
        statement, numbers = STATEMENTS["replica_plans"], {state_bytes: self.states, residual_bytes: self.residual}
        shard, replica = (
            Fraction(str(statement.given(name).subs({**numbers, n: self.network.devices})))
            for name in ("shard_bytes", "replica_bytes")
        )
        return shard, replica

    def kept(self, replicated: Sequence[bool], density: Fraction) -> Choice:
        """Bytes of states of a plan, and its seconds of exchange."""
        bytes_, seconds = Fraction(0), Fraction(0)
        for part, is_replica in zip(self.parts, replicated, strict=True):
            count = part * self.network.devices
            bytes_ += count * self.parameter_bytes[is_replica]
            gathered = pairs_seconds(self.network, density * count, self.index)
            seconds += gathered if is_replica else kept_choice(self.network, part, 1, "sharded").seconds
        return Choice(bytes_, seconds)

    def rates(self, density: Fraction, sample: Choice) -> dict[tuple[bool, ...], Fraction]:
        """Samples per second of each plan for which memory is left, by whether its operators are replicated."""
        plans = {which: self.kept(which, density) for which in product((False, True), repeat=len(self.parts))}
        batches = {which: (self.memory - plan.bytes) / sample.bytes for which, plan in plans.items()}
        return {
            which: self.network.devices * batch / (plans[which].seconds + batch * sample.seconds)
            for which, batch in batches.items()
            if batch > 0
        }

    def moving_density(self) -> Fraction:
        """The largest density up to 1 at which a plan with replicas is as quick as shards alone, or 0.

        Seconds of exchange for each byte that is left are compared, which are straight lines in the density.
        """
        shards = (False,) * len(self.parts)
        least = self.kept(shards, Fraction(0))
        found = [Fraction(0)]
        for which in product((False, True), repeat=len(self.parts)):
            none, whole = (self.kept(which, Fraction(density)) for density in (0, 1))
            if which == shards or none.bytes >= self.memory:
                continue
            allowed = least.seconds * (self.memory - none.bytes) / (self.memory - least.bytes)
            if whole.seconds <= allowed:
                return Fraction(1)
            found.append((allowed - none.seconds) / (whole.seconds - none.seconds))
        return max(found)


def plans_margin(setting: Setting, sample: Choice) -> Fraction:
    """Minus the distance of the density at which plans move from the statement's.

    −1 if plans that fit are not equally quick there, if it is between 0 and 1, or if with half of the entries one is
    quicker than replicas alone, or with twice as many than shards alone.
    """
    stated = STATEMENTS["replica_plans"].fraction(
        value_bytes=setting.network.size,
        index_bytes=setting.index,
        n=setting.network.devices,
        d=setting.size,
        state_bytes=setting.states,
        residual_bytes=setting.residual,
        memory_bytes=setting.memory,
    )
    found = setting.moving_density()
    halved, doubled = (setting.rates(factor * found, sample) for factor in (Fraction(1, 2), Fraction(2)))
    if 0 < found < 1 and len(set(setting.rates(found, sample).values())) > 1:
        return Fraction(-1)
    if found > 0 and max(halved.values()) > halved[(True,) * len(setting.parts)]:
        return Fraction(-1)
    if 0 < found < 1 and max(doubled.values()) > doubled[(False,) * len(setting.parts)]:
        return Fraction(-1)
    return -abs(found - stated)


def plans_check(_profile: Profile) -> Outcome:
    """`rational`: listed networks and memories, from what shards need to more than dense replicas do."""
    networks = [
        Network(devices, Fraction(0), Fraction(1, 3), size) for devices, size in ((2, 2), (3, 4), (8, 2), (2, 4))
    ]
    settings = [
        Setting(network, parts, index, 16, residual, Fraction(room) * sum(parts) * network.devices)
        for network in networks
        for parts in ((3,), (1, 4), (2, 2, 5))
        for index in (1, 4)
        for residual in (0, 4)
        for room in (Fraction(17, 2), 15, 22, 30, 60)
    ]
    margins = [plans_margin(setting, Choice(Fraction(7), Fraction(1, 5))) for setting in settings]
    return Outcome(earned=min(margins) == 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


COUNT = st.integers(1, 6)
POSITIVE = st.builds(Fraction, st.integers(1, 20), st.integers(1, 9))


def plans_cases() -> Members:
    """A setting in which shards fit, and bytes and seconds of a sample."""

    def of(case: tuple[Network, tuple[int, ...], int, int, int, Fraction]) -> Setting:
        network, parts, index, states, residual, more = case
        size = sum(parts) * network.devices
        return Setting(network, parts, index, states, residual, (Fraction(states, network.devices) + more) * size)

    networks = st.builds(Network, st.integers(2, 5), st.just(Fraction(0)), POSITIVE, COUNT)
    parts = st.lists(COUNT, min_size=1, max_size=3).map(tuple)
    drawn = st.tuples(networks, parts, COUNT, COUNT, st.integers(0, 4), POSITIVE).map(of)
    return st.tuples(drawn, st.builds(Choice, POSITIVE, POSITIVE))


def _edge(condition: str, devices: int, memory: Fraction) -> Edge:
    setting = Setting(Network(devices, Fraction(0), Fraction(1), 2), (4 // devices,), 4, 16, 4, memory)
    numbers = {
        "value_bytes": 2,
        "index_bytes": 4,
        "n": devices,
        "d": 4,
        "state_bytes": 16,
        "residual_bytes": 4,
        "memory_bytes": memory,
    }
    return Edge(condition, numbers, left=setting.moving_density)


EDGES: dict[str, tuple[Remark, ...]] = {
    "replica_plans": (
        # A device alone exchanges nothing, so that a replica is as quick with all entries.
        _edge("n >= 2", 1, Fraction(100)),
        # Not even shards fit.
        _edge("memory_bytes > d*state_bytes/n", 2, Fraction(31)),
    ),
}
"""Points just beyond the conditions of this statement."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "replica_plans": {"rational": plans_check, "property": property_check(plans_cases, plans_margin)},
}
"""Every check of this statement, by label and grade."""
