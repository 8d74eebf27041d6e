"""What may a policy see? Counters, clocks and the inbox; never a vector.

The engine writes, policies read. All sequences are by worker.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from sparsync.verify.monitors.trace import NOTHING_MEASURED


class Message(NamedTuple):
    """A message without its vector.

    Args:
        uid: its number, from 0 in the order of sending.
        worker: who sent it.
        clock: steps its sender had finished.
        read_version: version of the shared model that its sender had read last.
        blocks: which blocks of the model it covers; None is all.
        tag: what the policy wrote on it.
        sent_bytes: its size.
        batch: examples behind it, as a multiple of the usual number, summed over the steps it covers.
        sent_time: when it was sent.
    """

    uid: int
    worker: int
    clock: int
    read_version: int
    blocks: tuple[int, ...] | None
    tag: str
    sent_bytes: int
    batch: float
    sent_time: float


class View:
    """The state that policies see.

    Args:
        worker_count: n, workers that may ever be there.
        block_bytes: dense size of each block.
        seed: of the policy's own random numbers.
    """

    def __init__(self, worker_count: int, *, block_bytes: tuple[int, ...], seed: int) -> None:
        self.worker_count = worker_count
        self.block_bytes = block_bytes
        self.now = 0.0
        self.version = 0
        """updates of the shared model"""
        self.clock = [0] * worker_count
        """steps finished"""
        self.read_version = [0] * worker_count
        self.sent = [0] * worker_count
        """messages sent"""
        self.settled = [0] * worker_count
        """messages applied or dropped, or sent before it was gone and came back"""
        self.progress = [0] * worker_count
        """settled messages, counted on from the least of the others for one that joins later"""
        self.inbox: dict[int, Message] = {}
        """arrived and not settled, by uid, in the order of arrival"""
        self.reporting_count = 0
        """workers alive that have a message in the inbox, sent since they joined"""
        self.waiting: set[int] = set()
        """workers at the gate"""
        self.fetching: set[int] = set()
        """workers that read blocks besides what they do, and have not got all of them"""
        self.alive: set[int] = set()
        self.alive_count = 0
        self.least_progress = 0
        """the smallest progress of a worker alive"""
        self.most_progress = 0
        """the largest"""
        self.last_done = [0.0] * worker_count
        """when the last step was finished"""
        self.interval = [0.0] * worker_count
        """seconds between the last two finished steps (of the first since joining: since its beginning); 0 before"""
        self.compute_seconds = [0.0] * worker_count
        """how long the last step took"""
        self.round_trip = [0.0] * worker_count
        """seconds from the last sending to its reply; 0 before the first"""
        self.statistics = [NOTHING_MEASURED] * worker_count
        self.random = random.Random(f"policy {seed}")
        """the policy's own random numbers"""

    def is_settled(self, worker: int) -> bool:
        """Is every message of the worker applied or dropped?"""
        return self.sent[worker] == self.settled[worker]

    def is_awaited(self, message: Message) -> bool:
        """Does its sender wait after the step reported? Not so if it crashed meanwhile, even if it came back."""
        return message.worker in self.waiting and message.clock == self.clock[message.worker]

    def has_every_report(self) -> bool:
        """Has every worker alive a message in the inbox?"""
        return self.reporting_count == self.alive_count > 0

    def inbox_by_worker(self) -> list[Message]:
        """The inbox in worker order, then in the order of sending."""
        return sorted(self.inbox.values(), key=lambda message: (message.worker, message.uid))
