"""Conversion, repair and staging: whole or not there, restartable, and never over anything unasked."""

from __future__ import annotations

import csv
import io
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.images.image_rules import boxes_fit
from holdfast.data.reading.load import read
from holdfast.data.records import Box
from holdfast.data.writing.atomic_output import Staging
from holdfast.data.writing.convert import ConvertOptions, convert, write
from holdfast.data.writing.repair import CHANGES, repair, repaired_box
from holdfast.errors import AlreadyThere, DataError, UsageError

from . import made


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    source = made.clean_voc(tmp_path / "src")
    (tmp_path / "dst").mkdir()
    (tmp_path / "dst" / "mine.txt").write_text("mine")
    with pytest.raises(AlreadyThere):
        convert(str(source), str(tmp_path / "dst"), "coco")
    assert files(tmp_path / "dst") == {"mine.txt": b"mine"}
    convert(str(source), str(tmp_path / "dst"), "coco", options=ConvertOptions(overwrite=True))
    assert "annotations/instances_all.json" in files(tmp_path / "dst")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dst", "src"]


@pytest.mark.parametrize(("source", "destination"), [("a", "a"), ("a", "a/b"), ("a/b", "a")])
def test_source_and_destination_are_never_nested(tmp_path: Path, source: str, destination: str) -> None:
    made.clean_voc(tmp_path / "a" / "b")
    before = files(tmp_path)
    with pytest.raises(UsageError, match="inside one another"):
        convert(
            str(tmp_path / source),
            str(tmp_path / destination),
            "coco",
            options=ConvertOptions(overwrite=True),
        )
    assert files(tmp_path) == before


