"""Formal theorems prove the statements that the ledger says they prove."""

from __future__ import annotations

import json
import re

import pytest
import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.formal.coq import read_sources, sources_digest
from sparsync.verify.formal.theorems import PROVED, THEOREMS, Proof
from tests.support.coq_text import (
    Definition,
    definitions_of,
    read_definitions,
    statement_of,
    sympy_of,
    without_comments,
)
from tests.support.paths import ROOT

PROOFS = [(label, proof) for label, proofs in PROVED.items() for proof in proofs]
FORBIDDEN = re.compile(r"\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|Abort)\b")
RESTATED = ("restated", "restated_random", "restated_staleness")
RESTATEMENT = re.compile(r"^Theorem (\w+)\b(.*?)\.\nProof\.(.*?)Qed\.$", re.M | re.S)
OUR_NAME = re.compile(rf"\b(?:{'|'.join(read_sources())})\.\w+")
"""With that of its file, as where no file of ours is imported."""
PREAMBLE = re.compile(
    r"From mathcomp Require Import [\w ]+\.|From sparsync Require (?!Import|Export)[\w ]+\."
    r"|Import Order\.Theory GRing\.Theory Num\.Theory\.|Local Open Scope ring_scope\."
    r"|Set Implicit Arguments\.|Unset Strict Implicit\.|Unset Printing Implicit Defensive\."
)
ROUNDING = sympy.Symbol("q", integer=True, nonnegative=True)


def short_name(theorem: str) -> str:
    """The theorem's name without that of its file."""
    return theorem.partition(".")[2]


def leaves_nothing_hidden(source: str) -> bool:
    """True iff nothing is in it but imports, none of ours, and theorems with their proofs."""
    others = RESTATEMENT.sub("", source).splitlines()
    return all(PREAMBLE.fullmatch(line) for line in others if line)


def difference(label: str, proof: Proof, definitions: dict[str, Definition]) -> sympy.Expr:
    """The theorem's right side minus the statement's bound, in the statement's symbols."""
    symbols = {str(symbol.name): symbol for symbol in STATEMENTS[label].parameters}
    text, values = proof.bound, dict(symbols)
    # The longest part first: one may be inside another.
    parts = sorted(proof.symbols.items(), key=lambda part: -len(part[0]))
    for place, (part, meaning) in enumerate(parts):
        assert part in text, f"{part} is not in {text}"
        name = f"part{place}"
        text, values[name] = text.replace(part, f" {name} "), sympy.sympify(meaning, locals=symbols)
    return sympy_of(text, values, definitions) - STATEMENTS[label].bound


def meanings(proof: Proof, symbols: dict[str, sympy.Symbol]) -> dict[str, sympy.Expr]:
    """What the variables of a theorem are in the statement."""
    return symbols | {part: sympy.sympify(meaning, locals=symbols) for part, meaning in proof.symbols.items()}


def vanishes(expression: sympy.Expr) -> bool:
    """True iff it simplifies to zero, where need be for k = 3q + 1, 3q + 2 and 3q + 3 one by one."""
    if sympy.simplify(expression) == 0:
        return True
    counts = [symbol for symbol in expression.free_symbols if symbol.name == "k"]
    cases = [expression.subs(count, 3 * ROUNDING + rest) for count in counts for rest in (1, 2, 3)]
    return bool(cases) and all(sympy.simplify(case) == 0 for case in cases)


