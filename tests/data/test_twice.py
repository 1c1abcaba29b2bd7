"""A second check reads what the first remembered, and must say the very same: over every dirty set there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.errors import HoldfastError

from . import made
from .test_checks import DIRT
from .test_exports import TABLES
from .test_strange_sets import FOUND, LINE, READ_AS_MEANT, put, yolo


def planted(plant: Callable[[Path], Any]) -> Callable[[Path], Any]:
    return lambda folder: plant(made.clean_voc(folder, 6))


def table(text: str) -> Callable[[Path], Any]:
    return lambda folder: put(folder, **{"images/a.jpg": b"image", "train.csv": text})


def broken(data: bytes) -> Callable[[Path], Any]:
    """A YOLO set of which one image, with boxes, cannot be decoded."""
    return lambda folder: put(
        folder,
        **{"images/a.jpg": b"image", "images/b.jpg": data, "labels/a.txt": LINE, "labels/b.txt": LINE},
        **{"data.yaml": "train: images\nnames: [cell]\n"},
    )


SETS: dict[str, Callable[[Path], Any]] = {
    **{f"{slug} {number}": planted(plant) for number, (slug, _, plant) in enumerate(DIRT)},
    **READ_AS_MEANT,
    **{kind: row[0] for kind, row in FOUND.items()},
    **{kind: table(text) for kind, text in TABLES.items()},
    "yolo: no image at all": broken(b"not an image"),
    "yolo: an empty file": broken(b""),
    "yolo: cut in the header": broken(made.image()[:100]),
    "yolo: cut in the pixels": broken(made.image()[:-60]),
    "yolo: no image, and no text": lambda folder: put(
        folder,
        **{
            "images/a.jpg": b"image",
            "images/b.jpg": b"no image",
            "labels/a.txt": LINE,
            "classes.txt": "cell\n",
        },
    ),
    "yolo: a negative without a text": yolo(LINE, **{"images/b.jpg": b"image"}),
}


def told(path: Path) -> Any:
    try:
        return check([DatasetPart(str(path))], processes=1)[0].as_json()
    except HoldfastError as error:
        return error.what, error.found


@pytest.mark.parametrize("kind", SETS)
def test_a_second_check_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    SETS[kind](tmp_path / "set")
    first = told(tmp_path / "set")
    assert told(tmp_path / "set") == first
    if isinstance(first, dict) and "a negative" not in kind:
        negative = ("image-without-boxes", "image-without-annotation")
        unboxed = [found for found in first["findings"] if found["finding"] in negative]
        assert not any("b.jpg" in place["file"] for found in unboxed for place in found["places"])
