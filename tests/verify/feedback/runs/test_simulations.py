"""What the simulations of error feedback send."""

import numpy

from sparsync.verify.feedback.runs import simulations


def test_rows_keep_their_largest_magnitudes() -> None:
    rows = numpy.array([[3.0, -4.0, 1.0], [0.5, 0.1, -0.2]])
    assert simulations.top_k_rows(rows, 2).tolist() == [[3.0, -4.0, 0.0], [0.5, 0.0, -0.2]]
