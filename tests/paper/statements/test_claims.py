"""Claims become LaTeX: words stay words, mathematics is mathematics, and nothing unknown gets through."""

from __future__ import annotations

import re

import pytest

from paper.statements.claims import claim_latex
from sparsync.theory.statements import STATEMENTS

CLAIMS = sorted({step.claim for statement in STATEMENTS.values() for step in statement.derivation})


def printed(claim: str) -> str:
    return claim_latex(claim, lambda label: f"<{label}>")


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("‖e‖² ≤ 1 for all t", r"$\lVert e\rVert^{2} \le 1$ for all $t$"),
        ("Σ_{i≤k} v_i is a sum", r"$\sum_{i\le k} v_{i}$ is a sum"),
        ("a total is the head", "a total is the head"),
        ("there a is the bound", "there $a$ is the bound"),
        ("for a smaller a, a = 1", "for a smaller $a$, $a = 1$"),
        ("z + a vanishes", "$z + a$ vanishes"),
        ("E‖e⁺‖² at x̃_{t+1}", r"$\mathbb{E}\lVert e^{+}\rVert^{2}$ at $\tilde{x}_{t+1}$"),
        ("E_whole ≤ Σv", r"$E_{\mathrm{whole}} \le \sum v$"),
        ("P(|u| > z) and P(P + 1)/2", r"$\Pr(\lvert u\rvert > z)$ and $P(P + 1)/2$"),
        ("√(1 − δ) + √s + 2√3 x", r"$\sqrt{1 - \delta} + \sqrt{s} + 2\sqrt{3} x$"),
        ("(1 − κ)^(1 + 2/p)", r"$(1 - \kappa)^{1 + 2/p}$"),
        ("x^−1 and e^{iφ}", r"$x^{-1}$ and $e^{i\varphi}$"),
        ("M* = x*², 2*d*(d - 1)**2", r"$M^{*} = x^{*}{}^{2}$, $2\,d\,(d - 1)^{2}$"),
        ("tail(w)·ratio(non-strict)", r"$\mathrm{tail}(w)\cdot \mathrm{ratio}(\text{non-strict})$"),
        ("the head (ranks up to k) of Top-k", "the head (ranks up to $k$) of Top-$k$"),
        ("the k-th of the workers' 3 means", "the $k$-th of the workers' 3 means"),
        ("hr = Lpq, in [a, b): e = sq", "$hr = Lpq$, in $[a, b)$: $e = sq$"),
        ("∫_κ^1 (1 − t) dt", r"$\int_{\kappa}^{1} (1 - t) \,dt$"),
        ("dz/da = −1", "$dz/da = -1$"),
        ("sent + e_T − mean", "sent ${}+ e_{T} -{}$ mean"),
        ("F'(s) and π'' ≥ 0", r"$F'(s)$ and $\pi'' \ge 0$"),
        ("E[g | x] = 0", r"$\mathbb{E}[g \mid x] = 0$"),
        (
            "r² = mean ‖e_i − mean e_i‖² at G's θ",
            r"$r^{2} =$ mean $\lVert e_{i} - \mathrm{mean}\,e_{i}\rVert^{2}$ at $G$'s $\theta$",
        ),
        ("(bound − δ)E[u²] ≤ UW in SSP (Sós)", r"$(\mathrm{bound} - \delta)\mathbb{E}[u^{2}] \le UW$ in SSP (Sós)"),
        ("‖x − mean x‖ ≤ 1", r"$\lVert x - \mathrm{mean}\,x\rVert \le 1$"),
        ("max_i d_i, 0 mod 2π", r"$\max_{i} d_{i}$, $0 \bmod 2\pi$"),
        ("k = 1..i−1, τ/N, …, τ", r"$k = 1\dots i-1$, $\tau/N$, $\dots$, $\tau$"),
        ("`ties` and top_k, for Top_N", r"<ties> and <top_k>, for $\mathrm{Top}_{N}$"),
        ("ties at 50 % of (Sós 1958)", r"ties at $50 \%$ of (Sós 1958)"),
    ],
)
def test_a_claim_is_typeset_as_it_reads(claim: str, text: str) -> None:
    assert printed(claim) == text


def test_every_claim_can_be_typeset() -> None:
    for claim in CLAIMS:
        text = printed(claim)
        words = re.sub(r"\$[^$]*\$|<\w+>", "", text)
        assert text.count("$") % 2 == 0, claim
        assert text.count("{") == text.count("}"), claim
        assert not set(words) & set("_^²κ"), claim
        assert max(text, default="") <= "\u00ff", claim
        assert not re.search(r"\^\{[^{}]*\}[\^']", text), claim


@pytest.mark.parametrize("label", STATEMENTS)
def test_every_title_can_be_typeset(label: str) -> None:
    assert max(printed(STATEMENTS[label].title)) <= "\u00ff"


@pytest.mark.parametrize(
    ("claim", "fault"), [("x ⋈ y", "'⋈'"), ("Łoś", "'Ł'"), ("f(x ≤ 1", "'(' has no partner"), ("[0, 1))", "no partner")]
)
def test_what_no_table_holds_is_an_error_that_names_the_claim(claim: str, fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)) as caught:
        printed(claim)
    assert repr(claim) in str(caught.value)


def test_a_power_without_an_exponent_is_refused() -> None:
    with pytest.raises(ValueError, match=r"nothing follows '\^'"):
        printed("x^")
