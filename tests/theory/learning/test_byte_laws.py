"""Bytes of private learning: by hand, where they cross, and with a broken count."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import d, n, value_bytes
from sparsync.theory.learning import byte_laws
from sparsync.theory.statements import STATEMENTS

SPLIT = {"cut_values": 32, "value_bytes": 4, "label_bytes": 1, "n": 4, "passed_count": 100}


def test_an_epoch_by_hand() -> None:
    assert STATEMENTS["split_epoch_bytes"].fraction(example_count=10, **SPLIT) == 10 * (2 * 32 * 4 + 1) + 4 * 100 * 4
    assert STATEMENTS["federated_epoch_bytes"].fraction(n=4, d=1000, round_count=3, value_bytes=2) == 48_000
    batches = {"d": 1000, "value_bytes": 2, "example_count": 60, "total_batch": 20}
    assert STATEMENTS["large_batch_epoch_bytes"].fraction(n=4, **batches) == 48_000
    assert STATEMENTS["ring_epoch_bytes"].fraction(n=4, **batches) == 36_000


def test_one_worker_alone_sends_nothing_on_a_ring() -> None:
    assert STATEMENTS["ring_epoch_bytes"].fraction(n=1, d=9, value_bytes=4, example_count=6, total_batch=2) == 0


def test_without_labels_and_sizes_the_crossover_is_the_known_one() -> None:
    numbers = {"n": 100, "d": 1000, "passed_count": 250, "round_count": 1, "cut_values": 50, "value_bytes": 4}
    # K N (2 − η) > 2 p q with η = 1/4.
    found = STATEMENTS["split_federated_crossover"].fraction(label_bytes=0, **numbers)
    assert found == Fraction(100 * 1000 * 7, 4 * 2 * 50)


def test_where_all_is_handed_on_and_averaged_every_other_epoch_split_learning_never_sends_less() -> None:
    numbers = {"n": 3, "d": 8, "passed_count": 8, "round_count": Fraction(1, 2), "cut_values": 1, "value_bytes": 4}
    assert STATEMENTS["split_federated_crossover"].fraction(label_bytes=1, **numbers) == 0


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("split_epoch_bytes", "_split_total", lambda: sympy.Integer(0)),
        ("federated_epoch_bytes", "_both_ways", lambda: d * value_bytes),
        ("ring_epoch_bytes", "_ring_traffic", lambda: n * d * value_bytes),
        ("split_federated_crossover", "_excess", lambda _examples: sympy.Integer(1)),
    ],
)
def test_a_broken_count_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(byte_laws, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
