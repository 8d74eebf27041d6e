"""Figures show what the result files say, alike for every method, and a gap in the files is named."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paper import figures
from paper.studies.phase_figure import rung
from paper.studies.refinement_figure import relative_class
from paper.studies.shape_figures import difference_of_norms
from paper.studies.steady_figure import CONDITIONS, STREAMS
from paper.studies.training_figures import moving_mean
from paper.studies.worst_figure import REFUTATIONS
from paper.style import METHODS, paper_style
from sparsync.experiments.studies.training import steady_state
from sparsync.verify.contraction.counterexamples import COUNTEREXAMPLES
from sparsync.verify.tools.provenance import write_whole
from tests.support.paper_data import rewrite, write, write_results, write_run
from tests.support.slow_cases import slow_except


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


def _line(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    line = next(line for line in axes.get_lines() if line.get_label() == label)
    return np.asarray(line.get_xdata(), float).tolist(), np.asarray(line.get_ydata(), float).tolist()


@pytest.mark.parametrize("name", slow_except({"ladder"}, figures.FIGURES))
def test_every_figure_is_written_as_a_pdf_without_date_and_a_png(name: str, data_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    figures.write_figure(name, data_folder, folder)
    pdf = (folder / f"{name}.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(folder.iterdir())) == 2


def test_the_command_line_writes_every_figure_and_nothing_else(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = ("ladder", "counts")
    monkeypatch.setattr(figures, "FIGURES", {name: figures.FIGURES[name] for name in some})
    folder = tmp_path / "new"
    figures.main(["--data-folder", str(data_folder), "--output-folder", str(folder)])
    wanted = {f"{name}.{ending}" for name in some for ending in ("pdf", "png")}
    assert {path.name for path in folder.iterdir()} == wanted


def test_the_same_data_give_the_same_bytes(data_folder: Path, tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    for folder in (first, again):
        figures.write_figure("counts", data_folder, folder)
    for ending in ("pdf", "png"):
        assert (first / f"counts.{ending}").read_bytes() == (again / f"counts.{ending}").read_bytes()


def test_pdf_and_png_have_one_layout(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = figures.FIGURES["counts"](data_folder)
    places: list[list[float]] = []

    def save(*arguments: Any, **options: Any) -> None:
        Figure.savefig(figure, *arguments, **options)
        places.append([edge for axes in figure.axes for edge in axes.get_position().bounds])

    monkeypatch.setattr(figure, "savefig", save)
    monkeypatch.setitem(figures.FIGURES, "counts", lambda _folder: figure)
    figures.write_figure("counts", data_folder, tmp_path)
    in_pdf, in_png = places
    assert in_png == in_pdf


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("ladder", "contraction.json"),
        ("profiles", "contraction.json"),
        ("convergence", "plain-fnn3_dense-0.001-"),
        ("counts", "plain-fnn3_gaussian_k-0.001-"),
        ("momentum", "momentum-fnn3_top_k-0.001-"),
        ("steady_state", "steady_state.json"),
        ("failure_map", "refinement.json"),
        ("phases", "phases.json"),
        ("tight_rate", "quadratics.json"),
        ("worst_cases", "verify.json"),
    ],
)
def test_a_missing_file_is_named(name: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=file):
        figures.FIGURES[name](tmp_path)


@pytest.mark.parametrize(
    ("name", "field"),
    [("convergence", "loss"), ("convergence", "sent_bytes"), ("counts", "largest_selected_count")],
)
def test_a_missing_field_is_named_with_its_file(name: str, field: str, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    path = write_run(folder, "plain", "gaussian_k", 0.01, 1)
    rewrite(path, **{field: None})
    with pytest.raises(ValueError, match=f"plain-fnn3_gaussian_k-0.01-1.json: no field '{field}'"):
        figures.FIGURES[name](folder)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "contraction.json").write_text('{"profile": ')
    with pytest.raises(ValueError, match=r"contraction\.json is not JSON"):
        figures.FIGURES["ladder"](tmp_path)


def test_an_unknown_vector_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "contraction.json", {"profile": "quick", "vectors": [{"name": "cauchy"}]})
    with pytest.raises(ValueError, match="unknown vector 'cauchy'"):
        figures.FIGURES["profiles"](tmp_path)


def test_an_unknown_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown figure 'ladders'"):
        figures.write_figure("ladders", tmp_path, tmp_path)


def test_the_command_line_ends_with_a_message_when_a_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"error: .*contraction\.json is missing"):
        figures.main(["--data-folder", str(tmp_path), "--output-folder", str(tmp_path)])


@pytest.fixture(scope="module")
def smoke_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "smoke", profile="smoke", seeds=(0,))


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_of_the_smoke_profile_and_no_others_say_so(name: str, data_folder: Path, smoke_folder: Path) -> None:
    assert figures.FIGURES[name](smoke_folder).get_suptitle() == "smoke profile: not for reading"
    assert figures.FIGURES[name](data_folder).get_suptitle() == ""


def test_a_method_has_one_colour_in_every_figure(data_folder: Path) -> None:
    drawn = {
        (line.get_label(), line.get_color())
        for name in ("convergence", "counts")
        for axes in figures.FIGURES[name](data_folder).axes
        for line in axes.get_lines()
    }
    assert drawn == {(look.title, look.colour) for look in METHODS.values()}


def test_the_gain_is_measured_against_the_density_that_was_kept(data_folder: Path) -> None:
    gain_axes = figures.FIGURES["ladder"](data_folder).axes[1]
    densities, gains = _line(gain_axes, "Gaussian sample")
    assert densities == [3 / 2000, 0.5]
    assert gains == [(1 - 0.97) / (3 / 2000), (1 - 0.2) / 0.5]


def test_the_first_corrected_gradient_is_not_drawn_twice(data_folder: Path) -> None:
    axes = figures.FIGURES["ladder"](data_folder).axes[0]
    bound_count, law_count, wrong_count, gradient_count, corrected_count = 3, 3, 1, 2, 1
    assert len(axes.get_lines()) == bound_count + law_count + wrong_count + gradient_count + corrected_count


def test_profiles_show_squares_and_magnitudes(data_folder: Path) -> None:
    square_axes, magnitude_axes = figures.FIGURES["profiles"](data_folder).axes
    assert _line(magnitude_axes, "gradient")[1] == [1.0, 0.4, 0.04]
    assert _line(square_axes, "gradient")[1] == [value**2 for value in (1.0, 0.4, 0.04)]


def test_bytes_are_cumulative_and_in_megabytes(data_folder: Path) -> None:
    accuracy_against_bytes = figures.FIGURES["convergence"](data_folder).axes[6]
    sent, accuracy = _line(accuracy_against_bytes, METHODS["top_k"].title)
    assert sent == [(1000 + 2000 + 3000 + 4000) / 1e6]
    assert accuracy == [fmean([100 * 0.80, 100 * 0.82])]


def test_a_count_of_zero_has_a_place_on_the_axis(data_folder: Path) -> None:
    axes = figures.FIGURES["counts"](data_folder).axes[0]
    _, means = _line(axes, METHODS["gaussian_k_released"].title)
    assert means == [0, 1, 2, 1.5]
    assert axes.get_ylim()[0] < 0
    assert 0 in axes.get_yticks()


def test_the_largest_count_of_any_panel_is_on_the_axis(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    write_run(folder, "standardised", "gaussian_k_released", 0.001, 0, largest_selected_count=[6 * 100] * 4)
    panels = figures.FIGURES["counts"](folder).axes
    assert min(axes.get_ylim()[1] for axes in panels) > 100


def test_momentum_shows_paired_differences(data_folder: Path) -> None:
    axes = figures.FIGURES["momentum"](data_folder).axes[0]
    dots = next(line for line in axes.get_lines() if line.get_marker() == "o")
    assert np.asarray(dots.get_ydata(), float).tolist() == [100 * (0.81 - 0.80), 100 * (0.80 - 0.82)]


def test_the_band_of_the_momentum_figure_lies_around_the_mean(data_folder: Path) -> None:
    """Differences of 1 and −2 have the mean −1/2 and the deviation 3/√2."""
    (band,) = (
        patch for patch in figures.FIGURES["momentum"](data_folder).axes[0].patches if isinstance(patch, Rectangle)
    )
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((-0.5 - 4.5**0.5, -0.5 + 4.5**0.5))


def test_the_band_of_counts_reaches_the_largest_worker_of_any_seed(tmp_path: Path) -> None:
    """At the first update the workers of one seed send nothing, and one of the other seed seven times k."""
    folder = write_results(tmp_path / "data")
    write_run(folder, "plain", "gaussian_k_released", 0.001, 1, largest_selected_count=[6 * 7] * 4)
    band = figures.FIGURES["counts"](folder).axes[0].collections[0].get_paths()[0].vertices
    heights = [float(height) for update, height in np.asarray(band) if update == 1]
    assert (min(heights), max(heights)) == (0, 7)


def test_runs_with_other_seeds_are_not_paired(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    write_run(folder, "momentum", "gaussian_k", 0.001, 1).unlink()
    with pytest.raises(ValueError, match=r"seeds \[0\], not \[0, 1\]"):
        figures.FIGURES["momentum"](folder)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=30), st.integers(1, 40))
def test_a_moving_mean_is_the_mean_of_each_window(values: list[int], width: int) -> None:
    means = moving_mean(values, width)
    size = min(width, len(values))
    assert len(means) == len(values) - size + 1
    assert means == [sum(values[start : start + size]) / size for start in range(len(means))]


def test_the_style_ends_with_its_context_and_ignores_the_users_own() -> None:
    with mpl.rc_context({"lines.linestyle": ":", "font.size": 20}):
        with paper_style():
            inside = (mpl.rcParams["lines.linestyle"], mpl.rcParams["font.size"])
        outside = (mpl.rcParams["lines.linestyle"], mpl.rcParams["font.size"])
    assert inside == ("-", 9)
    assert outside == (":", 20)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "figure.pdf"
    path.write_text("old")

    def fail(beside: Path) -> None:
        beside.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_steady_state_figure_draws_every_stream_of_the_smaller_density(data_folder: Path) -> None:
    left, right = figures.FIGURES["steady_state"](data_folder).axes
    for order, look in enumerate(STREAMS.values()):
        assert _line(left, look.title) == ([1, 10], [12.0, 3.0 + order])
    # The laws at density 0.001.
    horizontal = [np.asarray(line.get_ydata(), float) for line in left.get_lines() if line.get_linewidth() < 1]
    assert [ends.tolist() for ends in horizontal] == [[2.99, 2.99], [5.97, 5.97]]
    # Gains 2, 3, 5, 7 at density 0.001, fewer than are smoothed over: one point, their mean, at the last update.
    updates, gains = _line(right, "unit pixels, 0.001")
    assert (updates, gains) == ([4.0], [4.25])
    assert {line.get_label() for line in right.get_lines()} >= {look.title for look in CONDITIONS.values()}


def test_the_gain_of_training_is_the_mean_of_the_seeds(tmp_path: Path) -> None:
    """A mean of 4.25 of one seed and twice as much of the other."""
    folder = write_results(tmp_path / "data")
    write_run(folder, "plain", "top_k", 0.001, 1, delta=[0.004, 0.006, 0.01, 0.014])
    _, gains = _line(figures.FIGURES["steady_state"](folder).axes[1], "unit pixels, 0.001")
    assert gains == [pytest.approx((4.25 + 8.5) / 2)]


def test_the_study_and_the_figure_know_the_same_streams() -> None:
    assert list(STREAMS) == list(steady_state.STREAMS)


def test_an_unknown_stream_is_refused(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "steady_state.json", runs=[{"stream": "laplace", "density": 0.001, "step": [1], "gain": [1.0]}])
    with pytest.raises(ValueError, match="unknown stream 'laplace'"):
        figures.FIGURES["steady_state"](folder)


@pytest.mark.parametrize(
    ("count", "target", "expected"),
    [
        (0, 6, 0),
        (1, 100, 1),
        (9, 100, 1),
        (1, 10, 2),
        (3, 6, 2),
        (4, 6, 3),
        (8, 6, 3),
        (9, 6, 4),
        (60, 6, 5),
        (600, 6, 6),
    ],
)
def test_counts_are_classed_by_their_ratio_and_the_band_includes_its_ends(
    count: int, target: int, expected: int
) -> None:
    assert relative_class(count, target) == expected


def test_the_failure_map_shows_laws_across_and_densities_upwards(data_folder: Path) -> None:
    left = figures.FIGURES["failure_map"](data_folder).axes[0]
    classes = np.asarray(left.collections[0].get_array(), float).tolist()
    # Rows are densities, columns are laws.
    assert classes == [[0.0, 4.0], [3.0, 6.0]]


def test_the_worst_vectors_are_drawn_with_the_ratios_they_attain(data_folder: Path) -> None:
    left, right = figures.FIGURES["worst_cases"](data_folder).axes
    # Three of ten sent: 1 − 3/10, and (1 − 3/10)².
    assert _line(left, "any vector: 0.700")[1] == [0.1] * 10
    assert _line(left, "$v_i/(2(d-i)+1)$ falls: 0.490")[1] == [odd / 100 for odd in range(19, 0, -2)]
    assert _line(right, "convex: 0.700 > 0.49, $k=3$")[1] == [1.0] * 10
    assert all(len(COUNTEREXAMPLES[name].squares) == 10 for name in REFUTATIONS)


@pytest.mark.parametrize(("exponent", "expected"), [(1.0, 1), (1.99, 1), (2.0, 2), (2.99, 2), (3 - 1e-13, 3), (40, 3)])
def test_a_law_is_in_the_class_of_the_largest_bound_it_keeps(exponent: float, expected: int) -> None:
    assert rung(exponent) == expected


def test_the_phase_diagram_shows_laws_across_and_densities_upwards(data_folder: Path) -> None:
    left = figures.FIGURES["phases"](data_folder).axes[0]
    assert np.asarray(left.collections[0].get_array(), float).tolist() == [[3.0, 1.0], [3.0, 2.0]]


def test_the_wrong_formula_lies_below_the_error_it_stands_for(data_folder: Path) -> None:
    axes = figures.FIGURES["ladder"](data_folder).axes[0]
    # 1 − ε = 0.03 and 0.8 of the Gaussian sample in the data.
    assert _line(axes, "Gaussian sample, wrong formula")[1] == pytest.approx(
        [(1 - 0.03**0.5) ** 2, (1 - 0.8**0.5) ** 2]
    )
    assert all(difference_of_norms(ratio) < ratio for ratio in (0.01, 0.5, 0.99))


@pytest.mark.parametrize("seed", range(3))
def test_the_wrong_formula_is_the_difference_of_norms(seed: int) -> None:
    vector = np.sort(np.abs(np.random.default_rng(seed).normal(size=50)))[::-1]
    whole, kept = float(np.linalg.norm(vector)), float(np.linalg.norm(vector[:7]))
    ratio = float(np.linalg.norm(vector[7:])) ** 2 / whole**2
    assert difference_of_norms(ratio) == pytest.approx((whole - kept) ** 2 / whole**2, rel=1e-12)


def test_the_rate_figure_draws_shrinkage_not_factors(data_folder: Path) -> None:
    left = figures.FIGURES["tight_rate"](data_folder).axes[0]
    assert _line(left, "tight worst case")[0] == [1, 50]
    assert _line(left, "tight worst case")[1] == pytest.approx([0.01, 0.5])
    assert _line(left, "Top-$k$, slowest step")[1] == pytest.approx([0.011, 0.55])
