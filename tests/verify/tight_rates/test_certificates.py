import copy
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy
import pytest

from sparsync.verify.tight_rates.certificates import (
    descent_certificate,
    feedback_certificate,
    is_attained,
    is_proof,
    rate_certificates,
    read_setting,
)
from sparsync.verify.tight_rates.forms import (
    FEEDBACK_KINDS,
    deviation_slack,
    is_positive_semidefinite,
    slack,
    value_coefficients,
)

CERTIFICATES: list[dict[str, Any]] = rate_certificates()
ONE_OF_EACH = [
    next(record for record in CERTIFICATES if record["kind"] == kind)
    for kind in ("error_feedback", "error_feedback_21", "compressed_descent")
]


def identify(record: dict[str, Any]) -> str:
    return str(record["kind"])


def rows(*values: tuple[int, ...]) -> list[list[Fraction]]:
    return [[Fraction(value) for value in row] for row in values]


def nearby(value: str, factor: Fraction) -> str:
    changed = Fraction(value) * factor
    return f"{changed.numerator}/{changed.denominator}"


def test_there_are_over_thirty_certificates_of_error_feedback_with_distinct_parameters() -> None:
    for kind in FEEDBACK_KINDS:
        parameters = {(r["mu"], r["root_epsilon"]) for r in CERTIFICATES if r["kind"] == kind}
        assert len(parameters) >= 30


def test_every_certificate_proves_and_attains_its_rate_after_a_round_trip_through_json() -> None:
    assert all(is_proof(json.loads(json.dumps(record))) for record in CERTIFICATES)


def test_every_rational_is_written_with_a_denominator() -> None:
    assert all("/" in record["bound"] for record in CERTIFICATES)
    assert all("/" in entry for record in CERTIFICATES for row in record["slack"] for entry in row)


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=identify)
@pytest.mark.parametrize("factor", [Fraction(999, 1000), Fraction(1001, 1000)])
@pytest.mark.parametrize("field", ["mu", "smoothness", "root_epsilon", "step_size", "bound"])
def test_a_changed_number_is_no_proof(record: dict[str, Any], field: str, factor: Fraction) -> None:
    assert not is_proof({**record, field: nearby(record[field], factor)})


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=identify)
def test_a_smaller_bound_with_its_own_slack_is_no_proof(record: dict[str, Any]) -> None:
    setting = read_setting(record)
    smaller = replace(setting, bound=setting.bound * Fraction(99, 100))
    multipliers = {name: Fraction(value) for name, value in record["multipliers"].items()}
    assert any(value_coefficients(smaller, multipliers)) or not is_positive_semidefinite(slack(smaller, multipliers))


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=identify)
def test_a_negative_multiplier_is_no_proof(record: dict[str, Any]) -> None:
    changed = copy.deepcopy(record)
    changed["multipliers"]["compressor"] = nearby(record["multipliers"]["compressor"], Fraction(-1))
    assert not is_proof(changed)


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=identify)
@pytest.mark.parametrize("field", ["curvature", "response", "factor"])
def test_a_changed_example_does_not_attain_the_rate(record: dict[str, Any], field: str) -> None:
    example = {**record["attained_by"], field: nearby(record["attained_by"][field], Fraction(11, 10))}
    assert not is_attained(read_setting(record), example)


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=identify)
def test_the_zero_state_attains_nothing(record: dict[str, Any]) -> None:
    zero = ["0/1"] * len(record["attained_by"]["state"])
    assert not is_attained(read_setting(record), {**record["attained_by"], "state": zero})


def test_the_slack_agrees_with_floating_point_eigenvalues() -> None:
    for record in CERTIFICATES:
        eigenvalues = numpy.linalg.eigvalsh(numpy.array([[float(Fraction(v)) for v in row] for row in record["slack"]]))
        # Symmetric eigenvalues have an error of a few roundings times the norm.
        assert eigenvalues.min() >= -16 * 2.0**-52 * abs(eigenvalues).max()


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (rows((1, 1), (1, 1)), True),
        (rows((1, 2), (2, 1)), False),
        (rows((0, 0), (0, 3)), True),
        (rows((0, 1), (1, 3)), False),
        (rows((0, 0), (0, -1)), False),
        (rows((1, 1, 0), (1, 1, 0), (0, 0, 0)), True),
        (rows((1, 1, 0), (1, 1, 1), (0, 1, 5)), False),
        (rows((4, 2, -2), (2, 1, -1), (-2, -1, 1)), True),
        ([], True),
    ],
)
def test_zero_pivots_are_allowed_only_with_zero_rows(matrix: list[list[Fraction]], expected: bool) -> None:
    assert is_positive_semidefinite(matrix) is expected


@pytest.mark.parametrize("matrix", [rows((1, 2), (3, 4)), rows((1, 2)), rows((1,), (2,))])
def test_a_matrix_that_is_not_square_and_symmetric_is_refused(matrix: list[list[Fraction]]) -> None:
    with pytest.raises(ValueError, match="symmetric"):
        is_positive_semidefinite(matrix)


def test_parameters_without_a_certificate_are_refused() -> None:
    with pytest.raises(ValueError, match="factor"):
        feedback_certificate("error_feedback", root_epsilon=Fraction(1, 2), factor=Fraction(1, 2))
    with pytest.raises(ValueError, match="kind"):
        feedback_certificate("compressed_descent", root_epsilon=Fraction(1, 2), factor=Fraction(4, 5))
    with pytest.raises(ValueError, match="mu"):
        descent_certificate(root_epsilon=Fraction(1, 2), mu=Fraction(3))


def test_compressed_descent_has_no_workers_to_deviate() -> None:
    record = ONE_OF_EACH[2]
    with pytest.raises(ValueError, match="compressed_descent"):
        deviation_slack(read_setting(record), {})
