"""The variants of error feedback, by name. A new one is a file of this folder and a line here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sparsync.experiments.feedbacks.decayed import Decayed
from sparsync.experiments.feedbacks.dgc import Dgc
from sparsync.experiments.feedbacks.econtrol import EControl
from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.feedbacks.ef21 import Ef21
from sparsync.experiments.feedbacks.ef21_sgdm import Ef21Sgdm
from sparsync.experiments.feedbacks.feedback import Feedback, StepLocation, require_step_location
from sparsync.experiments.feedbacks.rmsprop import RmsProp

FEEDBACKS: dict[str, type[Any]] = {
    "ef14": Ef14,
    "ef21": Ef21,
    "ef21_sgdm": Ef21Sgdm,
    "econtrol": EControl,
    "dgc": Dgc,
    "decayed": Decayed,
    "rmsprop": RmsProp,
}
"""By name, the dataclasses of hyperparameters; each is a `Feedback`."""


def new_feedback(
    name: str, settings: Sequence[tuple[str, float]] = (), *, step_location: StepLocation = "inside"
) -> Feedback:
    """A variant with its hyperparameters.

    Args:
        name: key of `FEEDBACKS`.
        settings: hyperparameters by name; others have their defaults.
        step_location: where the step size stands; most variants leave no choice but "outside".

    Raises:
        ValueError: no variant has the name; a hyperparameter is not among its own, given twice or out of range; or the
            variant leaves no choice where the step size stands.
    """
    if name not in FEEDBACKS:
        raise ValueError(f"unknown feedback {name!r}; known: {', '.join(FEEDBACKS)}")
    require_step_location(step_location)
    known = [field.name for field in fields(FEEDBACKS[name])]
    has_choice = "step_location" in known
    hyperparameters = [field for field in known if field != "step_location"]
    given: dict[str, Any] = {}
    for setting, value in settings:
        if setting not in hyperparameters:
            offered = ", ".join(hyperparameters) or "none"
            raise ValueError(f"feedback {name!r} has no hyperparameter {setting!r}; it has: {offered}")
        if setting in given:
            raise ValueError(f"hyperparameter {setting!r} is given twice, as {given[setting]} and {value}")
        given[setting] = value
    if has_choice:
        given["step_location"] = step_location
    feedback: Feedback = FEEDBACKS[name](**given)
    if feedback.step_location != step_location:
        raise ValueError(
            f"feedback {name!r} has no such choice: its step size stands {feedback.step_location}, "
            f"got step_location {step_location!r}"
        )
    return feedback
