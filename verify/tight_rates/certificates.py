"""How can a rate be checked with fractions alone? Multipliers, step size and slack at parameters where θ is rational.

Given s = √ε and θ in (√s, 1), both rational, (L − μ)/(L + μ) = (θ² − s)/(θ(1 − s)) makes ρ = θ² the rate of error
feedback with every multiplier rational. A certificate is a JSON object, every rational a string "p/q":

    kind          "error_feedback", "error_feedback_21" or "compressed_descent"
    mu, smoothness, root_epsilon (= s), step_size (= η), bound (= ρ)
    basis         names of the vectors that index `slack`, see below
    multipliers   {"0,*": λ, "*,0": λ, "compressor": ν} and the like; "i,j" belongs to the inequality Q(i, j)
    slack         symmetric matrix over `basis`
    deviation_slack   symmetric matrix over `basis` without x0 (the two kinds of error feedback only)
    attained_by   {"curvature": a, "response": b, "state": [..], "factor": θ}

Forms (x* = 0, g* = 0, f* = 0; a product of vectors is a symmetric matrix over the basis):

    Q(i, j) = f_j − f_i + ⟨g_j, x_i − x_j⟩ + ‖g_i − g_j‖²/(2L) + ‖x_i − x_j − (g_i − g_j)/L‖² μ/(2(1 − μ/L))    (≤ 0)
    error_feedback      basis x0 e0 c0 g0    v = e0 + η g0, x1 = x0 − c0, e1 = v − c0
                        V_k = ‖x_k − e_k‖² + ‖e_k‖²/s           B = ‖v − c0‖² − s²‖v‖²                       (≤ 0)
    error_feedback_21   basis d0 c0 g0 g1    x0 − x1 = η d0, d1 = d0 + c0
                        V_k = ‖g_k − d_k‖² + s‖g_k‖²             B = ‖g1 − d0 − c0‖² − s²‖g1 − d0‖²           (≤ 0)
    compressed_descent  basis x0 c0 g0 g1    x1 = x0 − η c0
                        V_k = f_k                                B = ‖g0 − c0‖² − s²‖g0‖²                     (≤ 0)

To be verified: 0 < μ < L, 0 < s < 1, η > 0, 0 ≤ ρ < 1; every multiplier ≥ 0; slack = ρ V_0 − V_1 + Σ λ Q + ν B entry
by entry, where the coefficients of f_0 and f_1 cancel; slack is positive semidefinite. Then V_1 ≤ ρ V_0. The
deviation slack is the same sum with the positions x0, x1 (in Q(i, j): x_i − x_j) set to zero and V_k replaced by
‖e_k‖² (error_feedback) or ‖g_k − d_k‖² (error_feedback_21); positive semidefinite as well, it gives the same rate for
every number of workers, by splitting the workers' vectors into mean and deviations. Tightness: f(x) = a x²/2 with
μ ≤ a ≤ L and C(v) = b v with (1 − b)² ≤ s² send the state (x0, e0), (x0, d0) or (x0) to θ times itself, θ² = ρ; the
state is non-zero. The multipliers: Thomsen, Taylor and Dieuleveut 2025, 2026; rational points and deviations ours.
"""

from collections.abc import Mapping
from copy import deepcopy
from fractions import Fraction
from functools import cache
from typing import Any

from sparsync.verify.tight_rates.forms import (
    BASES,
    FEEDBACK_KINDS,
    Matrix,
    Setting,
    deviation_slack,
    is_positive_semidefinite,
    slack,
    value_coefficients,
)

ROOT_EPSILONS = (Fraction(1, 100), Fraction(1, 9), Fraction(1, 4), Fraction(2, 5), Fraction(2, 3), Fraction(9, 10))
"""s of the certificates."""
POSITIONS = (Fraction(1, 20), Fraction(1, 5), Fraction(1, 2), Fraction(4, 5), Fraction(19, 20))
"""Where θ lies between an upper bound of √s and 1."""
CURVATURE_RATIOS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
"""μ/L of the certificates of compressed gradient descent, whose rate is rational whenever s is."""
SMOOTHNESS = Fraction(3)
"""L of the certificates; a common factor of L and μ changes the step size only."""


