"""Coq compiles what is claimed to be proved, and refuses it once a definition or a constant is wrong."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sympy

from sparsync.verify.formal import coq
from sparsync.verify.formal.coq import (
    Compiled,
    CoqError,
    compile_file,
    compile_sources,
    compile_theorems,
    coq_is_there,
    formal_outcomes,
    main,
    read_axioms,
    read_sources,
    requirements,
    stated_names,
)
from sparsync.verify.formal.theorems import PROVED, THEOREMS, Proof, Theorem
from tests.support.coq_text import read_definitions, sympy_of
from tests.support.formal_mutations import HIDDEN, MUTATIONS
from tests.support.shared_builds import once, shared_folder
from tests.support.slow_cases import slow_except

with_coq = pytest.mark.skipif(not coq_is_there(), reason="needs coqc")
JOBS = 2
# That all files compile takes most of a minute of one processor. `make reproduce` asks it in every profile, smoke in
# `.ci/run` among them, and fails where a theorem rests on an axiom; here two files show that the answers are Coq's.
EXTENTS: dict[str, set[str]] = {"two files": {"tail", "staleness"}, "all files": set(read_sources())}
FEW = "two files"
PREAMBLE = re.compile(r"(?:^From mathcomp.*\n)+", re.M)


@dataclass(frozen=True)
class Finished:
    """What the command did: status, what was compiled, what it wrote and printed."""

    status: int
    compiled: Compiled
    written: dict[str, Any]
    printed: str


@dataclass(frozen=True)
class Extent:
    """What is read of the sources, of the theorems and of the statements that they prove."""

    sources: dict[str, str]
    theorems: dict[str, Theorem]
    proved: dict[str, tuple[Proof, ...]]

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(coq, "read_sources", lambda: self.sources)
        patch.setattr(coq, "THEOREMS", self.theorems)
        patch.setattr(coq, "PROVED", self.proved)


def extent_of(name: str) -> Extent:
    files = EXTENTS[name]
    theorems = {key: theorem for key, theorem in THEOREMS.items() if key.partition(".")[0] in files}
    return Extent(
        sources={key: source for key, source in read_sources().items() if key in files},
        theorems=theorems,
        proved={key: proofs for key, proofs in PROVED.items() if {proof.theorem for proof in proofs} <= set(theorems)},
    )


def run_the_command(extent: Extent, folder: Path) -> None:
    """Beside the compiled files it leaves what else it did."""
    folder.mkdir()
    found = []

    def recorded(*, folder: Path | None, job_count: int) -> Compiled:
        found.append(compile_theorems(folder=folder, job_count=job_count))
        return found[-1]

    output, printed = folder / "formal.json", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        extent.patch(patch)
        patch.setattr(coq, "compile_theorems", recorded)
        status = main(["--output", str(output), "--folder", str(folder), "--jobs", str(JOBS)])
    assert found, printed.getvalue()
    written = json.loads(output.read_text(encoding="utf-8"))
    (folder / "finished").write_bytes(pickle.dumps(Finished(status, found[0], written, printed.getvalue())))


def folder_of(factory: pytest.TempPathFactory, name: str) -> Path:
    """Of the command's run, once for all test processes."""
    return once(shared_folder(factory, "coq") / name, partial(run_the_command, extent_of(name)))


@pytest.fixture(scope="module")
def few_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory, FEW)


