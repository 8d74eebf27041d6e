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


def tracked_files(*options: str) -> list[str]:
    """What git tracks and is there, or what the inventory of an unpacked archive lists.

    Args:
        options: of `git ls-files`.
    """
    inventory = ROOT / "SHA256SUMS"
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", *options]
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    else:
        names = [line.partition("  ")[2] for line in inventory.read_text(encoding="utf-8").splitlines()]
    return sorted(name for name in {*names} if name and (ROOT / name).is_file())


def packaged_files() -> set[str]:
    """Tracked modules, sources and data, relative to the package."""
    inside = (name for name in tracked_files() if name.split("/")[0] in PACKAGED_FOLDERS)
    return {name for name in inside if name.endswith(PACKAGED_SUFFIXES)} | PACKAGED_DATA
