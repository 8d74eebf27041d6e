"""Do the certificates hold? Fractions alone decide: no solver, no float, and nothing of ours is imported.

Usage: python verify/check_certificates.py DIR. Every `*.json` under DIR holds {"certificates": [...]}, with rationals
"p/q". Exit status: 0 all hold; 1 one does not (named, with the false claim); 2 the input cannot be read. Ours.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

CLASSES: dict[str, Any] = {  # the weight w_i as a function of d − i, and S: the bound stated is S(d − k)/S(d)
    "top_k": (lambda _rest: 1, lambda m: m),
    "square_convex": (lambda rest: 2 * rest + 1, lambda m: m**2),
    "square_convex_end_point": (lambda rest: rest, lambda m: m**2),
    "bell_shaped": (lambda rest: 3 * rest * (rest + 1) + 1, lambda m: m**3),
    "bell_shaped_end_point": (lambda rest: rest**2, lambda m: m**3),
    "square_convex_discrete": (lambda rest: rest + 1, lambda m: m * (m + 1)),
    "bell_shaped_discrete": (lambda rest: (rest + 1) ** 2, lambda m: m * (m + 1) * (2 * m + 1)),
}
BASES = {"error_feedback": "x0 e0 c0 g0", "error_feedback_21": "d0 c0 g0 g1", "compressed_descent": "x0 c0 g0 g1"}
METHODS: dict[str, Any] = {  # s, η, the basis to: points (x, g); the compressor's B; V_0 and V_1, whole and deviations
    "error_feedback": lambda s, eta, x, e, c, g: (
        {"*": (0, 0), "0": (x, g)},
        ((v := e + eta * g) - c) ** 2 - s**2 * v**2,
        (((x - e) ** 2 + e**2 / s, (x - v) ** 2 + (v - c) ** 2 / s), (e**2, (v - c) ** 2)),
    ),
    "error_feedback_21": lambda s, eta, d, c, g, h: (
        {"0": (eta * d, g), "1": (0, h)},
        ((v := h - d) - c) ** 2 - s**2 * v**2,
        (((g - d) ** 2 + s * g**2, (v - c) ** 2 + s * h**2), ((g - d) ** 2, (v - c) ** 2)),
    ),
    "compressed_descent": lambda s, eta, x, c, g, h: (
        {"*": (0, 0), "0": (x, g), "1": (x - eta * c, h)},
        (g - c) ** 2 - s**2 * g**2,
        ((0, 0),),
    ),
}
FOLLOWING: dict[str, Any] = {  # the next state of a coordinate, where f(x) = a x²/2 and the compressor multiplies by b
    "error_feedback": lambda eta, a, b, x, e: [x - b * (e + eta * a * x), (1 - b) * (e + eta * a * x)],
    "error_feedback_21": lambda eta, a, b, x, d: [x - eta * d, d + b * (a * (x - eta * d) - d)],
    "compressed_descent": lambda eta, a, b, x: [x - eta * b * a * x],
}


class RefutedError(Exception):
    """A claim of a certificate is false."""


def contraction(record: dict[str, Any]) -> None:
    """Multipliers y ≥ 0 prove tail(v) ≤ λ total(v) wherever v_i w_{i+1} ≥ v_{i+1} w_i, and v = w attains it."""
    name, d, k = field(record, "class", str), field(record, "dimension", int), field(record, "count", int)
    y, bound = [Fraction(0), *map(rational, field(record, "multipliers", list)), Fraction(0)], rational(record["bound"])
    weight, energy = CLASSES[name]
    require(1 <= k <= d and len(y) == d + 1 and min(y) >= 0, "1 ≤ k ≤ d, with d − 1 multipliers ≥ 0")
    w = [0, *(weight(d - i) for i in range(1, d + 1)), 0]
    for i in range(1, d + 1):
        require((i > k) - bound + y[i] * w[i + 1] - y[i - 1] * w[i - 1] <= 0, f"the coefficient of v_{i} is ≤ 0")
    require(sum(w[k + 1 :]) == bound * sum(w) and sum(w) > 0, "v = w attains the bound")
    stated = Fraction(energy(d - k), energy(d))
    require(bound == stated or (bound < stated and name.endswith("_end_point")), f"the bound is (or implies) {stated}")


def rate(record: dict[str, Any]) -> None:
    """ρ V_0 − V_1 + Σ λ Q + ν B ≥ 0 with λ, ν ≥ 0 ≥ Q, B proves V_1 ≤ ρ V_0; see `tight_rates/certificates.py`."""
    mu, top, s, eta, rho = (rational(record[n]) for n in ("mu", "smoothness", "root_epsilon", "step_size", "bound"))
    known = {name: rational(value) for name, value in field(record, "multipliers", dict).items()}
    require(0 < mu < top and 0 < s < 1 and eta > 0 and 0 <= rho < 1, "0 < μ < L, 0 < s < 1, η > 0, 0 ≤ ρ < 1")
    kind, descent = record["kind"], record["kind"] == "compressed_descent"
    require(record["basis"] == BASES[kind].split() and min(known.values()) >= 0, f"basis {BASES[kind]}, λ, ν ≥ 0")
    compression, pairs = known.pop("compressor"), [(*name.split(","), value) for name, value in known.items()]
    slopes = [sum(value * ((j == point) - (i == point)) for i, j, value in pairs) for point in "01"]
    require(slopes == ([-rho, 1] if descent else [0, 0]), "the function values cancel")

    def form(*basis: Any) -> Any:
        points, compressed, energies = METHODS[kind](s, eta, *basis)
        before, after = energies[deviation]
        total = rho * before - after + compression * compressed
        for i, j, value in pairs:
            move, change = 0 if deviation else points[i][0] - points[j][0], points[i][1] - points[j][1]
            bend = change**2 / top + (move - change / top) ** 2 * mu / (1 - mu / top)
            total += value * (points[j][1] * move + bend / 2)
        return total

    for deviation, name in enumerate(("slack", "deviation_slack")[: 1 if descent else 2]):
        units = [[Fraction(n == m) for m in range(4)] for n in range(int(deviation and kind == "error_feedback"), 4)]
        matrix = [[(form(*map(sum, zip(u, v, strict=True))) - form(*u) - form(*v)) / 2 for v in units] for u in units]
        require([[rational(entry) for entry in row] for row in record[name]] == matrix, f"{name} is the sum")
        while matrix:  # L D Lᵀ by elimination
            (pivot, *row), *below = matrix
            require(pivot > 0 or (pivot == 0 and not any(row)), f"{name} is positive semidefinite")
            matrix = [[p - q * first / (pivot or 1) for p, q in zip(rest, row, strict=True)] for first, *rest in below]
    worst, q, r = field(record, "attained_by", dict), top * (1 + s), mu * (1 - s)
    a, b, theta, *state = map(rational, (worst["curvature"], worst["response"], worst["factor"], *worst["state"]))
    require(mu <= a <= top and (1 - b) ** 2 <= s**2 and theta**2 == rho, "μ ≤ a ≤ L, |1 − b| ≤ s, θ² = ρ")
    closed = theta * (q + r) == q - r if descent else (top - mu) * theta * (1 - s) == (top + mu) * (rho - s)
    require(closed, "ρ has the closed form of the statement")
    require(any(state) and FOLLOWING[kind](eta, a, b, *state) == [theta * z for z in state], "a quadratic attains ρ")


def require(holds: bool, claim: str) -> None:
    """Refute the certificate unless the claim holds."""
    if not holds:
        raise RefutedError(f"it is false that {claim}")


def field(record: dict[str, Any], name: str, kind: type) -> Any:
    """The value of a field, if it has the very type that is asked for (a truth value is no integer)."""
    if type(record[name]) is not kind:
        raise ValueError(f"{name} is no {kind.__name__}: {record[name]!r}")
    return record[name]


def rational(value: object) -> Fraction:
    """The number "p/q", q > 0."""
    p, _, q = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not all(part.isascii() and part.isdecimal() for part in (p.removeprefix("-"), q)) or int(q) == 0:
        raise ValueError(f"not a rational p/q with q > 0: {value!r}")
    return Fraction(int(p), int(q))


def check_file(path: Path) -> tuple[int, str]:
    """Check every certificate of a file; return the exit status that it deserves, and why."""
    place, kinds = f"{path}", []
    try:
        for number, record in enumerate(field(json.loads(path.read_text("utf-8")), "certificates", list), start=1):
            place = f"{path}: certificate {number}"
            kinds.append(field(record, "kind", str))
            KINDS[kinds[-1]](record)
    except RefutedError as refuted:
        return 1, f"{place} ({kinds[-1]}): {refuted}"
    except (KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        return 2, f"{place}: {type(error).__name__}: {error}"
    return (0, f"{len(kinds)} {path.stem}") if kinds else (2, f"{place}: there are no certificates")


def main(arguments: list[str]) -> int:
    """Check a folder; return the exit status."""
    paths = sorted(Path(arguments[0]).rglob("*.json")) if len(arguments) == 1 else []
    verdicts = [check_file(path) for path in paths] or [(2, f"expected one folder that holds *.json, got {arguments}")]
    status = max(status for status, _ in verdicts)
    words = "; ".join(words for own_status, words in verdicts if own_status == status)
    (sys.stderr if status else sys.stdout).write(f"{words}\n" if status else f"all certificates hold: {words}\n")
    return status


KINDS: dict[str, Any] = {"contraction": contraction, **dict.fromkeys(METHODS, rate)}
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
