"""`holdfast check` and `holdfast data` as a user meets them: text, JSON, exit codes, errors in words."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest

from holdfast.cli.main import main

from . import made


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def dirty() -> Path:
    folder = made.clean_voc(Path("set"))
    (folder / "007.xml").write_text(
        made.voc_xml("007.jpg", (64, 48), [("cat", 30, 6, 30, 40), ("cat", 9, 9, 13, 40)])
    )
    (folder / "008.jpg").write_bytes(b"")
    return folder


def test_check_as_text(capsys: pytest.CaptureFixture[str], stored: Callable[[str, str], None]) -> None:
    dirty()
    assert main(["check", "set"]) == 1
    stored("check_dirty", capsys.readouterr().out.rstrip("\n"))


def test_check_of_a_clean_set(capsys: pytest.CaptureFixture[str]) -> None:
    made.clean_voc(Path("set"))
    assert main(["check", "set"]) == 0
    assert capsys.readouterr().out == (
        "set: 24 images, 24 boxes, 2 classes (cat, dog)\n\nnothing here would stop or spoil a run\n"
    )


def test_check_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    dirty()
    assert main(["check", "set", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [(row["finding"], row["severity"], row["count"]) for row in document["findings"]] == [
        ("unreadable-image", "error", 1), ("zero-area-box", "error", 1), ("tiny-box", "note", 1)]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", "nowhere"], "error[path-missing]: there is nothing at this path"),
        (["check", "sett"], "the nearest name there is set"),
        (["check", "empty"], "the folder is empty"),
        (["check", "set/001.jpg"], "this is one image, not a dataset"),
        (["check", "a.pbtxt"], "this is a label map, which has no images"),
        (["check", "*.record"], "no file matches this pattern"),
        (
            ["data", "convert", "set", "set/x", "--to", "coco"],
            "source and destination are inside one another",
        ),
        (["data", "convert", "set", "x", "--to", "yolov8"], "--to: unknown value 'yolov8'"),
        (["data", "inspect", "set", "--out", "a.pbtxt"], "nothing is overwritten unasked"),
        (["data", "repair", "set", "empty/../set"], "source and destination are inside one another"),
    ],
)
def test_mistakes_are_said_in_words(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    made.clean_voc(Path("set"), 1)
    Path("empty").mkdir()
    Path("a.pbtxt").write_text("item { id: 1 name: 'a' }")
    assert main(words) == 2
    error = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert says in error
    assert "Traceback" not in error


def test_a_recipe_is_checked_across_its_paths(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made.clean_voc(Path("train"))
    shutil.copytree("train", "val")
    Path("r.toml").write_text('[data]\ntrain = "train"\nvalidation = "val"\nclasses = ["cat"]\n')
    assert main(["check", "r.toml", "--json"]) == 1
    found = {row["finding"]: row["count"] for row in json.loads(capsys.readouterr().out)["findings"]}
    assert (found["split-leak"], found["unknown-class"]) == (24, 24)


def test_convert_repair_and_inspect_say_what_they_did(capsys: pytest.CaptureFixture[str]) -> None:
    dirty()
    assert main(["data", "repair", "set", "good", "--to", "coco"]) == 0
    assert capsys.readouterr().out == (
        "good: 23 images and 23 boxes\n"
        "       1 left out  box (zero-area-box)\n"
        "       1 left out  image and 1 box (unreadable-image)\n"
        "all changes are listed in good/changes.csv\n"
    )
    assert main(["data", "convert", "good", "shards", "--to", "tfrecord", "--shards", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["images"] == 23
    assert len(list(Path("shards").glob("*.tfrecord"))) == 2
    assert main(["check", "shards/*.tfrecord"]) == 0
    assert main(["data", "inspect", "set", "--images", "5"]) == 0
    page = Path("dataset.html").read_text()
    assert page.count("<figure>") == 5
    assert not re.search(r"(src|href)=[\"']?https?:", page)
    assert "zero-area-box" in page


def test_markup_of_a_dataset_is_text_in_its_page_which_runs_nothing(tmp_path: Path) -> None:
    markup = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    xml = made.voc_xml("a.jpg", (64, 48), [(escape(markup), 5, 5, 30, 30)])
    (tmp_path / "<u>").mkdir()
    (tmp_path / "<u>" / "a.jpg").write_bytes(made.image(64, 48, 1))
    (tmp_path / "<u>" / "a.xml").write_text(xml)
    assert main(["data", "inspect", str(tmp_path / "<u>"), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert escape(markup) in page
    assert not re.search(r"<(script|u>|img src=x)", page)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page


def test_a_recipes_data_is_found_beside_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made.clean_voc(Path("project/set"))
    Path("project/r.toml").write_text('[data]\ntrain = "set"\nclasses = ["cat"]\n')
    assert main(["check", "project/r.toml", "--json"]) == 1  # dog is not among the classes
    document = json.loads(capsys.readouterr().out)
    assert (document["path"], document["images"]) == ("project/set", 24)
    assert [row["finding"] for row in document["findings"] if row["severity"] == "error"] == ["unknown-class"]
