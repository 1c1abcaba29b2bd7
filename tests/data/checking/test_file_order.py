"""What names and their order give away, and what they do not."""

from __future__ import annotations

import io
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.checking.file_order import neighbours, saved_again, siblings, unfinished
from holdfast.data.checking.name_series import series_of
from holdfast.data.checking.statistics import _COLUMNS
from holdfast.data.images.image_file import examine_bytes

from .. import made

SPLITS = ["train", "val"]


def test_annotating_stopped() -> None:
    names = [f"d/img_{n}.jpg" for n in range(40)]  # img_9 is before img_10
    found = list(unfinished(names, np.arange(40) >= 15, series_of(names)))
    assert [(one.finding, one.file, one.count) for one in found] == [
        ("annotation-unfinished", "d/img_15.jpg", 25)
    ]
    assert found[0].detail == (
        "the last 25 of 40 images have no box, from this one on; of those before 15 of 15 have"
    )


def test_negatives_are_no_end_of_annotating() -> None:
    names = [f"d/img_{n:03d}.jpg" for n in range(60)]
    draw = random.Random(3)
    spread = np.array([draw.random() < 0.4 for _ in names])
    spread[-12:] = True
    assert list(unfinished(names, spread, series_of(names))) == []
    assert list(unfinished(names, np.arange(60) >= 55, series_of(names))) == []  # few
    own = [*names[:40], *(f"d/empty_{n:03d}.jpg" for n in range(20))]  # a series of their own
    assert list(unfinished(own, np.arange(60) >= 40, series_of(own))) == []
    assert list(unfinished(names, np.full(60, True), series_of(names))) == []


def test_versions_of_one_image_in_two_splits() -> None:
    names = [
        f"train/a_jpg.rf.{'1' * 32}.jpg",
        f"train/a_jpg.rf.{'2' * 32}.jpg",
        f"val/a_jpg.rf.{'3' * 32}.jpg",
    ]
    found = list(siblings(names, [0, 0, 1], SPLITS))
    assert [(one.finding, one.file) for one in found] == [("split-siblings", names[2])]
    assert found[0].detail == f"made from the same image as {names[0]}; one is in train, the other in val"
    others = [*names[:2], f"val/b_jpg.rf.{'3' * 32}.jpg"]
    assert list(siblings(others, [0, 0, 1], SPLITS)) == []


def table(looks: list[bytes], splits: list[int], boxes: Any = 1, digests: Any = 0) -> Any:
    rows = np.zeros(len(looks), _COLUMNS)
    rows["looked"] = [bool(look) for look in looks]
    rows["look"] = [list(look) or [0] * 64 for look in looks]
    rows["split"], rows["boxes"], rows["bytes"] = splits, boxes, digests
    return rows


def looks(count: int, step: float, base: int = 0) -> list[bytes]:
    """8 by 8 grey pixels of a ground that moves by `step` pixels an image."""
    draw = random.Random(base)
    ground = [draw.randrange(256) for _ in range(64)]
    found = []
    for n in range(count):
        shift, part = divmod(n * step, 1)
        row = [
            ground[(at + int(shift)) % 64] * (1 - part) + ground[(at + int(shift) + 1) % 64] * part
            for at in range(64)
        ]
        found.append(bytes(int(value) for value in row))
    return found


def split_at_random(count: int) -> list[int]:
    draw = random.Random(7)
    return [int(draw.random() < 0.25) for _ in range(count)]


def test_frames_of_a_video_split_at_random() -> None:
    of = split_at_random(60)
    names = [f"{SPLITS[of[n]]}/vid_{n:05d}.jpg" for n in range(60)]
    found = list(neighbours(names, table(looks(60, 0.1), of), "d"))
    assert [one.finding for one in found] == ["split-neighbours"]


def test_other_series_give_nothing_away() -> None:
    of = split_at_random(60)
    names = [f"{SPLITS[of[n]]}/vid_{n:05d}.jpg" for n in range(60)]
    photographs = [looks(1, 0, base=n)[0] for n in range(60)]
    fixed_camera = looks(60, 0.0)
    whole_parts = [int(n >= 45) for n in range(60)]
    assert list(neighbours(names, table(photographs, of), "d")) == []
    assert list(neighbours(names, table(fixed_camera, of), "d")) == []
    assert list(neighbours(names, table(looks(60, 0.1), whole_parts), "d")) == []
    assert list(neighbours(names, table(looks(60, 0.1), [0] * 60), "d")) == []
    assert list(neighbours(names, table([b""] * 60, of), "d")) == []


def test_an_image_saved_again_in_another_split() -> None:
    look, darker, other = bytes([90] * 64), bytes([93] * 64), bytes([120] * 64)
    assert list(saved_again(table([look, darker], [0, 1], 5, [1, 2]))) == [(0, 1)]
    assert list(saved_again(table([look, other], [0, 1], 5, [1, 2]))) == []
    assert list(saved_again(table([look, look], [0, 1], 5, [1, 1]))) == []  # equal bytes are split-leak
    assert list(saved_again(table([look, look], [0, 1], 0, [1, 2]))) == []  # no boxes prove nothing
    assert list(saved_again(table([look, look], [0, 0], 5, [1, 2]))) == []
    assert list(saved_again(table([look, b""], [0, 1], 5, [1, 2]))) == []
    assert list(saved_again(table([look] * 3, [0, 0, 1], 5, [1, 2, 3]))) == []  # always the same place
    large = [2**64 - 1, 2**63, 2**64 - 2, 2**64 - 1, 2**63 + 1, 2**64 - 2]  # neighbours as floats
    two = table([look] * 6, [0, 0, 0, 1, 1, 1], large, np.arange(6))
    assert list(saved_again(two)) == [(0, 3), (2, 5)]


def test_a_check_sees_the_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also from other processes, and again from the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jpeg = made.image(640, 480, seed=3)
    png = io.BytesIO()
    Image.open(io.BytesIO(jpeg)).save(png, "PNG")
    made.voc(tmp_path / "d" / "train", {"a.jpg": (jpeg, (640, 480), [("cat", 5, 6, 30, 40)])})
    made.voc(tmp_path / "d" / "val", {"b.png": (png.getvalue(), (640, 480), [("cat", 5, 6, 30, 40)])})
    for processes in (2, 1):
        report, _ = check([DatasetPart(str(tmp_path / "d"))], processes=processes)
        assert made.slugs(report)["split-siblings"] == 1


def test_facts_are_the_same_in_another_process() -> None:
    facts = examine_bytes(made.image(seed=3))
    assert len(facts.look) == 128
    assert pickle.loads(pickle.dumps(facts)) == facts
