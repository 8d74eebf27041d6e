"""Error feedback, collectives, training and studies: where the selectors meet real gradients."""

import os

# Asked before anything that takes long is imported, for the launcher may end meanwhile.
_started_by = {"process": os.getppid()}
os.register_at_fork(after_in_child=lambda: _started_by.update(process=os.getppid()))


def launcher() -> int:
    """The process that started this one, which may have ended since."""
    return _started_by["process"]
