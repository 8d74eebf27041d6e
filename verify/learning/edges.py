"""What lies beyond the conditions of the statements on curvature and on distance correlation? Ours."""

from fractions import Fraction

from sparsync.verify.tools.edges import Edge, Remark, Unneeded

NO_TRIANGLE = "no triangles have fewer entries than are sent, and no matrices fewer entries than rows"
NO_PAIR = "one example has no distance from another"

CURVATURE: dict[str, tuple[Remark, ...]] = {
    "block_diagonal_error": (Edge("coupling < 1", {"coupling": 1}),),
    "block_diagonal_step": (
        Unneeded("coupling < 1", "from 1 on the bound is no more than 0, which every share is, and says nothing"),
    ),
    "triangle_selection": (
        Unneeded("2*kept_count <= entry_count + row_count", NO_TRIANGLE),
        Unneeded("row_count <= entry_count", NO_TRIANGLE),
    ),
    "clamped_factor": (
        Edge(
            "negative_energy <= selection_error",
            {"negative_energy": Fraction(1, 8), "selection_error": Fraction(63, 512)},
        ),
    ),
}
"""Of `theory/learning/curvature.py`."""

DISTANCES: dict[str, tuple[Remark, ...]] = {
    "equal_distance_correlation": (Unneeded("sample_size >= 2", NO_PAIR),),
    "permuted_distance_covariance": (Unneeded("sample_size >= 2", NO_PAIR),),
    "distance_covariance_bias": (
        Unneeded("sample_size >= 4", "of three examples the corrected covariance divides by n − 3 = 0"),
    ),
    "permuted_corrected_square": (Edge("sample_size >= 4", {"sample_size": 3}),),
    "distance_covariance_slope": (Unneeded("sample_size >= 2", NO_PAIR),),
}
"""Of `theory/learning/distance_correlation.py`."""
