"""The small parts: label maps, JSON in pieces, TFRecord framing and messages, workers, anchors' cover, names."""

from __future__ import annotations

import io
import json
import os
import signal
import struct
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from holdfast.data.checking.anchor_coverage import best_overlaps, boxes_in_input, coverage_of
from holdfast.data.checking.statistics import id_gaps, near_duplicates, percentile
from holdfast.data.files import process_pool
from holdfast.data.files.file_index import ImageFinder, portable
from holdfast.data.files.json_stream import BadJson, top_level
from holdfast.data.files.parse_numbers import parse_flag, parse_integer, parse_number, parse_size, snap
from holdfast.data.files.progress_bar import line
from holdfast.data.files.splits import split_in_name, split_in_path
from holdfast.data.files.tfrecord_framing import (
    BrokenFrame,
    RecordFrame,
    framed,
    frames,
    looks_framed,
    masked_crc,
    read_frame,
)
from holdfast.data.formats import label_map
from holdfast.data.formats.tf_example import NotAnExample, parse_example, serialize_example
from holdfast.data.records import Box
from holdfast.errors import UnreadableAnnotation
from holdfast.report import plots


def test_label_maps_of_any_dialect() -> None:
    text = (
        "# a comment\nitem: {\n\tid: 1,\n\tname: 'it\\'s', display_name: \"\\303\\274\"\n"
        " keypoints { id: 7 label: 'x' } }\n"
        'item < name: "/m/01" id: 5; >'
    )
    assert label_map.read(text.encode(), "x") == (
        label_map.Label(1, "it's", "ü"),
        label_map.Label(5, "/m/01"),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no item"),
        ("item { name: 'a' }", "no whole number as id"),
        ("item { id: 1 name: 'a' } item { id: 1 name: 'b' }", "gives id 1 to 'a' and to 'b'"),
        ("item { id: 1", "ends inside an item"),
        ("}", "never opened"),
        ("item { id: 1 name: 'a\n' }", "cannot be read at line 1"),
    ],
)
def test_label_maps_that_are_wrong(text: str, says: str) -> None:
    with pytest.raises(UnreadableAnnotation, match=says):
        label_map.read(text.encode(), "x")


def test_label_maps_are_read_back() -> None:
    labels = [label_map.Label(0, 'a "b" \\ c'), label_map.Label(9, "ü\n", "d")]
    assert list(label_map.read(label_map.render(labels).encode(), "x")) == labels


def test_json_in_pieces_is_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {
        "info": {"a": 1},
        "images": [{"id": n, "text": "ü" * n} for n in range(50)],
        "empty": [],
        "n": 12.5,
    }
    for chunk in (1, 7, 1000):
        monkeypatch.setattr("holdfast.data.files.json_stream.CHUNK_BYTES", chunk)
        found = list(top_level(io.BytesIO(json.dumps(document, ensure_ascii=False).encode())))
        assert found == [("info", {"a": 1}), *(("images", row) for row in document["images"]), ("n", 12.5)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a"', '{"a": [1, 2', '{"a": [1 2]}', '{"a": tru}', "{1: 2}", '{"a":' * 9999]
)
def test_json_that_is_broken_says_where(text: str) -> None:
    with pytest.raises(BadJson, match=r"at character|nested|before character"):
        list(top_level(io.BytesIO(text.encode())))


