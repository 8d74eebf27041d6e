"""What a user names on a command line as `file.py:name`: the file is run once, as a module of its own."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

_OWN = re.compile(r"(?P<path>.+\.py):(?P<name>[^:]+)")


def own_object(text: str) -> tuple[Path, str, Any] | None:
    """File, name, and what the file has under the name, or None for nothing; None where the text is no such thing.

    Name only files that you trust as you trust a program that you start.

    Raises:
        ValueError: there is no such file, or it cannot be run.
    """
    found = _OWN.fullmatch(text)
    if found is None:
        return None
    path = Path(found["path"]).resolve()
    return path, found["name"], getattr(_module(path), found["name"], None)


def _module(path: Path) -> Any:
    name = f"own code of {path}"
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up while it is made.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    return module
