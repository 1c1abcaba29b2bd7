"""Which host this is, as clusters say it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from holdfast.cli.commands import launch_command as launch
from holdfast.errors import ContradictorySettings, UsageError
from holdfast.journal.folder import RunFolder
from holdfast.launch import cluster
from holdfast.launch.cluster import HostPlacement
from holdfast.launch.group import TRAINER, cores_of
from holdfast.settings.recipe import Data, Hardware, Recipe


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu[03-05,09]", "gpu03"),
        ("gpu7", "gpu7"),
        ("a1,b2", "a1"),
        ("n[1,4]", "n1"),
        ("rack-1-n[08-09]", "rack-1-n08"),
    ],
)
def test_the_first_node_of_slurms_list(nodes: str, first: str) -> None:
    assert cluster.first_node(nodes) == first


def test_slurm() -> None:
    environment = {
        "SLURM_PROCID": "3",
        "SLURM_NTASKS": "4",
        "SLURM_JOB_NODELIST": "gpu[03-06]",
        "SLURM_JOB_ID": "12007",
    }
    assert cluster.from_environment(environment) == HostPlacement(3, 4, "gpu03:29477")


def test_kubernetes() -> None:
    environment = {"HOLDFAST_HEAD": "run-0.run", "HOLDFAST_HOSTS": "2", "JOB_COMPLETION_INDEX": "1"}
    assert cluster.from_environment(environment) == HostPlacement(1, 2, "run-0.run:29470")


def test_vertex() -> None:
    spec = {
        "cluster": {"workerpool0": ["head:2222"], "workerpool1": ["w0:2222", "w1:2222"]},
        "task": {"type": "workerpool1", "index": 1},
    }
    assert cluster.from_environment({"CLUSTER_SPEC": json.dumps(spec)}) == HostPlacement(2, 3, "head:29470")


@pytest.mark.parametrize(
    "environment", [{}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, {"CLUSTER_SPEC": "{"}]
)
def test_one_host_is_none(environment: dict[str, str]) -> None:
    assert cluster.from_environment(environment) is None


def test_the_command_line_gives_all_three_or_none() -> None:
    assert cluster.from_arguments(None, None, None) is None
    assert cluster.from_arguments(1, 2, "first") == HostPlacement(1, 2, "first:29470")
    with pytest.raises(UsageError, match="belong together"):
        cluster.from_arguments(1, None, "first:1")
    with pytest.raises(UsageError, match="numbered 0 to 1"):
        cluster.from_arguments(2, 2, "first:1")


def test_ranks_are_shared_evenly() -> None:
    assert list(cluster.ranks_of(HostPlacement(1, 2, "h:1"), 8)) == [4, 5, 6, 7]
    with pytest.raises(ContradictorySettings, match="3 processes cannot be shared evenly by 2 hosts"):
        cluster.ranks_of(HostPlacement(0, 2, "h:1"), 3)


def test_cores_are_parted_and_shared_only_when_there_are_too_few() -> None:
    assert [cores_of(index, 2, {0, 1, 2, 3, 4}) for index in (0, 1)] == [[0, 1], [2, 3]]
    assert cores_of(3, 4, {0, 1}) == [0, 1]


@pytest.mark.parametrize("host", [[], ["--host", "0"], ["--host", "1"]])
def test_changes_that_are_accepted_reach_the_trainer_on_every_host(
    tmp_path: Path, host: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_GROUP_TOKEN", "0123456789abcdef")
    parser = argparse.ArgumentParser()
    launch.add_arguments(parser)
    hosts = [*host, "--hosts", "2", "--coordinator", "127.0.0.1:4000"] if host else []
    recipe = Recipe(data=Data(train="data"), hardware=Hardware(processes=2))
    for words, more in (([], ()), (["--accept-changes"], ("--accept-changes",))):
        args = parser.parse_args(["recipe.toml", "--resume", *hosts, *words])
        assert launch._here(args, RunFolder(tmp_path), recipe).command == (*TRAINER, *more)
