"""Which shares level the seconds of peers whose links are not alike? The least of the largest time, in parts and whole.

A peer's time is convex in its share, the larger of two lines: what it sends and what it receives. All begin with the
share with which they are done first, and give or take what is left over or missing. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.planners.batch_planner import level_split

Line = tuple[float, float]
"""Seconds of share 0, and what share 1 takes more (less, if negative)."""


@dataclass(frozen=True)
class Link:
    """Seconds of one peer that averages a share w of the vector: the larger of two lines, what it sends and receives.

    Args:
        sends: its line.
        receives: its line.
        averages: whether it can have a share; otherwise it has none.
    """

    sends: Line
    receives: Line
    averages: bool = True

    def seconds(self, share: float) -> float:
        """With this share."""
        return max(self.sends[0] + self.sends[1] * share, self.receives[0] + self.receives[1] * share)

    def quickest_share(self) -> float:
        """The least share of all with the fewest seconds."""
        if not self.averages:
            return 0.0
        shares = [0.0, 1.0]
        if self.sends[1] != self.receives[1]:
            shares.append(min(1.0, max(0.0, (self.receives[0] - self.sends[0]) / (self.sends[1] - self.receives[1]))))
        return min(shares, key=lambda share: (self.seconds(share), share))

    def last_within(self, level: float, quickest: float, *, upwards: bool) -> float:
        """The largest share from the quickest on that takes no more seconds, or downwards the smallest.

        Where the quickest share takes more, it is that.

        Args:
            level: seconds.
            quickest: `quickest_share`.
            upwards: which way.
        """
        end = float(upwards and self.averages)
        for fixed, slope in (self.sends, self.receives):
            if slope == 0:
                reached = quickest if level < fixed else end
            elif (slope > 0) == upwards:
                reached = (level - fixed) / slope
            else:
                continue
            end = min(end, reached) if upwards else max(end, reached)
        return max(quickest, end) if upwards else min(quickest, end)


def level_shares(links: Sequence[Link]) -> list[float]:
    """Shares with sum 1 of the least largest time.

    All begin with their quickest shares. Where these are less than the whole, all grow up to one level of seconds, and
    nobody would be done earlier with less than its quickest; where they are more, all shrink in the same way. The level
    is found by halving, down to two neighbouring doubles, and what a jump between them leaves is shared in proportion.

    Raises:
        ValueError: nobody can have a share.
    """
    if not any(link.averages for link in links):
        raise ValueError(f"nobody of {len(links)} peers averages")
    quickest = [link.quickest_share() for link in links]
    is_short = sum_in_order(quickest) <= 1

    def shares(level: float) -> list[float]:
        return [link.last_within(level, own, upwards=is_short) for link, own in zip(links, quickest, strict=True)]

    before, level = 0.0, max(link.seconds(share) for link in links for share in (0.0, float(link.averages)))
    while before < (middle := before + (level - before) / 2) < level:
        total = sum_in_order(shares(middle))
        before, level = (before, middle) if (total >= 1 if is_short else total <= 1) else (middle, level)
    below, above = shares(before), shares(level)
    gap, rest = sum_in_order(above) - sum_in_order(below), 1 - sum_in_order(below)
    part = rest / gap if gap else 0.0
    return [low + part * (high - low) for low, high in zip(below, above, strict=True)]


def whole_parts(links: Sequence[Link], total: int) -> list[int]:
    """The whole parts of the least largest time: from the quickest ones, `level_split` gives or takes the rest.

    Args:
        links: seconds by w = part/total.
        total: of all parts, at least 1.

    Raises:
        ValueError: nobody can have a part, or there is none.
    """
    require_count("total", total, least=1)
    if not any(link.averages for link in links):
        raise ValueError(f"nobody of {len(links)} peers averages")
    quickest = [_quickest_part(link, total) for link in links]
    rest = total - sum(quickest)
    sign = 1 if rest >= 0 else -1
    room = [
        (total - part if sign > 0 else part) if link.averages else 0 for link, part in zip(links, quickest, strict=True)
    ]
    # The planner of batches gives everybody one or more: here the first stands for none.
    seconds = [_after(link, part, sign, total) for link, part in zip(links, quickest, strict=True)]
    moved = level_split(seconds, abs(rest) + len(links), [own + 1 for own in room])
    return [part + sign * (one - 1) for part, one in zip(quickest, moved, strict=True)]


def _quickest_part(link: Link, total: int) -> int:
    near = math.floor(link.quickest_share() * total)
    return min((near, min(near + 1, total) if link.averages else near), key=lambda part: link.seconds(part / total))


def _after(link: Link, part: int, sign: int, total: int) -> Callable[[int], float]:
    return lambda moved: link.seconds((part + sign * (moved - 1)) / total)
