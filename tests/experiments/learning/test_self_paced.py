"""Self-paced learning descends, ends where another solver does, and has the same bits wherever its batches live."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from functools import partial
from itertools import pairwise

import cvxpy
import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.learning.consensus import Batch, BatchModel
from sparsync.experiments.learning.proposals import Selection
from sparsync.experiments.learning.regression import Regression, make_task
from sparsync.experiments.learning.self_paced import Options, Round, SelfPaced
from sparsync.experiments.parties.party import Party
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.experiments.training.slices import shares
from sparsync.theory.statements import STATEMENTS
from tests.support.workers import run_workers

SMALL = Regression(batch_count=5, corrupted_count=2, feature_count=6, example_count=150)
QUICK = Options(round_count=6, step_count=15, tolerance=1e-9)
TOP_K = Selection(density=0.34)


def batches_of(regression: Regression = SMALL) -> list[Batch]:
    return make_task(regression).batches


def solver_of(batches: list[Batch], options: Options = QUICK) -> SelfPaced:
    collective = "dense" if options.selection is None else "sparse"
    return SelfPaced(batches, LocalAverager(collective), options=options)


def learned(batches: list[Batch], options: Options = QUICK) -> list[Round]:
    return list(solver_of(batches, options).rounds())


def slope(batches: list[Batch], model: Tensor, weights: list[Tensor]) -> Tensor:
    """∇F(z) of F(z) = Σ_j v_j(x_j·z − y_j)² + ‖z‖²; F is 2-strongly convex, so ‖z − z*‖ ≤ ‖∇F(z)‖/2."""
    total = 2 * model
    for batch, weight in zip(batches, weights, strict=True):
        total = total + 2 * batch.features.T @ (weight * (batch.features @ model - batch.targets))
    return total


def weights_at(batches: list[Batch], model: Tensor, pace: float) -> list[Tensor]:
    return [((batch.features @ model - batch.targets).square() < pace).double() for batch in batches]


def reference(batches: list[Batch], weights: list[Tensor]) -> Tensor:
    """cvxpy's minimiser of F with the weights frozen."""
    model = cvxpy.Variable(batches[0].features.shape[1])
    losses = [
        weight.numpy() @ (batch.features.numpy() @ model - batch.targets.numpy()) ** 2
        for batch, weight in zip(batches, weights, strict=True)
        if batch.example_count
    ]
    problem = cvxpy.Problem(cvxpy.Minimize(sum(losses) + (model**2).sum()))
    problem.solve(solver=cvxpy.CLARABEL)  # type: ignore[no-untyped-call]  # not annotated by cvxpy
    assert model.value is not None
    return torch.from_numpy(model.value)


def test_a_round_ends_where_cvxpy_does_and_the_printed_step_does_not() -> None:
    """Within the tolerance of the round and cvxpy's own: its slope is that of a gap of 1e-8 of the objective."""
    batches = batches_of()
    once = replace(QUICK, penalty=10.0, step_count=200, tolerance=1e-5)
    *_, before, last = learned(batches, replace(once, round_count=3))
    assert last.pace is not None
    weights = weights_at(batches, before.consensus, last.pace)
    assert last.selected_count == sum(int(weight.sum()) for weight in weights)
    found = reference(batches, weights)
    reach = float(slope(batches, found, weights).norm()) / 2
    assert reach < 1e-3
    assert last.is_settled
    assert float((last.consensus - found).norm()) <= last.distance_bound + reach
    ones = [torch.ones_like(batch.targets) for batch in batches]
    (printed,) = learned(batches, replace(once, round_count=1, z_step="printed"))
    missed = float((printed.consensus - reference(batches, ones)).norm())
    assert 1e-3 < missed <= printed.distance_bound
    assert not printed.is_settled


def test_a_round_does_not_settle_far_from_its_optimum_whatever_the_scale() -> None:
    """Small residuals are no proof: with a feature in other units, or a penalty that is far too large."""
    batches = batches_of()
    units = torch.tensor([1000.0, 1, 1, 1, 1, 1], dtype=torch.float64)
    scaled = [Batch(batch.features * units, batch.targets) for batch in batches]
    for these, penalty in ((scaled, None), (batches, 1e9)):
        (found,) = learned(these, Options(penalty=penalty, round_count=1, step_count=40, tolerance=1e-4))
        ones = [torch.ones_like(batch.targets) for batch in these]
        features, targets = torch.cat([one.features for one in these]), torch.cat([one.targets for one in these])
        best = torch.linalg.solve(features.T @ features + torch.eye(6, dtype=torch.float64), features.T @ targets)
        missed = float((found.consensus - best).norm())
        # `best` has roundings of its own, far below any of these distances.
        assert 0 < missed <= found.distance_bound <= float(slope(these, found.consensus, ones).norm()) / 2 * (1 + 1e-5)
        assert missed > 1e-4
        assert not found.is_settled
        assert found.steps[-1].residual <= 1e-4


