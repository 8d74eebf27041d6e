"""Write the site: claims, statements, certificates, figures and races, on static pages that ask for nothing elsewhere.

python -m paper.site --data-folder paper/data --output-folder paper/generated/site [--run-folder build/quick/data]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from paper.site.build import build
from sparsync.verify.tools.interrupts import interrupt_as_line

CACHE = Path("build", "site")
"""Drawn figures, seen from the checkout's root."""


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, or results that are missing or incomplete.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.site", description="Write the site.")
    parser.add_argument("--data-folder", type=Path, required=True, help="the record, which is shown")
    parser.add_argument("--output-folder", type=Path, required=True, help="the site; an older one is replaced")
    parser.add_argument("--run-folder", type=Path, help="results of yours; claims are judged on them")
    parser.add_argument("--cache-folder", type=Path, default=CACHE, help=f"drawn figures; default: {CACHE}")
    options = parser.parse_args(arguments)
    try:
        built = build(
            options.data_folder,
            options.output_folder,
            cache_folder=options.cache_folder,
            run_folder=options.run_folder,
        )
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error
    megabytes = built.byte_count / 1e6
    print(  # noqa: T201
        f"{built.pages_count} pages, {built.statements_count} statements, {megabytes:.0f} MB: {built.folder}/index.html"
    )


if __name__ == "__main__":
    main()
