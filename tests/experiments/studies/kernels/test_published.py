"""The published rules are timed on what they are defined to be: the lean versions select the same entries."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from sparsync.experiments.studies.kernels.laws import LAWS, drawn_case
from sparsync.experiments.studies.kernels.published import PUBLISHED, PublishedRule
from sparsync.kernels.selection import SELECTORS


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("dimension", "density"), [(50, 0.5), (3000, 0.05), (200_000, 0.001), (200_000, 0.3)])
@pytest.mark.parametrize("rule", PUBLISHED)
def test_a_published_rule_is_timed_as_it_is_defined(
    rule: PublishedRule, dimension: int, density: float, law: str
) -> None:
    """Up to which of equal magnitudes, and what lies between a threshold and the same with a mean rounded to float32.

    Both draw the sample's first place from torch's own generator.
    """
    case = drawn_case(law, dimension, density, device=torch.device("cpu"))
    (residual,), (gradient,) = case.step(0)
    corrected = residual + gradient
    torch.manual_seed(3)
    expected = Counter(SELECTORS[rule](corrected, case.target_counts[0]).values.abs().tolist())
    torch.manual_seed(3)
    found = Counter(corrected[PUBLISHED[rule](case, corrected)].abs().tolist())
    differences = (found - expected).total() + (expected - found).total()
    assert differences <= max(1, expected.total() // 1000)
