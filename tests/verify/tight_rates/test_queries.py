from collections.abc import Callable
from dataclasses import replace

import pytest
import sympy

from sparsync.theory.language.symbols import epsilon
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tight_rates import queries
from sparsync.verify.tight_rates.queries import SPREAD, THETA, R, S, stated
from sparsync.verify.tools.smt import Query, decide

MAKERS = [
    queries.feedback_queries,
    queries.feedback_21_queries,
    queries.step_queries,
    queries.descent_queries,
    queries.small_delta_queries,
]


@pytest.mark.parametrize("make", MAKERS)
def test_two_solvers_prove_each_claim_and_refute_its_twin(make: Callable[[], tuple[Query, ...]]) -> None:
    assert [query.claim for query in make() if not decide(query)] == []


@pytest.mark.parametrize("make", MAKERS)
def test_no_twin_passes_as_a_claim(make: Callable[[], tuple[Query, ...]]) -> None:
    assert [query.claim for query in make() if decide(replace(query, conclusion=query.false_twin))] == []


@pytest.mark.parametrize("label", ["ef_tight_rate", "ef21_tight_rate"])
def test_the_rate_is_the_square_of_theta(label: str) -> None:
    assert stated(label, SPREAD) == THETA**2


def test_the_rate_of_compressed_descent_adds_s_and_r_like_velocities() -> None:
    assert sympy.cancel(stated("compressed_descent_rate", R) - ((R + S) / (1 + R * S)) ** 2) == 0


def test_the_step_size_is_that_of_descent_times_a_factor_of_s() -> None:
    assert sympy.cancel(stated("ef_tight_step", R) - (1 - S) / (1 + S)) == 0


def test_a_denominator_whose_sign_is_not_visible_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = STATEMENTS["ef_tight_step"]
    wrong = right.bound / (3 * sympy.sqrt(epsilon) - 1)
    monkeypatch.setitem(STATEMENTS, "ef_tight_step", replace(right, relation=sympy.Eq(right.relation.lhs, wrong)))
    with pytest.raises(ValueError, match="sign of the denominator"):
        queries.step_queries()
