"""Every number in the text is the one that the result files give, and every macro in the text exists."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper import latex, numbers
from paper.results import training_results
from paper.statements.tables import bound_cell, ledger_table, statement_table
from paper.studies.headlines import HEADLINES
from paper.studies.study_facts import counterexample, smallest_slack
from paper.studies.training_facts import THOUSANDTH, bytes_per_update, condition_results, median_gain
from sparsync.theory.contraction import ladder
from sparsync.theory.statements import FAMILIES, STATEMENTS
from tests.support.paper_data import rewrite, theorem_record, write, write_results, write_run
from tests.support.paths import ROOT

MAIN_TEX = ROOT / "paper" / "main.tex"
TEXT = "".join(MAIN_TEX.with_name(name).read_text(encoding="utf-8") for name in ("main.tex", "waiting.tex"))
PUBLICATION = re.compile(r"([^\W\d_]+)(?:(?:, [^\W\d_]+)* and [^\W\d_]+| et al\.)? (\d{4}(?:, \d{4})*)")
"""First author and years of what a source names: `Efron and Stein 1981`, `Chen et al. 2016`."""


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


def plain(text: str) -> str:
    """The text without mathematics mode."""
    return re.sub(r"\\ensuremath\{([^{}]*)\}", r"\1", text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Workers", "4"),
        ("Seeds", "2"),
        ("StepSize", "0.1"),
        ("Dimension", "6000"),
        ("ThousandthTarget", "6"),
        ("HundredthTarget", "60"),
        # 81 − 80 and 80 − 82.
        ("StandardisedOursDifference", "-0.50"),
        # Counts from 4 to 8 at k = 6; the released rule's are in range at the second of four updates.
        ("ThousandthOursBandShare", "100.0"),
        ("StandardisedTheirsBandShare", "25.0"),
        # The means 0, 1, 2, 1.5 of both seeds.
        ("ThousandthTheirsMedianCount", "1.25"),
        ("ThousandthTheirsLargestCount", "9.00"),
        # δ of 0.002, 0.003, 0.005, 0.007 at κ = 0.001, and at κ = 0.01.
        ("ThousandthTopkGain", "4.0"),
        ("HundredthTopkGain", "0.4"),
        # 1000, 2000, 3000 and 4000 bytes.
        ("ThousandthTopkBytes", r"2.50\,kB"),
        ("ReleasedSettingsTopkBytes", r"2.50\,kB"),
        # κ = 3/2000; ratios 0.97 − 0.01·order, bound 0.991.
        ("GaussianGain", "20.0"),
        ("LaplaceGain", "26.7"),
        ("UniformGain", "33.3"),
        ("BellShapedGain", "6.0"),
        ("LadderDensity", "0.0013"),
        ("ObservedUpdates", "1 and 4"),
        ("SettledMixture", "5.00"),
        ("DriftLaw", "2.99"),
        ("EqualDriftLaw", "3.00"),
        ("TestCount", "2000"),
        ("ReleasedWeightDecay", "0.0001"),
        ("QuadraticSlack", "10.0"),
        # 1/3 and √5 − 2.
        ("FailureInTwo", "0.3333"),
        ("FailureInThree", "0.2361"),
        # One of four counts of each family.
        ("RefinementReleasedShare", "25.0"),
        ("RefinementOursShare", "100.0"),
        ("RefinementSmallestTarget", "6"),
        ("SteadyUpdates", "10"),
        ("GradientGains", "40.0 and 46.7"),
        # The corrected gradient after the first update is the gradient, so only the later one is listed.
        ("CorrectedGains", "60.0"),
        # 1, 0.4/0.5, 0.04/0.1 never rises.
        ("ObservedRises", "0"),
        ("BelowLineRatio", "5/9"),
        ("TwoCoordinatesClaimed", "49/100"),
        # Three for each of six statements.
        ("CertificateCount", "18"),
        ("FormalTheoremCount", "3"),
        ("CoqVersion", "8.16.1"),
        ("Profile", "quick"),
        ("Commits", "0123456789ab"),
        ("Processor", r"Test \& Sons 100\%"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(numbers.MACROS[name](data_folder)) == text


def test_the_text_uses_every_macro_and_no_other() -> None:
    used = set(re.findall(r"\\sp([A-Z][A-Za-z]*)", TEXT))
    assert used == set(numbers.MACROS)


def test_macro_names_hold_letters_only() -> None:
    assert all(re.fullmatch(r"[A-Z][A-Za-z]*", name) for name in numbers.MACROS)


def test_the_text_cites_only_what_is_in_the_references_and_all_of_it() -> None:
    references = MAIN_TEX.with_name("references.bib").read_text(encoding="utf-8")
    cited = re.findall(r"\\(?:cite[pt]|nocite)\{([^}]*)\}", TEXT)
    cited += [headline.source for headline in HEADLINES]
    assert {key for keys in cited for key in keys.split(",")} == set(re.findall(r"@\w+\{(\w+),", references))


def surname(name: str) -> str:
    """The last word of a surname in plain letters: `thomsen` for `Berg Thomsen`, `sos` for `Sós`."""
    return re.sub(r"[^a-z]", "", unicodedata.normalize("NFD", name.split()[-1]).lower())


def test_every_publication_that_a_source_names_is_in_the_references() -> None:
    entries = MAIN_TEX.with_name("references.bib").read_text(encoding="utf-8").split("@")
    field = re.compile(r"author\s*=\s*\{([^,]+),.*year\s*=\s*\{(\d+)\}", flags=re.DOTALL)
    listed = {(surname(match[1]), match[2]) for entry in entries if (match := field.search(entry))}
    named = [
        (surname(author), year)
        for statement in STATEMENTS.values()
        for author, years in PUBLICATION.findall(statement.source)
        for year in years.split(", ")
    ]
    assert ("renyi", "1953") in named
    assert ("thomsen", "2026") in named
    assert set(named) <= listed


def test_the_command_line_defines_every_macro_once(data_folder: Path, tmp_path: Path) -> None:
    numbers.main(["--data-folder", str(data_folder), "--output-folder", str(tmp_path)])
    defined = re.findall(r"^\\newcommand\{\\sp(\w+)\}", (tmp_path / "numbers.tex").read_text(), flags=re.MULTILINE)
    assert defined == list(numbers.MACROS)
    assert {path.name for path in tmp_path.iterdir()} == set(numbers.FILES)


@pytest.mark.parametrize(("name", "target"), [("verify", "reproduce"), ("formal", "formal")])
def test_a_result_that_is_missing_is_named_and_nothing_is_written(name: str, target: str, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    (folder / f"{name}.json").unlink()
    with pytest.raises(SystemExit, match=rf"error: .*{name}\.json is missing; `make {target}` writes it"):
        numbers.main(["--data-folder", str(folder), "--output-folder", str(tmp_path / "output")])
    assert not (tmp_path / "output").exists()


def test_a_missing_field_is_named_with_its_file(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(write_run(folder, "paper", "gaussian_k", 0.001, 0), delta=None, test_accuracy=None)
    with pytest.raises(ValueError, match=r"paper-fnn3_gaussian_k_paper-0\.001-0\.json: no field 'test_accuracy'"):
        numbers.macro_definitions(folder)


def test_seeds_are_ordered_as_numbers(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data", seeds=(10, 0, 2))
    assert [result["seed"] for result in training_results(folder, "plain", "fnn3_top_k", 0.001)] == [0, 2, 10]


def test_results_of_different_profiles_are_not_mixed(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    write_run(folder, "plain", "dense", 0.001, 0, profile="smoke")
    with pytest.raises(ValueError, match=r"quick .*smoke .*plain-fnn3_dense-0\.001-0\.json"):
        numbers.MACROS["Profile"](folder)


def test_every_commit_is_listed_and_local_changes_are_marked(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "verify.json", provenance={"git_commit": "f" * 40, "git_dirty": True})
    assert numbers.MACROS["Commits"](folder) == "ffffffffffff with local changes, 0123456789ab"


def test_a_result_from_a_copy_without_history_says_so(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "verify.json", provenance={"git_commit": None, "git_dirty": None})
    assert numbers.MACROS["Commits"](folder) == "a copy without history, 0123456789ab"


def test_the_grade_formal_is_counted_by_statements(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    formal = {"top_k", "square_convex_discrete"}
    records = [{"label": label, "grades": ["formal"] if label in formal else []} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=records)
    assert plain(numbers.MACROS["FormalStatementCount"](folder)) == "2"


def test_the_text_counts_no_theorem_that_rests_on_an_axiom(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "formal.json", theorems=[theorem_record("tail.tail_cross", "nothing", axioms=("choice",))])
    with pytest.raises(ValueError, match=r"formal\.json: the text says .* closed, but tail\.tail_cross on choice"):
        numbers.MACROS["FormalTheoremCount"](folder)


def test_a_rising_quotient_is_counted(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    vectors = [
        {"name": "gradient, step 1", "position": [0.0, 0.5, 0.9], "magnitude": [1.0, 0.6, 0.01]},
        {"name": "corrected gradient, step 1", "position": [0.0, 0.5, 0.9], "magnitude": [1.0, 0.6, 0.5]},
    ]
    rewrite(folder / "contraction.json", vectors=vectors)
    assert plain(numbers.MACROS["ObservedRises"](folder)) == "3"


def test_a_counterexample_that_refutes_nothing_is_an_error(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    record = {"name": "constant", "ratio": "1/4", "claimed": "1/4", "refutes": False}
    rewrite(folder / "verify.json", counterexamples=[record])
    with pytest.raises(ValueError, match="'constant' refutes nothing"):
        counterexample(folder, "constant")


def test_the_main_table_has_a_row_with_bound_and_source_for_every_statement(data_folder: Path) -> None:
    table = statement_table(data_folder)
    family = ladder.STATEMENTS
    assert table.count(r"\newline\hyperref[statement:") == len(family)
    assert all(bound_cell(statement) in table for statement in family.values())
    assert all(latex.escape(statement.source) in table for statement in family.values())
    assert r"\hyperref[statement:bell_shaped]{\texttt{bell\_\allowbreak{}shaped}}" in table


def test_the_index_has_a_row_with_link_and_page_for_every_statement(data_folder: Path) -> None:
    table = ledger_table(data_folder)
    assert re.findall(r"^\\hyperref\[statement:(\w+)\]", table, flags=re.MULTILINE) == list(STATEMENTS)
    assert re.findall(r"\\pageref\{statement:(\w+)\}", table) == list(STATEMENTS)
    assert table.count(r"\multicolumn") == sum(bool(family) for family in FAMILIES.values())


def test_the_text_names_only_statements_that_there_are() -> None:
    named = re.findall(r"\\statement\{(\w+)\}", TEXT)
    assert named
    assert set(named) <= set(STATEMENTS)


@pytest.mark.parametrize("label", STATEMENTS)
def test_the_source_and_the_assumptions_of_a_statement_can_be_typeset(label: str) -> None:
    """pdflatex reads Latin-1 letters of the words outside formulas."""
    statement = STATEMENTS[label]
    assert max(latex.escape(statement.source)) <= "\u00ff"
    assert "".join(statement.assumptions).isascii()


def test_an_equality_is_printed_as_one_and_a_bound_as_a_bound() -> None:
    assert bound_cell(STATEMENTS["random_k"]) == r"$= 1 - \dfrac{k}{d}$"
    assert bound_cell(STATEMENTS["top_k"]) == r"$\le 1 - \dfrac{k}{d}$"


def test_a_grade_is_printed_only_where_the_ledger_earned_it(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    records = [{"label": label, "grades": []} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=[{"label": "top_k", "grades": ["ball"]}, *records[:1], *records[2:]])
    table = statement_table(folder)
    assert table.count(r"\emph{ball}") == 1
    assert table.count(r"\emph{none}") == len(ladder.STATEMENTS) - 1
    assert ledger_table(folder).count(r"\emph{none}") == len(STATEMENTS) - 1


def test_a_statement_that_the_ledger_lacks_is_named(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "verify.json", statements=[{"label": "top_k", "grades": []}])
    with pytest.raises(ValueError, match=r"verify\.json: no statement random_k, square_convex"):
        statement_table(folder)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("gaussian_k", r"gaussian\_k"),
        ("50% of $1 & #2", r"50\% of \$1 \& \#2"),
        ("{a}", r"\{a\}"),
        ("C:\\x", r"C:\textbackslash{}x"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
    ],
)
def test_escaped_text_reads_as_it_was(text: str, escaped: str) -> None:
    assert latex.escape(text) == escaped


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="\\~^|<>")))
def test_escaping_only_puts_backslashes_before_special_characters(text: str) -> None:
    escaped = latex.escape(text)
    assert re.sub(r"\\([&%$#_{}])", r"\1", escaped) == text
    assert not re.search(r"(?<!\\)[&%$#_{}]", escaped)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (latex.decimal(-0.004, 2), "0.00"),
        (latex.decimal(-0.25, 1), "-0.2"),
        (latex.signed(0.26, 1), "+0.3"),
        (latex.signed(-0.26, 1), "-0.3"),
        (latex.signed(0.004, 2), "0.00"),
        (latex.percent(0.805), "80.5"),
        (latex.integer(1992), "1992"),
        (latex.integer(199210), r"199\,210"),
        (latex.shortest(0.1), "0.1"),
        (latex.size(6400), r"6.40\,kB"),
        (latex.size(501_000), r"501\,kB"),
        (latex.size(3_187_360), r"3.19\,MB"),
        (latex.size(123_456_789), r"123\,MB"),
        (latex.fraction("10/18"), "5/9"),
        (latex.fraction("2"), "2"),
    ],
)
def test_numbers_are_formatted_for_reading(shown: str, text: str) -> None:
    assert plain(shown) == text


@pytest.mark.parametrize("show", [latex.percent, latex.shortest, latex.size, lambda value: latex.decimal(value, 1)])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(show: Callable[[float], str], value: float) -> None:
    with pytest.raises(ValueError, match=str(value)):
        show(value)


def test_the_slack_is_that_of_the_selectors_slowest_step(tmp_path: Path) -> None:
    """Shrinkages of 0.12, 0.11 and, by another selector, 0.05 where the rate says 0.1."""
    shrinkages = (("top_k", 0.12), ("top_k", 0.11), ("random_k", 0.05))
    cases = [{"selector": name, "tight_rate": 0.9, "largest_factor": 1 - share} for name, share in shrinkages]
    write(tmp_path / "quadratics.json", {"cases": cases})
    assert smallest_slack(tmp_path, "top_k") == pytest.approx(0.1)


def test_gains_and_bytes_are_those_of_all_seeds(tmp_path: Path) -> None:
    """Two seeds of four updates: the second has gains of 7 throughout, and sends twice as much."""
    (tmp_path / "convergence").mkdir()
    for seed, changes in enumerate(({}, {"delta": [0.007] * 4, "sent_bytes": [5000] * 4})):
        write_run(tmp_path, "plain", "top_k", 0.001, seed, **changes)
    results = condition_results(tmp_path, THOUSANDTH, "top_k")
    assert bytes_per_update(results) == (2500 + 5000) / 2
    # Of 2, 3, 5, 7 and four times 7.
    assert median_gain(results) == pytest.approx(7)
