"""Which options of a hook are none, and which do not go together? Asked before anything is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparsync.experiments.feedbacks.feedback import Feedback
from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.experiments.hooks.treatments import require_density
from sparsync.kernels.codec_values import VALUE_CODES
from sparsync.kernels.selection import SELECTORS


def require_selector(selector: str) -> None:
    """Refuse a rule that nobody knows.

    Raises:
        ValueError: it is no key of `SELECTORS`.
    """
    if selector not in SELECTORS:
        raise ValueError(f"unknown selector {selector!r}; known: {', '.join(SELECTORS)}")


def require_granularity(granularity: str, known: Sequence[str]) -> None:
    """Refuse one that a hook does not offer.

    Raises:
        ValueError: it is not among the known ones.
    """
    if granularity not in known:
        raise ValueError(f"granularity must be one of {', '.join(known)}, got {granularity!r}")


def require_schedule(density: object, dense_steps: int) -> None:
    """Refuse a density, or a number of steps without one, that is none; a function is asked at every step.

    Raises:
        ValueError: the density is neither a function nor a number in (0, 1], or `dense_steps` is negative.
    """
    if dense_steps < 0:
        raise ValueError(f"dense_steps must be at least 0, got {dense_steps}")
    if not callable(density):
        require_density(density, "density")


def require_clipping(clip_norm: float | None, clip: str, non_finite: str) -> None:
    """Refuse a norm or a treatment of gradients that is none.

    Raises:
        ValueError: the norm is not positive and finite, or one of the others is unknown.
    """
    if clip_norm is not None and not 0 < clip_norm < float("inf"):
        raise ValueError(f"clip_norm must be positive and finite, got {clip_norm}")
    if clip not in ("local", "global") or non_finite not in ("raise", "skip"):
        raise ValueError(f"clip must be local or global, non_finite raise or skip, got {clip!r}, {non_finite!r}")


def chosen_feedback(name: str, settings: Mapping[str, float] | None, *, selector: str, values: str) -> Feedback:
    """The variant, with its step size outside: a hook does not know it.

    Args:
        name: a key of `FEEDBACKS`.
        settings: its hyperparameters; others have their defaults.
        selector: of the hook.
        values: of the hook, a key of `VALUE_CODES`.

    Raises:
        ValueError: a name is unknown, a hyperparameter is not one of the variant or out of range; or everything is
            sent, as plain DDP does, and the variant or the code would change nothing.
    """
    feedback = new_feedback(name, tuple((settings or {}).items()), step_location="outside")
    if values not in VALUE_CODES:
        raise ValueError(f"unknown value code {values!r}; known: {', '.join(VALUE_CODES)}")
    if selector == "keep_all" and name != "ef14":
        raise ValueError(
            f"selector 'keep_all' is plain DDP, which has no memory, so feedback {name!r} would change nothing; "
            "density=1.0 sends everything through it"
        )
    if selector == "keep_all" and values != "exact":
        raise ValueError(
            f"selector 'keep_all' is plain DDP, which has no residual for what values={values!r} loses; "
            "density=1.0 sends everything with one"
        )
    return feedback


def require_updates(feedback: Feedback, name: str, *, dense_steps: int, rules: Mapping[str, object]) -> None:
    """Refuse gradients beside the updates that a variant makes: one step size does not serve both.

    Args:
        feedback: the variant.
        name: of it.
        dense_steps: so many steps at first deliver mean gradients.
        rules: by which an excluded parameter keeps its own gradient.

    Raises:
        ValueError: there are such steps, or there is such a rule.
    """
    if feedback.is_update and dense_steps:
        raise ValueError(f"feedback {name!r} makes updates, and dense_steps={dense_steps} would deliver gradients")
    if feedback.is_update and "excluded" in rules.values():
        raise ValueError(f"feedback {name!r} makes updates, and rule 'excluded' would leave gradients")
