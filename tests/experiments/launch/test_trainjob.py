"""The TrainJob is one that Kubeflow Trainer takes: every field is in the models of its API, and nothing gets lost."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.support.paths import ROOT

TEXT = (ROOT / "experiments" / "launch" / "trainjob.yaml").read_text(encoding="utf-8")
models = pytest.importorskip("kubeflow_trainer_api.models", reason="no kubeflow-trainer-api")
# The runtime sets these itself, and refuses a job that does.
RESERVED = {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}


def read(job: dict[str, Any]) -> dict[str, Any]:
    """What the API keeps of a job.

    Raises:
        ValueError: a field that it needs is not there, or holds something of another type.
    """
    found: dict[str, Any] = models.TrainerV1alpha1TrainJob.from_dict(copy.deepcopy(job)).to_dict()
    return found


def places(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with where it stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, f"{path}[{index}]")
    else:
        yield path, value


def changed_by_reading(job: dict[str, Any]) -> set[str]:
    """Where the API drops what a job says, reads it as something else, or puts in what it lacks."""
    said, kept = dict(places(job)), dict(places(read(job)))
    return {place for place in said.keys() | kept.keys() if place not in said or said[place] != kept.get(place)}


def job() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(TEXT)
    return found


def test_the_api_keeps_every_field_of_the_job() -> None:
    assert changed_by_reading(job()) == set()
    assert len(dict(places(job()))) > 20


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("spec", "trainer", "numNodez"), 4),
        (("spec", "podTemplateOverrides"), [{"targetJobs": [{"name": "node"}]}]),
        (("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicas"), 2),
        (("spec", "trainer", "env"), [{"value": "1"}]),
    ],
)
def test_a_field_too_many_or_too_few_is_noticed(place: tuple[str | int, ...], value: Any) -> None:
    changed: Any = job()
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    assert changed_by_reading(changed) != set()


@pytest.mark.parametrize(("name", "value"), [("numNodes", "four"), ("args", "--nnodes=1:4"), ("image", 3)])
def test_a_value_of_another_type_is_noticed(name: str, value: Any) -> None:
    changed = job()
    changed["spec"]["trainer"][name] = value
    with pytest.raises(ValueError, match=name):
        read(changed)


def test_the_job_says_what_it_is_and_has_a_name_that_hosts_can_have() -> None:
    """RFC 1035, as the rule of the resource definition says; the pods are named after it."""
    assert (job()["apiVersion"], job()["kind"]) == ("trainer.kubeflow.org/v1alpha1", "TrainJob")
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", job()["metadata"]["name"])


def test_the_job_sets_nothing_that_the_runtime_sets() -> None:
    names = {variable["name"] for variable in job()["spec"]["trainer"]["env"]}
    assert names
    assert names.isdisjoint(RESERVED)


def test_the_volume_that_is_mounted_is_one_that_the_job_has() -> None:
    (patch,) = job()["spec"]["runtimePatches"]
    (replicated,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = replicated["template"]["spec"]["template"]["spec"]
    # The names of the runtime torch-distributed: its job and its container.
    assert (replicated["name"], [container["name"] for container in pod["containers"]]) == ("node", ["node"])
    mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
