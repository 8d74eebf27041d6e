"""PEPit, with its own functions and inequalities, finds the same numbers."""

import pytest

from sparsync.verify.worst_case_rates import pepit
from sparsync.verify.worst_case_rates.answers import answer
from sparsync.verify.worst_case_rates.certify import Bound
from sparsync.verify.worst_case_rates.examples import EXAMPLES, Example
from sparsync.verify.worst_case_rates.method_file import read_method

pytest.importorskip("PEPit")
NEAR = 1e-5
"""PEPit's programmes are solved to 1e-8, with multipliers up to a hundred."""


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(each, marks=[] if each.asked.steps else pytest.mark.slow, id=f"{each.stem}-{each.asked.steps}")
        for each in EXAMPLES
    ],
)
def test_pepit_says_the_same_of_every_example(example: Example) -> None:
    method, asked = read_method(str(example.path), {}), example.asked
    own = answer(method, asked)
    assert isinstance(own.upper, Bound)
    if asked.steps is not None:
        other = pepit.worst_case(method, asked.steps)
    else:
        other = pepit.found_factor(method, own.upper) if own.made_of else pepit.named_factor(method)
    assert other == pytest.approx(own.rate, abs=NEAR)
    assert other <= own.upper.value + NEAR
