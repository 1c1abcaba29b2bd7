"""`holdfast train` and the trainer's process: what they refuse, and in which words, before anything is trained."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import settings
from holdfast.cli.commands.train_command import how_to_resume
from holdfast.cli.main import main
from holdfast.cli.recipes import absolute_override, resolve_recipe, with_absolute_paths
from holdfast.data.synthetic import make_dataset
from holdfast.errors import PathMissing
from holdfast.journal.folder import RunFolder
from holdfast.train.__main__ import main as trainer
from holdfast.train.checkpoint import run_lock


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.rstrip("\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", ["train"]),
        ("no-such-path", ["train", "data/trian"]),
        ("resume-what", ["train", "--resume"]),
        ("resume-no-run", ["train", "--resume", "--run-dir", "runs/none"]),
        ("folder-taken", ["train", "data", "--run-dir", "runs/old"]),
        ("folder-of-another", ["train", "data", "--run-dir", "notes"]),
        ("folder-is-a-file", ["train", "data", "--run-dir", "notes/list.txt"]),
    ],
)
def test_refusals(
    name: str, words: list[str], capsys: pytest.CaptureFixture[str], stored: Callable[[str, str], None]
) -> None:
    Path("data").mkdir()
    Path("runs/old").mkdir(parents=True)
    Path("runs/old/journal.jsonl").write_text("")
    Path("notes").mkdir()
    Path("notes/list.txt").write_text("")
    assert main(words) == 2
    stored(f"train/command-{name}", said(capsys))
    assert not Path("runs/data-1").exists()


def test_a_mistake_in_the_recipe_is_found_before_a_folder_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    Path("recipe.toml").write_text('[data]\ntrain = "data"\n[train]\nbatch = 0\n')
    assert main(["train", "recipe.toml"]) == 2
    assert "train.batch = 0 is out of range" in said(capsys)
    assert not Path("runs").exists()


def test_data_that_is_not_there_is_told_before_a_folder_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("recipes", "picturs"):
        Path(folder).mkdir()
    Path("recipes/recipe.toml").write_text('[data]\ntrain = "pictures"\n')
    for command in ("train", "lr-find"):
        assert main([command, "recipes/recipe.toml"]) == 2
        told = " ".join(said(capsys).split())
        assert told.startswith(
            "error[path-missing]: data.train names a path that does not exist: pictures "
            f"where recipes/recipe.toml found no pictures in {tmp_path} no pictures in {tmp_path}/recipes "
            "change the nearest name there is picturs"
        )
    assert not Path("runs").exists()


def test_weights_that_are_not_there_are_named_before_a_folder_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_dataset(Path("pictures"), count=2, side=64)
    Path("mine.pth").write_bytes(b"")
    for weights in ("mien.pth", "coco-3"):
        assert main(["train", "pictures", "--set", f"model.weights={weights}"]) == 2
        printed = " ".join(said(capsys).split())
        assert printed.startswith(
            f"error[path-missing]: model.weights names a path that does not exist: {weights} "
            f"where --set model.weights={weights} found no {weights} in {tmp_path} change the nearest name there "
        )
        assert f"is {'mine.pth' if weights == 'mien.pth' else 'coco-320'}" in printed
        assert "coco, coco-v2, coco-320" in printed
    assert not Path("runs").exists()


def test_a_run_whose_weights_were_moved_says_so_when_it_is_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_dataset(Path("pictures"), count=2, side=64)
    Path("runs/a").mkdir(parents=True)
    weights = str(tmp_path / "mine.pth")
    tables = {"data": {"train": str(tmp_path / "pictures")}, "model": {"weights": weights}}
    Path("runs/a/recipe.toml").write_text(settings.to_toml(settings.resolve(tables)))
    before = Path("runs/a/recipe.toml").read_text()
    assert main(["train", "--resume", "--run-dir", "runs/a"]) == 2
    printed = " ".join(said(capsys).split())
    assert f"model.weights names a path that does not exist: {weights}" in printed
    assert "if it was moved: --set model.weights=PATH" in printed
    assert Path("runs/a/recipe.toml").read_text() == before


@pytest.mark.parametrize(
    "given", ["api", "api/pipeline.config", "api/checkpoint", "api/checkpoint/ckpt-0", "api/checkpoint/ckpt-0.index",
              "api/checkpoint/ckpt-0.data-00000-of-00001"],
)  # fmt: skip
def test_files_of_the_object_detection_api_are_imported_first(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_dataset(Path("images"), count=2, side=64)
    Path("api/checkpoint").mkdir(parents=True)
    for name in ("pipeline.config", "checkpoint/ckpt-0.index", "checkpoint/ckpt-0.data-00000-of-00001"):
        Path("api", name).touch()
    assert main(["train", "images", "--set", f"model.weights={given}"]) == 2
    printed = " ".join(said(capsys).split())
    assert "these are files of TensorFlow's Object Detection API, and they are imported first" in printed
    root = Path.cwd()
    checkpoint = "CHECKPOINT" if given.endswith("config") else root / "api/checkpoint/ckpt-0"
    assert f"holdfast import {root / 'api/pipeline.config'} --checkpoint {checkpoint} --out NAME" in (
        printed if given != "api/checkpoint/ckpt-0" else printed.replace("api/", f"{root}/api/")
    )
    assert not Path("runs").exists()


def test_paths_are_made_whole_from_here_or_from_beside_the_recipe() -> None:
    for folder in ("here", "recipes/beside"):
        Path(folder).mkdir(parents=True)
    recipe = settings.resolve(
        {"data": {"train": "here", "validation": "beside"}, "model": {"weights": "imagenet"}}
    )
    placed = with_absolute_paths(recipe, Path("recipes"))
    assert placed.data.train == str(Path("here").resolve())
    assert placed.data.validation == str(Path("recipes/beside").resolve())
    assert placed.model.weights == "imagenet"
    remote = settings.resolve({"data": {"train": "gs://bucket/train"}})
    assert with_absolute_paths(remote, Path()).data.train == "gs://bucket/train"


def test_patterns_and_what_is_set_on_a_resume_are_made_whole_too() -> None:
    for file in ("here/a.tfrecord", "recipes/beside/b.tfrecord"):
        Path(file).parent.mkdir(parents=True)
        Path(file).touch()
    recipe = settings.resolve({"data": {"train": "here/*.tfrecord", "validation": "beside/*.tfrecord"}})
    placed = with_absolute_paths(recipe, Path("recipes"))
    assert placed.data.train == str(Path.cwd() / "here/*.tfrecord")
    assert placed.data.validation == str(Path.cwd() / "recipes/beside/*.tfrecord")
    assert absolute_override("data.validation=here") == f"data.validation={Path('here').resolve()}"
    assert absolute_override("model.weights=imagenet") == "model.weights=imagenet"
    assert absolute_override("train.batch=16") == "train.batch=16"


def test_the_trainer_never_overwrites_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run/checkpoints/step-3").mkdir(parents=True)
    Path("run/recipe.toml").write_text('[data]\ntrain = "x"\n')
    assert trainer(["run"]) == 2
    assert "this folder has a run with checkpoints" in said(capsys)


def test_data_may_be_named_from_the_root_or_by_a_pattern(tmp_path: Path) -> None:
    Path("data").mkdir()
    Path("data/a.tfrecord").write_bytes(b"")
    for source in (tmp_path / "data", tmp_path / "data" / "*.tfrecord", "data", "data/*.tfrecord"):
        assert Path(resolve_recipe(str(source), []).data.train).name == Path(source).name
    for source in (tmp_path / "dta", tmp_path / "data" / "*.record", "dta", "data/*.record"):
        with pytest.raises(PathMissing, match="neither a recipe nor data"):
            resolve_recipe(str(source), [])


def begun(folder: Path) -> Path:
    """A run with a checkpoint, as far as a command looks at it before the trainer starts."""
    (folder / "checkpoints" / "step-3").mkdir(parents=True)
    Path("data").mkdir()
    recipe = settings.resolve({"data": {"train": "data"}, "train": {"batch": 8}})
    (folder / "recipe.toml").write_text(settings.to_toml(recipe))
    return folder / "recipe.toml"


def test_a_change_that_is_refused_leaves_the_runs_recipe_as_it_was(
    capsys: pytest.CaptureFixture[str], stored: Callable[[str, str], None]
) -> None:
    kept = begun(Path("run")).read_text()
    assert main(["train", "--resume", "--run-dir", "run", "--set", "train.batch=16"]) == 2
    stored("train/command-changed", said(capsys))
    assert Path("run/recipe.toml").read_text() == kept
    assert not Path("run/journal.jsonl").exists()


def test_a_run_that_is_being_trained_is_not_trained_twice(capsys: pytest.CaptureFixture[str]) -> None:
    begun(Path("run"))
    holding = (
        "import holdfast.train.checkpoint.run_lock as h; lock = h.acquire_lock(h.Path('run')); "
        "print('held', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        for words in (["train", "--resume", "--run-dir", "run"], ["train", "--resume", "run"]):
            assert main(words) == 2
            assert f"held by process {other.pid} on {socket.gethostname()}" in " ".join(said(capsys).split())
        assert trainer(["run", "--resume"]) == 2
        assert "another trainer is running in this folder" in said(capsys)
        other.kill()
    assert not Path("run/journal.jsonl").exists()
    assert run_lock.acquire_lock(Path("run")) is not None


def test_a_folder_that_cannot_be_locked_is_trained_in_all_the_same(tmp_path: Path) -> None:
    assert run_lock.acquire_lock(tmp_path / "gone") is None


def test_after_an_interrupted_run_the_command_that_resumes_it_is_printed() -> None:
    run = RunFolder(Path("my runs/a"))
    command = "`holdfast train --resume --run-dir 'my runs/a'`"
    assert how_to_resume(run, 130) == f"  saved    no checkpoint; {command} starts again from step 0"
    assert how_to_resume(run, 2) == "", "the trainer's own error says what to do"
    for name in ("step-9", "step-12", "step-16.part"):
        (run.checkpoints / name).mkdir(parents=True)
    assert how_to_resume(run, 2) == f"  saved    checkpoint at step 12; {command} resumes there"


def test_ctrl_c_ends_the_trainer_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(settings, "read", interrupted)
    assert trainer(["run"]) == 130
    assert said(capsys) == ""
