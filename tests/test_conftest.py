"""A run of the tests in which workers crash is no success."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CRASHING = """
import os
if os.environ.get("PYTEST_XDIST_WORKER") != "gw0":
    os.abort()
"""
FINE = """
def test_nothing():
    pass
"""


@pytest.mark.slow
def test_workers_that_crash_while_they_collect_fail_the_run(tmp_path: Path) -> None:
    """One collects, the others do not: xdist alone says that nothing failed."""
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
    (tmp_path / "test_crashing.py").write_text(CRASHING, encoding="utf-8")
    (tmp_path / "test_fine.py").write_text(FINE, encoding="utf-8")
    words = ("-n", "3", "-p", "no:cacheprovider", str(tmp_path))
    around = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=tmp_path, env=around, capture_output=True, check=False
    )
    assert ended.returncode != 0
