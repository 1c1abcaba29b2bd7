"""Paths that are wrong in the ways in which a newcomer's are: each is refused at once, with what to do instead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli import main as cli
from holdfast.data.files import filesystem
from holdfast.data.files.file_index import refuse_unrelated
from holdfast.errors import ExitCode, UnknownFormat
from tests.waiting import PATIENCE_S


def _said(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert cli.main(words) == ExitCode.COULD_NOT
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.splitlines()


@pytest.fixture
def yolo(tmp_path: Path) -> Path:
    from PIL import Image

    folder = tmp_path / "yolo"
    (folder / "images").mkdir(parents=True)
    (folder / "labels").mkdir()
    Image.new("RGB", (64, 64)).save(folder / "images" / "a.png")
    (folder / "labels" / "a.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    (folder / "data.yaml").write_text("names: [a]\ntrain: images\nval: images\n")
    return folder


def test_a_path_where_nothing_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = _said(["check", str(tmp_path / "nodir")], capsys)
    assert said[0] == "error[path-missing]: there is nothing at this path"
    assert said[2] == "  change  give a folder or file of images and boxes that exists"


def test_another_format_than_was_said(yolo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _said(["check", str(yolo), "--format", "coco"], capsys)[2:] == [
        "  found   what is here is in the format yolo",
        "  change  --format yolo, or leave --format out",
    ]


@pytest.mark.parametrize("command", ["train", "plan", "lr-find", "launch", "check"])
def test_a_script_is_no_recipe(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    assert _said([command, "train.py"], capsys) == [
        "error[usage]: this is a script, not a recipe or data",
        "  where   train.py",
        "  change  holdfast run -- python train.py watches it",
    ]
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["train", "plan", "lr-find", "launch"])
def test_a_folder_without_data_is_refused_before_anything_starts(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.md").write_text("nothing\n")
    assert _said([command, "notes"], capsys)[0] == "error[unknown-format]: no annotations were found here"
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["train", "plan", "check"])
def test_a_run_is_no_recipe(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    for name in ("journal.jsonl", "recipe.toml"):
        (tmp_path / "runs" / "a" / name).write_text("")
    assert _said([command, "runs/a"], capsys) == [
        "error[usage]: this is a run folder, not a recipe or data",
        "  where   runs/a",
        "  found   its recipe is runs/a/recipe.toml",
        "  change  holdfast train --resume --run-dir runs/a resumes it",
        "          holdfast explain runs/a explains how it ended",
    ]


def test_a_path_in_an_override_is_looked_for_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "train").mkdir(parents=True)
    (tmp_path / "a.toml").write_text("[data]\ntrain = 'data/train'\n")
    said = " ".join(" ".join(_said(["train", "a.toml", "--set", "data.train=dta/train"], capsys)).split())
    assert "where --set data.train=dta/train found no dta in" in said
    assert "change the nearest name there is data/train" in said
    assert (
        _said(["train", "--set", "data.train=data/train"], capsys)[-1]
        == "  change  holdfast train data/train"
    )
    said = " ".join(" ".join(_said(["launch", "a.toml", "--processes", "3"], capsys)).split())
    assert "where --processes 3 " in said


def test_what_is_no_image_is_refused_before_a_model_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.toml").write_text("x = 1\n")
    said = _said(["predict", str(tmp_path / "m.npz"), str(tmp_path / "a.toml")], capsys)
    assert said[0] == "error[usage]: this file is not an image"


def test_half_of_a_comparison_says_what_the_other_half_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert "  found   --ground-truth without --detections" in _said(["eval", "--ground-truth", "a"], capsys)


def test_somebodys_home_is_not_walked_to_its_end() -> None:
    names = (f"lib/module{number}.py" for number in range(10**9))
    with pytest.raises(UnknownFormat) as refused:
        list(refuse_unrelated(names, "/home/me", look_after=1000))
    assert refused.value.found == (
        "0 of its first 1,000 files are images or annotations; it was not read further",
    )


def test_what_is_the_kernels_own_is_not_walked_at_all() -> None:
    assert list(filesystem.walk("/sys")) == list(filesystem.walk("/proc")) == []


def test_a_large_dataset_is_walked_to_its_end() -> None:
    labels_first = [f"Annotations/{number}.xml" for number in range(2500)]
    images = [f"JPEGImages/{number}.jpg" for number in range(2500)]
    assert list(refuse_unrelated([*labels_first, *images], "/voc", look_after=1000)) == [
        *labels_first,
        *images,
    ]


def test_the_folder_of_the_runs_is_not_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("train-1", "train-2"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "output.log").write_text("hello\n")
    os.utime(tmp_path / "runs" / "train-1", (1, 1))
    assert _said(["explain", "runs"], capsys) == [
        "error[not-a-run]: runs holds runs, and is not one itself",
        "  where   runs",
        "  found   2 runs in it; train-2 is the newest",
        "  change  give one of them: runs/train-2",
    ]
    assert _said(["report", "runs/tran-1"], capsys)[2:] == [
        "  found   the nearest is runs/train-1",
        "  change  give runs/train-1",
    ]
    (tmp_path / "a.toml").write_text("")
    assert _said(["report", "a.toml"], capsys)[2] == "  found   it is a file"
    assert _said(["explain", "a.toml"], capsys)[0] == "error[not-a-log]: a.toml is empty"


def test_no_program_is_proposed_that_nobody_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "a.toml").write_text("")

    def said(word: str) -> list[str]:
        assert cli.main(["run", "--", word]) == ExitCode.NOT_STARTED
        return capsys.readouterr().err.splitlines()

    assert said("nope")[2:] == [
        "  found   no program with a similar name",
        "  change  give the path of the program",
    ]
    assert said("data")[0] == "error[command-not-found]: no program is called data, but a folder here is"
    assert said("a.toml")[2] == "  change  holdfast train a.toml"
    assert said("pythn")[2] == "  found   the nearest is python"


def test_where_to_launch_is_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    assert _said(["launch", "vertx", "r.toml"], capsys)[-1] == "  change  holdfast launch vertex r.toml"


def test_the_page_is_named_as_it_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "output.log").write_text("hello\n")
    said = _said(["report", str(run), "-o", str(tmp_path / "nodir" / "x.html")], capsys)
    assert said[0] == "error[path-missing]: the folder to write into does not exist"
    told = " ".join(" ".join(said).split())
    assert ".part" not in told
    assert told.endswith(f"change mkdir -p {tmp_path / 'nodir'}")
    (tmp_path / "pages").mkdir()
    assert cli.main(["report", str(run), "-o", str(tmp_path / "pages")]) == ExitCode.FINE
    assert (tmp_path / "pages" / "report.html").is_file()


def test_what_may_not_be_looked_into_is_not_missing(yolo: Path) -> None:
    shut = yolo.parent / "shut"
    (shut / "in").mkdir(parents=True)
    shut.chmod(0)
    (yolo / "model.npz").write_bytes(b"")
    if os.geteuid() == 0 and subprocess.run(["which", "setpriv"], capture_output=True).returncode:
        pytest.skip("root may read everything, and there is no setpriv to become somebody else")
    for parent in [yolo, yolo.parent, *list(yolo.parents)[1:4]]:
        if os.geteuid() == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    somebody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []

    def said(*words: str) -> str:
        code = f"import sys; from holdfast.cli.main import main; sys.exit(main({list(words)!r}))"
        done = subprocess.run(
            [*somebody, sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
        )
        if "No module named" in done.stderr or "can't open" in done.stderr:
            pytest.skip("the other user cannot read this installation")
        assert done.returncode == ExitCode.COULD_NOT
        return " ".join(done.stderr.split())

    try:
        inside = said("check", str(shut / "in"))
        assert inside.startswith("error[permission-denied]: this user may not look into a folder on the way")
        assert f"found the folder {shut}" in inside
        assert said("predict", str(yolo), str(shut)).startswith(
            "error[permission-denied]: this user may not read a folder"
        )
    finally:
        shut.chmod(0o755)
