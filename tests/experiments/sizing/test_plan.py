"""The command plans a model by name or of the user's own, says what binds, and refuses what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparsync.experiments.plan import main, size_bytes

OWN = """
import torch
from torch import nn

def deep():
    return nn.Sequential(*(nn.Linear(64, 64) for _ in range(50))), torch.zeros(1, 64)
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(OWN)
    return f"{tmp_path / 'own.py'}:deep"


def words(model: str, **changed: str) -> list[str]:
    given = {"memory": "1GB", "workers": "4", "bandwidth": "1Gbit", "batch": "8", "bucket": "8kB"} | changed
    return [model, *(word for name, value in given.items() for word in (f"--{name}", value))]


def test_a_plan_is_a_table_lines_a_file_and_a_picture(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result, picture = tmp_path / "plan.json", tmp_path / "plan.png"
    main([*words(model, density="0.01"), "--output", str(result), "--figure", str(picture)])
    said = capsys.readouterr().out
    found = json.loads(result.read_text())
    assert "and 10 more" in said
    assert f"a step of 32 examples takes {1e3 * found['step_seconds']:.3g} ms" in said
    assert f"what binds: {', '.join(found['binding'])}" in said
    assert "twice the bandwidth" in said
    assert len(found["buckets"]) == len(found["works"]) == 50
    assert sum(bucket["parameter_count"] for bucket in found["buckets"]) == 50 * 65 * 64
    assert found["sample_seconds"] * 32 == pytest.approx(found["step_seconds"], rel=1e-12)
    assert found["command"]["density"] == 0.01
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_network_that_is_known_by_name_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    main(["resnet50", "--memory", "80GB", "--workers", "16", "--bandwidth", "25Gbit", "--density", "0.001"])
    assert "25557032 of 25557032 parameters are replicated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"memory": "1kB"}, "memory: the limit is 1000 bytes of a device, and the least need is"),
        ({"memory": "1XB"}, "a size must be a number with kB, MB, GB, TB, KiB, MiB or GiB, got '1XB'"),
        ({"bandwidth": "fast"}, "bandwidth must be a number with kbit, Mbit, Gbit or Tbit, got 'fast'"),
        ({"workers": "0"}, "device_count must be at least 1, got 0"),
        ({"density": "1.5"}, "density must lie in (0, 1], got 1.5"),
        ({"operations": "0"}, "operations_per_second must be positive, got 0.0"),
        ({"kernels": "absent.json"}, "absent.json"),
        ({"figure": "plan.xyz"}, "a picture must end in one of"),
    ],
)
def test_what_cannot_be_planned_is_said_in_a_line(
    model: str,
    changed: dict[str, str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words(model, **changed))
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert said in line
    assert {path.name for path in tmp_path.iterdir()} <= {"own.py", "__pycache__"}


@pytest.mark.parametrize(
    ("text", "size"), [("80GB", 80 * 10**9), ("24GiB", 24 * 2**30), ("1.5MB", 1_500_000), ("7", 7), (" 2e3 ", 2000)]
)
def test_a_size_has_a_unit(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "0GB", "-1GB", "1.2.3GB", "1 80GB", "inf"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a size must be a number with"):
        size_bytes(text)
