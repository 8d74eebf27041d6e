"""Methods that a test poses as a user does: by a file."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from sparsync.verify.worst_case_rates.method_file import Method, read_method

DESCENT = """
    step_size = 1
    def step(self, state, problem):
        return {"x": state.x - self.step_size * problem.gradient(state.x)}
"""
"""Gradient descent."""
STRONGLY = """
    function_class = "smooth strongly convex"
    smoothness = 1
    mu = 0.1
"""
"""0.1 ≤ curvature ≤ 1."""


def write_method(folder: Path, *parts: str, name: str = "Posed") -> Path:
    """A file with a class of these parts."""
    path = folder / f"{name.lower()}.py"
    body = "".join(indent(dedent(part), "    ") for part in parts)
    path.write_text(f"import math\n\nclass {name}:\n{body}", encoding="utf-8")
    return path


def posed(folder: Path, *parts: str, **changes: str) -> Method:
    """The method of such a file."""
    return read_method(str(write_method(folder, *parts)), changes)
