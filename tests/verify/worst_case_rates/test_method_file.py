from pathlib import Path

import pytest

from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.method_file import read_method
from tests.support.posed_methods import DESCENT, STRONGLY, posed, write_method

Parts = tuple[str, ...]


def test_every_number_becomes_exact_and_can_be_replaced(tmp_path: Path) -> None:
    method = posed(tmp_path, STRONGLY, DESCENT, step_size="1/3")
    assert {name: str(value) for name, value in method.numbers.items()} == {
        "mu": "1/10",
        "smoothness": "1",
        "step_size": "1/3",
    }


def test_a_property_follows_what_is_set(tmp_path: Path) -> None:
    parts = (STRONGLY, "@property\ndef step_size(self):\n    return 2 / (self.smoothness + self.mu)\n")
    method = posed(tmp_path, *parts, "def step(self, state, problem):\n    return {}\n", mu="1/3")
    assert str(method.numbers["step_size"]) == "3/2"


def test_delta_is_one_minus_epsilon(tmp_path: Path) -> None:
    assert posed(tmp_path, STRONGLY, "delta = 0.25\n", DESCENT).setting.epsilon == 0.75
    assert posed(tmp_path, STRONGLY, "delta = 0.25\n", DESCENT, epsilon="0.5").numbers["delta"] == 0.5


def test_one_of_several_methods_is_named(tmp_path: Path) -> None:
    path = write_method(tmp_path, STRONGLY, DESCENT)
    path.write_text(path.read_text() + path.read_text().replace("Posed", "Other"), encoding="utf-8")
    assert read_method(f"{path}:Other", {}).name == "Other"
    with pytest.raises(MethodError, match="several methods, Posed, Other"):
        read_method(str(path), {})
    with pytest.raises(MethodError, match="no class Third; it has Posed, Other"):
        read_method(f"{path}:Third", {})


WRONG: dict[str, tuple[Parts, dict[str, str], str]] = {
    "no step": ((STRONGLY,), {}, "no class with a function step; it has Posed, without one"),
    "no function class": ((DESCENT,), {}, "function_class must be one of .*, got None"),
    "another function class": (('function_class = "smoth"\n', DESCENT), {}, "got 'smoth'"),
    "a class without its number": (
        ('function_class = "smooth convex"\nsmothness = 1\n', DESCENT),
        {},
        "needs a number smoothness; the method has .*smothness",
    ),
    "curvatures in the wrong order": ((STRONGLY, DESCENT), {"mu": "2"}, "mu must be at most smoothness, got 2 and 1"),
    "no curvature": ((STRONGLY, DESCENT), {"mu": "0"}, "mu must be positive, got 0"),
    "an attribute that is no number": ((STRONGLY, 'colour = "red"\n', DESCENT), {}, "the attribute colour = 'red'"),
    "a number that is not there": ((STRONGLY, DESCENT), {"stepsize": "1"}, "no number stepsize; it has mu, smoothness"),
    "a number that is promised only": ((STRONGLY, "decay: float\n", DESCENT), {}, "gives decay no value"),
    "half a worker": ((STRONGLY, "workers = 1.5\n", DESCENT), {}, "workers must be a whole number .*, got 3/2"),
    "a word that is a number": ((STRONGLY, "performance = 3\n", DESCENT), {}, "performance must be a word, got 3"),
    "a minimiser that is nearly common": ((STRONGLY, 'common_minimiser = "yes"\n', DESCENT), {}, "got 'yes'"),
    "two contractions": ((STRONGLY, "epsilon = 0.5\ndelta = 0.4\n", DESCENT), {}, "epsilon must be 1 - delta"),
    "a property that fails": (
        (STRONGLY, "@property\ndef decay(self):\n    return 1 / 0\n", DESCENT),
        {},
        r"posed.py:\d+, Posed.decay: ZeroDivisionError",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_method_is_named(name: str, tmp_path: Path) -> None:
    parts, changes, words = WRONG[name]
    with pytest.raises(MethodError, match=words):
        posed(tmp_path, *parts, **changes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "no class with a function step; it has no class at all"),
        ("class A(:\n", "the file cannot be run: SyntaxError"),
        ("import nowhere_to_be_found\n", r"file.py:1, the file cannot be run: ModuleNotFoundError"),
        ("from collections import Counter as Kept\n", "it has no class at all"),
    ],
)
def test_a_file_without_a_method_is_named(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MethodError, match=words):
        read_method(str(path), {})


def test_a_file_that_is_not_there_or_no_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="there is no file"):
        read_method(str(tmp_path / "none.py"), {})
    (tmp_path / "method.txt").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(MethodError, match=r"ends in \.py"):
        read_method(str(tmp_path / "method.txt"), {})
