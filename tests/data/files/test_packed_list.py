"""A sequence on disk is the sequence, also after a journey to another process."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator

import pytest

from holdfast.data.files import packed_list
from holdfast.data.files.packed_list import ByteStore, PackedList, PackedWriter, writable

COUNTS = (0, 1, packed_list.TOGETHER, packed_list.TOGETHER + 1, 1000)


@pytest.fixture(params=["in memory", "on disk"], autouse=True)
def _where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "on disk":
        monkeypatch.setattr(packed_list, "IN_MEMORY_BYTES", 16)


@pytest.mark.parametrize("count", COUNTS)
def test_it_reads_as_the_list_that_it_was_made_of(count: int) -> None:
    items = [(number, f"ü {number}", None) for number in range(count)]
    packed = PackedList(iter(items))
    assert (len(packed), list(packed), packed) == (count, items, items)
    assert [packed[at] for at in range(count)] == items
    assert packed[3:900:7] == tuple(items[3:900:7])
    assert packed != [*items, (0, "", None)]
    with pytest.raises(IndexError):
        packed[count]


def test_the_last_is_found_from_the_end_and_two_readers_do_not_disturb_one_another() -> None:
    packed = PackedList(range(500))
    assert (packed[-1], packed[-500]) == (499, 0)
    assert list(zip(packed, reversed(packed), strict=True)) == list(
        zip(range(500), range(499, -1, -1), strict=True)
    )


@pytest.mark.parametrize("protocol", [4, 5])
def test_it_travels(protocol: int) -> None:
    packed = PackedList(range(1000))
    assert pickle.loads(pickle.dumps(packed, protocol=protocol)) == packed


def test_its_bytes_travel_beside_the_pickle() -> None:
    """Which Ray stores once for all workers of a node."""
    few, many = PackedList(map(str, range(10))), PackedList(map(str, range(10_000)))
    beside: list[pickle.PickleBuffer] = []
    sizes = [len(pickle.dumps(one, protocol=5, buffer_callback=beside.append)) for one in (few, many)]
    assert abs(sizes[1] - sizes[0]) < 10
    data = pickle.dumps(many, protocol=5, buffer_callback=beside.append)
    assert pickle.loads(data, buffers=beside[-2:]) == many


def test_a_writer_makes_the_same() -> None:
    writer = PackedWriter[int]()
    writer.extend(range(130))
    writer.add(130)
    assert len(writer) == 131
    assert writer.finished() == list(range(131))


def test_an_item_that_cannot_be_made_is_an_error_of_the_maker() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        PackedList(items())


def test_bytes_that_are_added_are_read_as_one() -> None:
    store = ByteStore()
    for part in (b"a" * 10, b"", b"b" * 40, b"c"):
        store.add(part)
    assert (store.size, bytes(store.view())) == (51, b"a" * 10 + b"b" * 40 + b"c")


def test_zeros_can_be_written_anywhere() -> None:
    view = writable(80).cast("Q")
    view[9], view[0] = 7, 1
    assert view.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 7]


def test_a_full_disk_is_an_error_that_names_the_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/full takes nothing, as a disk does that is full."""
    monkeypatch.setattr(packed_list, "IN_MEMORY_BYTES", 16)
    monkeypatch.setattr(packed_list, "_new_file", lambda: open("/dev/full", "wb"))  # noqa: SIM115
    with pytest.raises(OSError, match="No space left") as caught:
        PackedList(map(str, range(10_000)))
    assert caught.value.filename == tempfile.gettempdir()
