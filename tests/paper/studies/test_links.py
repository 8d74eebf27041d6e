"""A time to accuracy is steps times seconds, its gain is paired by seed, and what was not reached has no time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from paper.results import Result
from paper.studies.links import figures, times
from paper.studies.links.page import links_markdown
from paper.studies.links.study import (
    MACROS,
    NOT_RUN,
    excess_bytes,
    gain_at_judged,
    judged_rate,
    message_bytes,
    not_paying,
    seconds_table,
    times_table,
    unexplained_bytes,
)
from paper.studies.links.times import Links, Reached, communication_share, is_sparse, is_whole
from sparsync.experiments.studies.links.cells import Cell, Method, all_methods
from sparsync.experiments.studies.links.contenders import TRAINED, steps_of
from sparsync.experiments.studies.links.model import Point, StepModel
from sparsync.experiments.studies.links.study import cell_name
from tests.support.drawing import drawn_line, plain, table_lines
from tests.support.paper_data import PROVENANCE, rewrite, write

DENSE, HALF = Method("loop", collective="dense"), Method("loop", collective="dense_bfloat16")
HOOK = Method("hook", exchange="dense")
TOP_K, BALANCED = (Method("loop", "top_k", 0.01, collective=name) for name in ("sparse", "balanced"))
SHOWN = (Method("hook", "top_k", 0.01), Method("loop", "top_k", 0.001))
STEP_SECONDS = {DENSE: (1.0, 0.1), HALF: (0.5, 0.08), HOOK: (0.9, 0.05), TOP_K: (0.1, 0.09), BALANCED: (0.05, 0.1)}
"""At 10 and 100 Mbit/s."""
FITTED = StepModel(0.0, 1.0, 0.0, 0.0, 0.0)
STUDENT = 12.7062
"""The 97.5 % quantile of Student's t with one degree of freedom."""


def cell_fields(
    model: str, method: Method, rate: float, seconds: float, rounds: Sequence[float] = (1.0, 1.0, 1.0)
) -> dict[str, Any]:
    """Of rounds in which a step takes so many times as long."""
    cell = Cell(model, method, rate)
    return {
        "name": cell_name(cell),
        "model": model,
        "mbit_per_second": rate,
        "host_count": 4,
        "parameter_count": 100_000,
        "bucket_count": 1,
        "method": asdict(method),
        "step_seconds": [seconds, seconds, seconds],
        "slowest_seconds": seconds,
        "round_seconds": [factor * seconds for factor in rounds],
        "phase_seconds": {"compute": 0.02, "select": 0.01},
        "message_count": 6.0,
        "sent_bytes": 24_000.0 if method.selector == "top_k" else 300_000.0,
        "carried_bytes": 25_200.0 if method.selector == "top_k" else 300_300.0,
        "spans": [["forward", "", 0.0, 0.01], ["select", "0", 0.01, 0.02], ["communicate", "0", 0.02, 0.05]],
    }