@pytest.fixture(scope="module")
def compiled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all files."""
    return folder_of(tmp_path_factory, "all files")


@pytest.fixture(scope="module", params=slow_except({FEW}, EXTENTS))
def extent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def finished(extent: str, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    done = pickle.loads((folder_of(tmp_path_factory, extent) / "finished").read_bytes())
    assert isinstance(done, Finished)
    return done


@with_coq
def test_every_theorem_is_closed_under_the_global_context(
    extent: str, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, asked = finished.compiled, extent_of(extent)
    assert compiled.seconds > 0
    assert set(compiled.axioms) == set(asked.theorems)
    assert not compiled.others
    assert not compiled.failures
    asked.patch(monkeypatch)
    outcomes = formal_outcomes(compiled)
    assert set(outcomes) == set(asked.proved)
    assert outcomes
    assert all(outcome.earned for outcome in outcomes.values())


@with_coq
def test_coq_computes_what_sympy_computes(few_folder: Path) -> None:
    names = [f"{name}_{part}" for name in ("classical", "square", "cubic") for part in ("numerator", "denominator")]
    cases = [(name, d, k) for name in names for d in range(1, 7) for k in range(1, d + 1)]
    questions = (f"Eval compute in ({name} {d} {k}).\n" for name, d, k in cases)
    printed = compile_file("question", f"From sparsync Require Import tail.\n{''.join(questions)}", few_folder)
    found = [int(number) for number in re.findall(r"= (\d+)", printed)]
    definitions = read_definitions()
    expected = [
        sympy_of(f"{name} d k", {"d": sympy.Integer(d), "k": sympy.Integer(k)}, definitions) for name, d, k in cases
    ]
    assert dict(zip(cases, found, strict=True)) == dict(zip(cases, expected, strict=True))


NUMBERS = {"delta": "(3%:R / 4%:R)", "eta": "(1 / 2%:R)", "L": "2%:R", "sigma2": "4%:R", "variance": "4%:R"}
NUMBERS |= {"gap": "2%:R", "weight": "3%:R", "zeta2": "5%:R", "T": "4", "d": "5", "k": "2", "n": "7"}
"""With them all roots are rational."""
ROOTED = """Variable R : rcfType.
Lemma root (x y : R) : 0 <= y -> x = y ^+ 2 -> Num.sqrt x = y.
Proof. by move=> y_ge0 ->; rewrite sqrtr_sqr ger0_norm. Qed.
Lemma half : Num.sqrt (1 - 3%:R / 4%:R) = 1 / 2%:R :> R.
Proof. by rewrite (@root _ (1 / 2%:R)) ?divr_ge0 ?ler0n ?ler01 //; field. Qed.
Lemma two : Num.sqrt 4%:R = 2%:R :> R. Proof. by rewrite (@root _ 2%:R) ?ler0n //; ring. Qed.
Lemma rest : 1 - 1 / 2%:R = 1 / 2%:R :> R. Proof. by field. Qed.
"""
RATES = {
    "random_share": "",
    "mean_young_bound": "",
    "mean_minkowski_bound": "",
    "start_and_noise": "",
    "residual_root": "",
    "smooth_rate": "/mean_young_bound",
    "smooth_rate_minkowski": "/residual_root /start_and_noise ?half ?two ?rest (@root _ 4%:R) ?ler0n //",
    "step_share": "",
    "variance_rate": "/step_share",
    "workers_rate": "/workers_share /workers_noise",
}
"""Bounds on what is drawn, with what Coq has to unfold besides to compute them."""


@with_coq
@pytest.mark.slow
def test_coq_proves_the_values_that_sympy_computes_of_bounds_with_roots(compiled_folder: Path) -> None:
    text = f"From sparsync Require Import {' '.join(name for name in read_sources() if name.startswith('random_'))}.\n"
    text = (
        f"{PREAMBLE.findall(read_sources()['random_residual'])[0]}{text}Import Order.Theory GRing.Theory Num.Theory.\n"
    )
    text += f"Local Open Scope ring_scope.\nSection Numbers.\n{ROOTED}"
    definitions = read_definitions()
    for name, unfolded in RATES.items():
        call = " ".join(NUMBERS[parameter] for parameter in definitions[name].parameters)
        value = sympy_of(f"{name} {call}", {}, definitions)
        text += f"Goal {name} {'R ' if name == 'random_share' else ''}{call} = {value.p}%:R / {value.q}%:R :> R.\n"
        text += f"Proof. by rewrite /{name} {unfolded} ?half ?two ?rest; field. Qed.\n"
    compile_file("question", f"{text}End Numbers.\n", compiled_folder)


@with_coq
def test_an_axiom_is_reported_by_name(few_folder: Path) -> None:
    text = "Axiom wrong : False.\nTheorem all : 1 = 2. Proof. case wrong. Qed.\n"
    text += 'Goal True. idtac "theorem all". Abort.\nPrint Assumptions all.\n'
    assert read_axioms(compile_file("question", text, few_folder)) == {"all": ("wrong",)}


@with_coq
def test_an_axiom_under_a_result_outside_the_list_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "Theorem one : 1 = 1. Proof. reflexivity. Qed.\n"
    witness = "Axiom wrong : False.\nLemma witness : 1 = 2. Proof. case wrong. Qed.\n"
    monkeypatch.setattr(coq, "read_sources", lambda: {"small": listed, "sharp": witness})
    monkeypatch.setattr(coq, "THEOREMS", ["small.one"])
    compiled = compile_theorems(folder=tmp_path, job_count=1)
    assert compiled.axioms == {"small.one": ()}
    assert compiled.others == ("sharp.wrong",)
    assert compiled.failures == ("something outside the list of theorems rests on sharp.wrong",)


@with_coq
def test_a_module_of_the_same_name_is_not_asked_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "Axiom wrong : False.\nTheorem one : 1 = 2. Proof. case wrong. Qed.\n"
    right = "From sparsync Require Import small.\nModule small.\nDefinition one := 1.\nEnd small.\n"
    monkeypatch.setattr(
        coq, "read_sources", lambda: {"small": wrong, "later": f"{right}Lemma two : 2 = 2. Proof. easy. Qed.\n"}
    )
    monkeypatch.setattr(coq, "THEOREMS", ["small.one"])
    assert compile_theorems(folder=tmp_path, job_count=1).axioms == {"small.one": ("small.wrong",)}


@with_coq
@pytest.mark.parametrize(
    ("text", "guilty"),
    [
        ("Unset Guard Checking.\nFixpoint loop (n : nat) : False := loop n.\nDefinition all := loop 0.\n", "loop"),
        ("Unset Universe Checking.\nDefinition all : Set := Type.\n", "all"),
        ("Unset Positivity Checking.\nInductive all := All (f : all -> False).\n", "all"),
        ("Variable wrong : False.\nDefinition all := wrong.\n", "wrong"),
    ],
)
def test_a_check_of_coq_that_is_switched_off_is_reported_by_name(text: str, guilty: str, few_folder: Path) -> None:
    text += 'Goal True. idtac "theorem all". Abort.\nPrint Assumptions all.\n'
    assert guilty in read_axioms(compile_file("question", text, few_folder))["all"]


@with_coq
def test_a_file_that_does_not_compile_is_named(tmp_path: Path) -> None:
    with pytest.raises(CoqError, match=r"(?s)broken\.v: .*Error"):
        compile_sources({"broken": "Theorem wrong : 1 = 2. Proof. reflexivity. Qed.\n"}, tmp_path, job_count=1)


@with_coq
def test_a_file_that_does_not_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coq, "LARGEST_SECONDS", 0.01)
    with pytest.raises(CoqError, match=r"slow\.v: not compiled after 0.01 s"):
        compile_file("slow", "Goal True. exact I. Qed.\n", tmp_path)


def changes_by_preamble() -> dict[str, list[str]]:
    """The changes of `MUTATIONS`, together where files load the same libraries: that takes longer than proofs."""
    found = defaultdict(list)
    for change, (name, _old, _new) in MUTATIONS.items():
        (preamble,) = PREAMBLE.findall(read_sources()[name])
        found[preamble].append(change)
    return found


def changed_source(change: str) -> str:
    """Without its preamble, and said to be begun ahead of the paragraph with the change: all before it is right."""
    name, old, new = MUTATIONS[change]
    source = PREAMBLE.sub("", read_sources()[name])
    assert source.count(old) == 1
    before, last, paragraph = source.partition(old)[0].rpartition("\n\n")
    begun = f'Goal True. idtac "begun: {change}". Abort.'
    return f"{before}{last}{begun}\n{paragraph}{new}{source.partition(old)[2]}"


WITHOUT_TACTICS = {preamble for preamble in changes_by_preamble() if "ring" not in preamble}
QUICKLY_HIDDEN = {"bounds that are close"}


def copy_compiled(request: pytest.FixtureRequest, names: Iterable[str], target: Path) -> None:
    """These compiled files and those that they need, from where the fewest had to be compiled."""
    sources, needed = read_sources(), set(names)
    while more := {other for name in needed for other in requirements(sources[name])} - needed:
        needed |= more
    folder = request.getfixturevalue("few_folder" if needed <= EXTENTS[FEW] else "compiled_folder")
    for name in needed:
        shutil.copy(folder / f"{name}.vo", target)


@with_coq
@pytest.mark.parametrize(
    "preamble", slow_except(WITHOUT_TACTICS, changes_by_preamble()), ids=lambda preamble: " ".join(preamble.split())
)
def test_a_wrong_definition_or_constant_breaks_the_build(
    preamble: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Coq takes back what a file did that `Fail` loads: each begins where it would if it were compiled alone."""
    changes = changes_by_preamble()[preamble]
    files = {MUTATIONS[change][0] for change in changes}
    copy_compiled(request, set().union(*(requirements(read_sources()[file]) for file in files)), tmp_path)
    for number, change in enumerate(changes):
        (tmp_path / f"changed_{number}.v").write_text(changed_source(change), encoding="utf-8")
    loads = (f'Fail Load "changed_{number}". (* {change} *)\n' for number, change in enumerate(changes))
    printed = compile_file("changed", f"{preamble}{''.join(loads)}", tmp_path)
    assert re.findall("begun: (.*)", printed) == changes


