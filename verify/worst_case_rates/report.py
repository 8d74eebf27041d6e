"""How does an answer read, to a person and as JSON? Ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from sparsync.verify.worst_case_rates.answers import Answer, Asked
from sparsync.verify.worst_case_rates.certify import Bound, Unproved
from sparsync.verify.worst_case_rates.exact_numbers import plain, text
from sparsync.verify.worst_case_rates.method_file import Method

TIGHT = 1e-5
"""A lower bound that is as near to the rate, relatively, is said to attain it."""
MOST = 10**5
"""The largest denominator that is written as it is."""


def lines_of(method: Method, found: Answer) -> list[str]:
    """What a person reads."""
    setting = method.setting
    numbers = ", ".join(f"{name} = {plain(value)}" for name, value in method.numbers.items())
    workers = f", {setting.worker_count} workers" if setting.worker_count > 1 else ""
    common = " with a common minimiser" if setting.worker_count > 1 and setting.common_minimiser else ""
    second = f"SCS {found.second:.5g}" if isinstance(found.second, float) else f"no second opinion: {found.second}"
    lines = [
        f"{method.name}: {numbers}",
        f"functions: {setting.functions}{workers}{common}",
        f"{found.said}: {found.rate:.7g} (Clarabel, to {found.tolerance:.0e}; {second})",
        _proved_line(found),
    ]
    if found.slowest is not None:
        lines.append(_slowest_line(found))
    if found.made_of:
        lines.append(f"it is made of: {'; '.join(found.made_of)}")
    if found.dimension is not None:
        plural = "s" if found.dimension != 1 else ""
        lines.append(f"the worst case that the solver found has {found.dimension} dimension{plural}")
    return [*lines, *(f"remark: {remark}" for remark in found.remarks)]


def record_of(method: Method, asked: Asked, found: Answer, others: Mapping[str, Any] | None) -> dict[str, Any]:
    """The JSON of an answer; `certificates` is what `verify/check_certificates.py` checks."""
    return {
        "method": method.name,
        "file": str(method.path),
        "numbers": {name: text(value) for name, value in method.numbers.items()},
        "functions": str(method.setting.functions),
        "worker_count": method.setting.worker_count,
        "common_minimiser": method.setting.common_minimiser,
        "asked": asdict(asked),
        "rate_of": found.said,
        "rate": found.rate,
        "tolerance": found.tolerance,
        "second_opinion": found.second,
        "upper": _bound(found.upper),
        "lower": None if found.lower is None else _bound(found.lower),
        "slowest_quadratic": None if found.slowest is None else asdict(found.slowest),
        "lyapunov_made_of": list(found.made_of),
        "worst_case_dimension": found.dimension,
        "worst_case_points": found.points,
        "multipliers": dict(found.multipliers),
        "remarks": list(found.remarks),
        **({} if others is None else {"others": dict(others)}),
        "certificates": [] if found.record is None else [found.record],
    }


def compared_rows(found: Sequence[tuple[Method, Answer, Mapping[str, Any]]]) -> Iterable[tuple[str, ...]]:
    """Rows of a table: method, rate of what, ours, what is proved, PEPit's, AutoLyap's, a difference, the closed form.

    The difference is that of PEPit's or AutoLyap's number, whichever lies farther from ours.
    """
    for method, own, others in found:
        yield (
            method.name,
            own.said,
            f"{own.rate:.7f}",
            _proved_text(own),
            *(_number_text(others[name]) for name in ("pepit", "autolyap")),
            _difference_text(own.rate, others),
            _number_text(others["closed_form"]),
        )


def _difference_text(own: float, others: Mapping[str, Any]) -> str:
    said = [others[name] - own for name in ("pepit", "autolyap") if isinstance(others[name], float)]
    return f"{max(said, key=abs):+.0e}" if said else "none"


def _number_text(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:.7f}" if isinstance(value, float) else str(value)


def _bound(bound: Bound | Unproved) -> dict[str, str]:
    return {"bound": text(bound.value)} if isinstance(bound, Bound) else {"not_rounded": bound.reason}


def _proved_text(found: Answer) -> str:
    upper, lower = (bound.value if isinstance(bound, Bound) else None for bound in (found.upper, found.lower))
    if upper is None:
        return "not rounded" if lower is None else f"≥ {_fraction(lower)}"
    if lower is None:
        return f"≤ {_fraction(upper)}"
    return _fraction(upper) if upper == lower else f"{_fraction(lower)} to {_fraction(upper)}"


def _proved_line(found: Answer) -> str:
    upper, lower = (bound.value if isinstance(bound, Bound) else None for bound in (found.upper, found.lower))
    if upper is not None and upper == lower:
        return f"certified: the rate is {_fraction(upper)}, exactly"
    if upper is not None and lower is not None:
        return f"certified: {_fraction(lower)} ≤ rate ≤ {_fraction(upper)}, exactly"
    said = []
    for sign, bound in (("≤", found.upper), ("≥", found.lower)):
        if isinstance(bound, Bound):
            said.append(f"certified: rate {sign} {_fraction(bound.value)}, exactly")
        elif bound is not None:
            said.append(f"rate {sign}: not rounded, because {bound.reason}")
    return "; ".join(said)


def _slowest_line(found: Answer) -> str:
    assert found.slowest is not None
    slowest = found.slowest
    response = "" if slowest.response is None else f", C(v) = {slowest.response:.6g} v"
    case = f"f = {slowest.curvature:.6g} ‖x − x*‖²/2{response}"
    if slowest.factor >= found.rate * (1 - TIGHT):
        return f"attained: {case} has the factor {slowest.factor:.7g}, and no Lyapunov function a smaller one"
    return f"the slowest quadratic that was tried, {case}, has the factor {slowest.factor:.7g}"


def _fraction(value: Fraction) -> str:
    """p/q, or p/10^k where that is a long p/q."""
    if value.denominator > MOST:
        for places in range(1, 30):
            scaled = value * 10**places
            if scaled.denominator == 1:
                return f"{scaled.numerator}/10^{places}"
    return f"{Fraction(value)}"
