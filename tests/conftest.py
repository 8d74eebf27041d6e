"""Test settings for the whole suite: hypothesis without deadlines, reproducible in continuous integration."""

import gc
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# Before torch is there, as `make test` does it: sums have other bits on more threads, and tests run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A deadline, or a check that drawing is quick, would make a test depend on the machine's load.
settings.register_profile("local", deadline=None, print_blob=True, suppress_health_check=(HealthCheck.too_slow,))
settings.register_profile("continuous_integration", settings.get_profile("local"), derandomize=True)
settings.load_profile("continuous_integration" if os.environ.get("CI") else "local")

# Nothing that importing and collecting make is garbage. Looking for it took a third of the time to the first test, and
# then again at every collection of garbage in a test.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave all that is there now out of every later search for garbage; statements are among it.

    One that is first looked at while a test has something broken would be built from that, and stay so for later tests.
    """
    for name, module in tuple(sys.modules.items()):
        if name.startswith("sparsync.theory.") and hasattr(module, "STATEMENTS"):
            module.STATEMENTS.build()
    gc.freeze()
    gc.enable()


_CRASHES: list[object] = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """Note a worker that crashed."""
    if error:
        _CRASHES.append((node, error))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a worker crashed: if all do so while they collect, no test has failed, and the status would be 0."""
    if _CRASHES and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