def run_fields(method: Method, *paths: Sequence[float | None]) -> dict[str, Any]:
    steps = [100, 200, 300]
    return {"method": method.name, "lasting": 1, "steps": steps, "test_accuracy": list(paths)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ResNet-20 by five ways at two rates; dense training ends with 0.800 and 0.900."""
    cells = [
        cell_fields("resnet20", method, rate, seconds)
        for method, by_rate in STEP_SECONDS.items()
        for rate, seconds in zip((10.0, 100.0), by_rate, strict=True)
    ]
    cells += [cell_fields("resnet20", method, 100.0, 0.2) for method in SHOWN]
    fitted = {
        **asdict(FITTED),
        "mean_error": 0.05,
        "median_error": 0.04,
        "largest_error": 0.25,
        "mean_errors": {"loop": 0.05, "local": 0.125},
        "fitted_on": ["resnet20, a way, 10 Mbit/s", "gpt, a way, 10 Mbit/s"],
        "errors": {"resnet20, a way, 100 Mbit/s": 0.25, "resnet20, another, 10 Mbit/s": 0.1},
    }
    write(tmp_path / "links.json", {"profile": "record", "cells": cells, "model": fitted, "provenance": PROVENANCE})
    runs = [
        run_fields(DENSE, [0.5, 0.796, 0.8], [0.5, 0.6, 0.9]),
        run_fields(HALF, [0.5, 0.6, 0.7], [0.5, 0.6, 0.9]),
        run_fields(TOP_K, [0.3, 0.4, 0.795], [0.5, 0.896, None]),
    ]
    ways = {
        method.name: [way.name for way in all_methods() if steps_of(way) == method] for method in (DENSE, HALF, TOP_K)
    }
    fields = {
        "profile": "record",
        "seeds": [0, 1],
        "lost_share": 0.005,
        "ways": ways,
        "runs": runs,
        "provenance": PROVENANCE,
    }
    write(tmp_path / "link_accuracy_resnet20.json", fields)
    write(tmp_path / "link_accuracy_fnn3.json", fields | {"runs": runs[:1]})
    monkeypatch.setattr(times, "TRAINED", ("fnn3", "resnet20"))
    return tmp_path


def test_a_target_is_reached_at_the_first_evaluation_at_it(folder: Path) -> None:
    found = Links(folder)
    assert found.targets("resnet20") == pytest.approx([0.795, 0.895])
    assert found.steps("resnet20", DENSE.name) == (200, 300)
    assert found.steps("resnet20", TOP_K.name) == (300, 200)
    # Not on the first seed.
    assert found.steps("resnet20", HALF.name) == (None, 300)
    assert found.steps("gpt", DENSE.name) is None


def test_where_a_run_is_too_short_a_longer_one_counts(folder: Path) -> None:
    short = run_fields(HALF, [0.5, 0.6, 0.7], [0.5, 0.6, 0.9])
    dense = run_fields(DENSE, [0.5, 0.796, 0.8], [0.5, 0.6, 0.9])
    longer, longest = (
        {**run_fields(HALF, first, [0.5, 0.895, 0.8]), "lasting": lasting, "steps": [200 * lasting] * 3}
        for lasting, first in ((2, [0.5, 0.6, 0.796]), (4, [0.9, 0.9, 0.9]))
    )
    assert "it gets there. All have as many steps as dense training." in links_markdown(folder)
    rewrite(folder / "link_accuracy_resnet20.json", runs=[dense, short, longest, longer])
    assert "it gets there. ResNet-20 has up to 4 times the steps where it is not there." in links_markdown(folder)
    assert Links(folder).steps("resnet20", HALF.name) == (400, 400)
    missed = {**longer, "test_accuracy": [[0.1, 0.1, 0.1], [0.5, 0.895, 0.8]]}
    rewrite(folder / "link_accuracy_resnet20.json", runs=[dense, short, missed])
    assert Links(folder).steps("resnet20", HALF.name) == (None, 400)


def test_the_fastest_way_of_the_same_steps_counts(folder: Path) -> None:
    found = Links(folder)
    assert found.reached("resnet20", TOP_K.name, 10.0) == Reached(BALANCED.name, 0.05, (300, 200))
    assert found.reached("resnet20", TOP_K.name, 100.0) == Reached(TOP_K.name, 0.09, (300, 200))
    assert found.reached("resnet20", DENSE.name, 10.0) == Reached(HOOK.name, 0.9, (200, 300))
    assert found.reached("resnet20", TOP_K.name, 5.0) is None
    # Bfloat16 is faster, but does not get there.
    dense = found.dense("resnet20", 10.0)
    assert dense is not None
    assert dense.seconds == pytest.approx([180.0, 270.0])


def test_the_gain_is_paired_by_seed(folder: Path) -> None:
    gain = Links(folder).gain("resnet20", 10.0)
    assert gain is not None
    logarithms = [math.log(15 / 180), math.log(10 / 270)]
    middle, half = sum(logarithms) / 2, abs(logarithms[0] - logarithms[1]) / 2
    assert gain.value == pytest.approx(middle)
    assert gain.high == pytest.approx(middle + STUDENT * half, rel=1e-5)
    assert gain.count == 2


def test_a_method_that_does_not_get_there_on_all_seeds_has_no_time(folder: Path) -> None:
    rewrite(
        folder / "link_accuracy_resnet20.json",
        runs=[
            run_fields(DENSE, [0.5, 0.796, 0.8], [0.5, 0.6, 0.9]),
            run_fields(TOP_K, [0.3, 0.4, 0.5], [0.5, 0.896, 0.9]),
        ],
    )
    found = Links(folder)
    assert found.sparse("resnet20", 10.0) is None
    assert found.gain("resnet20", 10.0) is None
    assert MACROS["LinksJudged"](folder).endswith(
        "No sparse setting is known to reach the accuracy of dense training there."
    )
    cells = table_lines(times_table(folder), "Top-k, EF14")[0]
    assert [plain(cell) for cell in cells] == ["1 of 2", "1 of 2"]
    assert "of the time of the fastest" not in links_markdown(folder)
    axes = figures.time_to_accuracy(folder).axes[0]
    assert "Top-k, EF14" not in {str(line.get_label()) for line in axes.get_lines()}


def test_where_dense_bfloat16_mostly_communicates_the_gain_is_judged(folder: Path) -> None:
    found = Links(folder)
    # 0.03 of 0.5 and of 0.08 s are not communication.
    judged = judged_rate(found)
    assert judged is not None
    assert judged == pytest.approx((10.0, 0.94))
    assert gain_at_judged(found) == found.gain("resnet20", 10.0)
    assert communication_share(found.cells["resnet20", HALF.name, 100.0]) == pytest.approx(0.625)
    said = plain(MACROS["LinksJudged"](folder))
    assert said.startswith(
        r"At 10\,Mbit/s dense bfloat16 communicates for 94\,\% of a step of ResNet-20. There the fastest "
    )
    assert r"setting (loop top\_k 0.01, balanced) needs 0.06 (" in said
    assert said.endswith("of the fastest dense training, by each round 0.06, 0.06, 0.06.")
    text = links_markdown(folder)
    assert "At 10 Mbit/s, where dense bfloat16 communicates for 94% of a step, ResNet-20 reaches" in text


def test_where_a_whole_gradient_is_faster_sending_less_does_not_pay(folder: Path) -> None:
    assert not_paying(Links(folder)) == [("resnet20", 100.0)]
    assert plain(MACROS["LinksNotPaying"](folder)) == r"ResNet-20 at 100\,Mbit/s"
    assert "in every round for: ResNet-20 at 100 Mbit/s; in some rounds for: none." in links_markdown(folder)
    cells = [cell_fields("resnet20", method, 10.0, seconds) for method, (seconds, _) in STEP_SECONDS.items()]
    rewrite(folder / "links.json", cells=cells)
    assert MACROS["LinksNotPaying"](folder) == MACROS["LinksUndecided"](folder) == "none"
    assert "in every round for: none; in some rounds for: none." in links_markdown(folder)


def test_where_rounds_differ_it_is_not_decided(folder: Path) -> None:
    cells = [
        # 0.05 s beside 0.09, but once beside 0.045.
        cell_fields("resnet20", method, 100.0, seconds, (1.0, 0.5, 1.0) if method == TOP_K else (1.0, 1.0, 1.0))
        for method, (_, seconds) in STEP_SECONDS.items()
    ]
    rewrite(folder / "links.json", cells=cells)
    assert MACROS["LinksNotPaying"](folder) == "none"
    assert plain(MACROS["LinksUndecided"](folder)) == r"ResNet-20 at 100\,Mbit/s"
    assert "in some rounds for: ResNet-20 at 100 Mbit/s." in links_markdown(folder)
    assert plain(MACROS["LinksRounds"](folder)) == "3"


def test_a_gain_is_said_by_the_seconds_of_each_round_too(folder: Path) -> None:
    cells = [
        cell_fields("resnet20", BALANCED, 10.0, 0.05, (1.0, 2.0, 0.8)),
        cell_fields("resnet20", HOOK, 10.0, 0.9, (1.0, 1.0, 1.6)),
        *(cell_fields("resnet20", method, 10.0, STEP_SECONDS[method][0]) for method in (DENSE, HALF)),
    ]
    rewrite(folder / "links.json", cells=cells)
    gain = Links(folder).gain("resnet20", 10.0)
    assert gain is not None
    usual = math.exp(gain.value)
    assert Links(folder).gain_by_round("resnet20", 10.0) == pytest.approx([usual, 2 * usual, usual / 2])


def test_errors_are_said_by_road_and_how_much_was_seen_at_another_rate(folder: Path) -> None:
    assert plain(MACROS["LinksRoadErrors"](folder)) == "5.0 by the loop, 12.5 of local steps"
    assert plain(MACROS["LinksSeen"](folder)) == "1 of 2"
    text = links_markdown(folder)
    assert "in the mean by road, loop 5.0%, local 12.5%. Of these 2 combinations 1 were fitted on at another" in text


def test_bytes_beyond_those_counted_are_told_apart_by_size(folder: Path) -> None:
    found = Links(folder)
    assert max(excess_bytes(found, least=0)) == pytest.approx(0.05)
    assert excess_bytes(found, least=100_000) == pytest.approx([0.001] * 6)
    assert plain(MACROS["LinksLargeExcess"](folder)) == "0.1 to 0.1"
    # One half of the cells has 300 bytes more, the other 1,200, each in six messages.
    assert message_bytes(found) == 125.0
    assert max(unexplained_bytes(found)) == pytest.approx(25_200 / 24_750 - 1)
    assert plain(MACROS["LinksMessageBytes"](folder)) == "125"
    assert plain(MACROS["LinksUnexplained"](folder)) == "1.8"


def test_the_least_of_a_column_is_bold(folder: Path) -> None:
    table = seconds_table(folder)
    assert r"\multicolumn{2}{c}{ResNet-20}" in table
    (cells,) = table_lines(table, r"loop top\_k 0.01, balanced")
    assert [plain(cell) for cell in cells] == [r"\textbf{\boldmath 50.0}", "100"]
    assert table_lines(table, "hook powersgd") == [[NOT_RUN, NOT_RUN]]
    (cells,) = table_lines(times_table(folder), "Top-k, EF14")
    assert [plain(cell) for cell in cells] == [r"\textbf{\boldmath 12.5}", "22.5"]
    (cells,) = table_lines(times_table(folder), "dense")
    assert [plain(cell) for cell in cells] == ["225", r"\textbf{\boldmath 12.5}"]


def test_a_curve_has_the_mean_over_seeds_at_each_rate(folder: Path) -> None:
    (axes,) = figures.time_to_accuracy(folder).axes
    # The line of an error bar has no label of its own.
    drawn = {tuple(line.get_ydata()) for line in axes.get_lines()}  # type: ignore[arg-type]
    assert any(values == pytest.approx((12.5, 22.5)) for values in drawn if len(values) == 2)
    assert axes.get_title() == "ResNet-20"


def test_the_frontier_is_where_the_model_has_both_take_as_long(folder: Path) -> None:
    """24,000 bytes are the entries of density 0.01, so nothing else is sent; dense training sends 300,000."""
    found = Links(folder)
    for rate in (1.0, 10.0, 1000.0):
        density = figures.largest_density(found, "resnet20", rate)
        sparse = found.cells["resnet20", TOP_K.name, 10.0]
        scaled = Result(sparse.path, {**sparse.fields, "sent_bytes": density * 2_400_000})
        dense = found.cells["resnet20", HALF.name, 10.0]
        fitted = found.links["model"]
        assert figures.predicted(fitted, scaled, rate, compute=0.02) == pytest.approx(
            figures.predicted(fitted, dense, rate, compute=0.02)
        )
        assert density == pytest.approx(0.125)
    (axes,) = figures.frontier(folder).axes
    rates, densities = drawn_line(axes, "ResNet-20")
    assert (rates[0], rates[-1]) == (10.0, 1000.0)
    assert densities == pytest.approx([0.125] * len(rates))
    pays = figures.measured_pays(found, "resnet20")
    assert pays == [(100.0, 0.001, False), (10.0, 0.01, True), (100.0, 0.01, False)]


@pytest.mark.parametrize("buckets", [1, 4])
def test_the_paper_predicts_as_the_study_does(buckets: int, folder: Path) -> None:
    model = StepModel(1e-3, 1.1, 2e-9, 0.2, 0.5)
    cell = Result(folder, {**cell_fields("resnet20", DENSE, 100.0, 0.1), "bucket_count": buckets})
    point = Point("a", 100.0, 0.02, 0.01, 6.0, 300_000.0, 0.1, buckets)
    assert figures.predicted(vars(model), cell, 100.0, compute=0.02) == pytest.approx(model.seconds(point))
    local = Result(folder, {**cell.fields, "method": {"road": "local"}})
    point = replace(point, road="local")
    assert figures.predicted(vars(model), local, 100.0, compute=0.02) == pytest.approx(model.seconds(point))


def test_a_step_is_drawn_as_it_went(folder: Path) -> None:
    plain_step, ours = figures.one_step(folder).axes
    # The plain hook was not measured at 100 Mbit/s here.
    assert len(ours.patches) == 3
    assert [patch.get_width() for patch in ours.patches] == pytest.approx([10.0, 10.0, 30.0])  # type: ignore[attr-defined]
    assert [label.get_text() for label in ours.get_yticklabels()] == ["link", "select", "step"]
    assert len(plain_step.patches) == 3


def test_without_a_model_nothing_is_predicted(folder: Path) -> None:
    fields: dict[str, Any] = {"profile": "smoke", "cells": [], "model": None, "provenance": PROVENANCE}
    write(folder / "links.json", fields)
    assert MACROS["LinksMeanError"](folder) == NOT_RUN
    assert "fitted on one half" not in links_markdown(folder)


def test_ways_are_told_apart_by_their_names() -> None:
    whole = {method.name for method in all_methods() if is_whole(method.name)}
    assert whole == {
        method.name for method in all_methods() if method.selector == "keep_all" and method.exchange != "powersgd"
    }
    sparse = {method.name for method in all_methods() if is_sparse(method.name)}
    assert sparse == {
        method.name
        for method in all_methods()
        if method.selector in ("top_k", "gaussian_k") and not method.collective.startswith("dense")
    }
    assert {method.name for method in TRAINED} == set(figures.LOOKS)
