"""Which theorems are proved in Coq, and which statements do they prove? Names of `verify/formal/*.v` and their meaning.

A statement is tied to its theorem by the theorem's conclusion: `tests/verify/formal/test_theorems.py` finds it in the
source, reads its right side and the definitions in it, lets Coq compute them, and compares with the statement's bound.
Ours.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Theorem:
    """A row of the table of theorems.

    Args:
        states: the theorem in one sentence.
        assumes: its hypotheses.
        witness: the theorem that shows that they can be met; empty where there are none to meet.
    """

    states: str
    assumes: str = ""
    witness: str = ""


@dataclass(frozen=True)
class Proof:
    """A theorem that proves a statement.

    Args:
        theorem: key in `THEOREMS`.
        concludes: the theorem's conclusion as its source has it.
        bound: the right side in it.
        symbols: parts of the right side to the statement's symbols, or to expressions in them.
        given: of the first theorem of a statement, by the name of a number that the statement assumes: the hypothesis
            as a definition has it, and the part of it that is the number.
        weights: where the statement assumes a power a of its weights, the definition of (d − i)^a at ranks i from 0.
        leaves: what of the statement is not formal, in plain words; empty where the theorem covers all that is stated.
    """

    theorem: str
    concludes: str
    bound: str
    symbols: dict[str, str] = field(default_factory=dict)
    given: dict[str, tuple[str, str]] = field(default_factory=dict)
    weights: str = ""
    leaves: str = ""


INFINITE = "probability spaces with infinitely many outcomes"
"""What no theorem on a finite space covers."""
SEMINORM = (
    "that the root of the mean square is a seminorm, and that a vector that is independent of what is drawn loses no "
    "more in the mean than a fixed one"
)
"""What `residual_minkowski_along` takes for granted on any probability space."""
UPPER = "that a function with a Lipschitz gradient obeys the quadratic upper bound, which is a hypothesis beside it"
"""What ordered fields in general do not give."""
_SHARE = "(1 - delta)"
_KEPT = "expect P (fun o => N (v - C (draw o) v) ^+ 2) <= (1 - delta) * N v ^+ 2"
_RESIDUAL_GIVEN = {
    "kept_back": (_KEPT, _SHARE),
    "second_moment": ("expect P (fun o => N (g s o) ^+ 2) <= sigma2", "sigma2"),
}
_RATE_GIVEN = {
    "kept_back": ("mean_square (fun o => v - C w t (draw w t o) v) <= (1 - delta) * square v", _SHARE),
    "second_moment": ("mean_square (g w t) <= sigma2", "sigma2"),
}
_RATE = {"(f x0 - f_min)": "gap", "eta": "step_size", "L": "smoothness"}
_VIRTUAL = {"step t": "step_size", "mean (gradient^~ t)": "gradient"}

PROVED: dict[str, tuple[Proof, ...]] = {
    "top_k": (
        Proof(
            "top_k.top_k_contracts",
            "kept_back S <= classical_share R d #|S| * energy",
            "classical_share R d #|S|",
            {"#|S|": "k"},
        ),
    ),
    "square_convex_discrete": (
        Proof(
            "top_k.top_k_contracts_square",
            "kept_back S <= square_share R d #|S| * energy",
            "square_share R d #|S|",
            {"#|S|": "k"},
            weights="linear_weight",
        ),
    ),
    "bell_shaped_discrete": (
        Proof(
            "top_k.top_k_contracts_cubic",
            "kept_back S <= cubic_share R d #|S| * energy",
            "cubic_share R d #|S|",
            {"#|S|": "k"},
            weights="square_weight",
        ),
    ),
    "threshold_selector": (
        Proof(
            "top_k.threshold_contracts",
            "kept_back (above t) <= classical_share R d #|above t| * energy",
            "classical_share R d #|above t|",
            {"#|above t|": "selected_count"},
        ),
    ),
    "count_band": (
        Proof(
            "top_k.band_contracts",
            "kept_back u S <= classical_share R #|I| (band_least k) * energy u",
            "classical_share R #|I| (band_least k)",
            {"#|I|": "d"},
        ),
    ),
    "chunk_wise": (
        Proof(
            "chunks.chunks_contract",
            "kept_back u S <= classical_share R #|B| k * energy u",
            "classical_share R #|B| k",
            {"#|B|": "chunk_size"},
        ),
    ),
    "quantised_selection": (
        Proof(
            "chunks.rounding_contracts",
            "not_sent <= rounded_share lost left * energy u",
            "rounded_share lost left",
            {"lost": "value_error", "left": "selected_ratio"},
            {
                "left": ("kept_back u S <= left * energy u", "left"),
                "lost": (r"rounding_error <= lost * (\sum_(i in S) u i ^+ 2)", "lost"),
            },
        ),
    ),
    "virtual_iterate": (
        Proof(
            "feedback.virtual_iterate_at_once",
            "x t.+1 - mean (e^~ t.+1) = x t - mean (e^~ t) - step t *: mean (gradient^~ t)",
            "x t - mean (e^~ t) - step t *: mean (gradient^~ t)",
            {"x t - mean (e^~ t)": "virtual_iterate", **_VIRTUAL},
        ),
    ),
    "delayed_virtual_iterate": (
        Proof(
            "feedback.late_virtual_iterate_moves",
            "late_virtual_iterate t.+1 = late_virtual_iterate t - step t *: mean (gradient^~ t)",
            "late_virtual_iterate t - step t *: mean (gradient^~ t)",
            {"late_virtual_iterate t": "virtual_iterate", **_VIRTUAL},
        ),
    ),
    "random_k": (
        Proof(
            "random_residual.random_k_keeps_back",
            "expect P (fun o => square dot (u - payload_on (draw o) u)) = random_share R d k * square dot u",
            "random_share R d k",
        ),
    ),
    "residual_bound": (
        Proof(
            "random_residual.mean_residual_bound",
            "expect P (fun o => N (e t o) ^+ 2) <= mean_young_bound delta eta sigma2",
            "mean_young_bound delta eta sigma2",
            {"eta": "step_size", "sigma2": "second_moment"},
            _RESIDUAL_GIVEN,
            leaves=INFINITE,
        ),
        Proof(
            "residual.residual_bound_along",
            "N (e t) ^+ 2 <= young_bound delta G",
            "young_bound delta G",
            {"G": "step_size*sqrt(second_moment)"},
            leaves=SEMINORM,
        ),
    ),
    "residual_minkowski": (
        Proof(
            "random_residual.mean_residual_minkowski",
            "expect P (fun o => N (e t o) ^+ 2) <= mean_minkowski_bound delta eta sigma2",
            "mean_minkowski_bound delta eta sigma2",
            {"eta": "step_size", "sigma2": "second_moment"},
            _RESIDUAL_GIVEN,
            leaves=INFINITE,
        ),
        Proof(
            "residual.residual_minkowski_along",
            "N (e t) ^+ 2 <= minkowski_bound delta G",
            "minkowski_bound delta G",
            {"G": "step_size*sqrt(second_moment)"},
            leaves=SEMINORM,
        ),
    ),
    "nonconvex_rate": (
        Proof(
            "random_descent.smooth_rate_holds",
            "exists2 t, (t < T)%N & "
            "mean_square (fun o => grad (x t o)) <= smooth_rate (f x0 - f_min) eta L delta sigma2 T",
            "smooth_rate (f x0 - f_min) eta L delta sigma2 T",
            {**_RATE, "sigma2": "second_moment"},
            _RATE_GIVEN,
            leaves=f"{INFINITE}; {UPPER}",
        ),
    ),
    "nonconvex_rate_minkowski": (
        Proof(
            "random_descent.smooth_rate_minkowski_holds",
            "exists2 t, (t < T)%N & "
            "mean_square (fun o => grad (x t o)) <= smooth_rate_minkowski (f x0 - f_min) eta L delta sigma2 T",
            "smooth_rate_minkowski (f x0 - f_min) eta L delta sigma2 T",
            {**_RATE, "sigma2": "second_moment"},
            _RATE_GIVEN,
            leaves=f"{INFINITE}; {UPPER}",
        ),
    ),
    "descent_without_bounded_gradients": (
        Proof(
            "random_variance.variance_rate_holds",
            "exists2 t, (t < T)%N & "
            "mean_square (fun o => grad (x t o)) <= variance_rate (f x0 - f_min) eta L delta variance T",
            "variance_rate (f x0 - f_min) eta L delta variance T",
            _RATE,
            {
                "kept_back": ("mean_square (fun o => v - C t (draw t o) v) <= (1 - delta) * square v", _SHARE),
                "variance": ("mean_square (noise t) <= variance", "variance"),
            },
            leaves=f"{INFINITE}; {UPPER}",
        ),
    ),
    "descent_of_workers": (
        Proof(
            "random_workers.workers_rate_holds",
            "exists2 t, (t < T)%N & mean_square (fun o => grad (x t o)) <= "
            "workers_rate (f x0 - f_min) eta L delta weight variance zeta2 T #|W|",
            "workers_rate (f x0 - f_min) eta L delta weight variance zeta2 T #|W|",
            {**_RATE, "weight": "residual_weight", "zeta2": "dissimilarity", "#|W|": "n"},
            {
                "kept_back": _RATE_GIVEN["kept_back"],
                "variance": ("mean_square (noise w t) <= variance", "variance"),
                "dissimilarity": ("mean_value (fun w => square (local w (x t o) - grad (x t o))) <= zeta2", "zeta2"),
            },
            leaves=f"{INFINITE}; {UPPER}",
        ),
    ),
    "decayed_residual": (
        Proof(
            "random_residual.mean_decayed_residual",
            "expect P (fun o => N (e t o) ^+ 2) <= mean_decayed_bound delta beta change2",
            "mean_decayed_bound delta beta change2",
            {"beta": "residual_decay", "change2": "second_moment*step_size**2"},
            {
                "kept_back": (_KEPT, _SHARE),
                "change_energy": ("expect P (fun o => N (h s o) ^+ 2) <= change2", "change2"),
            },
            leaves=INFINITE,
        ),
        Proof(
            "residual.decayed_residual",
            "N (e t) ^+ 2 <= decayed_bound delta beta G",
            "decayed_bound delta beta G",
            {"beta": "residual_decay", "G": "step_size*sqrt(second_moment)"},
            leaves=SEMINORM,
        ),
    ),
    "decayed_virtual_iterate": (
        Proof(
            "feedback.decayed_iterate_moves",
            "x t.+1 - mean (e^~ t.+1) = x t - mean (e^~ t) - mean (change^~ t) + (1 - beta) *: mean (e^~ t)",
            "x t - mean (e^~ t) - mean (change^~ t) + (1 - beta) *: mean (e^~ t)",
            {
                "x t - mean (e^~ t)": "virtual_iterate",
                "mean (change^~ t)": "mean_change",
                "mean (e^~ t)": "mean_residual",
                "beta": "residual_decay",
            },
        ),
    ),
    "mean_of_local_top_k": (
        Proof(
            "counterexamples.mean_of_local_top_ratio",
            "energy (error u S) = local_ratio b * energy (mean_of_workers u)",
            "local_ratio b",
            {"b": "balance"},
        ),
    ),
    "ssp_gap": (Proof("staleness.run_gap", "lead c w <= s.+1", "s.+1", {"s": "staleness"}),),
}
"""By the label of the statement."""

THEOREMS: dict[str, Theorem] = {
    "tail.tail_cross": Theorem(
        states=(
            "If s falls at least as fast as w across k, then Σ_{k≤i<d} s_i · Σ_{i<d} w_i ≤ Σ_{k≤i<d} w_i · Σ_{i<d} s_i."
        ),
        assumes="k ≤ d; s_j w_i ≤ s_i w_j for all i < k ≤ j < d",
        witness="tail.falls_across_refl",
    ),
    "tail.share_is_best": Theorem(
        states=(
            "Σ_{k≤i<d} w_i / Σ_{i<d} w_i is the least constant that bounds the share behind k of every s that "
            "falls as fast as w across k."
        ),
        assumes="k ≤ d; Σ_{i<d} w_i > 0",
        witness="powers.power_best",
    ),
    "tail.classical_best": Theorem(
        states="With the weight 1 the best constant is (d − k)/d.",
        assumes="0 < d; k ≤ d",
    ),
    "tail.square_best": Theorem(
        states="With the weight d − i the best constant is (d − k)(d − k + 1)/(d(d + 1)).",
        assumes="0 < d; k ≤ d",
    ),
    "tail.cubic_best": Theorem(
        states="With the weight (d − i)² the best constant is (d − k)(d − k + 1)(2(d − k) + 1)/(d(d + 1)(2d + 1)).",
        assumes="0 < d; k ≤ d",
    ),
    "top_k.top_k_is_top": Theorem(
        states=(
            "No coordinate outside the first k of an order of decreasing magnitude is larger in magnitude than "
            "one among them."
        ),
    ),
    "top_k.top_sets_agree": Theorem(
        states="Two top sets of one size keep back the same energy: ties do not matter.",
        assumes="S, T top sets; |S| = |T|",
        witness="witnesses.top_sets_with_ties",
    ),
    "top_k.top_set_keeps_back_the_tail": Theorem(
        states="A top set S keeps back the tail of the sorted squares behind |S|.",
        assumes="S a top set",
        witness="top_k.top_k_is_top",
    ),
    "top_k.top_k_contracts": Theorem(
        states="A top set S keeps back at most (d − |S|)/d of the energy: Σ_{i∉S} u_i² ≤ (1 − |S|/d) Σ u_i².",
        assumes="0 < d; S a top set",
        witness="witnesses.top_k_contracts_is_sharp",
    ),
    "top_k.top_k_contracts_square": Theorem(
        states=(
            "If s_j/(d − j) falls for the sorted squares s, a top set of k coordinates keeps back at most (d − "
            "k)(d − k + 1)/(d(d + 1)) of the energy."
        ),
        assumes="0 < d; S a top set; sorted squares star-shaped for d − i",
        witness="witnesses.top_k_contracts_square_is_sharp",
    ),
    "top_k.top_k_contracts_cubic": Theorem(
        states=(
            "If s_j/(d − j)² falls for the sorted squares s, a top set of k coordinates keeps back at most (d − "
            "k)(d − k + 1)(2(d − k) + 1)/(d(d + 1)(2d + 1)) of the energy."
        ),
        assumes="0 < d; S a top set; sorted squares star-shaped for (d − i)²",
        witness="witnesses.top_k_contracts_cubic_is_sharp",
    ),
    "top_k.convex_is_star_shaped": Theorem(
        states="A sequence convex in rank up to a zero at d satisfies s_j (d − i) ≤ s_i (d − j) for all i ≤ j ≤ d.",
        assumes="2 s_{i+1} ≤ s_i + s_{i+2} for i + 2 ≤ d; s_d = 0",
        witness="witnesses.squares_are_convex_in_rank",
    ),
    "top_k.top_k_contracts_convex": Theorem(
        states=(
            "If the sorted squares, with a zero after the last one, are convex in rank, a top set of k "
            "coordinates keeps back at most (d − k)(d − k + 1)/(d(d + 1)) of the energy."
        ),
        assumes="0 < d; S a top set; sorted squares convex in rank",
        witness="witnesses.top_k_contracts_convex_is_sharp",
    ),
    "top_k.top_k_contracts_convex_magnitudes": Theorem(
        states=(
            "If the sorted magnitudes, with a zero after the last one, are convex in rank, a top set of k "
            "coordinates keeps back at most (d − k)(d − k + 1)(2(d − k) + 1)/(d(d + 1)(2d + 1)) of the energy."
        ),
        assumes="0 < d; S a top set; sorted magnitudes convex in rank",
        witness="witnesses.top_k_contracts_convex_magnitudes_is_sharp",
    ),
    "top_k.threshold_selector_is_top_m": Theorem(
        states="The m coordinates of magnitude ≥ t keep back what Top-m keeps back.",
    ),
    "top_k.threshold_contracts": Theorem(
        states="The m coordinates of magnitude ≥ t keep back at most (d − m)/d of the energy.",
        assumes="0 < d",
    ),
    "top_k.band_contracts": Theorem(
        states="A top set keeps back at most (d − ⌈2k/3⌉)/d of the energy if it has at least ⌈2k/3⌉ coordinates.",
        assumes="0 < d; S a top set; ⌈2k/3⌉ ≤ |S|, or S holds every non-zero coordinate",
        witness="witnesses.band_is_kept",
    ),
    "chunks.chunks_share": Theorem(
        states="What keeps back at most the share c of each chunk's energy keeps back at most c of that of the vector.",
        assumes="Σ_{i∉S} u_i² ≤ c Σ u_i² over the coordinates of each chunk",
        witness="chunks.equal_chunk_attains",
    ),
    "chunks.chunks_contract": Theorem(
        states="Top sets of k in each chunk of b coordinates keep back at most (b − k)/b of the energy of the vector.",
        assumes="0 < b; S a top set of k coordinates within each chunk",
        witness="chunks.equal_chunk_attains",
    ),
    "chunks.rounding_contracts": Theorem(
        states=(
            "If a selection keeps back at most the share r of the energy, and rounding loses at most q of what is "
            "sent, at most 1 − (1 − q)(1 − r) of the energy is not sent."
        ),
        assumes="q ≤ 1; Σ_{i∉S} u_i² ≤ r Σ u_i²; Σ_{i∈S} (u_i − w_i)² ≤ q Σ_{i∈S} u_i²",
        witness="chunks.shortened_values",
    ),
    "powers.power_best": Theorem(
        states="With the weight (d − i)^r the best constant is S_r(d − k)/S_r(d), where S_r(n) = 1^r + … + n^r.",
        assumes="0 < d; k ≤ d",
    ),
    "powers.power_share_falls": Theorem(
        states="The share S_r(d − k)/S_r(d) falls as r grows.",
        assumes="r ≤ q; k ≤ d",
    ),
    "powers.power_share_le_binomial": Theorem(
        states="S_r(d − k)/S_r(d) ≤ C(d − k + r, r + 1)/C(d + r, r + 1).",
        assumes="0 < d; k ≤ d",
    ),
    "powers.endpoint_share_le_power": Theorem(
        states="n^r (n + 1)/(d^r (d + 1)) ≤ S_r(n)/S_r(d) for n = d − k.",
        assumes="0 < r; 0 < d; k ≤ d",
    ),
    "powers.integral_constant_fails": Theorem(
        states=(
            "((d − k)/d)^(r+1), the value of the integral, does not bound the share of every sequence that falls "
            "as fast as (d − i)^r across k."
        ),
        assumes="0 < r; 0 < k < d",
    ),
    "feedback.conservation": Theorem(
        states=(
            "Σ_{s<t} payloads + residual = initial residual + Σ_{s<t} step_s · gradient_s, whatever the compressor."
        ),
        assumes="each worker keeps the rest",
        witness="witnesses.delayed_run",
    ),
    "feedback.virtual_iterate_moves": Theorem(
        states=(
            "The parameters minus the mean of residuals and payloads under way move by −step_t · mean gradient, "
            "whatever the compressor and the delays."
        ),
        assumes="workers keep the rest; payloads are applied on arrival, none before it is sent",
        witness="witnesses.delayed_run",
    ),
    "feedback.virtual_iterate_at_once": Theorem(
        states="Without delays x_t − mean e_t moves by −step_t · mean gradient.",
        assumes="workers keep the rest; x moves by −mean payload",
        witness="witnesses.run_feeds_back",
    ),
    "feedback.late_virtual_iterate_moves": Theorem(
        states=(
            "With gradients that arrive late, the virtual iterate, which counts them when they are made, moves by "
            "−η_t times their mean."
        ),
        assumes=("the residual takes in what arrives; payloads are applied at once; nothing arrives before it is made"),
        witness="witnesses.late_gradients_run",
    ),
    "residual.residual_partial": Theorem(
        states="N(e_t) ≤ G Σ_{1≤i≤t} a^i with a = √(1 − δ).",
        assumes=(
            "N(0) = 0, N ≥ 0, triangle inequality; δ ≤ 1; N(u − Cu)² ≤ (1 − δ)N(u)²; N(h_t) ≤ G; "
            "error feedback from e_0 = 0"
        ),
        witness="witnesses.residual_partial_attained",
    ),
    "residual.residual_minkowski": Theorem(
        states="N(e_t)² ≤ (1 − δ)G²/(1 − √(1 − δ))².",
        assumes="as `residual_partial`, and 0 < δ",
        witness="witnesses.residual_partial_attained",
    ),
    "residual.residual_bound": Theorem(
        states="N(e_t)² ≤ 4(1 − δ)G²/δ².",
        assumes="as `residual_partial`, and 0 < δ",
        witness="witnesses.residual_partial_attained",
    ),
    "residual.residual_minkowski_along": Theorem(
        states=(
            "N(e_t)² ≤ (1 − δ)G²/(1 − √(1 − δ))², whatever leaves the residuals; N may be the root of a mean square on "
            "any probability space."
        ),
        assumes=(
            "N(0) = 0, N ≥ 0, triangle inequality; 0 < δ ≤ 1; N(e_{s+1})² ≤ (1 − δ)N(e_s + h_s)² and N(h_s) ≤ G for "
            "s < t; e_0 = 0"
        ),
        witness="witnesses.residual_partial_attained",
    ),
    "residual.residual_bound_along": Theorem(
        states="N(e_t)² ≤ 4(1 − δ)G²/δ², whatever leaves the residuals.",
        assumes="as `residual_minkowski_along`",
        witness="witnesses.residual_partial_attained",
    ),
    "residual.decayed_residual": Theorem(
        states=(
            "With a memory that decays, N(e_t)² ≤ (1 − δ)G²/(1 − β√(1 − δ))², whatever leaves the residuals; N may be "
            "the root of a mean square on any probability space."
        ),
        assumes=(
            "N(0) = 0, N ≥ 0, triangle inequality, N(βu) ≤ βN(u); 0 < δ ≤ 1 and 0 ≤ β ≤ 1; "
            "N(e_{t+1})² ≤ (1 − δ)N(βe_t + h_t)² and N(h_t) ≤ G; e_0 = 0"
        ),
        witness="residual.decayed_attained",
    ),
    "feedback.decayed_iterate_moves": Theorem(
        states="With a memory that decays, x_t − mean e_t moves by −mean change + (1 − β) mean e_t.",
        assumes="workers keep βe_t + change − payload; x moves by −mean payload",
        witness="feedback.decayed_run",
    ),
    "feedback.decayed_account": Theorem(
        states="Σ_{s<t} payloads + residual + (1 − β) Σ_{s<t} residuals = first residual + Σ_{s<t} changes.",
        assumes="each worker keeps βe_t + change − payload",
        witness="feedback.decayed_run",
    ),
    "descent.potential_falls": Theorem(
        states=(
            "f(x_t − mean e_t) + (ηL²/δ) mean |e_t|² falls by at least (η/4)|∇f(x_t)|² − (2η³L²/δ²)ζ² at every step."
        ),
        assumes="as `descent`, without the lower bound of f",
        witness="witnesses.top_k_descent_has_runs",
    ),
    "descent.descent": Theorem(
        states=(
            "(η/4) Σ_{t<T} |∇f(x_t)|² ≤ f(x_0) − f_min + T (2η³L²/δ²) ζ² for n ≥ 1 workers and any compressor "
            "with contraction δ."
        ),
        assumes=(
            "⟨·,·⟩ symmetric, bilinear, ⟨u, u⟩ ≥ 0; 1 ≤ n; 0 ≤ η, 0 ≤ L, 0 < δ ≤ 1, 4Lη ≤ δ; |u − Cu|² ≤ (1 − δ)|u|²; "
            "f is L-smooth, ∇f is L-Lipschitz, f ≥ f_min; ∇f the mean of the local gradients, which differ from it "
            "by ≤ ζ² in mean square; error feedback from e_0 = 0"
        ),
        witness="witnesses.top_k_descent_has_runs",
    ),
    "euclidean.cauchy_schwarz": Theorem(
        states="⟨u, v⟩² ≤ |u|² |v|² for every semi-definite inner product.",
        assumes="⟨·,·⟩ symmetric, bilinear, ⟨u, u⟩ ≥ 0",
        witness="euclidean.dot_inner",
    ),
    "euclidean.top_k_compresses": Theorem(
        states="|u − Top_k u|² ≤ (1 − k/d)|u|².",
        assumes="0 < d; k ≤ d",
    ),
    "euclidean.top_k_residual": Theorem(
        states="With Top-k in ℝ^d and |h_t| ≤ G, |e_t|² ≤ 4(1 − δ)G²/δ² with δ = k/d.",
        assumes="0 < k ≤ d; |h_t| ≤ G; error feedback from e_0 = 0",
        witness="witnesses.residual_runs",
    ),
    "euclidean.top_k_descends": Theorem(
        states=(
            "The descent theorem for n ≥ 1 workers with Top-k in ℝ^d: (η/4) Σ_{t<T} |∇f(x_t)|² ≤ f(x_0) − f_min + "
            "T (2η³L²/δ²) ζ² with δ = k/d."
        ),
        assumes=(
            "1 ≤ n; 0 < k ≤ d; 0 ≤ η, 0 ≤ L, 4Lη ≤ k/d; f, gradients as in `descent`; error feedback from e_0 = 0"
        ),
        witness="witnesses.top_k_descent_has_runs",
    ),
    "counterexamples.published_constant_fails": Theorem(
        states="(1 − k/d)² does not bound the share of every sequence that falls as fast as the line d − i across k.",
        assumes="0 < k < d",
    ),
    "counterexamples.two_one_loses_a_third": Theorem(
        states="For d = 2, k = 1 the squares (2, 1) lose 1/3 of their sum; (1 − k/d)² is 1/4.",
    ),
    "counterexamples.mean_of_local_top_ratio": Theorem(
        states=(
            "If two of n workers hold (2, …, 2, 1, b, 0, …, 0) and (−2, …, −2, −b, −1, 0, …, 0), with k − 1 "
            "coordinates that cancel, and the others 0, the error of the mean of their Top-k is (b/(1 − b))² times the "
            "energy of their mean, however ties are broken."
        ),
        assumes="2 ≤ n; 1 ≤ k < d; 0 ≤ b < 1; S_w a top set of worker w with k coordinates",
        witness="counterexamples.tops",
    ),
    "counterexamples.mean_of_local_top_is_no_contraction": Theorem(
        states=(
            "For every bound, n workers have vectors in ℝ^d whose averaged local Top-k has an error larger than the "
            "bound times the energy of the mean, which is positive."
        ),
        assumes="2 ≤ n; 1 ≤ k < d",
    ),
    "probability.expect_independent": Theorem(
        states="For independent variables E F(X, Y) is the expectation over Y of the expectation of F over X.",
        assumes="finitely many outcomes; P(X = s, Y = y) = P(X = s) P(Y = y) for all s, y",
        witness="random_witnesses.random_k_rates_have_runs",
    ),
    "probability.expect_conditional": Theorem(
        states="If E[g | X] = m(X), then E⟨φ(X), g⟩ = E⟨φ(X), m(X)⟩ for every φ.",
        assumes="finitely many outcomes; ⟨·,·⟩ symmetric, bilinear, ⟨u, u⟩ ≥ 0; E[g | X] = m(X), value by value",
        witness="random_witnesses.random_k_rates_have_runs",
    ),
    "probability.mean_norm_triangle": Theorem(
        states="Minkowski's inequality: the root of E N(X)² obeys the triangle inequality.",
        assumes="finitely many outcomes, weights ≥ 0 of sum 1; N ≥ 0 with the triangle inequality",
        witness="random_residual.norm_seminorm",
    ),
    "random_residual.mean_residual_minkowski": Theorem(
        states="E N(e_t)² ≤ η²σ²(1 − δ)/(1 − √(1 − δ))² for a compressor that draws and gradients that know the past.",
        assumes=(
            "finitely many outcomes; N a seminorm; 0 < δ ≤ 1; for s < t: E N(v − Cv)² ≤ (1 − δ)N(v)² for every v, what "
            "C draws is independent of e_s + ηg_s, which it compresses, and E N(g_s)² ≤ σ²; error feedback from e_0 = 0"
        ),
        witness="random_witnesses.random_k_residual_has_runs",
    ),
    "random_residual.mean_residual_bound": Theorem(
        states="E N(e_t)² ≤ 4(1 − δ)η²σ²/δ².",
        assumes="as `mean_residual_minkowski`",
        witness="random_witnesses.random_k_residual_has_runs",
    ),
    "random_residual.mean_decayed_residual": Theorem(
        states="With a memory that decays, E N(e_t)² ≤ H(1 − δ)/(1 − β√(1 − δ))².",
        assumes=(
            "as `mean_residual_minkowski`, with βe_s + h_s for e_s + ηg_s and E N(h_s)² ≤ H for the bound of the "
            "second moment; 0 ≤ β ≤ 1"
        ),
        witness="random_residual.mean_decayed_has_runs",
    ),
    "random_residual.sure_compressor": Theorem(
        states="A compressor that contracts every vector and draws nothing meets both hypotheses on what is drawn.",
        assumes="finitely many outcomes; N(v − Cv)² ≤ (1 − δ)N(v)²",
        witness="euclidean.top_k_compresses",
    ),
    "random_residual.random_k_keeps_back": Theorem(
        states="If k of d coordinates are drawn uniformly, E|u − Cu|² = (1 − k/d)|u|² for every u.",
        assumes="0 < d; k ≤ d; every set of k coordinates has the probability 1/C(d, k)",
        witness="random_witnesses.random_k_residual_has_runs",
    ),
    "random_residual.no_set_contracts": Theorem(
        states="A set that leaves a coordinate out keeps back all of some vector: Rand-k contracts in the mean alone.",
        assumes="|S| < d",
    ),
    "random_residual.random_k_residual": Theorem(
        states="With Rand-k in ℝ^d, E|e_t|² ≤ 4(1 − δ)η²σ²/δ² with δ = k/d.",
        assumes=(
            "finitely many outcomes; 0 < k ≤ d; for s < t: k coordinates drawn uniformly, independent of e_s + ηg_s, "
            "and E|g_s|² ≤ σ²; error feedback from e_0 = 0"
        ),
        witness="random_witnesses.random_k_residual_has_runs",
    ),
    "random_descent.workers_residual": Theorem(
        states="E|mean e_t|² ≤ η²σ²(1 − δ)/(1 − √(1 − δ))² for the mean of the residuals of n ≥ 1 workers.",
        assumes="as `mean_residual_minkowski`, for each worker, with a semi-definite inner product",
        witness="random_witnesses.random_k_rates_have_runs",
    ),
    "random_descent.smooth_rate_minkowski_holds": Theorem(
        states=(
            "Some t < T has E|∇f(x_t)|² ≤ (b + √(b² + 4A))²/4, where A = (f(x_0) − f_min)/(ηT) + ηLσ²/2 and "
            "b = ηL√(σ²(1 − δ))/(1 − √(1 − δ))."
        ),
        assumes=(
            "as `workers_residual` for s < T; 0 < η, 0 ≤ L, 1 ≤ T; the mean gradient has expectation ∇f(x_t) given x_t "
            "and the mean of e_t; f is L-smooth, ∇f is L-Lipschitz, f ≥ f_min"
        ),
        witness="random_witnesses.random_k_rates_have_runs",
    ),
    "random_descent.smooth_rate_holds": Theorem(
        states="Some t < T has E|∇f(x_t)|² ≤ 2(f(x_0) − f_min)/(ηT) + ηLσ² + 4(1 − δ)η²L²σ²/δ².",
        assumes="as `smooth_rate_minkowski_holds`",
        witness="random_witnesses.random_k_rates_have_runs",
    ),
    "random_variance.variance_rate_holds": Theorem(
        states=(
            "With one worker some t < T has E|∇f(x_t)|² ≤ ((f(x_0) − f_min)/(ηT) + ηLσ_0²(1 + a)/2)/(1 − h), where "
            "a = √(1 − δ) and h = ηL(1 + a)/(2(1 − a))."
        ),
        assumes=(
            "as `smooth_rate_minkowski_holds` with one worker; h < 1; E|g_t − ∇f(x_t)|² ≤ σ_0² in place of the "
            "second moment"
        ),
        witness="random_witnesses.random_k_variance_has_runs",
    ),
    "random_workers.workers_rate_holds": Theorem(
        states=(
            "With n workers some t < T has E|∇f(x_t)|² ≤ ((f(x_0) − f_min)/(ηT) + ηL(σ_0²/(2n) + ω(1 − δ)(σ_0² + "
            "ζ²/δ)))/(1 − h), where h = (ηL/δ)(1 − δ/2 + ω(1 − δ) + 1/(4ω))."
        ),
        assumes=(
            "as `variance_rate_holds` for each worker; 0 < ω; h < 1; given x_t and all residuals the gradients have "
            "expectation ∇f_i(x_t); their noises are uncorrelated; ∇f is the mean of the ∇f_i, which differ from it by "
            "≤ ζ² in mean square at x_t"
        ),
        witness="random_witnesses.random_k_workers_have_runs",
    ),
    "staleness.ssp_reachableP": Theorem(
        states="The reachable clocks of SSP with staleness s are exactly those that differ by at most s + 1.",
    ),
    "staleness.ssp_gap": Theorem(
        states="Under SSP with staleness s no clock leads the slowest by more than s + 1.",
        assumes="reachable clocks",
        witness="staleness.ssp_gap_attained",
    ),
    "staleness.runs_reach_the_same_clocks": Theorem(
        states=(
            "With starts and ends as events of their own, others pushing in between, the reachable clocks are the same."
        ),
    ),
    "staleness.run_gap": Theorem(
        states="No clock leads the slowest by more than s + 1 there either.",
        assumes="reachable clocks and running workers",
        witness="staleness.runs_reach_the_same_clocks",
    ),
    "staleness.ssp0_simulates_bsp": Theorem(
        states="Every step of BSP is a step of SSP with s = 0 on the clocks.",
        assumes="the clock of a worker is the round, and one more once it is done",
        witness="staleness.bsp_is_ssp0",
    ),
    "staleness.bsp_simulates_ssp0": Theorem(
        states="Every step of SSP with s = 0 from the clocks of a reachable state of BSP is a step of BSP.",
        assumes="the clock of a worker is the round, and one more once it is done",
        witness="staleness.bsp_is_ssp0",
    ),
    "staleness.bsp_is_ssp0": Theorem(
        states=(
            "BSP, a round and the set of workers that have finished it, reaches exactly the clocks of SSP with s = 0."
        ),
    ),
    "dynamic_staleness.capped_keeps_the_bound": Theorem(
        states=(
            "If an answer is cut to what the upper bound leaves and the granting release is charged, the lead is "
            "at most max(lower + 1, lower + extra), for every controller."
        ),
        assumes="reachable states",
        witness="dynamic_staleness.lower_lead_attained",
    ),
    "dynamic_staleness.equal_bounds_reach_only_ssp": Theorem(
        states="With extra = 0 the printed algorithm only reaches clocks of SSP with staleness lower.",
        assumes="reachable states; a controller that answers a closest push",
        witness="dynamic_staleness.closest_exists",
    ),
    "dynamic_staleness.printed_has_no_bound": Theorem(
        states=(
            "The printed algorithm lets the lead of one of two workers reach every m, with constant durations 3 and 6."
        ),
        assumes="lower ≥ 1; extra ≥ 1; a controller that answers a closest push",
        witness="dynamic_staleness.closest_exists",
    ),
}
"""By "file.name", in the order of the table."""
