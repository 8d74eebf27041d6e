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
Form = dict[Any, Fraction]
Case = tuple[list[list[Fraction]], list[Fraction]]


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


def worst_case(record: dict[str, Any]) -> None:
    """Bounds of the worst case of a step whose vectors are stated; see `worst_case_rates/record.py`."""
    known, upper, lower = inequalities(record), record.get("upper"), record.get("lower")
    if record["claim"] == "lyapunov":
        upper = field(record, "upper", dict)
        before, after = (lyapunov(upper, record[name]) for name in ("before", "after"))
        proves(known, upper["multipliers"]["step"], (rational(upper["bound"]), before), (-1, after))
        proves(known, upper["multipliers"]["state"], (1, before), (-1, form(record["measured"])))
        return
    before, afters = form(record["before"]), [form(after) for after in field(record, "afters", list)]
    require(record["claim"] == "quotient" and bool(afters), "the claim is of a quotient, with something at the end")
    require((upper or lower) is not None, "a bound is stated")
    if upper is not None:
        weights = [-rational(weight) for weight in field(upper, "weights", list)]
        require(sum(weights) == -1 and max(weights) <= 0, "weights ≥ 0 have the sum 1")
        ends = zip(weights, afters, strict=True)
        proves(known, upper["multipliers"], (rational(upper["bound"]), before), *ends)
    if lower is not None:
        gram, values = ([*map(rational, row)] for row in field(lower, "gram", list)), field(lower, "values", list)
        case = ([*gram], [*map(rational, values)])
        require(len(case[0]) == len(record["basis"]) and square(case[0]), "the Gram matrix is positive semidefinite")
        require(at(before, case) == 1, "the worst case starts at 1")
        require(
            min(at(after, case) for after in afters) >= rational(lower["bound"]), "the worst case reaches the bound"
        )
        for name, inequality in known.items():
            require(at(inequality, case) <= 0, f"the worst case obeys {name}")


def inequalities(record: dict[str, Any]) -> dict[str, Form]:
    """Each form that is ≤ 0: interpolation of every two points, compressors, lowest values, conditions."""
    mu, top = rational(record["mu"]), record["smoothness"] and rational(record["smoothness"])
    require(top > 0 and -top <= mu <= top if top else mu >= 0, "-L ≤ μ ≤ L, or μ ≥ 0 where there is no L")
    found, resting = {}, []
    for worker, points in enumerate(field(record, "points", list)):
        read = [(vector(x), vector(g), {} if place is None else {place: Fraction(1)}) for x, g, place in points]
        require(not any(read[0][0]) and points[0][2] is None, "the first point is the minimiser")
        places = [place for _, _, place in points[1:]]
        require(len({*places} & {*range(len(record["values"]))}) == len(places), "each point has a value of its own")
        resting.append(read[0][1])
        for i, (x, g, f) in enumerate(read):
            for j, (y, h, e) in enumerate(read):
                move, change = added((1, x), (-1, y)), added((1, g), (-1, h))
                curved = added((1, move), (-1 / top, change)) if top else move
                bends = [(1 / (2 * top), change), (mu / (2 * (1 - mu / top)), curved)] if top else [(mu / 2, curved)]
                squares = [(share, product(bend, bend)) for share, bend in bends]
                found[f"pair {worker}:{i},{j}"] = total((1, e), (-1, f), (1, product(h, move)), *squares)
            if top and not any(read[0][1]):
                found[f"lowest {worker}:{i}"] = total((1 / (2 * top), product(g, g)), (-1, f))
    require(not any(map(sum, zip(*resting, strict=True))), "the gradients at the minimiser have the sum 0")
    for place, (kept, whole, share) in enumerate(field(record, "compressions", list)):
        k, v = vector(kept), vector(whole)
        found[f"compression {place}"] = total((1, product(k, k)), (-rational(share), product(v, v)))
    return found | {name: form(own) for name, own in field(record, "conditions", dict).items()}


