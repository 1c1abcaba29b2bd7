"""Every written format gives back what was written: names, ids, negatives, flags and boxes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.data.formats import WRITABLE_FORMATS
from holdfast.data.reading.load import read
from holdfast.data.records import Box, Dataset, ImageRef, Record
from holdfast.data.writing.convert import ConvertOptions, convert, write

from . import made

SIZES = ((64, 48), (100, 333), (1, 1))
_IMAGES = {size: made.image(*size) for size in SIZES}

text = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn", "Zl", "Zp"), exclude_characters="/\\:"),
    min_size=1,
    max_size=12,
)
class_name = text.filter(lambda name: name.strip() and not name.startswith("{"))
stem = text.map(lambda name: name.strip(" .")).filter(bool)


@st.composite
def boxes(draw: st.DrawFn, size: tuple[int, int], names: list[str]) -> tuple[Box, ...]:
    def box(number: int) -> Box:
        x1, x2 = sorted((draw(st.integers(0, 8 * size[0])), draw(st.integers(0, 8 * size[0]))))
        y1, y2 = sorted((draw(st.integers(0, 8 * size[1])), draw(st.integers(0, 8 * size[1]))))
        x2, y2 = max(x2, x1 + 1), max(y2, y1 + 1)
        return Box(
            x1 / 8, y1 / 8, x2 / 8, y2 / 8, draw(st.sampled_from(names)),
            crowd=draw(st.booleans()), difficult=draw(st.booleans()),
        )  # fmt: skip

    return tuple(box(number) for number in range(draw(st.integers(0, 4))))


@st.composite
def datasets(draw: st.DrawFn) -> tuple[list[tuple[str, tuple[int, int]]], Dataset]:
    """File names with their sizes, and the dataset that goes with them; paths are filled in later."""
    names = draw(st.lists(class_name, min_size=1, max_size=4, unique=True))
    ids = draw(st.lists(st.integers(1, 10**6), min_size=len(names), max_size=len(names), unique=True))
    stems = draw(st.lists(stem, min_size=1, max_size=6, unique_by=str.casefold))
    image_ids = draw(st.lists(st.integers(0, 10**9), min_size=len(stems), max_size=len(stems), unique=True))
    splits = draw(st.sampled_from(((None,), ("train", "val"), ("train", "test", None), ("fold 1", "train"))))
    files, records, used = [], [], 0
    for name, number in zip(stems, image_ids, strict=True):
        size = draw(st.sampled_from(SIZES))
        folder = draw(st.sampled_from(("", "with space/", "ünï/")))
        file_name = f"{folder}{name}.jpg"
        found = tuple(replace(box, id=used + at + 1) for at, box in enumerate(draw(boxes(size, names))))
        used += len(found)
        files.append((file_name, size))
        image = ImageRef("", width=size[0], height=size[1])
        records.append(Record(str(number), file_name, image, found, draw(st.sampled_from(splits))))
    order = sorted(range(len(names)), key=lambda at: ids[at])
    classes = tuple(names[at] for at in order)
    return files, Dataset("", "coco", tuple(records), classes, tuple(ids[at] for at in order))


def placed(folder: Path, files: list[tuple[str, tuple[int, int]]], dataset: Dataset) -> Dataset:
    """The dataset with its images on disk, under names that no file system objects to."""
    records = []
    for number, ((_, size), record) in enumerate(zip(files, dataset.records, strict=True)):
        path = folder / f"{number}.jpg"
        path.write_bytes(_IMAGES[size])
        records.append(replace(record, image=replace(record.image, path=str(path))))
    return replace(dataset, records=tuple(records))


def same(before: Dataset, after: Dataset) -> None:
    theirs = {(record.split, record.id): record for record in after.records}
    assert set(theirs) == {(record.split, record.id) for record in before.records}
    assert after.classes == before.classes
    assert after.class_ids == before.class_ids
    for record in before.records:
        other = theirs[record.split, record.id]
        assert other.file_name == record.file_name
        assert len(other.boxes) == len(record.boxes)
        for box, copy in zip(record.boxes, other.boxes, strict=True):
            assert copy.corners == pytest.approx(box.corners, abs=1e-4)
            assert (copy.name, copy.crowd, copy.difficult, copy.id) == (
                box.name,
                box.crowd,
                box.difficult,
                box.id,
            )
        assert other.image.read() == record.image.read()


@pytest.mark.parametrize("to", WRITABLE_FORMATS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(made_dataset=datasets())
def test_written_and_read_again_is_the_same(
    to: str, made_dataset: tuple[list[tuple[str, tuple[int, int]]], Dataset]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "pictures"
        source.mkdir()
        dataset = placed(source, *made_dataset)
        write(dataset, f"{folder}/copy", to, ConvertOptions())
        same(dataset, read(f"{folder}/copy"))


@pytest.mark.parametrize(("first", "second"), product(WRITABLE_FORMATS, WRITABLE_FORMATS))
def test_between_any_two_formats(tmp_path: Path, first: str, second: str) -> None:
    names = ("Katze", "犬 dog", "crack ")
    source = tmp_path / "pictures"
    source.mkdir()
    records = []
    for number, (split, size) in enumerate(product(("train", "val"), SIZES)):
        path = source / f"{number}.jpg"
        path.write_bytes(made.image(*size, seed=number))
        whole = Box(0, 0, size[0], size[1], names[number % 3], crowd=number % 2 == 0, id=100 + number)
        found = () if number == 4 else (whole,)
        records.append(
            Record(
                str(7 + 31 * number),
                f"bilder/{number} ü.jpg",
                ImageRef(str(path), width=size[0], height=size[1]),
                found,
                split,
            )
        )
    dataset = Dataset("", "coco", tuple(records), names, (3, 17, 90))
    write(dataset, str(tmp_path / "one"), first, ConvertOptions())
    convert(str(tmp_path / "one"), str(tmp_path / "two"), second)
    same(dataset, read(str(tmp_path / "two")))


def test_ids_that_are_not_numbers_survive_coco(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(made.image())
    record = Record("set 1/IMG_7", "a.jpg", ImageRef(str(path), width=64, height=48))
    write(Dataset("", "voc", (record,), ("cat",), (1,)), str(tmp_path / "out"), "coco", ConvertOptions())
    assert read(str(tmp_path / "out")).records[0].id == "set 1/IMG_7"


def test_two_images_of_one_name_are_both_kept(tmp_path: Path) -> None:
    records = []
    for number, suffix in enumerate((".jpg", ".png")):
        path = tmp_path / f"{number}{suffix}"
        path.write_bytes(made.image(seed=number, format="JPEG" if suffix == ".jpg" else "PNG"))
        box = Box(number, 0, 20, 20, "cat")
        records.append(
            Record(
                str(number),
                f"A{suffix}" if number else f"a{suffix}",
                ImageRef(str(path), width=64, height=48),
                (box,),
            )
        )
    for to in WRITABLE_FORMATS:
        write(Dataset("", "coco", tuple(records), ("cat",), (1,)), str(tmp_path / to), to, ConvertOptions())
        assert sorted(record.boxes[0].x1 for record in read(str(tmp_path / to)).records) == [0, 1], to