@with_coq
@pytest.mark.parametrize("change", slow_except(QUICKLY_HIDDEN, HIDDEN))
def test_a_hypothesis_added_out_of_sight_breaks_the_restatement(
    change: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    name, restated, old, new = HIDDEN[change]
    source = read_sources()[name]
    assert source.count(old) == 1
    copy_compiled(request, (requirements(source) | requirements(read_sources()[restated])) - {name}, tmp_path)
    compile_file(name, source.replace(old, new), tmp_path)
    with pytest.raises(CoqError, match=rf"^{restated}\.v: "):
        compile_file(restated, read_sources()[restated], tmp_path)


def test_an_answer_without_a_verdict_is_an_error() -> None:
    with pytest.raises(CoqError, match="no answer about axioms"):
        read_axioms("theorem tail.tail_cross\n\n")


def test_files_are_compiled_after_those_that_they_need() -> None:
    sources = read_sources()
    assert requirements(sources["euclidean"]) >= {"top_k", "residual", "descent"}
    assert requirements(sources["restated_staleness"]) == {"staleness", "dynamic_staleness"}
    assert all(requirements(source) <= set(sources) for source in sources.values())


def test_witnesses_are_among_the_results_that_are_asked_for_axioms() -> None:
    witnesses = {theorem.witness for theorem in THEOREMS.values() if theorem.witness}
    assert witnesses | set(THEOREMS) <= set(stated_names(read_sources()))


def test_without_coq_the_command_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coq, "coq_is_there", lambda: False)
    assert main(["--output", str(tmp_path / "formal.json")]) == 2
    assert "apt-get install" in capsys.readouterr().out
    assert not (tmp_path / "formal.json").exists()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("/proc/x.json", "no file can be written in the output folder /proc"),
        ("/nowhere/x.json", "the output folder /nowhere does not exist"),
        ("/proc", "--output must name a file, got /proc"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_compiled(
    output: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coq, "coq_is_there", lambda: True)
    monkeypatch.setattr(coq, "compile_theorems", lambda **_options: pytest.fail("compiled"))
    assert main(["--output", output]) == 2
    written = capsys.readouterr().err
    assert written.startswith(f"error: {message}")
    assert written.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coq, "compile_theorems", lambda **_options: pytest.fail("compiled"))
    assert main(["--output", str(tmp_path / "formal.json"), "--folder", "/dev/null/new"]) == 2
    assert capsys.readouterr().err == "error: --folder must name a folder, got /dev/null/new: Not a directory\n"


@with_coq
def test_the_command_writes_a_row_per_theorem(extent: str, finished: Finished) -> None:
    assert finished.status == 0
    data, asked = finished.written, extent_of(extent)
    assert [row["name"] for row in data["theorems"]] == list(asked.theorems)
    assert all(row["axioms"] == [] for row in data["theorems"])
    assert {row["label"] for row in data["theorems"]} == {*asked.proved, None}
    assert data["failures"] == []
    assert finished.printed.count("closed under the global context") == len(asked.theorems)


@with_coq
def test_compiled_files_of_the_same_sources_serve_again(
    extent: str, finished: Finished, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    extent_of(extent).patch(monkeypatch)
    monkeypatch.setattr(coq, "compile_sources", lambda *_sources, **_options: pytest.fail("compiled again"))
    monkeypatch.setattr(coq, "_axioms", lambda _folder, names, _stated: dict.fromkeys([*names, coq._OTHERS], ()))
    folder = folder_of(tmp_path_factory, extent)
    assert compile_theorems(folder=folder, job_count=JOBS) == finished.compiled
