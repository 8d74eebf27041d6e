"""The closed forms are those of the statements, and no plan by the tight rate is quicker than they say."""

from __future__ import annotations

from typing import Any

import pytest

from sparsync.experiments.studies.planning import density_rates
from sparsync.experiments.studies.planning.density_rates import GAINS
from sparsync.theory.statements import STATEMENTS


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(density_rates, "LINK_RATIOS", (0.1, 1.0, 30.0, 1000.0))
        return density_rates.density_rates(2000)


def test_stated_seconds_are_those_of_the_statement(rows: list[dict[str, Any]]) -> None:
    within = [row for row in rows if row["stated_density"] < 1]
    assert within
    for row in within:
        least = STATEMENTS["best_density"].evaluate(
            dense_seconds=row["link_ratio"], entry_gain=GAINS[row["law"]], fixed_seconds=1, whole_steps=1
        )
        ring = 1 + row["link_ratio"] / row["workers"]
        assert row["stated_over_ring"] == pytest.approx(least / ring, rel=1e-14)


def test_the_best_density_is_quicker_than_the_ring_beyond_the_stated_link_only(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        is_beyond = row["overtakes_at"] is not None and row["link_ratio"] > row["overtakes_at"]
        assert (row["stated_over_ring"] < 1) == is_beyond


def test_the_tight_rate_asks_for_no_fewer_seconds(rows: list[dict[str, Any]]) -> None:
    # Steps are whole, some two hundred of them without compression; and messages have headers.
    assert all(row["seconds_over_ring"] >= (1 - 0.01) * row["stated_over_ring"] for row in rows)


def test_the_synchronous_share_grows_with_the_workers_but_not_beyond_its_limit() -> None:
    few, many = density_rates.switches()
    assert 0 < few["synchronous"] < many["synchronous"] < few["limit_share"] == many["limit_share"]
    assert few["order"] == many["order"] == "synchronous_first"
    assert few["seconds_over_synchronous"] < 1 < few["seconds_over_asynchronous"]
