"""Where readings go: a file of JSON lines, TensorBoard, or one live line on a terminal."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from sparsync.experiments.hooks.telemetry import Reading


class JsonLines:
    """One JSON object a line and a reading, appended to a file; each rank needs a file of its own.

    Args:
        path: in a folder that exists; the file need not.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        path.open("a", encoding="utf-8").close()
        self._path = path

    def __call__(self, reading: Reading) -> None:
        """Append; whoever reads meanwhile finds whole lines."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(reading), allow_nan=False) + "\n")


class TensorBoard:
    """A scalar for each number under `hook/`.

    Args:
        folder: of the log.

    Raises:
        ValueError: TensorBoard is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ValueError(f"TensorBoard is not installed ({error}): pip install tensorboard") from None
        self._writer: Any = SummaryWriter(str(folder))

    def __call__(self, reading: Reading) -> None:
        """Add the numbers that there are."""
        for name, number in scalars(reading).items():
            self._writer.add_scalar(f"hook/{name}", number, reading.step)
        self._writer.flush()

    def close(self) -> None:
        """Close the log's file; another reading would begin a new one."""
        self._writer.close()


class LiveLine:
    """One line that changes in place on a terminal, and is silent elsewhere; for one rank of a machine.

    Args:
        console: None is standard error.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._live = Live(console=console or Console(stderr=True), auto_refresh=False)

    def __call__(self, reading: Reading) -> None:
        """Show it in the place of the last one."""
        if not self._live.console.is_terminal:
            return
        if not self._live.is_started:
            self._live.start()
        self._live.update(Text(line(reading), no_wrap=True, overflow="ellipsis"), refresh=True)

    def close(self) -> None:
        """Leave the line as it is."""
        self._live.stop()


def scalars(reading: Reading) -> dict[str, float]:
    """All numbers of a reading but its step, those of phases under `seconds/`."""
    numbers = {name: number for name, number in asdict(reading).items() if isinstance(number, int | float)}
    del numbers["step"]
    return numbers | {f"seconds/{phase}": seconds for phase, seconds in reading.phase_seconds.items()}


def line(reading: Reading) -> str:
    """A reading in a line."""
    contraction = "–" if reading.contraction is None else f"{reading.contraction:.3g}"
    share = reading.selected_count / reading.target_count if reading.target_count else 0.0
    fastest = reading.break_even_mbit_per_second
    return (
        f"step {reading.step}: δ {contraction}, count/k {share:.2f}, ‖e‖ {reading.residual_norm:.3g}, "
        f"age {reading.mean_age_steps:.0f} to {reading.oldest_age_steps} steps, "
        f"{reading.sent_bytes / max(1, reading.gradient_bytes):.2%} of the bytes, "
        f"{1e3 * sum(reading.phase_seconds.values()):.1f} ms; "
        + ("dense is faster on any link" if fastest is None else f"worth it below {fastest:.3g} Mbit/s")
    )
