"""Which wrong statements about distance correlation must the evidence notice? `mutants.py` collects them. Ours."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sparsync.theory.language.symbols import row_covariance, sample_size, second_excess
from sparsync.verify.learning import distance_correlation
from sparsync.verify.ledger.mutation import Mutant, wrong_bound
from sparsync.verify.tools.outcome import Grade


def wrong_centring(label: str, change: str, name: str, centring: Any, *killed_by: Grade) -> Mutant:
    """The evidence computes with another centring than it should."""
    return Mutant(label, change, lambda: ((distance_correlation.__dict__, name, centring),), killed_by)


def _rows_alone(distances: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Less the mean of the row; that of the column is forgotten."""
    return [[entry - sum(row, Fraction(0)) / len(row) for entry in row] for row in distances]


MUTANTS: dict[str, Mutant] = {
    "equal_distance_correlation_examples": wrong_bound(
        "equal_distance_correlation",
        "less the share of the diagonal, as if the mean were over pairs of examples",
        lambda bound: bound * (sample_size - 1) / sample_size,
        "rational",
        "property",
    ),
    "permuted_distance_covariance_examples": wrong_bound(
        "permuted_distance_covariance",
        "n for n − 1, as if an example had a distance from itself",
        lambda bound: bound * sample_size / (sample_size - 1),
        "rational",
        "property",
    ),
    "permuted_distance_correlation_one": wrong_bound(
        "permuted_distance_correlation",
        "the second excess halved",
        lambda bound: bound.subs(second_excess, second_excess / 2),
        "smt",
        "rational",
        "property",
    ),
    "distance_covariance_bias_rows": wrong_bound(
        "distance_covariance_bias",
        "the covariance of the examples' mean distances once for rows and columns, which is twice",
        lambda bound: bound.subs(row_covariance, row_covariance / 2),
        "rational",
        "property",
    ),
    "permuted_corrected_square_places": wrong_bound(
        "permuted_corrected_square",
        "over n(n − 1), as many as there are pairs",
        lambda _bound: 2 / (sample_size * (sample_size - 1)),
        "rational",
        "property",
    ),
    "distance_covariance_slope_once": wrong_bound(
        "distance_covariance_slope",
        "a_ij without a_ji",
        lambda bound: bound / 2,
        "rational",
        "property",
    ),
    "permuted_corrected_square_biased": wrong_centring(
        "permuted_corrected_square",
        "double centring for U-centring: a biased distance correlation",
        "u_centred",
        distance_correlation.doubly_centred,
        "rational",
        "property",
    ),
    "distance_covariance_bias_biased": wrong_centring(
        "distance_covariance_bias",
        "double centring for U-centring: a biased distance correlation",
        "u_centred",
        distance_correlation.doubly_centred,
        "rational",
        "property",
    ),
    "distance_covariance_slope_adjoint": wrong_centring(
        "distance_covariance_slope",
        "a wrong adjoint: rows are centred, columns are not",
        "doubly_centred",
        _rows_alone,
        "rational",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
