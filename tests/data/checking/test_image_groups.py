"""Groups of images without annotation files, and negatives that are meant."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.checking import image_groups


def found(images: dict[str, bool], splits: list[str | None] | None = None) -> list[tuple[str, int]]:
    """Whether each image has no annotation."""
    named = splits or [None] * len(images)
    known = list(dict.fromkeys(named))
    numbers = [known.index(split) for split in named]
    bare = np.array(list(images.values()))
    problems = image_groups.problems(list(images), bare, numbers, known)
    return [(one.detail.split(" have no ")[0], one.count) for one in problems]


def series(pattern: str, count: int, bare: bool = False) -> dict[str, bool]:
    return {pattern.format(n): bare for n in range(count)}


def test_an_ending_that_a_search_missed() -> None:
    images = series("d/IMG_{:03d}.jpg", 60) | series("d/DSC_{:03d}.JPG", 6, True)
    assert found(images) == [("all 6 images called *.JPG", 6)]
    scope = series("d/img_{:03d}.jpg", 60) | series("d/img_{:03d}.png", 12, True)
    assert found(scope) == [("all 12 images called *.png", 12)]


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("d/cam2/{:03d}.jpg", "all 20 images with 'cam' in their names"),
        ("d/harbour_{:03d}.jpg", "all 20 images with 'harbour' in their names"),
        ("d/{:03d}_night.jpg", "all 20 images with 'night' in their names"),
    ],
)
def test_a_camera_or_a_folder(group: str, said: str) -> None:
    assert found(series("d/gate/{:03d}.jpg", 60) | series(group, 20, True)) == [(said, 20)]


def test_the_name_of_the_datasets_folder_says_nothing() -> None:
    images = series("test/clean/IMG_{:03d}.jpg", 60) | series("test/clean/DSC_{:03d}.JPG", 6, True)
    assert found(images) == [("all 6 images called *.JPG", 6)]


def test_a_split() -> None:
    images = series("d/a{:03d}.jpg", 60) | series("d/b{:03d}.jpg", 20, True)
    assert found(images, ["train"] * 60 + ["valid"] * 20) == [("all 20 images of valid", 20)]
    # The test images of many public datasets have no annotation.
    plain = series("d/{:03d}.jpg", 60) | {f"d/{n}.jpg": True for n in range(900, 920)}
    assert found(plain, ["train"] * 60 + ["test"] * 20) == []


def test_negatives_that_are_meant() -> None:
    annotated = series("d/gate_{:03d}.jpg", 60)
    for group in ("d/background/{:03d}.jpg", "d/neg_{:03d}.jpg", "d/{:03d}_empty.jpg", "d/test/{:03d}.jpg"):
        assert found(annotated | series(group, 20, True)) == []
    assert found(annotated | series("d/background_{:03d}.png", 20, True)) == []
    assert found(annotated | series("d/coco{:03d}.png", 6, True)) == []
    assert found(annotated | series("d/coco{:03d}.jpg", 6, True)) == []  # a tenth, as guides advise
    scattered = {f"d/gate_{n:03d}.jpg": n % 4 == 0 for n in range(80)}
    assert found(scattered) == []
    assert found(series("d/{:03d}.JPG", 10, True) | series("d/{:03d}.jpg", 8)) == []
    assert found(series("d/{:03d}.jpg", 10, True)) == []


def test_others_without_annotation_are_no_group() -> None:
    images = {f"d/gate_{n:03d}.jpg": n % 5 == 0 for n in range(60)} | series("d/DSC_{:03d}.JPG", 20, True)
    assert found(images) == []
