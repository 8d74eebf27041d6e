from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest
import torch
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.verify.contraction.strategies import finite_tensors, star_shaped, vectors_with_count
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, END_POINT_WEIGHTS, is_star_shaped
from tests.support.hard_vectors import DTYPES

CLASSES = {**CLASS_WEIGHTS, **{f"{label}_end_point": weights for label, weights in END_POINT_WEIGHTS.items()}}
FINDER = settings(
    max_examples=1000,
    database=None,
    derandomize=True,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
)
dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@dtypes
@given(data=st.data())
@settings(max_examples=50)
def test_drawn_tensors_are_finite_and_counts_fit(dtype: torch.dtype, data: st.DataObject) -> None:
    vector, count = data.draw(vectors_with_count(dtype, max_size=20))
    assert vector.dtype == dtype
    assert bool(torch.isfinite(vector).all())
    assert 1 <= count <= vector.numel() <= 20


def has_different_subnormals(vector: Tensor) -> bool:
    magnitudes = vector.double().abs().unique()
    return int(((magnitudes > 0) & (magnitudes < torch.finfo(vector.dtype).smallest_normal)).sum()) >= 3


def has_negative_zero(vector: Tensor) -> bool:
    return bool((torch.signbit(vector) & (vector == 0)).any())


def has_ties(vector: Tensor) -> bool:
    return vector.numel() >= 4 and vector.abs().unique().numel() < vector.numel()


def is_zero(vector: Tensor) -> bool:
    return vector.numel() >= 3 and not bool(vector.any())


def is_near_the_maximum(vector: Tensor) -> bool:
    return float(vector.double().abs().max()) > torch.finfo(vector.dtype).max / 4


@dtypes
@pytest.mark.parametrize(
    "feature", [has_different_subnormals, has_negative_zero, has_ties, is_zero, is_near_the_maximum]
)
def test_hard_cases_can_be_drawn(dtype: torch.dtype, feature: Callable[[Tensor], bool]) -> None:
    assert feature(find(finite_tensors(dtype), feature, settings=FINDER))


def test_an_integer_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match=r"torch\.int32"):
        finite_tensors(torch.int32)


@pytest.mark.parametrize("name", CLASSES)
@given(data=st.data())
@settings(max_examples=50)
def test_members_are_in_their_class_sorted_and_exact(name: str, data: st.DataObject) -> None:
    squares, count = data.draw(star_shaped(CLASSES[name], min_dimension=2, max_dimension=9))
    assert is_star_shaped(squares, CLASSES[name](len(squares)))
    assert all(larger >= smaller >= 0 for larger, smaller in pairwise(squares))
    assert all(isinstance(v, Fraction) for v in squares)
    assert 1 <= count <= len(squares)


@pytest.mark.parametrize("name", CLASSES)
def test_the_extremal_vector_can_be_drawn(name: str) -> None:
    weights = CLASSES[name]
    members = star_shaped(weights, min_dimension=5, max_dimension=6)
    squares, _ = find(members, lambda case: case[0] == weights(len(case[0])), settings=FINDER)
    assert squares == weights(len(squares))


@pytest.mark.parametrize("name", CLASSES)
def test_vectors_other_than_the_extremal_one_are_drawn_too(name: str) -> None:
    members = star_shaped(CLASSES[name], min_dimension=5, max_dimension=6)
    squares, _ = find(members, lambda case: 0 < case[0][3] * 4 < case[0][2], settings=FINDER)
    assert is_star_shaped(squares, CLASSES[name](len(squares)))
