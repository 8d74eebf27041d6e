"""One site of the record for all tests of it, with all statements and claims and two figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.site.build import build
from tests.support.paths import ROOT
from tests.support.shared_builds import once, shared_folder

DRAWN = ("tight_rate", "overview")
"""All take a minute."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shared_folder(tmp_path_factory, "site")
    record = ROOT / "paper" / "data"
    return once(folder / "built", lambda target: build(record, target, cache_folder=folder / "figures", drawn=DRAWN))
