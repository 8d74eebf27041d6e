import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.verify.tools.provenance import git_state, provenance, require_output, write_json
from tests.support.stand_ins.forked import run_forked

FACTS = {
    "git_commit",
    "git_dirty",
    "python_version",
    "torch_version",
    "numpy_version",
    "sympy_version",
    "cuda_version",
    "processor_name",
    "arithmetic_sha256",
    "blas",
    "blas_code_path",
    "cpu_capability",
    "gpu_name",
    "process_count",
    "date_utc",
}


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *identity, *arguments), cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "checkout" / "verify"
    package.mkdir(parents=True)
    (package / "module.py").write_text("1\n", encoding="utf-8")
    root = package.parent
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "first")
    return package


def test_a_result_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renamed first, a machine that stops at the wrong moment would leave an empty file in the place of the old one."""
    place, deeds = tmp_path / "result.json", list[tuple[str, str]]()
    flush, rename = os.fsync, Path.replace

    def flushing(descriptor: int) -> None:
        flush(descriptor)
        deeds.append(("flushed", Path(f"/proc/self/fd/{descriptor}").readlink().name))

    def renaming(self: Path, target: Path) -> Path:
        deeds.append(("renamed", self.name))
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", flushing)
    monkeypatch.setattr(Path, "replace", renaming)
    write_json(place, {"a": 1})
    assert deeds == [("flushed", "result.json"), ("renamed", "result.json")]
    assert json.loads(place.read_text(encoding="utf-8")) == {"a": 1}


def test_every_fact_is_there_and_is_json() -> None:
    facts = provenance(process_count=3)
    assert set(facts) == FACTS
    assert facts["process_count"] == 3
    assert facts["python_version"] == ".".join(str(part) for part in sys.version_info[:3])
    assert facts["torch_version"] == torch.__version__
    assert json.loads(json.dumps(facts)) == facts


def test_the_date_is_utc_and_names_no_local_time() -> None:
    date = datetime.fromisoformat(str(provenance(process_count=1)["date_utc"]))
    assert date.tzinfo == UTC


def test_the_processor_has_a_name() -> None:
    assert provenance(process_count=1)["processor_name"]


def test_the_cpu_capability_is_the_code_that_pytorch_runs() -> None:
    program = (
        "from sparsync.verify.tools.provenance import provenance; print(provenance(process_count=1)['cpu_capability'])"
    )
    finished = run_forked("-c", program, environment={"ATEN_CPU_CAPABILITY": "default"})
    assert finished.stdout.split() == ["DEFAULT"], finished.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="the machine has a GPU")
def test_without_a_gpu_its_name_is_null() -> None:
    assert provenance(process_count=1)["gpu_name"] is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the machine has no GPU")
def test_a_cuda_device_is_named_where_it_computed() -> None:
    assert provenance(process_count=1)["gpu_name"] is None
    assert provenance(process_count=1, device="cuda")["gpu_name"] == torch.cuda.get_device_name()


@pytest.mark.parametrize("process_count", [0, -1])
def test_no_process_computes_nothing(process_count: int) -> None:
    with pytest.raises(ValueError, match=str(process_count)):
        provenance(process_count=process_count)


def test_a_clean_checkout_reports_its_commit(checkout: Path) -> None:
    commit, dirty = git_state(checkout)
    assert commit is not None
    assert len(commit) == 40
    assert dirty is False


@pytest.mark.parametrize("path", ["verify/module.py", "verify/untracked.py"])
def test_a_changed_or_new_file_makes_the_checkout_dirty(checkout: Path, path: str) -> None:
    (checkout.parent / path).write_text("2\n", encoding="utf-8")
    assert git_state(checkout)[1] is True


def test_new_results_do_not_make_the_checkout_dirty(checkout: Path) -> None:
    write_json(checkout.parent / "paper" / "data" / "result.json", {})
    assert git_state(checkout)[1] is False


@pytest.mark.parametrize(
    ("text", "commit"), [("a" * 40 + "\n", "a" * 40), ("$Format:%H$\n", None), ("main\n", None), ("", None)]
)
def test_a_copy_names_the_commit_that_an_archive_was_made_of_and_no_other(
    text: str, commit: str | None, checkout: Path, tmp_path: Path
) -> None:
    """Even where it is unpacked inside of another checkout."""
    for package in (tmp_path / "copy" / "verify", checkout.parent / "inside" / "verify"):
        (package / "tools").mkdir(parents=True)
        (package / "tools" / "archived_commit.txt").write_text(text, encoding="utf-8")
        assert git_state(package) == (commit, None)


def test_a_checkout_without_a_commit_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert git_state(tmp_path / "verify") == (None, None)


def test_outside_a_checkout_the_commit_is_null(tmp_path: Path) -> None:
    assert git_state(tmp_path / "sparsync" / "verify") == (None, None)


def test_an_installed_copy_does_not_report_the_commit_of_the_project_around_it(checkout: Path) -> None:
    installed = checkout / "site-packages" / "verify"
    installed.mkdir(parents=True)
    assert git_state(installed) == (None, None)


def test_without_git_the_commit_is_null(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert git_state(checkout) == (None, None)


@pytest.mark.parametrize("hanging", ["rev-parse", "status"])
def test_a_git_that_does_not_end_knows_nothing(hanging: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = subprocess.run

    def hang(words: tuple[str, ...], **options: Any) -> object:
        if hanging in words:
            raise subprocess.TimeoutExpired(words, 1.0)
        return run(words, **options)

    monkeypatch.setattr(subprocess, "run", hang)
    commit, dirty = git_state(checkout)
    assert dirty is None
    assert (commit is None) == (hanging == "rev-parse")


def test_written_json_reads_back_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "result.json"
    write_json(path, {"value": 0.1, "text": "≤"})
    assert json.loads(path.read_text(encoding="utf-8")) == {"value": 0.1, "text": "≤"}
    assert [entry.name for entry in path.parent.iterdir()] == ["result.json"]


def test_a_link_keeps_pointing_at_the_file_that_is_rewritten(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    write_json(link, {"value": 1})
    assert link.is_symlink()
    assert json.loads(target.read_text(encoding="utf-8")) == {"value": 1}


def test_what_is_no_file_is_refused_under_its_option_and_stays(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link, tmp_path):
        with pytest.raises(ValueError, match=f"^--trace must name a file, got {re.escape(str(path))}$"):
            require_output(path, option="--trace")
    assert pipe.is_fifo()


@contextmanager
def full_disk() -> Iterator[None]:
    """Files can be made, but nothing can be written in them."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_found_out_before_the_work(tmp_path: Path) -> None:
    message = f"no file can be written in the output folder {re.escape(str(tmp_path))}"
    with pytest.raises(ValueError, match=message), full_disk():
        require_output(tmp_path / "result.json")