@pytest.mark.parametrize(("label", "proof"), PROOFS, ids=[proof.theorem for _, proof in PROOFS])
def test_the_theorem_concludes_with_the_bound_of_its_statement(label: str, proof: Proof) -> None:
    file, _, name = proof.theorem.partition(".")
    assert proof.concludes in statement_of(read_sources()[file], name)
    assert proof.bound in proof.concludes
    assert vanishes(difference(label, proof, read_definitions()))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("square_numerator", "(d - k + 1)", "(d - k + 2)"),
        ("cubic_denominator", "(2 * d + 1)", "(2 * d + 2)"),
        ("classical_numerator", "d - k", "d - k + 1"),
        ("band_least", "2 * k + 2", "2 * k + 1"),
        ("rounded_share", "(1 - left)", "(1 + left)"),
        ("young_bound", "4%:R", "2%:R"),
        ("minkowski_bound", "(1 - delta)", "delta"),
        ("local_ratio", "1 - b", "1 + b"),
        ("random_share", "k%:R", "k.+1%:R"),
        ("mean_young_bound", "4%:R", "2%:R"),
        ("mean_minkowski_bound", "eta ^+ 2", "eta"),
        ("mean_decayed_bound", "1 - beta", "1 + beta"),
        ("smooth_rate", "eta * L * sigma2", "eta * L * sigma2 / 2%:R"),
        ("residual_root", "(1 - delta)", "delta"),
        ("start_and_noise", "2%:R", "4%:R"),
        ("step_share", "(1 + ", "(1 - "),
        ("variance_rate", "(1 + ", "(1 - "),
        ("workers_noise", "2%:R * n", "n"),
        ("workers_share", "4%:R", "2%:R"),
    ],
)
def test_a_wrong_definition_is_not_the_statement_s_bound(name: str, old: str, new: str) -> None:
    definitions = read_definitions()
    assert old in definitions[name].body
    wrong = {**definitions, name: Definition(definitions[name].parameters, definitions[name].body.replace(old, new, 1))}
    assert not all(vanishes(difference(label, proof, wrong)) for label, proof in PROOFS)


@pytest.mark.parametrize("label", PROVED)
def test_numbers_that_a_statement_assumes_are_those_of_its_theorem(label: str) -> None:
    statement, proof = STATEMENTS[label], PROVED[label][0]
    given = {made.name: made.right for made in statement.assumptions if isinstance(made, Given)}
    assert {*proof.given, *(["power"] if proof.weights else [])} == set(given)
    symbols = {str(symbol.name): symbol for symbol in statement.parameters}
    source = " ".join("\n".join(map(without_comments, read_sources().values())).split())
    for name, (hypothesis, number) in proof.given.items():
        assert hypothesis in source
        assert number in hypothesis.partition(" <= ")[2]
        assert vanishes(sympy_of(number, meanings(proof, symbols), {}) - given[name])


@pytest.mark.parametrize(("label", "proof"), [(label, proof) for label, proof in PROOFS if proof.weights])
def test_the_weights_of_a_theorem_have_the_power_that_the_statement_assumes(label: str, proof: Proof) -> None:
    file, _, theorem = proof.theorem.partition(".")
    assert f"star_shaped ({proof.weights} R d)" in statement_of(read_sources()[file], theorem)
    d, i = sympy.symbols("d i", integer=True)
    weight = sympy_of(read_definitions()[proof.weights].body, {"d": d, "i": i}, {})
    assert vanishes(weight - (d - i) ** STATEMENTS[label].given("power"))


@pytest.mark.parametrize("name", THEOREMS)
def test_every_theorem_of_the_list_and_its_witness_are_stated(name: str) -> None:
    sources = read_sources()
    file, _, theorem = name.partition(".")
    assert statement_of(sources[file], theorem)
    if THEOREMS[name].witness:
        file, _, theorem = THEOREMS[name].witness.partition(".")
        assert statement_of(sources[file], theorem)


def test_what_a_theorem_on_a_finite_space_leaves_is_said_in_plain_words() -> None:
    """But for Rand-k: where sets of coordinates are drawn, there are finitely many outcomes."""
    finite = {label: proof for label, proof in PROOFS if proof.theorem.startswith("random_") and label != "random_k"}
    assert {"residual_bound", "residual_minkowski", "nonconvex_rate"} <= set(finite)
    assert all("infinitely many outcomes" in proof.leaves for proof in finite.values())
    assert all(re.fullmatch(r"[A-Za-z ,;-]*", proof.leaves) for _, proof in PROOFS)


@pytest.mark.parametrize("label", ["residual_bound", "residual_minkowski", "nonconvex_rate"])
def test_a_statement_about_compressors_that_draw_is_proved_by_a_theorem_about_them(label: str) -> None:
    proof = PROVED[label][0]
    file, _, name = proof.theorem.partition(".")
    stated = statement_of(read_sources()[file], name)
    assert {"contract", "afresh"} <= set(re.findall("contract|afresh", stated))