def test_the_checksum_is_tensorflows() -> None:
    # RFC 3720 B.4: the CRC-32C of 32 zero bytes is 8a9136aa; masked as tensorflow/core/lib/hash/crc32c.h does.
    crc = 0x8A9136AA
    assert masked_crc(bytes(32)) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_frames_of_a_file_and_where_it_breaks() -> None:
    data = framed(b"one") + framed(b"") + framed(b"three")
    found = list(frames(io.BytesIO(data), len(data)))
    assert found == [RecordFrame(12, 3), RecordFrame(31, 0), RecordFrame(47, 5)]
    assert [read_frame(io.BytesIO(data), frame) for frame in found if isinstance(frame, RecordFrame)] == [
        b"one",
        b"",
        b"three",
    ]
    assert looks_framed(data) and not looks_framed(b"\xff\xd8\xff\xe0 a jpeg")
    cut = data[:-3]
    assert isinstance(list(frames(io.BytesIO(cut), len(cut)))[-1], BrokenFrame)
    flipped = bytearray(data)
    flipped[13] ^= 1
    assert read_frame(io.BytesIO(bytes(flipped)), RecordFrame(12, 3)) is None
    flipped[19] ^= 1  # the length of the second record
    assert list(frames(io.BytesIO(bytes(flipped)), len(data)))[1] == BrokenFrame(
        19, "the checksum of the record's length is wrong", len(data) - 19
    )


def test_examples_are_read_back() -> None:
    features: dict[str, list[bytes] | list[float] | list[int]] = {
        "b": [b"", b"\0x"], "f": [0.5, -1.25], "i": [0, 1, -1, 2**63 - 1, -(2**63)], "none": []}  # fmt: skip
    parsed = parse_example(serialize_example(features))
    assert parsed.bytes_of("b") == [b"", b"\0x"]
    assert parsed.numbers("f") == [0.5, -1.25]
    assert parsed.whole_numbers("i") == features["i"]
    assert parsed.numbers("none") == parsed.numbers("absent") == []


@pytest.mark.parametrize(
    "data", [b"\x12\x00", b"\x0a\xff", b"\x0a\x02\x0a", b"\xff" * 11, b"\x0b", b"\x00\x00"]
)
def test_what_is_no_example_is_refused(data: bytes) -> None:
    with pytest.raises(NotAnExample):
        parse_example(data)


@pytest.mark.hot
def test_tensorflow_reads_what_is_written_and_the_other_way_round(tmp_path: Path) -> None:
    import tensorflow as tf

    features: dict[str, list[bytes] | list[float] | list[int]] = {"b": [b"xy"], "f": [0.5, 0.1], "i": [-3, 7]}
    file = str(tmp_path / "a.record")
    Path(file).write_bytes(framed(serialize_example(features)) * 2)
    (first, _) = tf.data.TFRecordDataset(file)
    theirs = tf.train.Example.FromString(first.numpy())
    assert list(theirs.features.feature["b"].bytes_list.value) == [b"xy"]
    assert list(theirs.features.feature["i"].int64_list.value) == [-3, 7]
    with tf.io.TFRecordWriter(file) as writer:
        writer.write(theirs.SerializeToString())
    with open(file, "rb") as handle:
        (frame,) = frames(handle, os.path.getsize(file))
        assert isinstance(frame, RecordFrame)
        ours = parse_example(read_frame(handle, frame) or b"")
    assert ours.numbers("f") == [0.5, struct.unpack("f", struct.pack("f", 0.1))[0]]
    assert ours.whole_numbers("i") == [-3, 7]


def _work(shared: int, item: int) -> int:
    if item == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return shared + item


def test_a_worker_that_dies_is_named_and_the_rest_goes_on() -> None:
    results = list(process_pool.run(_work, 100, range(60), crashed=lambda item: -item, workers=2, chunk=4))
    assert results == [-13 if item == 13 else 100 + item for item in range(60)]


def test_a_pool_that_breaks_while_it_is_filled_gives_the_part_back() -> None:
    pool = process_pool._pool(_work, 100, 1)
    with pytest.raises(BrokenProcessPool):
        pool.submit(os._exit, 1).result()
    with pytest.raises(BrokenProcessPool):
        process_pool._submitted(pool, [1, 2]).result()


