"""README is short; every link, command and target that it and the pages name is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from paper.folder_map import FOLDERS
from paper.results import result
from paper.studies.convergence.runs import MOMENTUM, USUAL, Setting, compared, difference, studies, study_of
from paper.studies.convergence.runs import contestant as contestant_of
from paper.studies.races.times import repetitions
from paper.studies.variants.runs import LOW_RANK, contestant, nearest, places
from sparsync.experiments import advise, learn, network, plan, predict, race_real, replay
from sparsync.experiments.bulk import command, farm, global_top_k, streaming
from sparsync.experiments.command import read_command
from sparsync.experiments.race import read_arguments
from sparsync.experiments.racing.entries import read_contestants
from sparsync.experiments.studies.hooks import cost
from sparsync.experiments.studies.kernels import wire
from sparsync.theory import calculator
from sparsync.verify import judge, tight_rate
from tests.support.pages import PAGES, anchors, links, make_targets, module_commands, python_block
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TRAINING = (ROOT / "paper" / "docs" / "training.md").read_text(encoding="utf-8")
IN_THE_PLACE_OF = {"momentum": "dgc", "adamw": "rmsprop"}
"""Which variant the pages advise, by optimiser."""


def _trains(words: list[str]) -> bool:
    return bool(read_command("train", "", words).run)


def _races(words: list[str]) -> bool:
    asked, options = read_arguments(words)
    return asked.list or bool(read_contestants(asked.policy, options))


def _races_for_real(words: list[str]) -> bool:
    asked, contestant = race_real.read_arguments(words)
    return asked.policy.startswith(contestant[0])


PARSERS: dict[str, Callable[[list[str]], bool]] = {
    "sparsync.experiments.train": _trains,
    "sparsync.experiments.simulate": _trains,
    "sparsync.experiments.race": _races,
    "sparsync.experiments.race_real": _races_for_real,
    "sparsync.experiments.learn": lambda words: bool(learn.read_arguments(words)),
    "sparsync.experiments.replay": lambda words: bool(replay.read(words)),
    "sparsync.experiments.bulk.farm": lambda words: bool(command.read_arguments("farm", farm.SYSTEM, words)),
    "sparsync.experiments.bulk.streaming": lambda words: bool(
        command.read_arguments("streaming", streaming.SYSTEM, words)
    ),
    "sparsync.experiments.bulk.global_top_k": lambda words: bool(global_top_k.read_arguments(words)),
    "sparsync.experiments.advise": lambda words: bool(advise.read_arguments(words)),
    "sparsync.experiments.plan": lambda words: bool(plan.read_arguments(words)),
    "sparsync.experiments.predict": lambda words: bool(predict.read_arguments(words)),
    "sparsync.experiments.network": lambda words: bool(network.read(words)),
    "sparsync.experiments.studies.hooks.cost": lambda words: bool(cost.read(words)),
    "sparsync.experiments.studies.kernels.wire": lambda words: wire.read(words) is not None,
    "sparsync.theory.calculator": lambda words: calculator.main(words) == 0,
    "sparsync.verify.judge": lambda words: bool(judge.read(words)),
    "sparsync.verify.tight_rate": lambda words: bool(tight_rate.read_arguments(words)),
}
"""Is a command line accepted? By module; a new one in the pages needs a line."""
COMMANDS = [found for page in PAGES for found in module_commands(page.read_text(encoding="utf-8"))]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in links(text):
        name, _, anchor = link.partition(' "')[0].partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        found = target.read_text(encoding="utf-8") if anchor else ""
        numbered = {f"L{number}" for number in range(1, len(found.splitlines()) + 1)} if name else set()
        known = anchors(found) | set(re.findall(r'<a id="(\w+)">', found)) | numbered
        assert not anchor or anchor in known, link


def test_links_and_headings_are_found() -> None:
    text = "# A `b` of C: d\n[x](y.md#z) ![p](q.svg) [w](https://w.org)\n```sh\n# no\n[a](b)\n```\n## ef_gh"
    assert links(text) == ["y.md#z", "q.svg"]
    assert anchors(text) == {"a-b-of-c-d", "ef_gh"}


@pytest.mark.parametrize(("module", "words"), COMMANDS, ids=lambda part: part if isinstance(part, str) else "")
def test_every_command_is_accepted(
    module: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = python_block(ROOT / "paper" / "docs" / "contributing.md", "class HalfSynchronous")
    Path("half_synchronous.py").write_text(own, encoding="utf-8")
    assert PARSERS[module](words)


def test_commands_are_found() -> None:
    text = "```sh\ntorchrun -n 2 \\\n    -m sparsync.a.b --c d # e\n```\n`python -m sparsync.f --g` `-m sparsync.h`"
    assert module_commands(text) == [("sparsync.a.b", ["--c", "d"]), ("sparsync.f", ["--g"])]
    assert len(COMMANDS) > 5


def test_every_target_of_make_is_one_that_help_lists() -> None:
    listed = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = {target for page in PAGES for target in make_targets(page.read_text(encoding="utf-8"))}
    assert {"demo", "reproduce", "test"} <= make_targets(README)
    assert {"demo", "docs"} <= listed
    assert named - listed == set()


def test_what_the_readme_says_of_the_figure_is_so_in_the_results() -> None:
    data = ROOT / "paper" / "data"
    trained = study_of(data, MOMENTUM.arena)
    words = {3: "three", 5: "five", 8: "eight", 10: "ten"}
    assert trained["worker_count"] == int(re.search(r"(\d+) workers,", README)[1])  # type: ignore[index]
    assert f"means over {words[len(trained['seeds'])]} seeds" in README
    raced = result(data, "races")
    workers, seeds = raced.record("race")["workers"], words[repetitions(raced)]
    assert f"Right: {workers} simulated workers that send everything, {seeds} seeds" in README


def test_what_the_page_says_of_the_minutes_of_the_contest_is_so_in_the_results() -> None:
    there = studies(ROOT / "paper" / "data")
    took = {arena: round(study["processor_seconds"] / 60) for arena, study in there.items()}
    words = " ".join((ROOT / "paper" / "docs" / "reproducing.md").read_text(encoding="utf-8").split())
    first = f"FNN-3 took {took['fnn3']} minutes of one processor, LeNet-5 {took['lenet5']}, the 16 workers"
    second = f"{took['fnn3_16']}, ResNet-20 {took['resnet20']}, the GPT {took['gpt']} and the LSTM {took['lstm']}"
    assert f"{first} {second}" in words


def test_where_top_k_does_not_fall_behind_is_so_in_the_results() -> None:
    data, behind = ROOT / "paper" / "data", {}
    for arena, rule in USUAL.items():
        found = compared(data, Setting(arena, rule, 0.001), "top_k", "dense")
        assert found is not None
        behind[arena] = found.high < 0
    assert [arena for arena, is_behind in behind.items() if not is_behind] == ["lstm"]
    against = compared(data, Setting("lstm", "adamw", 0.001), "top_k", "dense")
    assert against is not None
    assert against.low > 0
    assert "Top-k falls behind dense training, but for an LSTM with AdamW" in README
    study = study_of(data, "lstm")
    own, heavy = contestant_of(study, "adamw", "top_k", 0.001), contestant_of(study, "momentum", "dense", 0.001)
    assert own is not None
    assert heavy is not None
    estimate = difference(study, own, heavy)
    assert estimate is not None
    assert estimate.high < 0, "the paper says that momentum suits that network better"


def test_what_the_pages_say_of_the_nearest_variants_is_so_in_the_results() -> None:
    study, losses = result(ROOT / "paper" / "data", "variants"), {}
    for density in (0.01, 0.001):
        for model, optimiser in places(study):
            found = nearest(study, model, optimiser, density)
            assert found is not None
            assert found[0] == IN_THE_PLACE_OF[optimiser]
            losses[density, model, optimiser] = found[1].value
    assert "did not at density 0.01; at 0.001 it did by 1 to 3 points or per cent, but for the transformer" in README
    assert losses.pop((0.001, "gpt", "adamw")) < 0
    assert all(loss < 0 for (density, *_), loss in losses.items() if density == 0.01)
    assert {round(loss) for (density, *_), loss in losses.items() if density == 0.001} == {1, 3}


def test_what_the_page_says_of_the_bytes_of_powersgd_is_so_in_the_results() -> None:
    study = result(ROOT / "paper" / "data", "variants")
    said = re.search(r"PowerSGD sends (\S+) \(GPT\) and (\S+) times \(ResNet-20, its least\)", TRAINING)
    assert said is not None
    for model, optimiser in places(study):
        low_rank, top_k = (contestant(study, model, optimiser, method, 0.01) for method in (LOW_RANK, "ef14"))
        assert low_rank is not None
        assert top_k is not None
        assert low_rank["rank"] == 1
        assert f"{low_rank['sent_bytes'] / top_k['sent_bytes']:.1f}" == said[1 if model == "gpt" else 2]


def test_the_readme_names_every_folder_that_is_imported() -> None:
    assert all(f"`sparsync.{name}`" in README for name in FOLDERS if name not in ("tests", "paper"))