def test_looks_are_few_and_their_bytes_are_counted() -> None:
    """A look is a vector of p + 2 numbers of each batch, in an envelope as a proposal is."""
    (found,) = learned(batches_of(), Options(round_count=1, step_count=400, tolerance=1e-8))
    sizes = [step.sent_bytes for step in found.steps]
    looked = [step.sent_bytes for step in found.steps if step.distance_bound is not None]
    assert found.is_settled
    assert 1 <= len(looked) <= 4
    assert all(size - sizes[0] >= 5 * 8 * 8 for size in looked)
    assert len({step.sent_bytes for step in found.steps if step.distance_bound is None}) == 1


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    batch_count=st.integers(1, 5),
    example_count=st.integers(0, 40),
    growth=st.floats(1, 2),
    step_count=st.integers(1, 8),
)
def test_the_lagrangian_never_rises(
    seed: int, batch_count: int, example_count: int, growth: float, step_count: int
) -> None:
    """Within rounds of any length and from each to the next; with batches that are empty, or narrower than wide."""
    regression = Regression(
        batch_count=batch_count,
        corrupted_count=batch_count // 2,
        feature_count=3,
        example_count=example_count,
        seed=seed,
    )
    options = Options(pace_growth=growth, round_count=5, step_count=step_count, tolerance=0)
    solver = solver_of(batches_of(regression), options)
    assert solver.is_penalty_sufficient
    for found in solver.rounds():
        assert found.violation_count == 0
        assert bool(found.consensus.isfinite().all())


