"""Which whole number K is the first with K(K + 1) at least a product? It ends a sum that grows as a quotient shrinks.

So many workers, or buckets, are best where one more costs c and saves w/(K(K + 1)) of w; the product is w/c. Ours.
"""

import sympy

from sparsync.theory.delay.stability import decided

_MORE = sympy.Symbol("more", positive=True)
_ROOT = sympy.Symbol("y", positive=True)


def whole_root(product: sympy.Expr) -> sympy.Expr:
    """The K > 0 with K(K + 1) equal to a product."""
    return sympy.sqrt(sympy.Rational(1, 4) + product) - sympy.Rational(1, 2)


def no_longer_falls() -> sympy.Basic:
    """Of a product y(y + 1) the root is y > 0, and K(K + 1) is above it for all K above y, as it grows with K."""
    above = sympy.expand((_ROOT + _MORE) * (_ROOT + _MORE + 1) - _ROOT * (_ROOT + 1))
    square = _square(_ROOT * (_ROOT + 1))
    is_root = sympy.expand(square - (_ROOT + sympy.Rational(1, 2)) ** 2) == 0
    return decided(is_root and above.is_positive)


def beside_root() -> sympy.Basic:
    """√p is above the root of p, and less than 1/2 above it; by squares: y² < 1/4 + y² < (y + 1/2)²."""
    middle = _square(_ROOT**2)
    gaps = (middle - _ROOT**2, sympy.expand((_ROOT + sympy.Rational(1, 2)) ** 2 - middle))
    return decided(all(gap.is_positive for gap in gaps))


def _square(product: sympy.Expr) -> sympy.Expr:
    """Of the root and 1/2."""
    return sympy.expand((whole_root(product) + sympy.Rational(1, 2)) ** 2)
