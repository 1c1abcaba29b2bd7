"""The list: each change has a version, and what is gone is said."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast.board.run_list import RunList
from holdfast.board.run_places import RunPlace, find, places
from tests.report.made import run_folder

NOW = 1.7e9 + 5000.0


def ask(runs: RunList, since: int = 0) -> Any:
    runs.refresh_all()
    return json.loads(runs.changes(since))


def test_versions_and_tombstones(tmp_path: Path) -> None:
    run_folder(tmp_path / "a", steps=9, end="finished")
    runs = RunList([RunPlace(tmp_path)], wall=lambda: NOW)
    first = ask(runs)
    assert [row["id"] for row in first["rows"]] == ["a"] and first["complete"]
    assert ask(runs, first["version"])["rows"] == []
    run_folder(tmp_path / "group" / "b", steps=9, end="finished")
    second = ask(runs, first["version"])
    assert [row["id"] for row in second["rows"]] == ["group/b"]
    shutil.rmtree(tmp_path / "a")
    third = ask(runs, second["version"])
    assert (third["gone"], third["rows"]) == (["a"], [])
    assert runs.folder("a") is None


def test_the_first_look_may_have_a_part(tmp_path: Path) -> None:
    for name in "abc":
        run_folder(tmp_path / name, steps=9, end="finished")
    runs = RunList([RunPlace(tmp_path)], wall=lambda: NOW)
    runs.refresh_all()
    part = json.loads(runs.changes(0, 2))
    assert (len(part["rows"]), part["version"]) == (2, 0), "and all follow"


def test_one_place_that_cannot_be_read_leaves_the_other(tmp_path: Path) -> None:
    run_folder(tmp_path / "here" / "a", steps=9)
    runs = RunList(places([tmp_path / "here", tmp_path / "there"]), wall=lambda: NOW)
    known = ask(runs)
    assert [row["id"] for row in known["rows"]] == ["here/a"]
    assert [place["trouble"] for place in known["places"]] == ["", "No such file or directory"]
    assert known["complete"]


def test_labels_are_the_shortest_that_differ(tmp_path: Path) -> None:
    one, other = tmp_path / "gpu1" / "runs", tmp_path / "gpu2" / "runs"
    assert [place.label for place in places([one, other])] == ["gpu1/runs", "gpu2/runs"]
    assert [place.label for place in places([one, one])] == [""]


def test_runs_are_found_newest_first_and_links_are_not_followed(tmp_path: Path) -> None:
    import os

    run_folder(tmp_path / "runs" / "old", steps=9)
    for path in (tmp_path / "runs" / "old").iterdir():
        os.utime(path, (1, 1))
    run_folder(tmp_path / "runs" / "group" / "new", steps=9)
    run_folder(tmp_path / "elsewhere", steps=9)
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    assert list(find(RunPlace(tmp_path / "runs")).runs) == ["group/new", "old"]
    assert list(find(RunPlace(tmp_path / "elsewhere")).runs) == ["elsewhere"], "a run itself may be named"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_a_run_of_another_user_has_a_row(tmp_path: Path) -> None:
    run_folder(tmp_path / "runs/mine", steps=9)
    run_folder(tmp_path / "runs/theirs", steps=9)
    for folder in (tmp_path, *tmp_path.parents[:-2], tmp_path / "runs", tmp_path / "runs/mine"):
        folder.chmod(0o755)
    for file in (tmp_path / "runs/mine").iterdir():
        file.chmod(0o755)
    (tmp_path / "runs/theirs").chmod(0o700)
    runs = RunList([RunPlace(tmp_path / "runs")])
    ask(runs)  # as root, and everything is imported
    os.seteuid(65534)
    try:
        rows = {row["name"]: row for row in ask(RunList([RunPlace(tmp_path / "runs")]))["rows"]}
    finally:
        os.seteuid(0)
    assert {name: row["state"] for name, row in rows.items()} == {
        "mine": "not watched",
        "theirs": "unreadable",
    }
    assert rows["theirs"]["why"] == "Permission denied"