def test_a_round_begins_at_its_objective_and_old_multipliers_would_let_it_rise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the last round has ended, z stays, and L rises by (ρ − h)/2·‖Δw‖² if α is that of the old weights."""
    batches, options = batches_of(), replace(QUICK, round_count=2, step_count=60, penalty=200.0)
    first, second = learned(batches, options)
    losses = torch.cat([(batch.features @ first.consensus - batch.targets).square() for batch in batches])
    pace = options.pace * options.pace_growth
    objective = float((losses[losses < 0.1] - pace).sum() + first.consensus.square().sum())
    assert abs(second.start - objective) <= second.start_allowance
    assert first.start_rise == -torch.inf
    monkeypatch.setattr(BatchModel, "begin", lambda model, _consensus: setattr(model, "_before", None))
    _, kept = learned(batches, options)
    assert kept.steps[0].is_violation


def test_what_was_not_sent_explains_a_rise_that_roundings_do_not() -> None:
    """As bounded by `admm_compressed_step`; a residual of proposals, which are no changes, makes it rise for ever."""
    options = replace(QUICK, round_count=2, step_count=60, selection=replace(TOP_K, memory="ef14"))
    for found in learned(batches_of(), options):
        assert found.violation_count == 0
        assert any(step.rise > step.allowance for step in found.steps)


def test_the_printed_step_is_caught_and_so_is_a_small_penalty() -> None:
    """Two batches with opposite targets show that no smaller penalty would do."""
    assert sum(found.violation_count for found in learned(batches_of(), replace(QUICK, z_step="printed"))) > 0
    one = torch.ones(1, 1, dtype=torch.float64)
    opposite = [Batch(one, one[0]), Batch(one, -one[0])]
    for part, rises in ((0.9, True), (1.0, False)):
        solver = solver_of(opposite, Options(penalty=part * Batch(one, one[0]).curvature(), pace=9, last_pace=9))
        solver._models[0].begin(torch.ones(1, dtype=torch.float64))
        solver._models[1].begin(-torch.ones(1, dtype=torch.float64))
        solver._watch = solver._lagrangian()
        first = next(solver._steps(0))
        assert first.is_violation is rises
        assert (first.rise > 0) is rises
        assert solver.is_penalty_sufficient is not rises


def test_examples_have_weight_where_their_loss_is_below_a_pace_that_grows() -> None:
    batches, options = batches_of(), replace(QUICK, round_count=12, pace_growth=1.5, last_pace=0.4)
    rounds = learned(batches, options)
    assert [found.pace for found in rounds][:6] == [None, 0.1, 0.1 * 1.5, 0.1 * 1.5 * 1.5, 0.1 * 1.5**3, 0.4]
    assert rounds[0].selected_count == sum(batch.example_count for batch in batches)
    for before, found in pairwise(rounds):
        assert found.pace is not None
        assert found.selected_count == sum(
            int(weight.sum()) for weight in weights_at(batches, before.consensus, found.pace)
        )


def test_it_ends_when_nothing_changes_at_the_last_pace() -> None:
    batches = batches_of()
    rounds = learned(batches, Options(pace=0.5, last_pace=0.5, round_count=50))
    assert 2 < len(rounds) < 50
    before, after = (weights_at(batches, found.consensus, 0.5) for found in rounds[-2:])
    assert all(torch.equal(one, two) for one, two in zip(before, after, strict=True))
    assert rounds[-1].is_settled
    assert rounds[-1].steps[-1].distance_bound == rounds[-1].distance_bound <= 1e-6


def test_where_nothing_is_selected_the_model_goes_to_zero() -> None:
    """Only ‖z‖² is left: z ← θz, and no NaN."""
    solver = solver_of(batches_of(), Options(pace=1e-30, last_pace=1e-30, round_count=3, step_count=4, tolerance=0))
    _, second, third = solver.rounds()
    assert (second.selected_count, third.selected_count) == (0, 0)
    share = solver.penalty * 5 / (2 + solver.penalty * 5)
    # A product and a w-step of a few roundings at each of the four steps.
    assert torch.allclose(third.consensus, share**4 * second.consensus, rtol=200 * 2.0**-53, atol=0)
    assert third.violation_count == 0


def test_corrupted_batches_are_left_out() -> None:
    """Of the examples that have weight in the end hardly any was moved, and the model is nearer by a factor."""
    task = make_task(replace(SMALL, example_count=1500, corrupted_count=3))
    rounds = learned(task.batches, Options(tolerance=1e-4))
    before, after = (task.recovery_error(found.consensus) for found in (rounds[0], rounds[-1]))
    assert before is not None
    assert after is not None
    assert after < before / 4


def test_estimates_lead_to_the_same_model_and_a_selection_without_memory_does_not() -> None:
    """Both are settled within 1e-9 of one optimum, and so within 2e-9 of each other."""
    batches = batches_of()
    once = replace(QUICK, round_count=1, step_count=400, tolerance=1e-9)
    (whole,) = learned(batches, once)
    (found,) = learned(batches, replace(once, selection=TOP_K))
    assert whole.is_settled
    assert found.is_settled
    assert float((whole.consensus - found.consensus).norm()) <= 2e-9
    assert found.violation_count == 0
    for memory in ("none", "ef14"):
        (lost,) = learned(batches, replace(once, step_count=60, selection=replace(TOP_K, memory=memory)))
        assert not lost.is_settled
        assert float((lost.consensus - whole.consensus).norm()) > 1e-3


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 6))
def test_with_the_damping_stated_the_lagrangian_and_the_errors_fall_together(seed: int, count: int) -> None:
    """L + bE with the weight b of `admm_compressed_damping`, at every step, for Top-k with any k."""
    batches, delta, n = batches_of(replace(SMALL, seed=seed)), count / 6, 5
    options = replace(QUICK, round_count=1, step_count=25, tolerance=0)
    rho = solver_of(batches).penalty
    if count == 6:
        gamma, root = 1.0, 0.0
    else:
        gamma = STATEMENTS["admm_compressed_damping"].evaluate(delta=delta, n=n, penalty=rho)
        root = (1 - delta) ** 0.5
    weight = rho * gamma * (rho * n / (2 + rho * n)) / (2 * (2 - gamma) * (1 - root))
    selection = Selection(density=delta)
    (found,) = learned(batches, replace(options, damping=gamma, penalty=rho, selection=selection))
    # A step's error is known before its z; L after it belongs with the error of the next.
    values = [
        (step.lagrangian + weight * n * later.error_energy, step.allowance) for step, later in pairwise(found.steps)
    ]
    for (before, _), (after, allowance) in pairwise(values):
        # L + bE: a product and a sum each time, and the roundings of E, a mean of norms of six numbers.
        assert after - before <= allowance + 40 * 2.0**-53 * (abs(before) + abs(after))


def distributed(batch_count: int) -> list[tuple[list[float], list[float]]]:
    """Model and Lagrangian of a rank whose batches share the work, whole and selected."""
    rank, size = dist.get_rank(), dist.get_world_size()
    own = shares(batch_count, size)[rank]
    batches = [batches_of()[place] for place in own]
    found = []
    for selection in (None, TOP_K):
        averager = Party(rank, size).averager("sparse" if selection else "dense", worker_count=batch_count)
        options = replace(QUICK, round_count=2, step_count=6, selection=selection)
        solver = SelfPaced(batches, averager, batch_count=batch_count, first_rank=own.start, options=options)
        trace = [step.lagrangian for one in solver.rounds() for step in one.steps]
        found.append((solver.consensus.tolist(), trace))
    return found


@pytest.mark.parametrize("process_count", [pytest.param(2, marks=pytest.mark.slow), 4])
def test_the_bits_do_not_depend_on_the_number_of_processes(process_count: int) -> None:
    """Five batches on two and on four real processes, and in this one."""
    here = []
    for selection in (None, TOP_K):
        solver = solver_of(batches_of(), replace(QUICK, round_count=2, step_count=6, selection=selection))
        trace = [step.lagrangian for one in solver.rounds() for step in one.steps]
        here.append((solver.consensus.tolist(), trace))
    assert run_workers(partial(distributed, 5), process_count) == [here] * process_count


def left_alone() -> str:
    """What a rank says whose neighbour dies in the second round."""
    rank = dist.get_rank()
    averager = Party(rank, 2, timeout_seconds=20).averager("dense")
    solver = SelfPaced([batches_of()[rank]], averager, batch_count=2, first_rank=rank, options=QUICK)
    try:
        for index, _ in enumerate(solver.rounds()):
            if rank and index:
                os.kill(os.getpid(), signal.SIGKILL)
    except ExchangeError as error:
        return f"lost: {error}"
    return "went on"


def test_who_loses_a_neighbour_says_so() -> None:
    survivor, _ = run_workers(left_alone, 2, killed=[1])
    assert survivor.startswith("lost: ")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"penalty": 0.0}, "penalty must be positive and finite, got 0.0"),
        ({"pace": 2.0}, "pace must be positive and at most last_pace, got 2.0 and 1.0"),
        ({"pace_growth": 0.9}, "pace_growth must be at least 1 and finite, got 0.9"),
        ({"round_count": 0}, "round_count must be at least 1, got 0"),
        ({"step_count": 0}, "step_count must be at least 1, got 0"),
        ({"tolerance": -1.0}, "tolerance must be at least 0 and finite, got -1.0"),
        ({"z_step": "left"}, "z_step must be one of right, printed, got 'left'"),
        ({"damping": 1.5}, r"damping must lie in \(0, 1\], got 1.5"),
    ],
)
def test_options_out_of_range_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Options(**change)  # type: ignore[arg-type]


def test_batches_that_do_not_belong_together_are_refused() -> None:
    one, wide = batches_of()[0], batches_of(replace(SMALL, feature_count=2))[0]
    with pytest.raises(ValueError, match=r"different numbers of features: \[2, 6\]"):
        SelfPaced([one, wide], LocalAverager("dense"))
    for wrong in (1, 30):
        with pytest.raises(ValueError, match=f"(batch_count is {wrong}, but 3 batches meet|3 batches from rank 0)"):
            SelfPaced(batches_of()[:3], LocalAverager("dense"), batch_count=wrong)
    elsewhere = Batch(one.features, one.targets)
    object.__setattr__(elsewhere, "targets", one.targets.to("meta"))
    with pytest.raises(ValueError, match=r"different devices: \['cpu', 'meta'\]"):
        SelfPaced([one, elsewhere], LocalAverager("dense"))
    with pytest.raises(ValueError, match="0 batches from rank 0 on are not among 0"):
        SelfPaced([], LocalAverager("dense"))
    with pytest.raises(ValueError, match="1 batches from rank 3 on are not among 3"):
        SelfPaced([one], LocalAverager("dense"), batch_count=3, first_rank=3)


def test_a_value_that_is_not_finite_is_named() -> None:
    features, targets = torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    features[1, 2], targets[0] = torch.inf, torch.nan
    with pytest.raises(ValueError, match=r"features\[1, 2\] is not finite: inf"):
        Batch(features, targets)
    with pytest.raises(ValueError, match=r"targets\[0\] is not finite: nan"):
        Batch(features.nan_to_num(posinf=1.0), targets)


def test_a_penalty_that_float64_cannot_add_is_named_with_the_curvature() -> None:
    batch = Batch(torch.full((2, 6), 3.0, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
    with pytest.raises(FloatingPointError, match=r"the penalty 1e-15 may be too small beside the curvature 216\."):
        learned([batch], Options(penalty=1e-15))
