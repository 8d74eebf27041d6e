"""Which folders are there, and who imports whom? A picture of the tree as it is, for the README.

    python -m paper.folder_map --output paper/docs/map.svg

Rooms are the subfolders that hold Python files; an arrow leads from a folder to one that its files import.
"""

from __future__ import annotations

import argparse
import ast
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from paper.results import write_text
from sparsync.verify.tools.interrupts import interrupt_as_line

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "tests": "claims about everything below; same folders, same names",
    "paper": "text, figures, pages, and the tracked results",
    "experiments": "training and races: where selectors meet gradients",
    "verify": "evidence: certificates, searches, proofs, monitors",
    "kernels": "selection: vector in, sparse payload out",
    "theory": "statements, each with a derivation that can be executed",
}
"""What each holds, from those that import to those that are imported."""
COLOURS = {"tests": "#b0b0b0", "paper": "#0072b2", "experiments": "#d55e00", "verify": "#009e73"}
"""Of the arrows, by the folder that they leave."""
Arrow = tuple[str, str]

_LEFT, _WIDTH, _TOP, _GAP = 10, 590, 34, 14
_LINE, _PADDING, _ROOMS_WRAP = 17, 10, 100
_LANE, _FIRST_LANE = 13, 26


@dataclass(frozen=True)
class Box:
    """A folder's place: its upper edge, its height, and the lines of text in it."""

    top: int
    height: int
    lines: tuple[str, ...]


def rooms(folder: Path) -> list[str]:
    """The subfolders that hold Python files, at any depth, in alphabetical order."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and any(path.rglob("*.py")))


def arrows(root: Path, folders: Iterable[str]) -> list[Arrow]:
    """Every pair of a folder and another one that it imports, in the order of the folders."""
    names = list(folders)
    found = {
        (name, target)
        for name in names
        for path in sorted((root / name).rglob("*.py"))
        for target in imported(path.read_text(encoding="utf-8"))
        if target in names and target != name
    }
    return sorted(found, key=lambda arrow: (names.index(arrow[0]), names.index(arrow[1])))


@cache
def imported(source: str) -> frozenset[str]:
    """The folders that a file imports: `verify` for `sparsync.verify.tools`, `paper` for `paper.style`."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(module.removeprefix("sparsync.").split(".")[0] for module in modules)


def folder_map(root: Path = ROOT) -> str:
    """The picture as SVG: a box for each folder, and to the right the arrows, each in a lane of its own."""
    boxes = _boxes(root)
    lanes = arrows(root, FOLDERS)
    width = _LEFT + _WIDTH + _FIRST_LANE + _LANE * len(lanes) + 10
    last = boxes[list(FOLDERS)[-1]]
    height = last.top + last.height + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" font-family="sans-serif" font-size="12">',
        "<title>The folders of sparsync and who imports whom</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *(_marker(name) for name in COLOURS),
        f'<text x="{_LEFT}" y="20" fill="#555">An arrow leads from a folder to one that it imports.</text>',
        *(_box(name, box) for name, box in boxes.items()),
        *_drawn_arrows(boxes, lanes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _boxes(root: Path) -> dict[str, Box]:
    boxes: dict[str, Box] = {}
    top = _TOP
    for name in FOLDERS:
        lines = tuple(textwrap.wrap(" · ".join(rooms(root / name)), _ROOMS_WRAP))
        height = max(2 * _PADDING + _LINE * (1 + len(lines)), 58)
        boxes[name] = Box(top, height, lines)
        top += height + _GAP
    return boxes


def _box(name: str, box: Box) -> str:
    middle, first = _LEFT + 12, box.top + _PADDING + 12
    rooms_ = "".join(
        f'\n<text x="{middle}" y="{first + _LINE * (place + 1)}" fill="#555">{escape(line)}</text>'
        for place, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{_LEFT}" y="{box.top}" width="{_WIDTH}" height="{box.height}" rx="5" fill="#f6f6f6" '
        f'stroke="#888"/>\n<text x="{middle}" y="{first}"><tspan font-weight="bold">{name}/</tspan>'
        f'<tspan dx="10">{escape(FOLDERS[name])}</tspan></text>{rooms_}'
    )


def _drawn_arrows(boxes: Mapping[str, Box], lanes: Sequence[Arrow]) -> list[str]:
    """Short arrows lie in the inner lanes, and their ends are ordered so that few lines cross."""
    rank = {name: place for place, name in enumerate(boxes)}
    by_length = sorted(lanes, key=lambda arrow: (rank[arrow[1]] - rank[arrow[0]], rank[arrow[0]]))
    right = _LEFT + _WIDTH
    drawn = []
    for place, (source, target) in enumerate(by_length):
        begin, end = (_port(boxes[name], name, (source, target), lanes, rank) for name in (source, target))
        lane = right + _FIRST_LANE + _LANE * place
        drawn.append(
            f'<path d="M{right} {begin} H{lane} V{end} H{right + 7}" fill="none" stroke="{COLOURS[source]}" '
            f'stroke-width="1.6" stroke-linejoin="round" marker-end="url(#{source})"/>'
        )
    return drawn


def _port(box: Box, name: str, arrow: Arrow, lanes: Sequence[Arrow], rank: Mapping[str, int]) -> int:
    """The height at which an arrow meets a box: what comes in, nearest first; then what goes, farthest first."""
    coming = sorted((other for other in lanes if other[1] == name), key=lambda other: -rank[other[0]])
    going = sorted((other for other in lanes if other[0] == name), key=lambda other: -rank[other[1]])
    meeting = [*coming, *going]
    return box.top + round(box.height * (meeting.index(arrow) + 1) / (len(meeting) + 1))


def _marker(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{COLOURS[name]}"/></marker>'
    )


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, or a picture that cannot be written.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.folder_map", description="Draw the map of the folders.")
    parser.add_argument("--output", type=Path, required=True, help="the picture, as SVG")
    options = parser.parse_args(arguments)
    try:
        write_text(options.output, folder_map())
    except OSError as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
