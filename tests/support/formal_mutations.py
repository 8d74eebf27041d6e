"""Formal definitions and constants made wrong, one token each: file, right text, wrong text, and what is wrong.

And hypotheses that are added where the text of a theorem does not show them.
"""

MUTATIONS: dict[str, tuple[str, str, str]] = {
    "the hypothesis of the tail lemma reversed": (
        "tail",
        "(j < d)%N -> s j * w i <= s i * w j.",
        "(j < d)%N -> s j * w i >= s i * w j.",
    ),
    "the linear weight rises": (
        "tail",
        "Definition linear_weight (d i : nat) : R := (d - i)%:R.",
        "Definition linear_weight (d i : nat) : R := (d + i)%:R.",
    ),
    "closed form of the square share, numerator": (
        "tail",
        "nat := (d - k) * (d - k + 1).",
        "nat := (d - k) * (d - k + 2).",
    ),
    "bottom-k for Top-k": (
        "top_k",
        "rel I := fun i j => `|u j| <= `|u i|.",
        "rel I := fun i j => `|u j| >= `|u i|.",
    ),
    "two thirds of k rounded to the nearest, not up": (
        "top_k",
        "(2 * k + 2) %/ 3.",
        "(2 * k + 1) %/ 3.",
    ),
    "what is kept back counted as sent": (
        "chunks",
        "R := 1 - (1 - lost) * (1 - left).",
        "R := 1 - (1 - lost) * (1 + left).",
    ),
    "the exponent of the integral's constant": (
        "powers",
        "R := classical_share R d k ^+ r.+1.",
        "R := classical_share R d k ^+ r.",
    ),
    "the sign of the payload in the residual": (
        "feedback",
        "forall w t, e w t.+1 = e w t + step t *: gradient w t - c w t.",
        "forall w t, e w t.+1 = e w t + step t *: gradient w t + c w t.",
    ),
    "a sign in Minkowski's bound": (
        "residual",
        "R := (1 - delta) * G ^+ 2 / (1 - Num.sqrt (1 - delta)) ^+ 2.",
        "R := (1 - delta) * G ^+ 2 / (1 + Num.sqrt (1 - delta)) ^+ 2.",
    ),
    "the constant of the bound without a root": (
        "residual",
        "R := 4%:R * (1 - delta) * G ^+ 2 / delta ^+ 2.",
        "R := 3%:R * (1 - delta) * G ^+ 2 / delta ^+ 2.",
    ),
    "the step constant 4 -> 3": (
        "descent",
        "small_step : 4%:R * L * eta <= delta",
        "small_step : 3%:R * L * eta <= delta",
    ),
    "the Lyapunov weight": (
        "descent",
        "Definition potential t : R := f (virtual t) + eta * L ^+ 2 / delta * residual t.",
        "Definition potential t : R := f (virtual t) + eta * L ^+ 2 * delta * residual t.",
    ),
    "Top-k's contraction off by one": (
        "euclidean",
        "Definition density (k : nat) : R := k%:R / d%:R.",
        "Definition density (k : nat) : R := k.+1%:R / d%:R.",
    ),
    "coordinates of averaged local Top-k that add up, not cancel": (
        "counterexamples",
        "nseq k.-1 (- 2%:R)",
        "nseq k.-1 2%:R",
    ),
    "a sign in the ratio of averaged local Top-k": (
        "counterexamples",
        "R := (b / (1 - b)) ^+ 2.",
        "R := (b / (1 + b)) ^+ 2.",
    ),
    "a mean given a variable, without the chance of its values": (
        "probability",
        "= chance P (fun o => X o == s) *: m s.",
        "= m s.",
    ),
    "draws that are independent of the gradient alone": (
        "random_residual",
        "independent P (draw s) (corrected s).",
        "independent P (draw s) (g s).",
    ),
    "the constant of the bound without a root, in the mean": (
        "random_residual",
        "R := 4%:R * (1 - delta) * eta ^+ 2 * sigma2",
        "R := 3%:R * (1 - delta) * eta ^+ 2 * sigma2",
    ),
    "the share of Rand-k off by one": (
        "random_residual",
        "R := 1 - k%:R / d%:R.",
        "R := 1 - k.+1%:R / d%:R.",
    ),
    "half the noise in the rate of smooth functions": (
        "random_descent",
        "2%:R * gap / (eta * T%:R) + eta * L * sigma2 + L",
        "2%:R * gap / (eta * T%:R) + eta * L * sigma2 / 2%:R + L",
    ),
    "a step that may be longer": (
        "random_variance",
        "eta * L * (1 + Num.sqrt (1 - delta)) / (2%:R * (1 - Num.sqrt (1 - delta))).",
        "eta * L * (1 + Num.sqrt (1 - delta)) / (2%:R * (1 + Num.sqrt (1 - delta))).",
    ),
    "the gate one iteration late": (
        "staleness",
        "bool := lead c w <= s.",
        "bool := lead c w <= s.+1.",
    ),
    "the barrier opens without a new round": (
        "staleness",
        "if b.2 == setT then (b.1.+1, set0) else b.",
        "if b.2 == setT then (b.1, set0) else b.",
    ),
    "the cap becomes a floor": (
        "dynamic_staleness",
        "minn (answer_at st p t) (lower + extra -",
        "maxn (answer_at st p t) (lower + extra -",
    ),
}

HIDDEN: dict[str, tuple[str, str, str, str]] = {
    "fewer coordinates": (
        "counterexamples",
        "restated",
        "Definition local_ratio",
        'Hypothesis fewer : (k.+1 < d)%N.\nSet Default Proof Using "All".\nDefinition local_ratio',
    ),
    "short steps": (
        "random_variance",
        "restated_random",
        "Let kept t := mean_square (e t).",
        'Hypothesis short : eta <= 1.\nSet Default Proof Using "All".\nLet kept t := mean_square (e t).',
    ),
    "bounds that are close": (
        "dynamic_staleness",
        "restated_staleness",
        "Hypothesis lower_gt0 : 0 < lower.",
        'Hypotheses (lower_gt0 : 0 < lower) (close : extra <= lower).\nSet Default Proof Using "All".',
    ),
}
"""Hypotheses added to a section, whose file compiles: file, that of its restatements, right text and wrong text."""
