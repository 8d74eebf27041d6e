"""What is said about the hypotheses of a statement, in the twin of the module that states it? Ours."""

from importlib import import_module
from typing import Any

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.ledger.checks import checking_module
from sparsync.verify.tools.edges import Remark


def remarks(label: str) -> tuple[Remark, ...]:
    """`EDGES`: points just beyond the conditions of its domain, and why some conditions are not needed."""
    return tuple(_said("EDGES", label, ()))


def slack(label: str) -> dict[str, str]:
    """`SLACK`: by the name of an assumption, why its number may be a little other and no grade is lost."""
    return dict(_said("SLACK", label, {}))


def _said(name: str, label: str, nothing: object) -> Any:
    return getattr(import_module(checking_module(STATEMENTS[label])), name, {}).get(label, nothing)