def rate_certificates() -> list[dict[str, object]]:
    """All certificates: both kinds of error feedback at 30 rational points each, compressed descent at 24."""
    return deepcopy(_derived())


@cache
def _derived() -> list[dict[str, object]]:
    """Kept, because the check of every statement, and of every wrong one, asks for them."""
    return [record for kind in BASES for record in certificates_of(kind)]


def certificates_of(kind: str) -> list[dict[str, object]]:
    """The certificates of one kind."""
    if kind in FEEDBACK_KINDS:
        return [
            feedback_certificate(kind, root_epsilon=s, factor=_factor(s, position))
            for s in ROOT_EPSILONS
            for position in POSITIONS
        ]
    return [
        descent_certificate(root_epsilon=s, mu=share * SMOOTHNESS) for s in ROOT_EPSILONS for share in CURVATURE_RATIOS
    ]


def feedback_certificate(kind: str, *, root_epsilon: Fraction, factor: Fraction) -> dict[str, object]:
    """The certificate where θ and s are given and μ follows from them.

    Raises:
        ValueError: the kind has no memory, or not 0 < s < θ² < 1.
    """
    s, theta = root_epsilon, factor
    if kind not in FEEDBACK_KINDS:
        raise ValueError(f"kind must be one of {FEEDBACK_KINDS}, got {kind!r}")
    if not 0 < s < theta**2 < 1:
        raise ValueError(f"expected 0 < root_epsilon < factor² < 1, got {s} and {theta}")
    spread = (theta**2 - s) / (theta * (1 - s))
    mu = SMOOTHNESS * (1 - spread) / (1 + spread)
    step_size = 2 / (SMOOTHNESS + mu) * (1 - s) / (1 + s)
    pair = 2 * step_size * theta if kind == "error_feedback" else 2 * s * theta / step_size
    names = ("0,*", "*,0") if kind == "error_feedback" else ("0,1", "1,0")
    multipliers = {**dict.fromkeys(names, pair), "compressor": 1 / s if kind == "error_feedback" else Fraction(1)}
    setting = Setting(kind, mu, SMOOTHNESS, s, step_size, theta**2)
    return _record(setting, multipliers, factor=theta, response=1 + s)


def descent_certificate(*, root_epsilon: Fraction, mu: Fraction) -> dict[str, object]:
    """The certificate of compressed gradient descent at η = 2/((1 − s)μ + (1 + s)L), with L = `SMOOTHNESS`.

    Raises:
        ValueError: not 0 < s < 1 and 0 < μ < L.
    """
    s = root_epsilon
    if not (0 < s < 1 and 0 < mu < SMOOTHNESS):
        raise ValueError(f"expected 0 < root_epsilon < 1 and 0 < mu < {SMOOTHNESS}, got {s} and {mu}")
    step_size = 2 / ((1 - s) * mu + (1 + s) * SMOOTHNESS)
    theta = ((1 + s) * SMOOTHNESS - (1 - s) * mu) / ((1 + s) * SMOOTHNESS + (1 - s) * mu)
    multipliers = {
        "0,1": theta,
        "*,0": theta * (1 - theta),
        "*,1": 1 - theta,
        "compressor": theta * step_size / (2 * s),
    }
    setting = Setting("compressed_descent", mu, SMOOTHNESS, s, step_size, theta**2)
    return _record(setting, multipliers, factor=theta, response=1 - s)


def is_proof(record: Mapping[str, Any]) -> bool:
    """True iff the record proves its bound and attains it; see the module docstring.

    Raises:
        KeyError: a field is missing.
        ValueError: a number cannot be read.
    """
    setting = read_setting(record)
    multipliers = {name: Fraction(value) for name, value in record["multipliers"].items()}
    recomputed = _slacks(setting, multipliers)
    return (
        0 < setting.mu < setting.smoothness
        and 0 < setting.root_epsilon < 1
        and setting.step_size > 0
        and 0 <= setting.bound < 1
        and record["basis"] == list(BASES[setting.kind])
        and all(value >= 0 for value in multipliers.values())
        and not any(value_coefficients(setting, multipliers))
        and all(record[name] == _matrix_text(matrix) for name, matrix in recomputed.items())
        and all(is_positive_semidefinite(matrix) for matrix in recomputed.values())
        and is_attained(setting, record["attained_by"])
    )