def test_numbers_as_people_write_them() -> None:
    assert [parse_number(text) for text in (" 3.5", "1e3", "x", "", None, True, 10**400)] == [
        3.5,
        1000,
        None,
        None,
        None,
        None,
        np.inf,
    ]
    assert [parse_integer(text) for text in ("3.0", 7, "3.5", "nan")] == [3, 7, None, None]
    assert [parse_size(text) for text in ("640", 0, -3, 2**40)] == [640, None, None, None]
    assert [parse_flag(text) for text in (1, "1", "True", 0, None, "0")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert (snap(9.9999999, 1e-4), snap(9.5, 1e-4)) == (10, 9.5)


def test_names_and_splits() -> None:
    assert portable("C:\\data\\..\\a b\\x.jpg") == "data/a b/x.jpg"
    assert portable("/../etc/passwd") == "etc/passwd"
    assert [split_in_path(path) for path in ("a/train/b.jpg", "VALID/x", "training_data/x", "x")] == [
        "train",
        "VALID",
        None,
        None,
    ]
    names = ("instances_val2017.json", "train.record-00000-of-00002", "trainval.txt")
    assert [split_in_name(name) for name in names] == ["val2017", "train", None]


def test_the_nearest_of_two_images_with_one_name() -> None:
    finder = ImageFinder.of("/r", ["train/img/1.jpg", "val/img/1.jpg", "val/img/2.PNG"])
    assert finder.find("1.jpg", near="val/ann/1.xml") == "val/img/1.jpg"
    assert finder.find("1.jpg", near="annotations/instances_train.json") == "train/img/1.jpg"
    assert finder.find("2.jpg", near="val/ann/2.xml") == "val/img/2.PNG"
    assert finder.find("3.jpg", near="x.xml") is None


def test_class_names_that_are_nearly_the_same() -> None:
    assert near_duplicates({"Crack", "crack ", "dent", "scratch_1", "Scratch 1", "ü", "u\u0308"}) == [
        ["Crack", "crack "], ["Scratch 1", "scratch_1"], ["u\u0308", "ü"]]  # fmt: skip
    assert id_gaps([1, 2, 5, 9]) == "3-4, 6-8"
    assert id_gaps([]) == ""


def test_percentiles() -> None:
    from collections import Counter

    assert percentile(Counter([1, 1, 1, 9]), 0.5) == 1
    assert percentile(Counter([1, 1, 1, 9]), 0.95) == 9


def test_overlap_with_the_best_anchor() -> None:
    anchors = np.array([[0, 0, 10, 10], [10, 10, 30, 30]], np.float32)
    boxes = np.array([[0, 0, 10, 10], [0, 0, 5, 10], [50, 50, 60, 60], [10, 10, 20, 20]], float)
    assert best_overlaps(boxes, anchors).tolist() == [1.0, 0.5, 0.0, 0.25]


def test_uncovered_boxes_depend_on_how_images_are_resized() -> None:
    anchors = np.array([[0, 0, 50, 50]], np.float32)
    sample = [((200, 100), Box(0, 0, 100, 50, "cat")), ((200, 100), Box(0, 0, 4, 4, "dog"))]
    stretched = coverage_of(*boxes_in_input(sample, 100), anchors)
    assert stretched.worst(100) == ["'dog' 2x4 px at 100 px input: best overlap 0.00"]
    assert (stretched.boxes, stretched.share) == (2, 0.5)
    assert stretched.by_class == {"dog": 1.0, "cat": 0.0}
    names, corners = boxes_in_input(sample, 100, resizing="letterbox")
    assert corners.tolist() == [[0, 25, 50, 50], [0, 25, 2, 27]]  # in the middle, below 25 rows of grey
    assert coverage_of(names, corners, anchors).best.tolist() == [0.5, 4 / 2500]
    assert coverage_of(*boxes_in_input([], 100), anchors).share == 0.0


def test_plots_of_nothing_and_of_one() -> None:
    for draw in (plots.bars([]), plots.histogram([], "px"), plots.scatter([], "px"), plots.heat_map([[0]])):
        assert "nothing to show" in draw
    assert plots.histogram([3, 3, 4], " boxes").count("<rect") == 2
    assert "&lt;b&gt;" in plots.bars([("<b>", 1)])


def test_a_line_of_progress() -> None:
    assert line("checking", 50, 200, 2.0) == "checking [#####...............] 50/200  25/s  6 s left"
    assert line("checking", 50, None, 2.0) == "checking 50  25/s"
