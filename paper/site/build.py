"""The site as a folder: pages, copied results, certificates and figures, written beside and put in its place whole."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from paper.figures import FIGURES
from paper.results import result
from paper.site.claims import shown_claims
from paper.site.figures import figures
from paper.site.pages import Content, colours_css, pages
from paper.site.races import RESULTS
from paper.site.sources import Sources
from paper.site.statements import entries, evidence_record
from sparsync.verify.tools.interrupts import interrupts_held_back

ASSETS = Path(__file__).with_name("assets")
COLOURS = "colours.css"
_ALWAYS = ("verify.json", "formal.json", *(f"{name}.json" for name in RESULTS))
"""Results that pages link to, whichever claims and figures there are."""


@dataclass(frozen=True)
class Built:
    """What was written.

    Args:
        folder: where.
        pages_count: of HTML.
        statements_count: each of which has a page.
        byte_count: of all files.
    """

    folder: Path
    pages_count: int
    statements_count: int
    byte_count: int


def build(
    data_folder: Path,
    output_folder: Path,
    *,
    cache_folder: Path,
    run_folder: Path | None = None,
    drawn: Collection[str] = tuple(FIGURES),
) -> Built:
    """Write the site, in the place of an older one.

    Args:
        data_folder: the record, which is shown.
        output_folder: the site; replaced as a whole, once all of it is written.
        cache_folder: where drawn figures are kept; nothing else lies there.
        run_folder: results of a run, on which claims are judged; None: on the record.
        drawn: names of the figures that it has.

    Raises:
        FileNotFoundError: a result is missing.
        ValueError: a result lacks a field, or the output folder holds something that is no site.
    """
    _require_replaceable(output_folder)
    output_folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output_folder.parent, prefix=f".{output_folder.name}.") as beside:
        folder = Path(beside) / "new"
        content = _content(data_folder, run_folder, cache_folder, drawn)
        addresses = [_write(folder, address, text) for address, text in pages(content)]
        _copy(content, folder)
        sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
        with interrupts_held_back():
            if output_folder.exists():
                output_folder.rename(Path(beside) / "old")
            folder.rename(output_folder)
    return Built(output_folder, len(addresses), len(content.entries), sum(sizes))


def _content(data_folder: Path, run_folder: Path | None, cache_folder: Path, drawn: Collection[str]) -> Content:
    sources = Sources()
    found = figures(data_folder, cache_folder, sources, names=drawn)
    by_label = entries(data_folder, sources, found)
    claims = shown_claims(data_folder, run_folder, figures=found, entries=by_label, sources=sources)
    return Content(data_folder, str(run_folder or ""), by_label, found, claims, sources)


def _copy(content: Content, folder: Path) -> None:
    """Assets, figures, certificates, evidence, and the results that a claim or a figure names."""
    shutil.copytree(ASSETS, folder / "assets")
    _write(folder, f"assets/{COLOURS}", colours_css())
    named = {name for shown in content.claims for name in shown.reads}
    named |= {name for figure in content.figures for name in figure.reads}
    copies = {content.data_folder / name: f"data/{name}" for name in (*named, *_ALWAYS)}
    copies |= {figure.image: f"figures/{figure.image.name}" for figure in content.figures}
    ledger = result(content.data_folder, "verify")
    for entry in content.entries.values():
        record = evidence_record(entry, ledger)
        _write(folder, entry.evidence_file, json.dumps(record, ensure_ascii=False, indent=1))
        copies |= {content.data_folder / found.page: found.page for found in entry.certificates}
    for source, address in copies.items():
        target = folder / address
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _write(folder: Path, address: str, text: str) -> str:
    path = folder / address
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return address


def _require_replaceable(folder: Path) -> None:
    """Refuse to replace a folder that is not a site: a wrong option must not cost somebody's files."""
    if folder.exists() and not (folder / "assets" / COLOURS).is_file():
        raise ValueError(f"{folder} is there and is not a site of ours; it is left alone")