def is_attained(setting: Setting, example: Mapping[str, Any]) -> bool:
    """True iff the quadratic and the linear compressor are admissible and send the state to θ times itself, θ² = ρ."""
    curvature, response, factor = (Fraction(example[name]) for name in ("curvature", "response", "factor"))
    state = tuple(Fraction(entry) for entry in example["state"])
    return (
        setting.mu <= curvature <= setting.smoothness
        and (1 - response) ** 2 <= setting.root_epsilon**2
        and factor**2 == setting.bound
        and any(state)
        and _after(setting, curvature, response, state) == tuple(factor * entry for entry in state)
    )


def read_setting(record: Mapping[str, Any]) -> Setting:
    """The numbers that a record is about."""
    names = ("mu", "smoothness", "root_epsilon", "step_size", "bound")
    return Setting(record["kind"], *(Fraction(record[name]) for name in names))


def _record(
    setting: Setting, multipliers: Mapping[str, Fraction], *, factor: Fraction, response: Fraction
) -> dict[str, object]:
    example = {
        "curvature": _text(setting.mu),
        "response": _text(response),
        "state": [_text(entry) for entry in _eigenvector(setting, factor=factor, response=response)],
        "factor": _text(factor),
    }
    return {
        "kind": setting.kind,
        "mu": _text(setting.mu),
        "smoothness": _text(setting.smoothness),
        "root_epsilon": _text(setting.root_epsilon),
        "step_size": _text(setting.step_size),
        "bound": _text(setting.bound),
        "basis": list(BASES[setting.kind]),
        "multipliers": {name: _text(value) for name, value in multipliers.items()},
        **{name: _matrix_text(matrix) for name, matrix in _slacks(setting, multipliers).items()},
        "attained_by": example,
    }


def _slacks(setting: Setting, multipliers: Mapping[str, Fraction]) -> dict[str, Matrix]:
    matrices = {"slack": slack(setting, multipliers)}
    if setting.kind in FEEDBACK_KINDS:
        matrices["deviation_slack"] = deviation_slack(setting, multipliers)
    return matrices


def _after(
    setting: Setting, curvature: Fraction, response: Fraction, state: tuple[Fraction, ...]
) -> tuple[Fraction, ...]:
    """One step of the method on f = a x²/2 with C(v) = b v."""
    if setting.kind == "compressed_descent":
        return (state[0] - setting.step_size * response * curvature * state[0],)
    position, memory = state
    if setting.kind == "error_feedback":
        corrected = memory + setting.step_size * curvature * position
        return position - response * corrected, (1 - response) * corrected
    following = position - setting.step_size * memory
    return following, memory + response * (curvature * following - memory)


def _eigenvector(setting: Setting, *, factor: Fraction, response: Fraction) -> tuple[Fraction, ...]:
    """The state of the eigenvalue θ for f = μx²/2, with x_0 = 1; the first line of the step determines the second."""
    scaled = setting.step_size * setting.mu
    return {
        "error_feedback": (Fraction(1), (1 - factor) / response - scaled),
        "error_feedback_21": (Fraction(1), (1 - factor) / setting.step_size),
        "compressed_descent": (Fraction(1),),
    }[setting.kind]


def _factor(root_epsilon: Fraction, position: Fraction) -> Fraction:
    """A rational between √s and 1: one Newton step for √s from (1 + s)/2 is at least √s."""
    mean = (1 + root_epsilon) / 2
    lowest = (mean + root_epsilon / mean) / 2
    return lowest + position * (1 - lowest)


def _matrix_text(matrix: Matrix) -> list[list[str]]:
    return [[_text(entry) for entry in row] for row in matrix]


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
