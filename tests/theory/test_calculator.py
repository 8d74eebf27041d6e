"""The calculator's numbers are the statements' numbers, and what makes no sense is refused in one line."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sparsync.theory.calculator import LAWS, Question, bits_per_second, exchanges, main, rungs, whole_number
from sparsync.theory.statements import STATEMENTS

QUESTION = Question(density=0.001, dimension=25_600_000, workers=16, bandwidth=10e9, law="gaussian")
ISSUE_LINE = "--density 0.001 --law gaussian --dimension 25.6e6 --workers 16 --bandwidth 10Gbit"
SHAPES = {"student_t": 5.0, "generalised_gaussian": 1.5, "gamma": 0.5, "weibull": 0.5}


def asked(law: str | None, value: float | None = None) -> Question:
    parameter = LAWS[law].parameter if law else None
    return replace(QUESTION, law=law, parameters={parameter: value} if parameter and value is not None else {})


@pytest.mark.parametrize("law", LAWS)
def test_every_law_is_answered_with_its_own_statement(law: str) -> None:
    question = asked(law, SHAPES.get(law))
    by_label = {rung.label: rung for rung in rungs(question)}
    exact = by_label[LAWS[law].label]
    assert exact.epsilon == STATEMENTS[LAWS[law].label].evaluate(kappa=0.001, **question.parameters)
    # The law obeys every bound whose hypotheses it meets.
    assert all(exact.epsilon <= by_label[label].epsilon for label in LAWS[law].rungs(question.parameters))


@pytest.mark.parametrize(
    ("law", "value", "expected"),
    [
        ("gaussian", None, {"top_k", "square_convex", "bell_shaped"}),
        ("gamma", 1.0, {"top_k", "square_convex", "bell_shaped"}),
        ("gamma", 1.5, {"top_k", "square_convex"}),
        ("weibull", 2.5, {"top_k"}),
        (None, None, {"top_k"}),
    ],
)
def test_only_bounds_whose_hypotheses_hold_are_listed(law: str | None, value: float | None, expected: set[str]) -> None:
    bounds = {"top_k", "square_convex", "bell_shaped"}
    assert {rung.label for rung in rungs(asked(law, value))} & bounds == expected


def test_rate_step_and_iterations_are_those_of_the_tight_theorem() -> None:
    rung = next(rung for rung in rungs(QUESTION) if rung.label == "top_k")
    function = {"mu": 1, "smoothness": 10, "epsilon": rung.epsilon}
    assert rung.rate == STATEMENTS["ef_tight_rate"].evaluate(**function)
    assert rung.step_size == pytest.approx(10 * STATEMENTS["ef_tight_step"].evaluate(**function), rel=2**-52)
    assert rung.rate**rung.iterations <= QUESTION.tolerance < rung.rate ** (rung.iterations - 1)


def test_a_smaller_error_needs_fewer_iterations() -> None:
    iterations = [rung.iterations for rung in sorted(rungs(QUESTION), key=lambda rung: rung.epsilon)]
    assert iterations == sorted(iterations)


@pytest.mark.parametrize("power", [8, 13, 18])
@pytest.mark.parametrize("condition_number", [10.0, 1e4, 1e100])
def test_no_digit_of_a_small_share_is_lost(power: int, condition_number: float) -> None:
    """One entry of 10^power: 1 − θ² is δμ/(L + μ) up to a relative δ, and δ = κ."""
    one = replace(QUESTION, density=10.0**-power, dimension=10**power, law=None, condition_number=condition_number)
    rung = rungs(one)[0]
    assert (rung.delta, rung.gain) == (10.0**-power, 1.0)
    assert rung.iterations == pytest.approx(-math.log(1e-6) * 10**power * (condition_number + 1), rel=1e-7)


def test_everything_sent_is_gradient_descent() -> None:
    everything = replace(QUESTION, density=1.0, law=None)
    (rung, *_) = rungs(everything)
    assert (rung.epsilon, rung.gain) == (0.0, 1.0)
    assert rung.rate == pytest.approx((9 / 11) ** 2)


@pytest.mark.parametrize("law", ["weibull", "gamma"])
def test_of_a_law_with_the_heaviest_tails_a_few_entries_are_all(law: str) -> None:
    """The error is positive and below 10 to the power −10^290: as a fraction nobody could write it."""
    rung = next(rung for rung in rungs(asked(law, 1e-300)) if rung.label == LAWS[law].label)
    nothing_lost = rungs(replace(QUESTION, density=1.0, law=None))[0]
    assert (rung.epsilon, rung.delta) == (0.0, 1.0)
    assert rung.gain == pytest.approx(1 / QUESTION.density)
    assert (rung.rate, rung.step_size) == (nothing_lost.rate, nothing_lost.step_size)
    assert rung.iterations == nothing_lost.iterations


def test_bytes_and_seconds_by_hand() -> None:
    small = Question(density=0.01, dimension=1000, workers=4, bandwidth=8e6, latency_seconds=1e-3)
    dense, half, sparse = exchanges(small)
    # Ring: 2·(n−1)/n·4 bytes·1000; 10 entries of 8 bytes, and two headers of 64, to each of three others.
    headers = 3 * 2 * 64
    assert (dense.sent_bytes, half.sent_bytes) == (6000 + headers, 3000 + headers)
    assert sparse.sent_bytes == 3 * 80 + headers
    assert dense.seconds == pytest.approx(6384 / 1e6 + 12e-3)
    assert sparse.seconds == pytest.approx(624 / 1e6 + 9e-3)


def test_one_worker_sends_nothing() -> None:
    assert [cost.sent_bytes for cost in exchanges(replace(QUESTION, workers=1))] == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "value"),
    [("10Gbit", 1e10), ("2.5 Mbit/s", 2.5e6), ("100kbit", 1e5), ("1e9", 1e9), ("400Gbitps", 4e11), ("1Tbit", 1e12)],
)
def test_bandwidths_are_read_with_their_units(text: str, value: float) -> None:
    assert bits_per_second(text) == value


@pytest.mark.parametrize("text", ["10GB", "fast", "-1Gbit", "0", "inf", "", "1.2.3Gbit"])
def test_what_is_no_bandwidth_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="bandwidth"):
        bits_per_second(text)


@pytest.mark.parametrize(("text", "value"), [("25.6e6", 25_600_000), ("1", 1), ("1e3", 1000)])
def test_dimensions_may_be_written_with_a_power_of_ten(text: str, value: int) -> None:
    assert whole_number(text) == value


@pytest.mark.parametrize("text", ["0", "-5", "1.5", "many", "1/0", "nan", "inf", "1e5000", "1e99999999"])
def test_what_is_no_dimension_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="whole number"):
        whole_number(text)


def test_the_command_line_prints_every_rung_and_collective(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ISSUE_LINE.split()) == 0
    printed = capsys.readouterr().out
    for word in ("top_k", "square_convex", "bell_shaped", "gaussian_law", "all-reduce", "all-gather", "25600"):
        assert word in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--density 0", "density must lie in (0, 1], got 0.0"),
        ("--density 1.5", "got 1.5"),
        ("--density nan", "got nan"),
        ("--law cauchy", "unknown law 'cauchy'"),
        ("--law student_t", "takes df"),
        ("--law student_t --df 2", "df"),
        ("--law gaussian --shape 2", "takes no parameter"),
        ("--dimension 0.5", "'0.5'"),
        ("--dimension 1e400", "dimension must lie in [1, 1e+18], got 1000"),
        ("--workers 0", "workers must be at least 1, got 0"),
        ("--bandwidth slow", "'slow'"),
        ("--latency -1", "got -1.0"),
        ("--condition-number 0.5", "got 0.5"),
        ("--tolerance 2", "got 2.0"),
    ],
)
def test_bad_values_are_refused_in_one_line(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ISSUE_LINE.split(), *words.split()]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_questions_hold_finite_numbers() -> None:
    with pytest.raises(ValueError, match="bandwidth must be positive, got inf"):
        replace(QUESTION, bandwidth=math.inf)
