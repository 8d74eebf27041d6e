"""Traces are compared by a hash that sees every field."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from sparsync.verify.monitors.trace import EVENTS, Event, trace_hash
from tests.support.written_traces import EVERY_KIND as ALL


def test_every_kind_of_event_is_named_and_tried() -> None:
    assert {type(event) for event in ALL} == set(EVENTS.values()) == set(get_args(Event))


@pytest.mark.parametrize("place", range(len(ALL)), ids=lambda place: type(ALL[place]).__name__)
def test_the_hash_sees_every_field_and_the_order(place: int) -> None:
    event = ALL[place]
    changes: list[dict[str, Any]] = [{name: 77} for name in event._fields]
    variants = [[*ALL[:place], event._replace(**change), *ALL[place + 1 :]] for change in changes]
    moved = [*ALL[:place], *ALL[place + 1 :], event] if place + 1 < len(ALL) else ALL[:-1]
    hashes = {trace_hash(variant) for variant in (ALL, moved, *variants)}
    assert len(hashes) == len(event._fields) + 2
