"""What is no number that a rule can take is refused in the same words by every call, before anything has changed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.kernels import reference
from sparsync.kernels.given_numbers import is_threshold, shown
from sparsync.kernels.native import feedback_select, feedback_select_many

# Only float32 residuals have a native op, others take the definition.
DTYPES = (torch.float32, torch.float64)
NO_THRESHOLDS: dict[str, tuple[Any, str]] = {
    "digits": ("1", "got '1'"),
    "bytes": (b"1", "got b'1'"),
    "complex": (1j, "got 1j"),
    "a list": ([1.0], r"got \[1\.0\]"),
    "many entries": (torch.ones(2), r"got tensor\(\[1\., 1\.\]\)"),
    "beyond float64": (10**400, "got an int of 1329 bits"),
    "beyond what Python prints": (10**5000, "got an int of 16610 bits"),
    "so far below": (-(10**400), "got an int of 1329 bits"),
    "not finite": (math.inf, "got inf"),
}
no_threshold = pytest.mark.parametrize(("least", "message"), NO_THRESHOLDS.values(), ids=NO_THRESHOLDS)


@pytest.mark.parametrize("dtype", DTYPES)
@no_threshold
def test_what_is_no_threshold_is_named(least: Any, message: str, dtype: torch.dtype) -> None:
    residual = torch.ones(4, dtype=dtype)
    with pytest.raises(ValueError, match=f"rule 'threshold' needs a finite threshold of at least 0, {message}"):
        feedback_select(torch.ones(4, dtype=dtype), residual, 1, rule="threshold", threshold=least)
    with pytest.raises(ValueError, match=f"needs a finite threshold of at least 0, {message}"):
        feedback_select_many([torch.ones(4, dtype=dtype)], [residual], [1], rule="threshold", thresholds=[least])
    assert residual.tolist() == [1.0] * 4


@no_threshold
def test_what_is_no_threshold_is_named_by_the_selector_too(least: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"the threshold must be finite and at least 0, {message}"):
        reference.threshold(torch.ones(4), least)


@pytest.mark.parametrize("rule", [["x"], {}, None, 0], ids=repr)
def test_what_is_no_rule_is_named(rule: Any) -> None:
    residual = torch.ones(4)
    for call in (
        lambda: feedback_select(torch.ones(4), residual, 1, rule=rule),
        lambda: feedback_select_many([torch.ones(4)], [residual], [1], rule=rule),
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            call()
        assert str(caught.value).startswith(f"unknown rule {rule!r}; known: top_k, ")
    assert residual.tolist() == [1.0] * 4


@pytest.mark.parametrize("arguments", [{"k": 10**5000}, {"k": 1, "capacity": -(10**5000)}], ids=["k", "capacity"])
def test_a_count_that_python_does_not_print_is_refused_with_its_length(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="got an int of 16610 bits"):
        feedback_select(torch.ones(4), torch.ones(4), **arguments)


def test_a_count_of_a_selector_that_python_does_not_print_is_refused_with_its_length() -> None:
    with pytest.raises(ValueError, match="1 <= k <= d = 4, got an int of 16610 bits"):
        reference.top_k(torch.ones(4), 10**5000)


@given(number=st.one_of(st.integers(), st.floats(), st.fractions(), st.booleans()))
def test_a_number_is_a_threshold_iff_its_float_is_finite_and_not_negative(number: float | Fraction) -> None:
    assert is_threshold(number) == (math.isfinite(number) and number >= 0)


@given(number=st.integers(min_value=-(2**64) + 1, max_value=2**64 - 1))
def test_an_int_of_64_bits_is_shown_in_digits(number: int) -> None:
    assert shown(number) == str(number)


@pytest.mark.parametrize("least", [1e39, 10**39, 10**308])
def test_a_threshold_beyond_float32_selects_nothing_from_float32_and_what_is_there_from_float64(least: float) -> None:
    for dtype in DTYPES:
        vector = torch.tensor([0.25, 0.5], dtype=dtype) * torch.finfo(dtype).max
        payload = feedback_select(vector, torch.zeros_like(vector), 1, rule="threshold", threshold=least)
        expected = [index for index, entry in enumerate(vector.tolist()) if entry >= float(least)]
        assert payload.indices.tolist() == expected
        assert reference.threshold(vector, least).indices.tolist() == expected
