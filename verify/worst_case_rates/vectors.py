"""The algebra in which a method is written: vectors that can be added and scaled, and the products of two of them.

A `Vector` is a combination of named vectors that may be anything, with rational coefficients. `v @ w` is the inner
product and `v**2` the squared length; they and the values of functions make a `Form`. Nothing else can be done with a
vector, because a worst case over all dimensions is a semidefinite programme only then. Ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sparsync.verify.worst_case_rates.exact_numbers import MethodError, number

Pair = tuple[str, str]
"""Two names in the order of the alphabet."""


class Vector:
    """A combination of named vectors.

    Args:
        coefficients: by name; zeros are left out.
    """

    __array_ufunc__ = None
    __slots__ = ("coefficients",)

    def __init__(self, coefficients: Mapping[str, Fraction] | None = None) -> None:
        self.coefficients = {name: value for name, value in (coefficients or {}).items() if value}

    @property
    def key(self) -> frozenset[tuple[str, Fraction]]:
        """Equal iff the vectors are."""
        return frozenset(self.coefficients.items())

    def __add__(self, other: object) -> Vector:
        if isinstance(other, Vector):
            return Vector(_added(self.coefficients, other.coefficients))
        if _is_nothing(other):
            return self
        raise MethodError(f"{_kind(other)} is added to the vector {self}")

    __radd__ = __add__

    def __sub__(self, other: object) -> Vector:
        return self + -other if isinstance(other, Vector) else self + other

    def __rsub__(self, other: object) -> Vector:
        return -self + other

    def __neg__(self) -> Vector:
        return self * -1

    def __pos__(self) -> Vector:
        return self

    def __mul__(self, factor: object) -> Vector:
        if isinstance(factor, Vector):
            raise MethodError(
                f"two vectors are multiplied, {self} and {factor}: a method can add vectors and scale them by numbers; "
                "what is measured writes v @ w for an inner product"
            )
        if isinstance(factor, Form):
            raise MethodError(f"the vector {self} is scaled by {factor}, which is no number: it depends on vectors")
        share = Fraction(number(factor, f"what scales the vector {self}"))
        return Vector({name: share * value for name, value in self.coefficients.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> Vector:
        if isinstance(divisor, Vector | Form):
            return self * divisor
        share = number(divisor, f"what divides the vector {self}")
        if not share:
            raise MethodError(f"the vector {self} is divided by zero")
        return self * (1 / share)

    def __rtruediv__(self, _other: object) -> Vector:
        raise MethodError(f"something is divided by the vector {self}")

    def __matmul__(self, other: object) -> Form:
        if not isinstance(other, Vector):
            raise MethodError(f"@ stands between two vectors, got {self} @ {_kind(other)}")
        products: dict[Pair, Fraction] = {}
        for left, first in self.coefficients.items():
            for right, second in other.coefficients.items():
                pair = (left, right) if left <= right else (right, left)
                products[pair] = products.get(pair, Fraction(0)) + first * second
        return Form(products)

    def __pow__(self, exponent: object) -> Form:
        if exponent != 2:
            raise MethodError(f"a vector has a squared length, v**2, and no other power: got ({self})**{exponent}")
        return self @ self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self.coefficients == other.coefficients

    def __hash__(self) -> int:
        return hash(self.key)

    def __bool__(self) -> bool:
        raise MethodError(f"the method decides by the vector {self}, which may be any")

    def __str__(self) -> str:
        return _sum_text(self.coefficients)

    __repr__ = __str__


class Form:
    """A combination of inner products of named vectors and of named values of functions.

    Args:
        products: by pair of names.
        values: by name.
    """

    __array_ufunc__ = None
    __slots__ = ("products", "values")

    def __init__(
        self, products: Mapping[Pair, Fraction] | None = None, values: Mapping[str, Fraction] | None = None
    ) -> None:
        self.products = {pair: value for pair, value in (products or {}).items() if value}
        self.values = {name: value for name, value in (values or {}).items() if value}

    def __add__(self, other: object) -> Form:
        if isinstance(other, Form):
            return Form(_added(self.products, other.products), _added(self.values, other.values))
        if _is_nothing(other):
            return self
        raise MethodError(
            f"{_kind(other)} is added to {self}: only inner products and values of functions can be, so that a rate is "
            "a quotient of two of them"
        )

    __radd__ = __add__

    def __sub__(self, other: object) -> Form:
        return self + -other if isinstance(other, Form) else self + other

    def __rsub__(self, other: object) -> Form:
        return -self + other

    def __neg__(self) -> Form:
        return self * -1

    def __mul__(self, factor: object) -> Form:
        if isinstance(factor, Vector | Form):
            raise MethodError(f"{self} is multiplied by {factor}: a product of more than two vectors is out of reach")
        share = Fraction(number(factor, f"what scales {self}"))
        return Form(
            {pair: share * value for pair, value in self.products.items()},
            {name: share * value for name, value in self.values.items()},
        )

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> Form:
        if isinstance(divisor, Vector | Form):
            return self * divisor
        share = number(divisor, f"what divides {self}")
        if not share:
            raise MethodError(f"{self} is divided by zero")
        return self * (1 / share)

    def __rtruediv__(self, _other: object) -> Form:
        raise MethodError(f"something is divided by {self}")

    def __le__(self, other: object) -> Condition:
        return Condition(self - other)

    def __ge__(self, other: object) -> Condition:
        return Condition(-(self - other))

    def __bool__(self) -> bool:
        raise MethodError(f"the method decides by {self}, which may be any")

    def __str__(self) -> str:
        products = {_product_text(*pair): value for pair, value in self.products.items()}
        return _sum_text(products | self.values)

    __repr__ = __str__

    @property
    def names(self) -> set[str]:
        """The vectors in it."""
        return {name for pair in self.products for name in pair}

    def size(self) -> Fraction:
        """The largest coefficient in magnitude; 1 for nothing."""
        return max(map(abs, (*self.products.values(), *self.values.values())), default=Fraction(1))


@dataclass(frozen=True)
class Condition:
    """A form that is ≤ 0."""

    form: Form

    def __bool__(self) -> bool:
        raise MethodError(f"the method decides by a comparison, {self.form} ≤ 0, which may be true or false")


def total(terms: Iterable[tuple[Any, Form]]) -> Form:
    """The sum of scaled forms, without a form for each partial sum."""
    products: dict[Pair, Fraction] = {}
    values: dict[str, Fraction] = {}
    for factor, form in terms:
        for pair, value in form.products.items():
            products[pair] = products.get(pair, Fraction(0)) + factor * value
        for name, value in form.values.items():
            values[name] = values.get(name, Fraction(0)) + factor * value
    return Form(products, values)


def _added(left: Mapping[Any, Fraction], right: Mapping[Any, Fraction]) -> dict[Any, Fraction]:
    both = dict(left)
    for name, value in right.items():
        both[name] = both.get(name, Fraction(0)) + value
    return both


def _is_nothing(other: object) -> bool:
    """True for the number 0, with which `sum` begins."""
    return isinstance(other, int | float | Fraction) and not other


def _kind(other: object) -> str:
    if isinstance(other, Vector):
        return f"the vector {other}"
    return str(other) if isinstance(other, Form) else f"{other!r}, which is no vector or form,"


def _sum_text(coefficients: Mapping[str, Fraction]) -> str:
    parts = []
    for name, value in coefficients.items():
        size = "" if abs(value) == 1 else f"{Fraction(abs(value))} "
        parts.append(f"{'-' if value < 0 else '+'} {size}{name}")
    return " ".join(parts).removeprefix("+ ") or "0"


def _product_text(left: str, right: str) -> str:
    return f"‖{left}‖²" if left == right else f"⟨{left}, {right}⟩"