@pytest.mark.parametrize("to", ["coco", "voc", "yolo", "tfrecord"])
def test_an_interrupted_write_goes_on_to_the_same_files(
    tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(made.clean_voc(tmp_path / "src"))
    options = ConvertOptions(shards=3, processes=1)  # in this process, where it can be interrupted
    convert(source, str(tmp_path / "whole"), to, options=options)
    written: list[str] = []
    real_write, real_finish = Staging.write, Staging.finish

    def counted_write(self: Staging, name: str, data: bytes) -> None:
        if len(written) == 9:
            raise KeyboardInterrupt
        written.append(name)
        real_write(self, name, data)

    def counted_finish(self: Staging, name: str) -> None:
        if len(written) >= 3:
            raise KeyboardInterrupt
        written.append(name)
        real_finish(self, name)

    monkeypatch.setattr(Staging, "write", counted_write)
    monkeypatch.setattr(Staging, "finish", counted_finish)
    with pytest.raises(KeyboardInterrupt):
        convert(source, str(tmp_path / "copy"), to, options=options)
    assert not (tmp_path / "copy").exists()
    done = {
        name: (tmp_path / "copy.partial" / name).stat().st_mtime_ns
        for name in written
        if name.endswith((".jpg", ".tfrecord"))
    }
    assert done
    monkeypatch.setattr(Staging, "write", real_write)
    monkeypatch.setattr(Staging, "finish", real_finish)
    convert(source, str(tmp_path / "copy"), to, options=options)
    assert files(tmp_path / "copy") == files(tmp_path / "whole")
    assert {name: (tmp_path / "copy" / name).stat().st_mtime_ns for name in done} == done
    assert not (tmp_path / "copy.partial").exists()


def test_the_rest_of_another_write_is_not_mixed_in(tmp_path: Path) -> None:
    source = made.clean_voc(tmp_path / "src")
    Staging(str(tmp_path / "dst"), {"another": "plan"})
    with pytest.raises(AlreadyThere, match="another unfinished write"):
        convert(str(source), str(tmp_path / "dst"), "coco")


def test_missing_images_stop_a_conversion_and_not_of_annotations_only(tmp_path: Path) -> None:
    source = made.clean_voc(tmp_path / "src")
    (source / "003.jpg").unlink()
    with pytest.raises(DataError) as caught:
        convert(str(source), str(tmp_path / "dst"), "coco")
    assert caught.value.what == "1 of 24 images are not there"
    convert(str(source), str(tmp_path / "dst"), "coco", options=ConvertOptions(annotations_only=True))
    assert list(files(tmp_path / "dst")) == ["annotations/instances_all.json"]
    with pytest.raises(UsageError, match="'cocoo' is not a format"):
        convert(str(source), str(tmp_path / "x"), "cocoo")


def test_nan_is_never_written_into_json(tmp_path: Path) -> None:
    dataset = read(str(made.clean_voc(tmp_path / "src", 1)))
    bad = replace(dataset.records[0], boxes=(Box(float("nan"), 0, 1, 1, "cat"),))
    with pytest.raises(DataError, match="NaN or infinity"):
        write(replace(dataset, records=(bad,)), str(tmp_path / "dst"), "coco", ConvertOptions())
    assert not (tmp_path / "dst").exists()


def test_writing_to_a_url(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    source = made.clean_voc(tmp_path / "src", 2)
    convert(str(source), "memory://written/there", "voc")
    assert len(fsspec.filesystem("memory").find("/written/there")) == 9
    assert len(read("memory://written/there").records) == 4
    with pytest.raises(AlreadyThere):
        convert(str(source), "memory://written/there", "voc")


@pytest.mark.parametrize(
    ("box", "kept", "done"),
    [
        ((5, 5, 20, 20), (5, 5, 20, 20), ""),
        ((20, 5, 5, 20), (5, 5, 20, 20), "inverted-box"),
        ((-5, 5, 20, 70), (0, 5, 20, 48), "outside-box"),
        ((70, 5, 90, 20), None, "outside-box"),
        ((5, 5, 5, 20), None, "zero-area-box"),
        ((float("inf"), 5, 5, 20), None, "not-finite-box"),
        ((65535, 5, 10, 20), None, "wrapped-box"),
        ((90, 5, 70, 20), None, "outside-box"),
        ((5, 5, 6, 20), (5, 5, 6, 20), ""),
    ],
)
def test_what_becomes_of_a_box(box: tuple[float, ...], kept: tuple[float, ...] | None, done: str) -> None:
    mended, _, reason = repaired_box(Box(*box, "cat"), (64, 48))
    assert (mended.corners if mended else None) == kept
    assert reason == done


def test_a_repaired_copy_is_clean_and_every_change_is_listed(tmp_path: Path) -> None:
    source = made.clean_voc(tmp_path / "src")
    (source / "001.jpg").write_bytes(b"")
    (source / "002.xml").write_text("<annotation>")
    (source / "003.jpg").write_bytes(made.image(seed=3, format="PNG"))
    (source / "004.jpg").write_bytes(made.image(seed=4, mode="CMYK"))
    (source / "005.jpg").write_bytes((source / "007.jpg").read_bytes())
    (source / "005.xml").write_text((source / "007.xml").read_text().replace("007", "005"))
    (source / "006.xml").write_text(
        made.voc_xml(
            "006.jpg", (64, 48), [("dog", 30, 5, 10, 20), ("dog", 5, 5, 99, 20), ("dog", 9, 9, 9, 9)]
        )
    )
    (source / "008.xml").write_text(made.voc_xml("008.jpg", (128, 96), [("Dog ", 61, 51, 120, 90)]))
    before = files(source)
    repaired = repair(str(source), str(tmp_path / "dst"))
    assert files(source) == before
    rows = list(csv.DictReader(io.StringIO((tmp_path / "dst" / CHANGES).read_text())))
    assert sorted((row["done"], row["reason"]) for row in rows) == [
        ("changed", "inverted-box"),
        ("changed", "near-duplicate-class-names"),
        ("changed", "outside-box"),
        ("changed", "size-mismatch"),
        ("changed", "unsupported-mode"),
        ("changed", "wrong-extension"),
        ("left out", "duplicate-image"),
        ("left out", "unreadable-annotation"),  # the XML,
        ("left out", "unreadable-annotation"),  # and its image
        ("left out", "unreadable-image"),
        ("left out", "zero-area-box"),
    ]
    assert len(repaired.dataset.records) == 21
    report, _ = check([DatasetPart(str(tmp_path / "dst"))], processes=1)
    assert [finding.slug for finding in report.findings if finding.severity != "note"] == []
    by_id = {record.id: record for record in read(str(tmp_path / "dst")).records}
    assert by_id["006"].boxes[0].corners == (10, 5, 30, 20)
    assert by_id["008"].boxes[0].corners == (30, 25, 60, 45)  # scaled by half, from 1-based 61,51,120,90
    assert by_id["008"].boxes[0].name == "dog"
    assert by_id["003"].file_name == "003.png"


def _with_an_image_to_redraw(folder: Path) -> Path:
    source = made.clean_voc(folder)
    (source / "004.jpg").write_bytes(made.image(seed=4, mode="CMYK"))
    return source


@pytest.mark.parametrize("redraws", [False, True])
def test_repair_removes_only_what_it_made(tmp_path: Path, redraws: bool) -> None:
    source = (_with_an_image_to_redraw if redraws else made.clean_voc)(tmp_path / "src")
    (tmp_path / "out.mended").mkdir()
    (tmp_path / "out.mended" / "thesis.txt").write_text("precious")
    repaired = repair(str(source), str(tmp_path / "out"))
    assert len(repaired.changes) == redraws
    assert files(tmp_path / "out.mended") == {"thesis.txt": b"precious"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.mended", "src"]


def test_an_interrupted_repair_continues_though_its_redrawn_images_are_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _with_an_image_to_redraw(tmp_path / "src")
    repair(str(source), str(tmp_path / "whole"))
    real = Staging.write
    written: list[str] = []

    def interrupted(self: Staging, name: str, data: bytes) -> None:
        if len(written) == 9:
            raise KeyboardInterrupt
        written.append(name)
        real(self, name, data)

    monkeypatch.setattr(Staging, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        repair(str(source), str(tmp_path / "copy"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.partial", "src", "whole"]
    monkeypatch.setattr(Staging, "write", real)
    repair(str(source), str(tmp_path / "copy"))
    assert files(tmp_path / "copy") == files(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "src", "whole"]


def test_a_leak_is_taken_out_of_training(tmp_path: Path) -> None:
    made.clean_voc(tmp_path / "src" / "train")
    data = (tmp_path / "src" / "train" / "003.jpg").read_bytes()
    made.voc(tmp_path / "src" / "test", {"x.jpg": (data, (64, 48), [("cat", 5, 6, 33, 40)])})
    repaired = repair(str(tmp_path / "src"), str(tmp_path / "dst"))
    splits = [record.split for record in repaired.dataset.records]
    assert (splits.count("train"), splits.count("test")) == (23, 1)
    assert [change.reason for change in repaired.changes] == ["split-leak"]


@pytest.mark.parametrize("orientation", [3, 6, 8])
def test_turned_images_are_written_upright_with_their_boxes(tmp_path: Path, orientation: int) -> None:
    """The white square of the image is where the box is, before and after."""
    source = tmp_path / "src"
    source.mkdir()
    stored = Image.new("RGB", (120, 80))
    stored.paste((255, 255, 255), (90, 8, 114, 32))
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored.save(source / "a.jpg", quality=95, exif=exif)
    box = (90 + 1, 8 + 1, 114, 32)  # in the stored frame, as VOC counts
    if orientation == 3:  # the frame cannot be proved: the boxes are taken as upright
        box = (120 - 114 + 1, 80 - 32 + 1, 120 - 90, 80 - 8)
    (source / "a.xml").write_text(made.voc_xml("a.jpg", (120, 80), [("cat", *box)]))
    repair(str(source), str(tmp_path / "dst"))
    (record,) = read(str(tmp_path / "dst")).records
    image = Image.open(record.image.path)
    assert image.getexif().get(0x0112, 1) == 1
    bright = image.convert("L").point(lambda value: 255 * (value > 128)).getbbox()
    assert bright == pytest.approx(record.boxes[0].corners, abs=1.5)


def test_sixteen_bits_become_eight_by_their_high_byte(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    Image.new("I;16", (64, 48), 40_000).save(source / "a.png")
    (source / "a.xml").write_text(made.voc_xml("a.png", (64, 48), [("cat", 5, 5, 30, 30)]))
    repair(str(source), str(tmp_path / "dst"))
    (record,) = read(str(tmp_path / "dst")).records
    assert Image.open(record.image.path).getpixel((3, 3)) == (156, 156, 156)  # 40000 / 256


@pytest.mark.parametrize("kind", made.odd_images())
def test_what_training_does_not_decode_becomes_a_png(tmp_path: Path, kind: str) -> None:
    data = made.odd_images()[kind]
    with Image.open(io.BytesIO(data)) as image:
        size, pixels, suffix = image.size, image.convert("RGB").tobytes(), str(image.format).lower()
    made.voc(tmp_path / "src", {f"a.{suffix}": (data, size, [("cat", 1, 1, 4, 4)])})
    repaired = repair(str(tmp_path / "src"), str(tmp_path / "dst"))
    (record,) = read(str(tmp_path / "dst")).records
    assert record.file_name == "a.png" and record.boxes[0].corners == (0, 0, 4, 4)
    with Image.open(record.image.path) as written:
        assert (written.format, written.mode, written.tobytes()) == ("PNG", "RGB", pixels)
    assert [change.reason for change in repaired.changes] == ["undecoded-kind"]


def test_sixteen_bits_with_alpha_do_not_become_black(tmp_path: Path) -> None:
    """Pillow has no such mode: it keeps the high bytes itself, and nothing is left to divide."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    row = b"\0" + struct.pack(">4H", 40_000, 20_000, 60_000, 65_535) * 64
    header = struct.pack(">IIBBBBB", 64, 48, 16, 6, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    data += chunk(b"IDAT", zlib.compress(row * 48)) + chunk(b"IEND", b"")
    made.voc(tmp_path / "src", {"a.png": (data, (64, 48), [("cat", 5, 5, 30, 30)])})
    repair(str(tmp_path / "src"), str(tmp_path / "dst"))
    (record,) = read(str(tmp_path / "dst")).records
    assert Image.open(record.image.path).getpixel((3, 3)) == (156, 78, 234)


def test_a_turned_tiff_is_written_upright_once(tmp_path: Path) -> None:
    """Blue lies at the stored top left; orientation 6 turns that to the top right."""
    made.voc(tmp_path / "src", {"a.tif": (made.turned_tiff(64, 48, 6), (48, 64), [("cat", 37, 1, 48, 32)])})
    repair(str(tmp_path / "src"), str(tmp_path / "dst"))
    (record,) = read(str(tmp_path / "dst")).records
    image = Image.open(record.image.path)
    assert image.size == (48, 64) and image.getchannel("B").getbbox() == (36, 0, 48, 32)
    assert record.boxes[0].corners == (36, 0, 48, 32)


def test_fractions_never_ask_for_scaling() -> None:
    assert boxes_fit((Box(0, 0, 50, 50, "cat"),), (100, 100), (60, 60), relative=True) == "real"


def test_every_command_reads_and_writes_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file:// URL goes through fsspec as gs:// and s3:// do, and worker processes see it too."""
    from holdfast.data.checking.inspect_page import inspect

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    made.clean_voc(tmp_path / "bucket" / "voc", 2)
    bucket = f"file://{tmp_path}/bucket"
    for to in ("coco", "voc", "yolo", "tfrecord"):
        convert(f"{bucket}/voc", f"{bucket}/{to}-1", to)
        assert read(f"{bucket}/{to}-1").boxes == 4
    assert read(f"{bucket}/yolo-1/data.yaml").boxes == 4
    assert read(f"{bucket}/tfrecord-1/*.tfrecord").boxes == 4
    assert repair(f"{bucket}/coco-1", f"{bucket}/mended").dataset.boxes == 4
    assert (tmp_path / "bucket" / "mended" / CHANGES).is_file()
    assert inspect(f"{bucket}/voc", f"{bucket}/page.html") == f"{bucket}/page.html"
    assert "<html" in (tmp_path / "bucket" / "page.html").read_text()
    assert list((tmp_path / "here").iterdir()) == []  # nothing was written beside by mistake
