"""Which wrong statements about delay and staleness must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: an index off by one, a sign, the views of other workers forgotten. Ours.
"""

import sympy

from sparsync.theory.language.symbols import T, beta, eta, lipschitz, n, radius, staleness, tau
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.ledger.mutation import Mutant, wrong_bound

MUTANTS: dict[str, Mutant] = {
    "delayed_descent_limit_less": wrong_bound(
        "delayed_descent_limit",
        "2τ − 1 for 2τ + 1",
        lambda _bound: 2 * sympy.sin(sympy.pi / (2 * (2 * tau - 1))),
        "rational",
        "property",
    ),
    "delayed_descent_limit_more": wrong_bound(
        "delayed_descent_limit", "τ + 1 for τ", lambda bound: bound.subs(tau, tau + 1), "rational", "property"
    ),
    "delayed_momentum_limit_sign": wrong_bound(
        "delayed_momentum_limit",
        "1 + β for 1 − β",
        lambda bound: bound.subs((1 - beta) ** 2, (1 + beta) ** 2),
        "rational",
    ),
    "reports_in_turn_limit_worker": wrong_bound(
        "reports_in_turn_limit",
        "n + 1 for n, the worker itself counted among the others",
        lambda bound: bound.subs(n, n + 1),
        "rational",
        "ball",
        "property",
    ),
    "reports_in_turn_limit_shared": wrong_bound(
        "reports_in_turn_limit",
        "one heavy ball for all workers",
        lambda _bound: n * STATEMENTS["delayed_momentum_limit"].bound.subs(tau, n - 1),
        "rational",
        "ball",
        "property",
        "simulated",
    ),
    "delayed_descent_rate_more": wrong_bound(
        "delayed_descent_rate", "τ + 1 for τ", lambda bound: bound.subs(tau, tau + 1), "rational", "property"
    ),
    "ssp_gap_strict": wrong_bound("ssp_gap", "s for s + 1", lambda _bound: staleness, "property"),
    "ssp_recursion_workers": wrong_bound(
        "ssp_recursion", "s for s + 1", lambda _bound: sympy.Min(n, staleness), "property"
    ),
    "ssp_throughput_fraction": wrong_bound(
        "ssp_throughput", "2s + 1 for 2s + 3", lambda _bound: (4 * staleness + 4) / (2 * staleness + 1), "rational"
    ),
    "ssp_views_staleness": wrong_bound(
        "ssp_views", "2s for 2s + 1", lambda _bound: n * (n - 1) * staleness, "rational", "property"
    ),
    "ssp_regret_fixed_step_delay": wrong_bound(
        "ssp_regret_fixed_step",
        "no delay",
        lambda _bound: radius**2 / eta + eta * lipschitz**2 * T / 2,
        "smt",
        "property",
    ),
    "ssp_regret_optimised_once": wrong_bound(
        "ssp_regret_optimised",
        "s for 2s + 1",
        lambda _bound: radius * lipschitz * sympy.sqrt(2 * (1 + staleness * (n - 1)) * T),
        "smt",
        "numeric",
        "property",
    ),
    "ssp_regret_one": wrong_bound(
        "ssp_regret", "1 for 2, as if views cost nothing", lambda bound: bound / 2, "smt", "numeric", "property"
    ),
    "ssp_regret_decaying_half": wrong_bound(
        "ssp_regret_decaying",
        "every pair paid for by half",
        lambda bound: bound.subs(staleness, (staleness - sympy.Rational(1, 2)) / 2),
        "ball",
        "simulated",
    ),
    "ssp_regret_decaying_place": wrong_bound(
        "ssp_regret_decaying",
        "n²/4 left out, as if the order in a round did not matter",
        lambda bound: bound.subs(sympy.floor(n**2 / 4), 0),
        "ball",
    ),
}
"""Every mutant of these statements, by name."""
