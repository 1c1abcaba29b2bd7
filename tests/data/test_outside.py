"""Datasets that name files elsewhere: images are taken and named, other files never leave their place."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.cli import main as cli
from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.formats import WRITABLE_FORMATS
from holdfast.data.image_header import HEAD_BYTES, begins_an_image
from holdfast.data.outside import without_other_files
from holdfast.data.reading.load import read
from holdfast.data.records import ImageRef, Record
from holdfast.data.writing.convert import ConvertOptions, convert
from holdfast.data.writing.repair import repair
from holdfast.errors import DataError, ExitCode

from . import made

KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "home" / ".ssh" / "id_rsa"
    path.parent.mkdir(parents=True)
    path.write_bytes(KEY)
    return path


def coco(folder: Path, names: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    images = [{"id": i, "file_name": name, "width": 64, "height": 48} for i, name in enumerate(names, 1)]
    boxes = [
        {"id": i, "image_id": i, "category_id": 1, "bbox": [5, 5, 20, 20]} for i in range(1, len(names) + 1)
    ]
    document = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]}
    (folder / "a.json").write_text(json.dumps(document))
    return folder


def labelme(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    shape = {"label": "cat", "points": [[5, 5], [25, 25]], "shape_type": "rectangle"}
    document = {"version": "5", "imagePath": name, "imageHeight": 48, "imageWidth": 64, "shapes": [shape]}
    (folder / "x.json").write_text(json.dumps({**document, "imageData": None, "flags": {}}))
    return folder


def _whole_path(folder: Path, key: Path) -> Path:
    return coco(folder, ["ok.jpg", str(key)])


def _steps_out(folder: Path, key: Path) -> Path:
    return coco(folder, ["ok.jpg", os.path.relpath(key, folder)])


def _link(folder: Path, key: Path) -> Path:
    coco(folder, ["ok.jpg", "b.jpg"])
    (folder / "b.jpg").symlink_to(key)
    return folder


def _linked_folder(folder: Path, key: Path) -> Path:
    coco(folder, ["ok.jpg", "keys/id_rsa.jpg"])
    key.rename(key.with_name("id_rsa.jpg"))
    (folder / "keys").symlink_to(key.parent)
    return folder


def holds_the_key(folder: Path) -> bool:
    return any(KEY[:30] in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("to", WRITABLE_FORMATS)
@pytest.mark.parametrize("made_by", [_whole_path, _steps_out, _link, _linked_folder])
def test_a_private_key_is_not_copied(
    tmp_path: Path, key: Path, made_by: Callable[[Path, Path], Path], to: str
) -> None:
    source = made_by(tmp_path / "ds", key)
    (source / "ok.jpg").write_bytes(made.image())
    converted = convert(str(source), str(tmp_path / "out"), to, options=ConvertOptions(processes=1))
    assert not holds_the_key(tmp_path / "out")
    assert [record.file_name for record in converted.dataset.records] == ["ok.jpg"]
    assert [(one.slug, one.severity, one.count) for one in converted.findings] == [
        ("unreadable-image", "error", 1),
        ("outside-dataset", "note", 1),
    ]
    unreadable, outside = converted.findings
    assert unreadable.places[0].detail == "no image format begins with b'-----BEG': it is not copied"
    place = f"{outside.places[0].file} {outside.places[0].detail}"
    assert str(key.parent.resolve()) in place
    copy = read(str(tmp_path / "out"))
    assert [(len(record.boxes), record.image.read()[:2]) for record in copy.records] == [(1, b"\xff\xd8")]


def test_labelme_that_steps_out_has_nothing_to_copy(tmp_path: Path, key: Path) -> None:
    source = labelme(tmp_path / "ds", "../home/.ssh/id_rsa")
    with pytest.raises(DataError, match="none of the files that the dataset names is an image") as caught:
        convert(str(source), str(tmp_path / "out"), "coco")
    assert caught.value.found == ("no image format begins with b'-----BEG': it is not copied",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ds", "home"]


def test_check_and_repair_name_what_is_outside(tmp_path: Path, key: Path) -> None:
    source = _whole_path(tmp_path / "ds", key)
    (source / "ok.jpg").write_bytes(made.image())
    report, _ = check([DatasetPart(str(source))], processes=1)
    found = {finding.slug: finding for finding in report.findings}
    assert (found["outside-dataset"].severity, found["outside-dataset"].count) == ("note", 1)
    assert found["outside-dataset"].places[0].file == str(key)
    assert found["unreadable-image"].count == 1
    repaired = repair(str(source), str(tmp_path / "out"), to="voc")
    assert [(one.slug, one.count) for one in repaired.findings] == [("outside-dataset", 1)]
    assert [change.reason for change in repaired.changes] == ["unreadable-image"]
    assert not holds_the_key(tmp_path / "out")


def test_images_elsewhere_are_usual_and_are_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = tmp_path / "pool"
    pool.mkdir()
    for number in range(3):
        (pool / f"{number}.jpg").write_bytes(made.image(seed=number))
    source = coco(tmp_path / "ds", [str(pool / "0.jpg"), "linked.jpg", "own.jpg"])
    (source / "linked.jpg").symlink_to("../pool/1.jpg")
    (source / "own.jpg").write_bytes(made.image(seed=7))
    assert cli.main(["data", "convert", str(source), str(tmp_path / "out"), "--to", "yolo"]) == ExitCode.FINE
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        f"note[outside-dataset]: images lie outside the dataset folder (2), the first is {pool / '0.jpg'}: "
        "named by this path"
    ]
    assert len(read(str(tmp_path / "out")).records) == 3
    assert cli.main(["data", "repair", str(source), str(tmp_path / "clean"), "--json"]) == ExitCode.FINE
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["finding"], finding["count"]) == ("outside-dataset", 2)
    assert finding["places"][1]["detail"] == f"a link to {(pool / '1.jpg').resolve()}"


def test_a_dataset_reached_by_a_link_is_not_outside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = coco(tmp_path / "real" / "ds", ["ok.jpg", "deep/ok2.jpg"])
    (source / "deep").mkdir()
    (source / "ok.jpg").write_bytes(made.image())
    (source / "deep" / "ok2.jpg").write_bytes(made.image(seed=2))
    (tmp_path / "link").symlink_to(source)
    monkeypatch.chdir(source)
    for path in (tmp_path / "link", source, source / "a.json", Path("a.json"), Path(".")):
        report, _ = check([DatasetPart(str(path))], processes=1)
        assert report.images == 2
        assert "outside-dataset" not in [finding.slug for finding in report.findings]


def test_annotations_alone_take_no_file_along(tmp_path: Path, key: Path) -> None:
    source = _whole_path(tmp_path / "ds", key)
    options = ConvertOptions(annotations_only=True)
    converted = convert(str(source), str(tmp_path / "out"), "coco", options=options)
    assert len(converted.dataset.records) == 2
    assert not holds_the_key(tmp_path / "out")
    assert [finding.slug for finding in converted.findings] == ["outside-dataset"]


def test_pipes_and_folders_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "ok.jpg").write_bytes(made.image())
    records = [
        Record(name, name, ImageRef(str(tmp_path / name))) for name in ("pipe.jpg", "ok.jpg", "absent.jpg")
    ]
    kept, problems = without_other_files(records)
    assert [record.id for record in kept] == [
        "ok.jpg",
        "absent.jpg",
    ]  # of what is absent the copy itself tells
    assert [(one.finding, one.file) for one in problems] == [("unreadable-image", str(tmp_path / "pipe.jpg"))]


@pytest.mark.parametrize("format", ["JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM"])
def test_every_kind_that_is_read_begins_as_an_image(format: str) -> None:
    assert begins_an_image(made.image(format=format)[:HEAD_BYTES])


@pytest.mark.parametrize(
    "head",
    [
        b"P5\n# made by hand\n# twice\n4 4\n255\n",
        b"\0\0\0\x18ftypheic\0\0\0\0",
        b"\0\0\0\x1cftypavif\0\0\0\0",
        b"\0\0\0\x0cjP  \r\n\x87\n",
        b"MM\0*\0\0\0\x08",
        b"\xff\xd8\xff\xe1 cut short",
    ],
)
def test_rarer_kinds_begin_as_images_too(head: bytes) -> None:
    assert begins_an_image(head)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        KEY,
        b"P4ssw0rd",
        b"P1 is the first password",
        b"BMW and other makes of cars, as text",
        b"RIFF\x24\0\0\0WAVEfmt ",
        b"\0\0\0\x20ftypisom\0\0\x02\0",
        b"root:x:0:0:root:/root:/bin/bash\n",
        b"SQLite format 3\0",
        b"PK\x03\x04",
        b"\x7fELF",
        b"GIF",
        b"II",
    ],
)
def test_other_files_do_not(head: bytes) -> None:
    assert not begins_an_image(head)
