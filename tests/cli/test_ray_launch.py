"""`holdfast launch --on ray`: what is refused, before anything begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import settings
from holdfast.cli import ray_launch
from holdfast.cli.main import main
from holdfast.errors import UsageError

RECIPE = """\
[data]
train = "images"
[train]
backend = "jax"
batch = 8
[hardware]
processes = 4
"""


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    (tmp_path / "images").mkdir()
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return str(tmp_path / "recipe.toml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["slurm", "RECIPE", "--on", "ray"],
            "--on ray trains on a cluster now, and slurm writes or submits a job",
        ),
        (["RECIPE", "--least-processes", "2"], "--least-processes works on Ray only"),
        (["slurm", "RECIPE", "--least-processes", "2"], "--least-processes works on Ray only"),
        (
            ["RECIPE", "--on", "ray", "--hosts", "2"],
            "on Ray the cluster gives the hosts, and --hosts changes nothing",
        ),
        (
            ["RECIPE", "--on", "ray", "--least-processes", "5"],
            "the least number of processes is larger than the number that is to train",
        ),
    ],
)
def test_an_option_that_would_change_nothing(
    words: list[str], said: str, recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = [recipe if word == "RECIPE" else word for word in words]
    assert main(["launch", *typed, "--run-dir", str(tmp_path / "run")]) == 2
    assert " ".join(capsys.readouterr().err.split()).startswith(f"error[usage]: {said} ")
    assert not (tmp_path / "run").exists()


def test_a_recipe_may_allow_fewer_processes(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(recipe).write_text(RECIPE + "least_processes = 5\n")
    assert main(["launch", recipe, "--on", "ray", "--run-dir", str(tmp_path / "run")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "the least number of processes is larger than the number that is to train" in said
    Path(recipe).write_text(RECIPE + "least_processes = 2\n")
    assert settings.read(Path(recipe)).hardware.least_processes == 2


def test_the_numbers_of_processes_that_divide_the_batch() -> None:
    assert ray_launch.smaller_counts(8, 1, 8) == (4, 2, 1)
    assert ray_launch.smaller_counts(8, 3, 8) == (4,)
    assert ray_launch.smaller_counts(8, None, 8) == ()
    with pytest.raises(UsageError):
        ray_launch.smaller_counts(2, 3, 8)


def test_gpus_for_all_processes_or_for_none() -> None:
    said: list[str] = []
    found = [
        ray_launch.gpus_for_each(count, devices, there=there, say=said.append)
        for count, devices, there in ((4, 1, 4), (2, 2, 5), (4, 1, 3), (2, 2, 3), (1, 1, 0))
    ]
    assert found == [1, 2, 0, 0, 0]
    assert said == ["holdfast: trains on CPUs: 4 GPUs are needed, and the Ray cluster has 3"] * 2
