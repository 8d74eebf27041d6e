"""The figure draws every plan, and the words are those of the file: shares, gains, errors, and what moved nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper.results import result
from paper.studies.planning.sharded_plans import MACROS, curves, gains, largest_error, moves, sharded_plans, slowest
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import PROVENANCE, write


def curve(network: str, memory: float, batch: str, shares: list[float], link: float = 1e10) -> dict[str, Any]:
    return {
        "network": network,
        "memory_per_parameter": memory,
        "bits_per_second": link,
        "batch_is": batch,
        "density": [1.0, 0.01],
        "replicated_share": shares,
        "batch": [4, 2],
        "gain": [1.0 + shares[0], 2.0 + shares[1]],
        "plan_seconds": memory / 100,
    }


def moved(memory: float, latency: float, density: float) -> dict[str, Any]:
    return {
        "network": "gpt2",
        "device_count": 8,
        "memory_per_parameter": memory,
        "latency_seconds": latency,
        "density": density,
        "predicted": 0.04,
    }


def record(profile: str = "quick") -> dict[str, Any]:
    """Two networks of which one plan moves, and the other does not."""
    known = {"window": 512, "batch": 3, "bits_per_second": 5e10, "operations_per_second": 2e13}
    gains = [{"slices": 1.0, "operators": None}, {"slices": 1.5, "operators": 2.0}]
    return {
        "profile": profile,
        "device_count": 8,
        "given_memory": 30.0,
        "predicted_density": 0.04464,
        "move_bits_per_second": 1e10,
        "latency_seconds": 2e-5,
        "state_bytes": 16,
        "residual_bytes": 4,
        "curves": [
            curve("gpt2", 15.0, "free", [0.0, 0.1]),
            curve("gpt2", 30.0, "free", [0.05, 1.0]),
            curve("resnet50", 30.0, "free", [0.1, 0.2]),
            curve("gpt2", 30.0, "free", [0.3, 0.4], link=1e11),
            curve("gpt2", 30.0, "given", [0.5, 0.4]),
            curve("gpt2", 60.0, "free", [0.9, 1.0]),
        ],
        "moves": [moved(30.0, 0.0, 0.041), moved(30.0, 2e-5, 0.03), moved(22.0, 2e-5, 0.0)],
        "limits": [
            {
                "device_count": 8,
                "least_memory": 20,
                "most_memory": 44.0,
                "memory": [22.0, 44.0],
                "density": [0.01, 0.07],
            }
        ],
        "published": [
            {
                "model": name,
                "published_gain": 1.25,
                "memory_bytes": 16 * 2**30,
                "device_count": 8,
                "rows": [known | {"gain": gain} for gain in gains],
                "plan_seconds": 0.7,
            }
            for name in ("gpt2_page", "gpt2_program", "opt")
        ],
        "provenance": PROVENANCE,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "sharded_plans.json", record())
    return tmp_path


def test_shares_are_drawn_by_network_where_the_batch_is_chosen_and_where_it_is_given(folder: Path) -> None:
    free, given, gained, _ = sharded_plans(folder).axes
    assert drawn_line(free, "GPT-2") == ([1.0, 0.01], [5.0, 100.0])
    assert drawn_line(free, "ResNet-50") == ([1.0, 0.01], [10.0, 20.0])
    assert drawn_line(given, "GPT-2") == ([1.0, 0.01], [50.0, 40.0])
    drawn = [list(line.get_ydata()) for line in gained.get_lines()]  # type: ignore[arg-type]  # matplotlib knows no type
    assert drawn[:3] == [[1.05, 3.0], [1.1, 2.2], [1.5, 2.4]]


def test_the_prediction_is_drawn_among_the_plans_that_have_latency(folder: Path) -> None:
    free, _, _, where = sharded_plans(folder).axes
    assert 0.04464 in [line.get_xdata()[0] for line in free.get_lines()]  # type: ignore[index]  # matplotlib knows no type
    lines = [(list(line.get_xdata()), list(line.get_ydata()), line.get_marker()) for line in where.get_lines()]  # type: ignore[arg-type]
    assert ([22.0, 44.0], [0.01, 0.07], "None") in lines
    assert ([30.0], [0.03], "^") in lines
    assert [marker for places, _, marker in lines if places == [22.0]] == ["x"]


def test_without_latency_plans_are_drawn_where_there_are_no_others(folder: Path) -> None:
    """As in smoke."""
    write(folder / "sharded_plans.json", record("smoke") | {"moves": [moved(30.0, 0.0, 0.041)]})
    figure = sharded_plans(folder)
    assert [0.041] in [list(line.get_ydata()) for line in figure.axes[3].get_lines()]  # type: ignore[arg-type]
    assert "smoke" in figure.get_suptitle()


def test_the_words_are_those_of_the_file(folder: Path) -> None:
    said = {name.removeprefix("ShardPlan"): plain(macro(folder)) for name, macro in MACROS.items()}
    assert said["Dense"] == "5 to 10"
    assert said["Sparse"] == "20 to 100"
    assert (said["GivenDense"], said["GivenSparse"]) == ("50", "40")
    assert (said["Gain"], said["GivenGain"]) == ("2.20 to 3.00", "2.40")
    assert (said["LowMemory"], said["LowShares"]) == ("15", "0 to 10")
    assert (said["HighMemory"], said["HighShares"]) == ("60", "90 to 100")
    assert (said["Least"], said["Most"], said["Predicted"]) == ("20", "44", "0.045")
    assert (said["Link"], said["Latency"], said["LeastDensity"]) == ("10", "20", "0.01")
    assert (said["FastLink"], said["FastShares"]) == ("100", "40")
    assert (said["GptPublished"], said["PageSlices"], said["OptOperators"]) == ("1.25", "1.00 to 1.50", "2.00")
    assert (said["OptMemory"], said["OptWindow"], said["PageWindows"]) == ("16", "512", "512")
    assert (said["PublishedLinks"], said["PublishedSpeeds"], said["ProgramBatch"]) == ("50", "20", "3")
    assert said["Seconds"] == "0.7"
    assert all(said.values())


def test_errors_are_of_plans_that_move_and_the_others_are_counted(folder: Path) -> None:
    study = result(folder, "sharded_plans")
    assert largest_error(moves(study, is_late=False)) == pytest.approx(0.025)
    assert largest_error(moves(study, is_late=True)) == pytest.approx(0.25)
    assert plain(MACROS["ShardPlanLateError"](folder)) == "25"
    assert plain(MACROS["ShardPlanStuck"](folder)) == "1 of 2"
    write(folder / "sharded_plans.json", record() | {"moves": [moved(22.0, 2e-5, 0.0)]})
    assert MACROS["ShardPlanLateError"](folder) == "no plan moves"
    with pytest.raises(ValueError, match="no plan moves"):
        largest_error(moves(result(folder, "sharded_plans"), is_late=True))


def test_a_setting_without_room_for_whole_operators_has_no_gain_over_them(folder: Path) -> None:
    study = result(folder, "sharded_plans")
    assert gains(study, "gpt2_page", "operators") == [2.0]
    assert gains(study, "gpt2_page", "slices") == [1.0, 1.5]
    assert slowest(study)["model"] == "gpt2_page"


def test_what_is_missing_is_named(folder: Path) -> None:
    study = result(folder, "sharded_plans")
    with pytest.raises(ValueError, match=r"no curve with \(7.0, 'free', 10000000000.0\)"):
        curves(study, 7.0, "free")
    with pytest.raises(ValueError, match="no published model 'gpt3'"):
        gains(study, "gpt3", "slices")
