"""A stand-in for g++ for what is compiled in several places: nothing is optimised, and no source twice in a run.

What a wheel installs has the bytes of the checkout's sources, and objects do not tell where their sources lay.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.shared_builds import shared_folder

# An object is kept under the digest of its command without places, and of all that lies beside the source.
SCRIPT = """#!{python} -S
import fcntl, hashlib, os, shutil, subprocess, sys
command = [{compiler!r}, *sys.argv[1:], "-O0"]
if "-c" not in command:
    os.execv(command[0], command)
source, output = (command[command.index(option) + 1] for option in ("-c", "-o"))
folder = next(word for word in command if word.startswith("-I"))[2:]
digest = hashlib.sha256(repr([word.replace(folder, "") for word in command if word != output]).encode())
for place, below, names in os.walk(folder):
    below.sort()
    for name in sorted(names):
        with open(os.path.join(place, name), "rb") as file:
            digest.update(repr((os.path.relpath(place, folder), name, file.read())).encode())
kept = os.path.join({folder!r}, digest.hexdigest())
with open(kept + ".lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not os.path.exists(kept):
        status = subprocess.call(command)
        if status:
            sys.exit(status)
        shutil.copy(output, kept + ".unfinished")
        os.rename(kept + ".unfinished", kept)
shutil.copy(kept, output)
"""


def quick_compiler(factory: pytest.TempPathFactory) -> Path:
    """The script, for $CXX; where there is no g++, its name."""
    compiler = shutil.which("g++")
    if compiler is None:
        return Path("g++")
    folder = shared_folder(factory, "compiled")
    script = folder / "g++"
    if not script.exists():
        written = folder / f"g++ of {factory.getbasetemp().name}"
        written.write_text(
            SCRIPT.format(python=sys.executable, compiler=compiler, folder=str(folder)), encoding="utf-8"
        )
        written.chmod(0o755)
        written.rename(script)
    return script