def lyapunov(upper: dict[str, Any], features: dict[str, Any]) -> Form:
    """Σ P_ij⟨ξ_i, ξ_j⟩ + Σ p_i v_i."""
    vectors, rows = [vector(own) for own in features["vectors"]], field(upper, "quadratic", list)
    moved = [added(*zip(map(rational, row), vectors, strict=True)) for row in rows]
    products = [(1, product(left, right)) for left, right in zip(moved, vectors, strict=True)]
    return total(*products, *zip(map(rational, upper["linear"]), map(form, features["values"]), strict=True))


def proves(known: dict[str, Form], multipliers: dict[str, str], *terms: tuple[Any, Form]) -> None:
    """The terms, plus multipliers ≥ 0 of what is ≤ 0, are a positive semidefinite matrix without function values."""
    shares = {name: rational(value) for name, value in multipliers.items()}
    require(min(shares.values(), default=Fraction(0)) >= 0, "multipliers are ≥ 0")
    found = total(*terms, *((share, known[name]) for name, share in shares.items()))
    require(not any(value for name, value in found.items() if isinstance(name, int)), "the function values cancel")
    size = range(1 + max((max(pair) for pair in found if isinstance(pair, tuple)), default=-1))
    halves = [[found.get((min(i, j), max(i, j)), Fraction(0)) / (1 + (i != j)) for j in size] for i in size]
    require(square(halves), "the sum is positive semidefinite")


def square(matrix: list[list[Fraction]]) -> bool:
    """L D Lᵀ by elimination: symmetric and positive semidefinite."""
    if matrix != [list(column) for column in zip(*matrix, strict=True)]:
        return False
    while matrix:
        (pivot, *row), *below = matrix
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        matrix = [[p - q * first / (pivot or 1) for p, q in zip(rest, row, strict=True)] for first, *rest in below]
    return True


def vector(entries: Any) -> list[Fraction]:
    """Coordinates over the basis."""
    return [rational(entry) for entry in entries]


def added(*terms: tuple[Any, list[Fraction]]) -> list[Fraction]:
    """The sum of scaled vectors."""
    columns = zip(*([share * entry for entry in own] for share, own in terms), strict=True)
    return [sum(column, Fraction(0)) for column in columns]


def product(left: list[Fraction], right: list[Fraction]) -> Form:
    """The inner product of two combinations: a coefficient of each product of two basis vectors."""
    places = range(len(left))
    pairs = {(i, j): left[i] * right[j] + left[j] * right[i] * (i != j) for i in places for j in places if i <= j}
    return {pair: value for pair, value in pairs.items() if value}


def form(record: dict[str, Any]) -> Form:
    """Inner products of the basis by pair, and values by place."""
    gram = [vector(row) for row in record["gram"]]
    found: Form = {}
    for i, row in enumerate(gram):
        require(len(row) == len(gram) and all(row[j] == gram[j][i] for j in range(i)), "a form is a symmetric matrix")
        found |= {(i, j): row[j] * (1 + (i != j)) for j in range(i, len(row)) if row[j]}
    return found | dict(enumerate(vector(record["values"])))


def total(*terms: tuple[Any, Form]) -> Form:
    """The sum of scaled forms."""
    found: Form = {}
    for share, own in terms:
        for name, value in own.items():
            found[name] = found.get(name, Fraction(0)) + share * value
    return found


def at(own: Form, case: Case) -> Fraction:
    """A form for a Gram matrix and values."""
    parts = (value * (case[1][n] if isinstance(n, int) else case[0][n[0]][n[1]]) for n, value in own.items())
    return sum(parts, Fraction(0))


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
    except (LookupError, AttributeError, TypeError, ValueError, OSError, RecursionError) as error:
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


KINDS: dict[str, Any] = {"contraction": contraction, **dict.fromkeys(METHODS, rate), "worst_case_rate": worst_case}
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
