"""What Top-k captures, in doubles: the statements' own numbers, and curves that bend as they must."""

from __future__ import annotations

import numpy
import pytest

from sparsync.experiments.planners.parts.captured import CAPTURES, captured_share
from sparsync.theory.statements import STATEMENTS

DENSITIES = numpy.geomspace(1e-9, 1, 200)


@pytest.mark.parametrize("label", CAPTURES)
def test_a_share_is_one_less_the_ratio_of_its_statement(label: str) -> None:
    count, dimension = 3, 10**6
    statement = STATEMENTS[label]
    in_counts = "k" in {symbol.name for symbol in statement.parameters}
    numbers = {"k": count, "d": dimension} if in_counts else {"kappa": count / dimension}
    expected = 1 - statement.evaluate(**numbers)
    found = captured_share(label)(numpy.array([count / dimension]))[0]
    # Of 1 − ε, ε as a double has lost what lies below 1e-16.
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("label", CAPTURES)
def test_shares_grow_to_one_and_each_entry_adds_less_than_the_one_before(label: str) -> None:
    shares = captured_share(label)(DENSITIES)
    assert shares[-1] == pytest.approx(1, rel=1e-15)
    assert (numpy.diff(shares) > 0).all()
    gains = numpy.diff(shares) / numpy.diff(DENSITIES)
    # Straight lines bend by roundings only.
    assert (numpy.diff(gains) <= 1e-12 * gains[:-1]).all()


def test_a_statement_that_gives_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="'residual_bound'"):
        captured_share("residual_bound")
