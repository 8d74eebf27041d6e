"""Where the checkout lies, and what of it is packaged."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGED_FOLDERS = ("theory", "verify", "kernels", "experiments")
PACKAGED_SUFFIXES = (".py", ".v", ".h", ".cpp", ".cu", ".cuh")
PACKAGED_DATA = {
    f"experiments/embedded/{name}"
    for name in (
        "fashion_mnist_subset.npz",
        "bible_kjv.txt.xz",
        "bible_kjv.md",
        "python_library.txt",
        "python_library.md",
        "LICENSE",
        "README.md",
    )
} | {f"experiments/launch/{name}" for name in ("slurm.sh", "trainjob.yaml")}


def packaged_files() -> set[str]:
    """Tracked modules, sources and data, relative to the package."""
    tracked = subprocess.run(
        ["git", "ls-files", *PACKAGED_FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name for name in tracked.stdout.split() if name.endswith(PACKAGED_SUFFIXES)} | PACKAGED_DATA
