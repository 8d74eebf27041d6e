"""Run Python as a new process would, forked from one that has imported torch: that takes longer than most programs.

What depends on how an interpreter starts, or on when libraries are loaded, is for tests that start one.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.paths import ROOT

# Reads a request a line and answers with the exit status of the process that it forks. That one ends as an interpreter
# does, but for taking apart what was imported, which would copy all of it first.
SERVER = """
import atexit, gc, importlib, json, os, runpy, sys, threading, traceback
for name in sys.argv[1:]:
    importlib.import_module(name)
gc.freeze()


def run(folder, environment, streams, command, path):
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, file in enumerate((os.devnull, *streams)):
        os.dup2(os.open(file, os.O_RDWR), descriptor)
    kind, what, *arguments = command
    sys.argv[:] = ["-c" if kind == "-c" else what, *arguments]
    sys.path[:0] = [folder, *path]
    if kind == "-c":
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    elif kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(os.path.join(folder, what), run_name="__main__")


def status_of(request):
    try:
        run(**request)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        status = status_of(json.loads(line))
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
DEADLINE_SECONDS = 240.0


class Server:
    """An interpreter that has imported some modules and forks a process for each command.

    Args:
        start: the words that start the interpreter, before "-c".
        imported: these modules.
        environment: of the interpreter; commands have their own.
    """

    def __init__(self, start: Sequence[str], imported: Sequence[str], environment: Mapping[str, str]) -> None:
        command = [*start, "-c", SERVER, *imported]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True, start_new_session=True
        )
        atexit.register(self.end)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def run(
        self, *command: str, environment: Mapping[str, str], folder: Path, path: Sequence[Path] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in a session of its own.

        Args:
            command: ("-c", code, argument, …), or "-m" and a module, or "" and a file.
            environment: all of it; what libraries read of it when they are loaded they have read.
            folder: to run in.
            path: where modules are looked for first, but for that folder.

        Raises:
            subprocess.TimeoutExpired: it took longer than the deadline.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as name:
            streams = [Path(name, stream) for stream in ("output", "errors")]
            for stream in streams:
                stream.touch()
            request = {"folder": str(folder), "environment": dict(environment), "streams": list(map(str, streams))}
            request |= {"command": command, "path": list(map(str, path))}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], DEADLINE_SECONDS)[0]:
                self.end()
                raise subprocess.TimeoutExpired(command, DEADLINE_SECONDS)
            status = int(self._process.stdout.readline())
            output, errors = (stream.read_text(encoding="utf-8") for stream in streams)
        return subprocess.CompletedProcess(command, status, output, errors)


@functools.cache
def _here() -> Server:
    return Server([sys.executable], ["torch", "sympy"], os.environ)


def run_forked(
    *command: str, environment: Mapping[str, str] | None = None, folder: Path = ROOT, path: Sequence[Path] = ()
) -> subprocess.CompletedProcess[str]:
    """As `Server.run`, with this interpreter and its environment, which `environment` adds to."""
    return _here().run(*command, environment={**os.environ, **(environment or {})}, folder=folder, path=path)
