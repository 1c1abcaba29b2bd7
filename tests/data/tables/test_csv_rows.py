"""A long table, whose rows come in any order: each image has its own, in the order of the table."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest

from holdfast.data.files import packed_list
from holdfast.data.files.file_index import FileIndex
from holdfast.data.formats.csv import read_file
from holdfast.data.tables import csv_file, row_groups

HEADER = "filename,class,xmin,ymin,xmax,ymax,split"


@pytest.fixture(params=["in memory", "on disk"], autouse=True)
def _where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "on disk":
        monkeypatch.setattr(packed_list, "IN_MEMORY_BYTES", 16)
        monkeypatch.setattr(packed_list, "TOGETHER", 3)
        monkeypatch.setattr(csv_file, "TOGETHER", 7)
        monkeypatch.setattr(row_groups, "BLOCK", 5)


def table(folder: Path, rows: list[str]) -> csv_file.CsvFile:
    (folder / "boxes.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    return read_file(FileIndex.of(str(folder)), "boxes.csv")


def test_each_image_has_its_rows_and_those_that_cannot_be_read(tmp_path: Path) -> None:
    draw = random.Random(7)
    rows = [(f"{draw.randrange(40)}.jpg", number, draw.random() < 0.1) for number in range(500)]
    file = table(tmp_path, [f"{name},cat,{at + 2},3,{'?' if bad else at + 9},9," for name, at, bad in rows])
    wanted: dict[str, tuple[list[int], int]] = {}
    for name, number, bad in rows:
        known, lost = wanted.get(name, ([], 0))
        wanted[name] = (known, lost + 1) if bad else ([*known, number], lost)
    found = {image.name: ([int(row[0]) - 2 for row in image.rows], image.lost) for image in file.listed()}
    assert found == wanted
    assert list(found) == list(wanted)  # in the order in which they come first


def test_an_image_of_two_splits_is_two(tmp_path: Path) -> None:
    rows = [f"a.jpg,cat,{at},3,20,9,{split}" for at, split in enumerate(("train", "", "val", "train"), 2)]
    listed = [(image.split, [row[0] for row in image.rows]) for image in table(tmp_path, rows).listed()]
    assert listed == [("train", [2, 5]), (None, [3]), ("val", [4])]


def test_a_worker_gets_no_rows(tmp_path: Path) -> None:
    few, many = (table(tmp_path, [f"{at}.jpg,cat,2,3,9,9," for at in range(count)]) for count in (2, 300))
    sizes = [len(pickle.dumps(file.without_rows())) for file in (few, many)]
    assert sizes[0] == sizes[1]
    assert list(many.without_rows().listed()) == []
