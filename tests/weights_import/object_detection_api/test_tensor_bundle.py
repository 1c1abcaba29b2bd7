"""Checkpoints are read without TensorFlow, and broken ones are refused."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from holdfast.errors import HoldfastError
from holdfast.weights_import.object_detection_api.object_graph import read_graph
from holdfast.weights_import.object_detection_api.sorted_table import BadTable, decompressed, entries
from holdfast.weights_import.object_detection_api.tensor_bundle import BadCheckpoint, open_bundle

from .bundle_writer import entry, field, object_graph, table, varint, write_bundle

KERNEL = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    path = tmp_path / "ckpt-0"
    graph = object_graph({"model/a/kernel": "model/a/kernel/V", "model/b/kernel": "model/a/kernel/V"})
    write_bundle(path, {"model/a/kernel/V": KERNEL, "step": np.array(7, np.int64)}, graph=graph)
    return path


def test_tensors_and_objects_are_found(prefix: Path) -> None:
    bundle = open_bundle(prefix)
    np.testing.assert_array_equal(bundle.read("model/a/kernel/V"), KERNEL)
    assert int(bundle.read("step")) == 7
    graph = read_graph(bundle)
    assert graph is not None
    assert graph.key_of("model/b/kernel") == "model/a/kernel/V"
    assert graph.key_of("model/b") is None
    assert graph.key_of("model/c/kernel") is None
    assert graph.children_of("model") == ("a", "b")


def test_tensorflow_reads_what_the_tests_write_and_the_other_way_round(prefix: Path, tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    np.testing.assert_array_equal(
        tf.train.load_checkpoint(str(prefix)).get_tensor("model/a/kernel/V"), KERNEL
    )
    half = tf.cast(tf.constant(KERNEL), tf.bfloat16)
    module = tf.train.Checkpoint(deep=tf.train.Checkpoint(v=tf.Variable(KERNEL)), half=tf.Variable(half))
    bundle = open_bundle(Path(module.write(str(tmp_path / "theirs"))))
    graph = read_graph(bundle)
    assert graph is not None
    for path in ("deep/v", "half"):
        key = graph.key_of(path)
        assert key is not None
        np.testing.assert_array_equal(bundle.read(key), KERNEL)


def test_a_shard_that_ends_early_names_the_tensor(prefix: Path) -> None:
    shard = prefix.with_name("ckpt-0.data-00000-of-00001")
    shard.write_bytes(shard.read_bytes()[:40])
    with pytest.raises(BadCheckpoint, match="model/a/kernel/V") as caught:
        open_bundle(prefix).read("model/a/kernel/V")
    assert caught.value.found == ("ckpt-0.data-00000-of-00001 ends at byte 40, and it reaches to 96",)
    shard.unlink()
    with pytest.raises(BadCheckpoint) as gone:
        open_bundle(prefix).read("model/a/kernel/V")
    assert gone.value.found == ("its file ckpt-0.data-00000-of-00001 is missing",)


def test_a_changed_bit_is_noticed(prefix: Path) -> None:
    shard = prefix.with_name("ckpt-0.data-00000-of-00001")
    content = bytearray(shard.read_bytes())
    content[17] ^= 4
    shard.write_bytes(bytes(content))
    with pytest.raises(BadCheckpoint) as caught:
        open_bundle(prefix).read("model/a/kernel/V")
    assert caught.value.found == ("its checksum is wrong: the file was damaged",)


@pytest.mark.parametrize(
    ("part", "found"),
    [
        (entry(1, (1 << 40, 1 << 20), 0, b"abcd"), "4 bytes for a shape"),
        (entry(1, (1,), 1 << 60, b"abcd"), "ends at byte"),
        (field(1, 1) + field(3, 9) + field(5, 4), "it is in shard 9 of 1"),
        (entry(21, (1,), 0, b"abcd"), "type is number 21"),
    ],
)
def test_an_index_that_lies_allocates_nothing(prefix: Path, part: bytes, found: str) -> None:
    index = prefix.with_name("ckpt-0.index")
    index.write_bytes(table({b"": field(1, 1), b"evil": part}))
    with pytest.raises(BadCheckpoint, match="evil") as caught:
        open_bundle(prefix).read("evil")
    assert found in caught.value.found[0]


def test_every_truncation_and_thousands_of_changes_are_errors_of_holdfast(prefix: Path) -> None:
    index = prefix.with_name("ckpt-0.index")
    sound, rng = index.read_bytes(), random.Random(5)
    broken = [sound[:length] for length in range(0, len(sound), 7)]
    for _ in range(1000):
        one = bytearray(sound)
        for _ in range(rng.randint(1, 4)):
            one[rng.randrange(len(one))] = rng.randrange(256)
        broken.append(bytes(one))
    for content in broken:
        index.write_bytes(content)
        try:
            bundle = open_bundle(prefix)
            for name in bundle.tensors:
                bundle.read(name)
            read_graph(bundle)
        except HoldfastError:
            pass


def test_blocks_may_be_compressed() -> None:
    literal = (
        varint(10) + bytes([3 << 2]) + b"abcd" + bytes([(6 - 4) << 2 | 1, 4])
    )  # four bytes, then six from four back
    assert decompressed(literal) == b"abcdabcdab"
    for bad in (varint(1 << 40), varint(3) + bytes([9 << 2]) + b"ab", varint(4) + bytes([1, 9])):
        with pytest.raises(BadTable):
            decompressed(bad)


def test_a_table_of_another_kind_is_refused() -> None:
    with pytest.raises(BadTable, match="footer"):
        list(entries(b"short"))
    with pytest.raises(BadTable, match="last eight bytes"):
        list(entries(b"x" * 100))
    with pytest.raises(BadTable, match="unknown compression 7"):
        list(entries(table({b"a": b"b"}, compression=7)))
