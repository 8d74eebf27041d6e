"""Who races: everybody once, with each parameter set once, and only if all can; and what is said of each."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from typing import Any

import pytest
import torch

from sparsync.experiments.engine.examples import Examples, Injection
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.race import main, summary
from sparsync.experiments.racing.contest import QUADRATIC, Race, outcome_line, require_fitting, run_contestant
from sparsync.experiments.racing.entries import read_contestants
from sparsync.verify.monitors.trace import trace_hash

RACE = Race(data=QUADRATIC, seconds=12.0, workers=4, points=6, latency=0.25, bandwidth=1e4)


@pytest.mark.parametrize(
    ("names", "words", "message"),
    [
        # Labels tell what is not as usual, and traces are stored by label.
        (["ssp", "ssp:staleness=3"], [], "'ssp:staleness=3' races already"),
        (["ssp:staleness=3.0", "bsp", "ssp"], [], "'ssp' races already"),
        (["ssp:staleness=3,staleness=5"], [], "'ssp:staleness=3,staleness=5' sets staleness twice"),
        (["ssp"], ["--staleness", "3", "--staleness=5"], "option '--staleness' is given twice"),
        (["ds_sync"], ["--group-size", "2", "--group_size", "3"], "option '--group_size' is given twice"),
    ],
)
def test_nobody_races_twice_and_nothing_is_set_twice(names: list[str], words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        read_contestants(names, words)


def test_one_s_own_parameter_goes_before_the_common_one() -> None:
    assert read_contestants(["ssp", "ssp:staleness=3"], ["--staleness", "5"]) == [
        ("ssp", {"staleness": 5}),
        ("ssp", {"staleness": 3}),
    ]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("pssp:sample=4", "error: sample must be at most 3, the number of others, got 4\n"),
        ("backup:backups=4", "error: backups must be fewer than the 4 workers, got 4\n"),
        ("local_sgd:period=1.5", "error: period must be an int, got 1.5\n"),
        ("parameter_database:writes=3", "error: blocks of 1 workers for 4 of them\n"),
        ("parameter_database:writes=3/3/9/3", "error: there are blocks 0 to 3, got 9\n"),
    ],
)
def test_nobody_races_before_all_are_known_to_fit(
    policy: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raced = []
    monkeypatch.setattr("sparsync.experiments.race.run_contestant", lambda *_, **__: raced.append("somebody"))
    monkeypatch.setattr(sys, "argv", ["race", "--policy", "bsp", policy, "--workers", "4", "--data", QUADRATIC])
    with pytest.raises(SystemExit) as caught:
        main()
    assert (caught.value.code, capsys.readouterr().err, raced) == (2, message, [])


@pytest.mark.parametrize("name", POLICIES)
def test_usual_parameters_fit_four_workers(name: str) -> None:
    require_fitting(Race(data=QUADRATIC, workers=4), name, {})
    require_fitting(Race(data=QUADRATIC, workers=4), "elastic_bsp", {"monitoring": 0})
    require_fitting(Race(data=QUADRATIC, workers=4), "parameter_database", {"writes": ((3,),) * 4})


def test_the_steps_of_a_race_cost_what_it_says() -> None:
    cluster = replace(RACE, cluster="one_slow", fixed_share=0.25, flat_until=0.5).make_cluster()
    assert [cluster.step_seconds(worker, 0, batch) for worker in (0, 3) for batch in (0.1, 1.0, 2.0)] == [
        *(0.625, 1.0, 1.75),
        *(3 * 0.625, 3.0, 3 * 1.75),
    ]
    with pytest.raises(ValueError, match=r"fixed_share must lie in \[0, 1\), got 1.5"):
        Race(fixed_share=1.5)


def test_what_is_mixed_between_racks_is_counted_and_takes_time() -> None:
    """Of four steps of four workers in two racks two lead out: with each of four, a model of 32 float64."""
    race = Race(data=QUADRATIC, workers=4, cluster="equal", seconds=4.5, points=1, rack_size=2)
    quick, slow = (run_contestant(replace(race, rack_bandwidth=rate), "ds_sync") for rate in (math.inf, 256.0))
    assert quick.rack_bytes == quick.as_row()["rack_bytes"] == 2 * 4 * 32 * 8
    assert (quick.worker_steps, slow.worker_steps) == ([4] * 4, [3, 2, 3, 2])
    assert "MB between racks" in [column.header for column in summary(race, [quick]).columns]
    for options in ({"rack_size": 0}, {"rack_bandwidth": 0.0}):
        with pytest.raises(ValueError, match=r"rack_\w+ must be .*, got 0"):
            replace(race, **options)


SKEWED = Race(
    model="fnn2", workers=4, batch_size=16, seconds=8.5, points=1, cluster="spread", partition="labels", seed=1
)


@pytest.mark.parametrize("name", ["bsp", "asp", "selsync", "ds_sync"])
def test_examples_that_are_passed_are_counted_for_every_finished_step(name: str) -> None:
    """Half of four workers pass 4 of 16 examples: 1/2 · 16/(1 + 1/2 · 2)."""
    race = replace(SKEWED, injecting=0.5, injected=0.5)
    outcome = run_contestant(race, name)
    examples = Examples(torch.arange(64), worker_count=4, batch_size=16, seed=1, injection=Injection(0.5, 0.5))
    steps = [(worker, step) for worker, clock in enumerate(outcome.worker_steps) for step in range(clock)]
    received = sum(4 * (2 - (worker in examples.donors(step))) for worker, step in steps)
    assert outcome.example_bytes == received * (784 * 4 + 8) > 0
    assert outcome.as_row()["example_bytes"] == outcome.example_bytes
    assert "MB of examples" in [column.header for column in summary(race, [outcome]).columns]


def test_workers_of_a_race_draw_from_the_parts_that_it_asks_for() -> None:
    """The first of four workers sees pictures of the first three of ten classes alone."""
    problems = [replace(SKEWED, partition=partition).make_problem() for partition in ("none", "labels")]
    slopes = [problem.loss_and_gradient(0, 0, problem.initial, 1.0)[1][-10:] for problem in problems]
    # The last layer's biases: of classes that are not seen, all slopes are their mean probabilities.
    assert bool((slopes[0][3:] < 0).any())
    assert bool((slopes[1][3:] > 0).all())


@pytest.mark.parametrize("options", [{"injecting": 0.5}, {"injected": 0.5}, {}], ids=str)
@pytest.mark.parametrize("partition", ["none", "labels"])
def test_where_nothing_is_injected_every_bit_is_as_without(partition: Any, options: dict[str, float]) -> None:
    race = replace(SKEWED, partition=partition)
    all_options: list[dict[str, Any]] = [{}, options, {"injecting": 0.5, "injected": 0.5}]
    usual, same, other = (run_contestant(replace(race, **given), "selsync") for given in all_options)
    assert trace_hash(same.trace) == trace_hash(usual.trace) != trace_hash(other.trace)
    assert (usual.example_bytes, same.example_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"injecting": 1.5}, r"injecting must lie in \[0, 1\], got 1.5"),
        ({"injected": -0.5}, r"injected must lie in \[0, 1\], got -0.5"),
        ({"data": QUADRATIC, "partition": "labels"}, "of which 'quadratic' has none to share"),
        ({"data": QUADRATIC, "injecting": 0.5, "injected": 0.5}, "of which 'quadratic' has none to share"),
    ],
)
def test_injections_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Race(**options)


def test_a_line_says_what_a_contestant_reached_for_what() -> None:
    race = Race(data=QUADRATIC, workers=2, seconds=12.0, points=1)
    outcome = run_contestant(race, "bsp")
    line = outcome_line(race, outcome)
    reached = r"bsp: f − min f \S+ after 12 simulated s and 8 steps of 2 workers"
    assert re.fullmatch(reached + r", \S+ kB sent and \S+ kB read, 33% of the time waiting", line)
    assert f"f − min f {outcome.points[-1].quality:.3g} after" in line
    assert ": test accuracy" in outcome_line(replace(race, data="embedded"), outcome)


@pytest.mark.parametrize("selector", ["none", "top_k"])
@pytest.mark.parametrize("name", ["bsp", "osp", "ds_sync", "dybw"])
def test_bytes_of_both_directions_are_counted_for_each_worker(name: str, selector: str) -> None:
    """Without a shared model too: there workers send what they publish, and read what the others do."""
    outcome = run_contestant(replace(RACE, selector=selector, density=0.25, consensus_step=0.5), name)
    last, workers = outcome.points[-1], outcome.report.workers
    assert last.sent_bytes == sum(worker.sent_bytes for worker in workers)
    assert last.pulled_bytes == outcome.pulled_bytes == sum(worker.pulled_bytes for worker in workers)
    assert all(worker.sent_bytes > 0 and worker.pulled_bytes > 0 for worker in workers)


def test_the_table_shows_what_was_sent_and_what_was_read() -> None:
    outcomes = [run_contestant(replace(RACE, bandwidth=math.inf, latency=0.0), name) for name in ("bsp", "ds_sync")]
    columns = {str(column.header): list(column.cells) for column in summary(RACE, outcomes).columns}
    assert columns["MB sent"] == [f"{outcome.points[-1].sent_bytes / 1e6:.2f}" for outcome in outcomes]
    assert columns["MB read"] == [f"{outcome.points[-1].pulled_bytes / 1e6:.2f}" for outcome in outcomes]
