"""Rates with a closed form come out as it says, proved on both sides, and the stand-alone checker agrees."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.check_certificates import main as check
from sparsync.verify.worst_case_rates.answers import Answer, Asked, answer, closed_form
from sparsync.verify.worst_case_rates.certify import Bound, Unproved
from sparsync.verify.worst_case_rates.examples import FOLDER
from sparsync.verify.worst_case_rates.method_file import read_method
from sparsync.verify.worst_case_rates.programmes import SolverError
from tests.support.posed_methods import DESCENT, STRONGLY, posed

NEAR = 1e-6
HOLDS, REFUTED, UNREADABLE = 0, 1, 2


def example(stem: str, **changes: str) -> Any:
    return read_method(str(FOLDER / f"{stem}.py"), changes)


def exactly(found: Answer) -> str:
    assert isinstance(found.upper, Bound)
    assert isinstance(found.lower, Bound)
    assert found.upper.value == found.lower.value
    return str(found.upper.value)


def enclosed(found: Answer, truth: float) -> bool:
    assert isinstance(found.upper, Bound)
    assert isinstance(found.lower, Bound)
    return float(found.lower.value) - 1e-12 <= truth <= float(found.upper.value) + 1e-12


@pytest.mark.parametrize(("steps", "rate"), [(1, "1/6"), (2, "1/10"), (5, "1/22")])
def test_convex_descent_has_the_rate_of_drori_and_teboulle(steps: int, rate: str) -> None:
    assert exactly(answer(example("convex_descent"), Asked(steps=steps))) == rate


@pytest.mark.parametrize(("steps", "rate"), [(1, "4/5"), (3, "4/11")])
def test_non_convex_descent_has_the_rate_of_abbaszadehpeivasti(steps: int, rate: str) -> None:
    assert exactly(answer(example("non_convex_descent"), Asked(steps=steps))) == rate


@pytest.mark.parametrize(("step_size", "rate"), [("1", "81/100"), ("20/11", "81/121"), ("3/2", "289/400")])
def test_the_distance_of_descent_shrinks_by_the_larger_of_two_factors(step_size: str, rate: str) -> None:
    method = example("gradient_descent", step_size=step_size)
    found = answer(method, Asked(steps=1))
    truth = closed_form(method, Asked(steps=1))
    assert truth is not None
    assert enclosed(found, truth)
    numerator, denominator = map(int, rate.split("/"))
    assert found.rate == pytest.approx(numerator / denominator if step_size != "3/2" else 0.85**2, abs=NEAR)


LABELS = {
    "error_feedback": "ef_tight_rate",
    "error_feedback_21": "ef21_tight_rate",
    "compressed_descent": "compressed_descent_rate",
    "two_workers": "ef_tight_rate",
}


@pytest.mark.parametrize("stem", LABELS)
@pytest.mark.parametrize(("mu", "epsilon"), [("0.1", "0.25"), ("0.5", "0.81")])
def test_the_lyapunov_functions_of_the_theorems_have_the_rates_of_the_theorems(
    stem: str, mu: str, epsilon: str
) -> None:
    found = answer(example(stem, mu=mu, epsilon=epsilon), Asked())
    truth = STATEMENTS[LABELS[stem]].evaluate(mu=float(mu), smoothness=1.0, epsilon=float(epsilon))
    assert enclosed(found, truth)
    assert found.rate == pytest.approx(truth, abs=NEAR)
    # The square root of ε and the step size are decimals here, so that the method is another one by 1e-16.
    assert found.slowest is not None
    assert found.slowest.factor == pytest.approx(truth, abs=NEAR)


@pytest.mark.parametrize("stem", ["error_feedback", "compressed_descent"])
def test_no_lyapunov_function_has_a_smaller_factor(stem: str) -> None:
    found = answer(example(stem), Asked(search=True))
    truth = STATEMENTS[LABELS[stem]].evaluate(mu=0.1, smoothness=1.0, epsilon=0.25)
    assert found.rate == pytest.approx(truth, abs=NEAR)
    assert isinstance(found.upper, Bound)
    assert truth <= found.upper.value <= truth + 2 * NEAR


def test_the_triple_momentum_method_has_the_rate_of_its_authors(tmp_path: Path) -> None:
    """(1 − √(μ/L))²: Van Scoy, Freeman and Lynch 2018; its momentum reaches into where gradients are asked."""
    method = posed(
        tmp_path,
        STRONGLY,
        """
        def fixed_point(self, problem):
            return {"x": problem.minimiser, "y": problem.minimiser}
        def step(self, state, problem):
            r = 1 - math.sqrt(self.mu / self.smoothness)
            pushed = state.x - state.y
            place = state.x + r**2 / ((1 + r) * (2 - r)) * pushed
            x = state.x + r**2 / (2 - r) * pushed - (1 + r) / self.smoothness * problem.gradient(place)
            return {"x": x, "y": state.x}
        """,
    )
    found = answer(method, Asked())
    assert found.rate == pytest.approx((1 - 0.1**0.5) ** 2, abs=2e-6)
    assert isinstance(found.upper, Bound)


def test_an_inexact_gradient_is_a_condition(tmp_path: Path) -> None:
    """‖h − ∇f‖² ≤ ε‖∇f‖² is what a compressor does: de Klerk, Glineur and Taylor 2020."""
    method = posed(
        tmp_path,
        STRONGLY,
        """
        epsilon = 0.25
        step_size = 40 / 31
        def step(self, state, problem):
            exact, h = problem.gradient(state.x), problem.vector("h")
            problem.require((exact - h) ** 2 <= self.epsilon * exact**2)
            return {"x": state.x - self.step_size * h}
        """,
        'initial = "value"\nperformance = "value"\n',
    )
    truth = STATEMENTS["compressed_descent_rate"].evaluate(mu=0.1, smoothness=1.0, epsilon=0.25)
    assert answer(method, Asked(steps=1)).rate == pytest.approx(truth, abs=NEAR)


def test_proximal_point_on_functions_with_kinks(tmp_path: Path) -> None:
    """‖x − x*‖²/(4ηN): Taylor, Hendrickx and Glineur 2017."""
    method = posed(
        tmp_path,
        'function_class = "convex"\nperformance = "value"\n',
        'def step(self, state, problem):\n    return {"x": problem.proximal(state.x, 2)}\n',
    )
    assert exactly(answer(method, Asked(steps=3))) == "1/24"


def test_a_step_that_is_too_long_has_a_factor_above_one_and_still_a_proof(tmp_path: Path) -> None:
    found = answer(posed(tmp_path, STRONGLY, DESCENT, step_size="3"), Asked())
    assert found.rate == pytest.approx(4, abs=1e-5)
    assert isinstance(found.upper, Bound)


def test_a_worst_case_without_bound_is_said_to_be(tmp_path: Path) -> None:
    part = 'def start(self, problem):\n    return {"x": problem.vector("a") + problem.vector("b")}\n'
    measured = 'def initial(self, state, problem):\n    return problem.vector("a") ** 2\n'
    with pytest.raises(SolverError, match="the worst case is unbounded"):
        answer(posed(tmp_path, STRONGLY, DESCENT, part, measured), Asked(steps=1))


def test_a_method_that_only_drifts_has_no_lyapunov_function(tmp_path: Path) -> None:
    step = 'def step(self, state, problem):\n    return {"x": state.x + problem.vector("drift")}\n'
    with pytest.raises(SolverError, match="there is none with a factor up to 64"):
        answer(posed(tmp_path, STRONGLY, step), Asked())


def stored(folder: Path, found: Answer) -> Path:
    path = folder / "rate.json"
    path.write_text(json.dumps({"certificates": [found.record]}), encoding="utf-8")
    return path


QUOTIENT = Asked(steps=2)
CERTIFIED = {
    "one step of a Lyapunov function": ("error_feedback", Asked()),
    "a Lyapunov function that was searched": ("heavy_ball", Asked()),
    "several ends": ("non_convex_descent", QUOTIENT),
    "several workers": ("two_workers", Asked()),
    "a run": ("nesterov", QUOTIENT),
}


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_checker_that_knows_nothing_of_ours_agrees(name: str, tmp_path: Path) -> None:
    stem, asked = CERTIFIED[name]
    stored(tmp_path, answer(example(stem), asked))
    assert check([str(tmp_path)]) == HOLDS


@pytest.fixture(scope="module")
def run_and_search() -> tuple[Answer, Answer]:
    return answer(example("error_feedback"), Asked(steps=1)), answer(example("gradient_descent"), Asked())


def set_in(*path: Any) -> Callable[[Any], None]:
    *way, last, value = path

    def change(record: Any) -> None:
        for name in way:
            record = record[name]
        record[last] = value

    return change


CORRUPTED: dict[str, tuple[int, Callable[[Any], None], int]] = {
    "a smaller bound": (0, set_in("upper", "bound", "4/5"), REFUTED),
    "a larger worst case": (0, set_in("lower", "bound", "99/10"), REFUTED),
    "weights that are no mean": (0, set_in("upper", "weights", ["2/1"]), REFUTED),
    "a negative multiplier": (0, set_in("upper", "multipliers", "compression 0", "-1/1"), REFUTED),
    "no multiplier of the compressor": (0, lambda r: r["upper"]["multipliers"].pop("compression 0"), REFUTED),
    "a wider compressor": (0, set_in("compressions", 0, 2, "1/1"), REFUTED),
    "another curvature": (0, set_in("mu", "1/20"), REFUTED),
    "an impossible curvature": (0, set_in("mu", "2/1"), REFUTED),
    "a Gram matrix that is none": (0, set_in("lower", "gram", 0, 0, "-1/1"), REFUTED),
    "a Gram matrix of another size": (0, lambda r: r["lower"]["gram"].pop(), REFUTED),
    "a minimiser elsewhere": (0, set_in("points", 0, 0, 2, 0), REFUTED),
    "one value for two points": (0, set_in("points", 0, 1, 2, 1), REFUTED),
    "a gradient at the minimiser": (0, lambda r: r["points"][0][0][1].__setitem__(0, "1/1"), REFUTED),
    "an unknown inequality": (0, set_in("upper", "multipliers", "pair 0:8,9", "1/1"), UNREADABLE),
    "a float": (0, set_in("upper", "bound", 0.9), UNREADABLE),
    "nothing claimed": (0, lambda r: r.update(upper=None, lower=None), REFUTED),
    "another claim": (0, set_in("claim", "nothing"), REFUTED),
    "a smaller factor": (1, set_in("upper", "bound", "4/5"), REFUTED),
    "another function": (1, set_in("upper", "quadratic", 0, 0, "0/1"), REFUTED),
    "another value": (1, set_in("upper", "linear", 0, "-9/1"), REFUTED),
    "no multipliers of the state": (1, lambda r: r["upper"]["multipliers"].pop("state"), UNREADABLE),
    "a larger measured form": (1, lambda r: scale_form(r["measured"], 10**9), REFUTED),
}


def scale_form(form: Any, factor: int) -> None:
    def scaled(entry: str) -> str:
        numerator, _, denominator = entry.partition("/")
        return f"{int(numerator) * factor}/{denominator}"

    form["gram"] = [[scaled(entry) for entry in row] for row in form["gram"]]


@pytest.mark.parametrize("error", CORRUPTED)
def test_a_corrupted_certificate_is_rejected(
    error: str, run_and_search: tuple[Answer, Answer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, corrupt, status = CORRUPTED[error]
    path = stored(tmp_path, run_and_search[place])
    assert check([str(tmp_path)]) == HOLDS
    record = copy.deepcopy(run_and_search[place].record)
    corrupt(record)
    path.write_text(json.dumps({"certificates": [record]}), encoding="utf-8")
    assert check([str(tmp_path)]) == status
    assert "certificate 1" in capsys.readouterr().err


def test_what_does_not_round_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsync.verify.worst_case_rates.certify.MARGINS", ())
    found = answer(example("error_feedback"), Asked())
    assert isinstance(found.upper, Unproved)
    assert found.record is None
    assert found.rate == pytest.approx(0.88480829, abs=NEAR)
