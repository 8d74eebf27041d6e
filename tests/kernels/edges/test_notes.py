"""A note beside a library that is no note of ours, whatever it holds, is written anew with the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparsync.kernels.build_cache import Made, cached, fingerprint
from sparsync.kernels.prebuilt import LIBRARY, NOTE, Origin, PrebuiltError, checked_library

MADE = Made(("cpu",), "said")
TOO_DEEP = "[" * 100_000
TEXTS = ("", "[]", "null", "5", '"x"', "NaN", "{}", "[{}]", '{"devices": ["cpu"]}', TOO_DEEP, "1" * 5000)
# Beside the right fingerprint.
FACTS: tuple[dict[str, Any], ...] = (
    {"devices": 5, "reason": ""},
    {"devices": "cpu", "reason": ""},
    {"devices": [], "reason": ""},
    {"devices": [["cpu"]], "reason": ""},
    {"devices": ["tpu"], "reason": ""},
    {"devices": ["cpu"], "reason": None},
    {"devices": ["cpu"]},
)


def made_again(target: Path) -> bool:
    """Was it made, rather than taken as it is?"""
    calls = []

    def make(scratch: Path, output: Path) -> Made:
        calls.append(scratch)
        output.write_bytes(b"made")
        return MADE

    assert cached(target, make) == MADE
    return bool(calls)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20])
def test_a_note_that_says_something_else_is_made_anew_once(text: str, tmp_path: Path) -> None:
    target = tmp_path / "library.so"
    assert [made_again(target), made_again(target)] == [True, False]
    target.with_suffix(".json").write_text(text)
    assert [made_again(target), made_again(target)] == [True, False]


@pytest.mark.parametrize("facts", FACTS, ids=str)
def test_a_note_of_the_right_bytes_that_says_nonsense_is_made_anew_once(facts: dict[str, Any], tmp_path: Path) -> None:
    target = tmp_path / "library.so"
    made_again(target)
    target.with_suffix(".json").write_text(json.dumps({**facts, **fingerprint(target)}))
    assert [made_again(target), made_again(target)] == [True, False]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
def test_no_json_is_taken_for_a_note_by_chance(value: Any, tmp_path: Path) -> None:
    target = tmp_path / "library.so"
    made_again(target)
    target.with_suffix(".json").write_text(json.dumps(value))
    assert made_again(target)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20])
def test_such_a_note_of_a_library_that_came_with_the_package_is_said_to_be_unreadable(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / LIBRARY).write_bytes(b"made")
    (tmp_path / NOTE).write_text(text)
    with pytest.raises(PrebuiltError, match="cannot be read"):
        checked_library(tmp_path, Origin("0" * 16, (2, 10)), "2.13.0")
