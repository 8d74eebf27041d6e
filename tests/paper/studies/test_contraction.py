"""What the text, `ladder` and `profiles` say of gradients is what the study measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.studies.contraction import MACROS, difference_of_norms, ladder, profiles
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import rewrite, write, write_results


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # κ = 3/2000; ratios 0.97 − 0.01·order, bound 0.991.
        ("GaussianGain", "20.0"),
        ("LaplaceGain", "26.7"),
        ("UniformGain", "33.3"),
        ("BellShapedGain", "6.0"),
        ("LadderDensity", "0.0013"),
        ("ObservedUpdates", "1 and 4"),
        # 1/3 and √5 − 2.
        ("FailureInTwo", "0.3333"),
        ("FailureInThree", "0.2361"),
        ("GradientGains", "40.0 and 46.7"),
        # The corrected gradient after the first update is the gradient, so only the later one is listed.
        ("CorrectedGains", "60.0"),
        # 1, 0.4/0.5, 0.04/0.1 never rises.
        ("ObservedRises", "0"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "contraction.json").write_text('{"profile": ')
    with pytest.raises(ValueError, match=r"contraction\.json is not JSON"):
        ladder(tmp_path)


def test_an_unknown_vector_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "contraction.json", {"profile": "quick", "vectors": [{"name": "cauchy"}]})
    with pytest.raises(ValueError, match="unknown vector 'cauchy'"):
        profiles(tmp_path)


def test_the_gain_is_measured_against_the_density_that_was_kept(data_folder: Path) -> None:
    gain_axes = ladder(data_folder).axes[1]
    densities, gains = drawn_line(gain_axes, "Gaussian sample")
    assert densities == [3 / 2000, 0.5]
    assert gains == [(1 - 0.97) / (3 / 2000), (1 - 0.2) / 0.5]


def test_the_first_corrected_gradient_is_not_drawn_twice(data_folder: Path) -> None:
    axes = ladder(data_folder).axes[0]
    bound_count, law_count, wrong_count, gradient_count, corrected_count = 3, 3, 1, 2, 1
    assert len(axes.get_lines()) == bound_count + law_count + wrong_count + gradient_count + corrected_count


def test_profiles_show_squares_and_magnitudes(data_folder: Path) -> None:
    square_axes, magnitude_axes = profiles(data_folder).axes
    assert drawn_line(magnitude_axes, "gradient")[1] == [1.0, 0.4, 0.04]
    assert drawn_line(square_axes, "gradient")[1] == [value**2 for value in (1.0, 0.4, 0.04)]


def test_the_wrong_formula_lies_below_the_error_it_stands_for(data_folder: Path) -> None:
    axes = ladder(data_folder).axes[0]
    # 1 − ε = 0.03 and 0.8 of the Gaussian sample in the data.
    assert drawn_line(axes, "Gaussian sample, wrong formula")[1] == pytest.approx(
        [(1 - 0.03**0.5) ** 2, (1 - 0.8**0.5) ** 2]
    )
    assert all(difference_of_norms(ratio) < ratio for ratio in (0.01, 0.5, 0.99))


@pytest.mark.parametrize("seed", range(3))
def test_the_wrong_formula_is_the_difference_of_norms(seed: int) -> None:
    vector = np.sort(np.abs(np.random.default_rng(seed).normal(size=50)))[::-1]
    whole, kept = float(np.linalg.norm(vector)), float(np.linalg.norm(vector[:7]))
    ratio = float(np.linalg.norm(vector[7:])) ** 2 / whole**2
    assert difference_of_norms(ratio) == pytest.approx((whole - kept) ** 2 / whole**2, rel=1e-12)


def test_a_rising_quotient_is_counted(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    vectors = [
        {"name": "gradient, step 1", "position": [0.0, 0.5, 0.9], "magnitude": [1.0, 0.6, 0.01]},
        {"name": "corrected gradient, step 1", "position": [0.0, 0.5, 0.9], "magnitude": [1.0, 0.6, 0.5]},
    ]
    rewrite(folder / "contraction.json", vectors=vectors)
    assert plain(MACROS["ObservedRises"](folder)) == "3"