def test_every_proof_is_in_the_list_and_of_a_statement() -> None:
    assert {proof.theorem for _, proof in PROOFS} <= set(THEOREMS)
    assert set(PROVED) <= set(STATEMENTS)
    assert len(PROOFS) >= 10


@pytest.mark.parametrize("file", read_sources())
def test_no_source_assumes_or_leaves_out_a_proof(file: str) -> None:
    source = without_comments(read_sources()[file])
    assert not FORBIDDEN.search(source)
    assert source.count("\nProof.") + source.count(" Proof.") == source.count("Qed.") + source.count("Defined.")


def test_the_theorems_of_the_list_are_restated_in_its_order() -> None:
    restated = [name for file in RESTATED for name, _, _ in RESTATEMENT.findall(without_comments(read_sources()[file]))]
    assert restated == [short_name(theorem) for theorem in THEOREMS]


@pytest.mark.parametrize("theorem", THEOREMS)
def test_a_restatement_has_no_name_of_ours_and_is_proved_by_its_theorem(theorem: str) -> None:
    source = "\n".join(without_comments(read_sources()[file]) for file in RESTATED)
    found = {name: (statement, proof) for name, statement, proof in RESTATEMENT.findall(source)}
    statement, proof = found[short_name(theorem)]
    assert not OUR_NAME.search(statement)
    assert not re.search(r"\.\s", statement), "a statement is one sentence"
    assert theorem in OUR_NAME.findall(proof)


@pytest.mark.parametrize("file", RESTATED)
def test_nothing_but_statements_and_proofs_is_where_theorems_are_restated(file: str) -> None:
    """Coq compiles these files: no section holds a hypothesis, and of ours only a full name has a meaning."""
    assert leaves_nothing_hidden(without_comments(read_sources()[file]))


@pytest.mark.parametrize(
    "line",
    [
        "Section Hidden.",
        "Hypothesis hidden : 0 < 1.",
        "Definition hidden := 1.",
        "Notation hidden := 1.",
        "From sparsync Require Import tail.",
        "Import tail.",
    ],
)
def test_a_line_that_could_hide_something_is_refused(line: str) -> None:
    restated = "From sparsync Require tail.\nTheorem one : 1 = 1.\nProof. exact: tail.one. Qed.\n"
    assert leaves_nothing_hidden(restated)
    assert not leaves_nothing_hidden(f"{line}\n{restated}")


@pytest.mark.parametrize("file", read_sources())
def test_a_notation_of_ours_is_local_to_its_file(file: str) -> None:
    source = without_comments(read_sources()[file])
    assert source.count("Notation ") == source.count("Local Notation ")


def test_what_coq_does_not_read_states_nothing() -> None:
    commented = "(* (* old *)\nTheorem one : 1 = 2.\nProof. easy. Qed.\n*)\nFact one : 1 = 1.\nProof. easy. Qed.\n"
    with pytest.raises(ValueError, match="one is stated 0 times"):
        statement_of(commented, "one")
    with pytest.raises(ValueError, match="not closed"):
        statement_of("(* one", "one")
    with pytest.raises(ValueError, match="not open"):
        statement_of("one *)", "one")


def test_a_number_defined_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice is defined twice"):
        definitions_of("Definition twice : R := 1.\nDefinition twice : R := 2.\n")


@pytest.mark.parametrize("text", ["d + unknown", "d ? k", "(d + k", "d k"])
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not arithmetic|no value|bracket"):
        sympy_of(text, {"d": sympy.Symbol("d"), "k": sympy.Symbol("k")}, {})


def test_the_tracked_result_is_of_these_sources() -> None:
    tracked = json.loads((ROOT / "paper" / "data" / "formal.json").read_text(encoding="utf-8"))
    assert tracked["sources_sha256"] == sources_digest(read_sources())
    assert [row["name"] for row in tracked["theorems"]] == list(THEOREMS)
    assert tracked["failures"] == []
