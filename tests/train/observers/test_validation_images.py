"""What a run leaves to look at: numbers of the data and the pictures of a validation."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
from PIL import Image

from holdfast.evaluate.box_columns import Predictions
from holdfast.evaluate.coco_metrics import score
from holdfast.journal.folder import RunFolder
from holdfast.pipeline.dataset_columns import Columns
from holdfast.train.observers.validation_images import ValidationImages, dataset_statistics, page_image
from holdfast.train.validation import ground_truth_of


def columns(folder: Path) -> Columns:
    """Two images of 40 x 20, the first with two boxes, the second cut off in the middle of its header."""
    out = io.BytesIO()
    Image.new("RGB", (40, 20), (200, 30, 30)).save(out, "JPEG")
    (folder / "a.jpg").write_bytes(out.getvalue())
    (folder / "b.jpg").write_bytes(b"\xff\xd8\xff")
    return Columns(
        ids=["1", "2"],
        paths=[str(folder / "a.jpg"), str(folder / "b.jpg")],
        offsets=np.array([-1, -1]),
        lengths=np.array([0, 0]),
        file_bytes=np.array([0, 0]),
        stored_sizes=np.array([[40, 20], [40, 20]]),
        orientations=np.array([1, 1]),
        codecs=np.array([0, 0]),
        boxes=np.array([[0, 0, 10, 10], [20, 0, 40, 5]], np.float32),
        labels=np.array([1, 1]),
        crowds=np.array([False, False]),
        difficult=np.array([False, False]),
        areas=np.array([100.0, 100.0]),
        first=np.array([0, 2, 2]),
        classes=("cat", "dog"),
    )


def test_a_dataset_in_numbers(tmp_path: Path) -> None:
    told = dataset_statistics(columns(tmp_path))
    assert (told["pictures"], told["boxes"]) == (2, 2)
    assert told["classes"] == [["dog", 2], ["cat", 0]]
    assert told["boxes_per_picture"] == [[0, 1], [2, 1]]
    assert told["sides_px"] == [10.0, 10.0]
    assert told["ratios"] == [1.0, 4.0]
    assert told["picture_sizes"] == [[40, 20]]
    assert sum(map(sum, told["centres"])) == 2
    assert told["centres"][6][3] == 1  # (5, 5) of 40 x 20 is an eighth across and a quarter down


def test_images_are_small_and_a_broken_one_is_a_name(tmp_path: Path) -> None:
    whole, broken = page_image(columns(tmp_path), 0), page_image(columns(tmp_path), 1)
    assert Image.open(io.BytesIO(whole.jpeg)).size == (40, 20)
    assert (broken.name, broken.jpeg) == ("b.jpg", b"")


def test_both_files_are_left_in_the_folder_and_nothing_else(tmp_path: Path) -> None:
    data = columns(tmp_path)
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    album = ValidationImages(folder, data, data, lambda: 7)
    found = Predictions(np.array([0]), np.array([1]), np.array([[0.0, 0, 10, 10]]), np.array([0.9]))
    album.validated(ground_truth_of(data), found, score(ground_truth_of(data), found))
    left = json.loads(folder.validation.read_text())
    assert left["step"] == 7
    assert [one["right"] for one in left["pictures"][0]["found"]] == [True]
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "dataset.json",
        "tensorboard",
        "validation.json",
    ]


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path, capsys) -> None:
    data = columns(tmp_path)
    ValidationImages(RunFolder(tmp_path / "gone"), data, data, lambda: 0)
    assert "training continues" in capsys.readouterr().out
