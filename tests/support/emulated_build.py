"""Compile the CUDA sources for the CPU, with the emulation of this folder in place of the device; kept as the op is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sparsync.kernels import native_build
from sparsync.kernels.build_cache import Made, cache_folder, cached

EMULATION_FOLDER = Path(__file__).parent / "emulation"
# Shared variables of the emulation are one per thread of the library, and device code reads words of other types.
EMULATION_FLAGS = ("-DSPARSYNC_EMULATE", "-fno-gnu-unique", "-fno-strict-aliasing", f"-I{EMULATION_FOLDER.parent}")


def build_emulated(
    folder: Path | None = None, *, extra_flags: Sequence[str] = (), sources: Sequence[str | Path] | None = None
) -> Path:
    """Compile, unless the cache holds it.

    Args:
        folder: the cache; None is `cache_folder()`.
        extra_flags: of the host compiler, for example a sanitiser.
        sources: files, relative to `native_build.SOURCE_FOLDER`; None is the CUDA part of the op, which becomes
            `torch.ops.sparsync_emulated`.

    Raises:
        BuildError: there is no host compiler, or it failed.
        OSError: the cache cannot be written.
    """
    compiler = native_build.host_compiler()
    files = [str(native_build.SOURCE_FOLDER / source) for source in sources or (native_build.CUDA_SOURCE,)]
    command = [*compiler, *native_build.host_flags(), *EMULATION_FLAGS, *extra_flags, "-shared"]
    command += ["-x", "c++", *files, "-x", "none", *native_build.link_flags()]
    read = [path for place in (native_build.SOURCE_FOLDER, EMULATION_FOLDER) for path in place.rglob("*")]
    digest = native_build.digest_of([compiler], [command], [*read, *map(Path, files)])
    target = (folder or cache_folder()) / f"libsparsync-emulated-{digest}.so"

    def make(scratch: Path, output: Path) -> Made:
        del scratch
        native_build.run_compiler([*command, "-o", str(output)])
        return Made(("cpu",), "")

    cached(target, make)
    return target