def test_a_disk_that_is_full_by_then_is_named_with_the_result(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=re.escape(str(tmp_path / "result.json"))), full_disk():
        write_json(tmp_path / "result.json", {"value": 1})
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_refused_where_its_target_cannot_be_written(tmp_path: Path) -> None:
    """In /proc not even root can create a file."""
    link = tmp_path / "link"
    link.symlink_to("/proc/out.json")
    with pytest.raises(ValueError, match="no file can be written in the output folder /proc"):
        require_output(link)


@pytest.mark.parametrize("name", ["old.json", "new.json", "link.json"])
def test_a_file_a_new_name_and_a_link_may_be_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "old.json").touch()
    (tmp_path / "link.json").symlink_to(tmp_path / "new.json")
    before = sorted(tmp_path.iterdir())
    require_output(tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("bad", "error"), [(float("nan"), ValueError), (float("inf"), ValueError), (object(), TypeError)]
)
def test_data_that_is_no_json_leaves_the_old_file(tmp_path: Path, bad: object, error: type[Exception]) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"value": 1})
    with pytest.raises(error):
        write_json(path, {"value": bad})
    assert json.loads(path.read_text(encoding="utf-8")) == {"value": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"value": 1})

    def interrupted(_self: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_json(path, {"value": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"value": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda items: st.lists(items, max_size=4) | st.dictionaries(st.text(), items, max_size=4),
)


@given(data=st.dictionaries(st.text(), JSON, max_size=4))
def test_what_is_written_is_read_back_unchanged(data: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        write_json(path, data)
        assert json.loads(path.read_text(encoding="utf-8")) == data


def test_a_series_takes_one_line_and_a_field_another(tmp_path: Path) -> None:
    write_json(tmp_path / "result.json", {"run": {"seed": 1}, "loss": [1.5, 2.5], "rows": [{"k": 1}]})
    assert (tmp_path / "result.json").read_text(encoding="utf-8").splitlines() == [
        "{",
        '  "run": {',
        '    "seed": 1',
        "  },",
        '  "loss": [1.5, 2.5],',
        '  "rows": [',
        "    {",
        '      "k": 1',
        "    }",
        "  ]",
        "}",
    ]


def test_a_field_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"\[1\]"):
        write_json(tmp_path / "result.json", {"outer": {1: 2}})
    assert list(tmp_path.iterdir()) == []
