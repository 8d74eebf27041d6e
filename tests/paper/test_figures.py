"""Figures show what the result files say, alike for every method, and a gap in the files is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from paper import figures
from paper.style import paper_style
from sparsync.verify.tools.provenance import write_whole
from tests.support.paper_data import write_results
from tests.support.paths import ROOT
from tests.support.slow_cases import slow_except


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.mark.parametrize("name", slow_except({"ladder"}, figures.FIGURES))
def test_every_figure_is_written_as_a_pdf_without_date_and_a_png(name: str, data_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    figures.write_figure(name, data_folder, folder)
    pdf = (folder / f"{name}.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("name", slow_except({"variants", "crossovers", "kernels"}, figures.FIGURES))
def test_a_figure_has_four_panels_at_most(name: str) -> None:
    with paper_style():
        figure = figures.FIGURES[name](ROOT / "paper" / "data")
    assert len(figure.axes) <= 4


@pytest.mark.slow
def test_the_command_line_writes_every_figure_and_nothing_else(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = ("ladder", "counts")
    monkeypatch.setattr(figures, "FIGURES", {name: figures.FIGURES[name] for name in some})
    folder = tmp_path / "new"
    figures.main(["--data-folder", str(data_folder), "--output-folder", str(folder)])
    wanted = {f"{name}.{ending}" for name in some for ending in ("pdf", "png")}
    assert {path.name for path in folder.iterdir()} == wanted


def test_some_figures_can_be_named_and_unknown_ones_are_refused(data_folder: Path, tmp_path: Path) -> None:
    words = ["--data-folder", str(data_folder), "--output-folder", str(tmp_path), "--only"]
    figures.main([*words, "overview"])
    assert {path.name for path in tmp_path.iterdir()} == {"overview.pdf", "overview.png"}
    with pytest.raises(SystemExit, match="error: unknown figure 'ladders'"):
        figures.main([*words, "ladders"])


@pytest.mark.slow
def test_figures_drawn_side_by_side_are_those_drawn_one_by_one(data_folder: Path, tmp_path: Path) -> None:
    some = ("overview", "counts")
    for jobs in ("1", "2"):
        words = ["--data-folder", str(data_folder), "--output-folder", str(tmp_path / jobs), "--jobs", jobs]
        figures.main([*words, "--only", *some])
    for name in (f"{name}.{ending}" for name in some for ending in ("pdf", "png")):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_the_figure_of_the_readme_is_that_of_the_tracked_results(tmp_path: Path) -> None:
    figures.write_figure("overview", ROOT / "paper" / "data", tmp_path)
    tracked, drawn = (imread(folder / "overview.png") for folder in (ROOT / "paper", tmp_path))
    assert tracked.shape == drawn.shape
    # Another processor may round a shade of grey at the edge of a letter otherwise; a curve elsewhere is much more.
    assert float(abs(tracked - drawn).mean()) < 1e-4, "run `make docs`"


@pytest.mark.slow
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
        ("convergence", "convergence_fnn3.json"),
        ("counts", "convergence_fnn3.json"),
        ("overview", "convergence_fnn3.json"),
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


def test_an_unknown_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown figure 'ladders'"):
        figures.write_figure("ladders", tmp_path, tmp_path)


def test_the_command_line_ends_with_a_message_when_a_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"error: .*verify\.json is missing"):
        figures.main(["--data-folder", str(tmp_path), "--output-folder", str(tmp_path)])


@pytest.fixture(scope="module")
def smoke_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "smoke", profile="smoke", seeds=(0,))


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_of_the_smoke_profile_say_so(name: str, smoke_folder: Path) -> None:
    assert figures.FIGURES[name](smoke_folder).get_suptitle() == "smoke profile: not for reading"


@pytest.mark.parametrize("name", slow_except({"ladder", "races"} & {*figures.FIGURES}, figures.FIGURES))
def test_figures_of_other_profiles_say_nothing_of_it(name: str, data_folder: Path) -> None:
    """One function says it of all."""
    assert figures.FIGURES[name](data_folder).get_suptitle() == ""


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
