"""A farm on real processes: Jacobi's method, a master and K workers, its speed-up measured and predicted.

`torchrun --nproc-per-node 4 -m sparsync.experiments.bulk.farm --output result.json --workers 1 2 3`. The program
measures what its messages and its work take, and `theory/cost/farm_boundaries.py` says from that how many workers are
worth it. Sleeps can stand for longer rows and slower links, so that a small machine shows a whole curve; the result
says which there were.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from sparsync.experiments.bulk.command import main
from sparsync.experiments.bulk.farm_talk import (
    Constants,
    Course,
    Job,
    answer_constants,
    ask_constants,
    master,
    worker,
)
from sparsync.experiments.bulk.jacobi import Block
from sparsync.experiments.parties.party import Party, System
from sparsync.experiments.parties.talk import Books
from sparsync.theory.cost import farm_boundaries, farms


@dataclass(frozen=True)
class Settings:
    """What the farm takes."""

    unknowns: int = 960
    """unknowns of the linear system, a row each"""
    blocks: int = 24
    """equal blocks of the list of rows"""
    workers: tuple[int, ...] = (1, 2, 3)
    """how many workers to try, one number after the other; each divides the blocks, and speed-ups are over the first"""
    iterations: int = 12
    """iterations at most, with each number of workers"""
    tolerance: float = 0.0
    """it ends when the approximation moves no farther in an iteration"""
    density: float = 1.0
    """share of the rows of a block that are set in an iteration, those that change most; 1 is Jacobi's method"""
    work_seconds: float = 0.002
    """how long a worker sleeps for each block, which stands for longer rows"""
    message_seconds: float = 0.004
    """how long the master sleeps before each message to a worker, which stands for a longer link"""
    byte_seconds: float = 1e-6
    """and how much longer for each of its bytes, which stands for a narrower one"""
    seed: int = 0
    """of the linear system"""

    def __post_init__(self) -> None:
        for name, least in (("unknowns", 2), ("blocks", 1), ("iterations", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.unknowns % self.blocks:
            raise ValueError(f"blocks must divide the {self.unknowns} unknowns, got {self.blocks}")
        if not self.workers or any(count < 1 or self.blocks % count for count in self.workers):
            raise ValueError(f"workers must divide the {self.blocks} blocks, got {self.workers}")
        if not 0 < self.density <= 1:
            raise ValueError(f"density must lie in (0, 1], got {self.density}")
        for name in ("tolerance", "work_seconds", "message_seconds", "byte_seconds"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be at least 0 and finite, got {getattr(self, name)}")

    @property
    def job(self) -> Job:
        """What master and workers are told."""
        rows = self.unknowns // self.blocks
        return Job(
            unknowns=self.unknowns,
            block_count=self.blocks,
            kept=max(1, round(self.density * rows)),
            iterations=self.iterations,
            tolerance=self.tolerance,
            work_seconds=self.work_seconds,
            message_seconds=self.message_seconds,
            byte_seconds=self.byte_seconds,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Model:
    """What an iteration is predicted to take.

    Args:
        constants: what its parts take.
        master_seconds: t_p.
        payload_share: what a selection leaves of what is told, positions included.
        answer_share: the same of answers.
    """

    constants: Constants
    master_seconds: float
    payload_share: float
    answer_share: float

    def phased_seconds(self, workers: int) -> float:
        """With every phase after the last one."""
        return farms.STATEMENTS["star_farm"].evaluate(
            latency=self.constants.latency,
            send_time=self.constants.send * self.payload_share,
            receive_time=self.constants.receive * self.answer_share,
            master_time=self.master_seconds,
            work_time=self.constants.work,
            farm_size=workers,
        )

    def pipelined_seconds(self, workers: int) -> float:
        """With everybody who begins as soon as he can, as this program does."""
        return farms.STATEMENTS["pipelined_farm"].evaluate(
            dispatch_time=self.constants.dispatch + self.constants.send * self.payload_share,
            collect_time=self.constants.collect + self.constants.receive * self.answer_share / workers,
            work_time=self.constants.work,
            master_time=self.master_seconds,
            farm_size=workers,
        )

    def boundary(self) -> dict[str, float | int]:
        """K*, the best whole number of workers, and what a selection does to K* at best."""
        link = {"latency": self.constants.latency, "send_time": self.constants.send * self.payload_share}
        stated, work = farm_boundaries.STATEMENTS, {"work_time": self.constants.work}
        dense = {**link, "send_time": self.constants.send}
        return {
            "worker_count": stated["star_farm_boundary"].evaluate(**link, **work),
            "best_worker_count": int(stated["star_farm_optimum"].evaluate(**link, **work)),
            "dense_worker_count": stated["star_farm_boundary"].evaluate(**dense, **work),
            "largest_gain": stated["selected_farm_gain"].evaluate(**dense),
        }


def run(settings: Settings, party: Party) -> dict[str, Any] | None:
    """Measure the parts, then iterate with each number of workers; the result as JSON, on rank 0.

    Raises:
        ValueError: more workers than there are processes besides the master's.
        ExchangeError: another process is lost, or does not come in time.
    """
    job, most = settings.job, max(settings.workers)
    if most >= party.size:
        raise ValueError(f"workers up to {most} and a master take {most + 1} processes, there are {party.size}")
    blocks: dict[int, Block] = {}
    if party.rank:
        party.carry(answer_constants(job, party.rank - 1, blocks), Books())
        for count in settings.workers:
            party.carry(worker(job, party.rank - 1, count, blocks), Books())
        return None
    constants = party.carry(ask_constants(job), Books())
    courses, books = [], []
    for count in settings.workers:
        books.append(Books())
        courses.append(party.carry(master(job, count), books[-1]))
        party.advance()
    return result(settings, constants, courses, books)


def result(settings: Settings, constants: Constants, courses: list[Course], books: list[Books]) -> dict[str, Any]:
    """The JSON: what was measured, what it predicts, and the curve."""
    job = settings.job
    share = job.told_bytes() / (job.unknowns * 8)
    own = median(second for course in courses for second in course.master_seconds)
    model = Model(constants, own, share, share)
    return {
        "load": {
            "work_seconds": settings.work_seconds,
            "message_seconds": settings.message_seconds,
            "byte_seconds": settings.byte_seconds,
            "meaning": "workers sleep so long a block, the master so long before a message to a worker and for each of "
            "its bytes: waiting makes the curve, not the number of processors",
        },
        "constants": {f"{name}_seconds": value for name, value in asdict(constants).items()} | {"master_seconds": own},
        "payload_share": share,
        "boundary": model.boundary(),
        "iterates_are_equal": len({course.digest for course in courses}) == 1,
        "curve": _curve(settings, model, courses, books),
    }


def _curve(settings: Settings, model: Model, courses: list[Course], books: list[Books]) -> list[dict[str, Any]]:
    measured = [median(course.seconds) for course in courses]
    first, alone = settings.workers[0], measured[0]
    return [
        {
            "worker_count": count,
            "measured_seconds": seconds,
            "phased_seconds": model.phased_seconds(count),
            "pipelined_seconds": model.pipelined_seconds(count),
            "measured_speed_up": alone / seconds,
            "phased_speed_up": model.phased_seconds(first) / model.phased_seconds(count),
            "pipelined_speed_up": model.pipelined_seconds(first) / model.pipelined_seconds(count),
            "iteration_count": len(course.seconds),
            "told_bytes": book.total(subject="approximation"),
            "answered_bytes": book.total(subject="answer"),
            "last_change": course.change,
            "iterates_digest": course.digest,
        }
        for count, seconds, course, book in zip(settings.workers, measured, courses, books, strict=True)
    ]


def line(found: dict[str, Any]) -> str:
    """The result in a line."""
    fastest = min(found["curve"], key=lambda row: row["measured_seconds"])
    same = "the same iterates" if found["iterates_are_equal"] else "DIFFERENT iterates"
    tried = ", ".join(f"{row['worker_count']}: {row['measured_speed_up']:.2f}" for row in found["curve"])
    asleep = " with sleeps" if any(found["load"][f"{name}_seconds"] for name in ("work", "message", "byte")) else ""
    return (
        f"{same} on all workers, speed-up{asleep} by workers {tried}, fastest with {fastest['worker_count']}; "
        f"predicted boundary {found['boundary']['worker_count']:.1f} workers"
    )


SYSTEM = System(
    summary="Jacobi's method as a farm: a master, workers, and a curve of speed-up beside what its costs predict",
    settings=Settings,
    run=run,
    line=line,
    step_count=lambda settings: len(settings.workers),
    least_size=2,
)
"""The program."""

if __name__ == "__main__":
    main("farm", SYSTEM)
