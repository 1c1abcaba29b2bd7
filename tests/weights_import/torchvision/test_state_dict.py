"""State dicts without torch: right ones number by number, all others refused, and nothing executed."""

from __future__ import annotations

import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from holdfast.weights_import.torchvision.pickle_program import WeightsUnreadable
from holdfast.weights_import.torchvision.state_dict import read_state_dict
from tests.weights_import.torchvision import written_state_dict as written

ARRAYS = {
    "conv.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),
    "turned.weight": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "half": np.array([1.5, -2.25], np.float16),
    "count": np.array(7, np.int64),
    "none": np.zeros((0, 4), np.float32),
}


def zip_of(arrays: dict[str, np.ndarray], path: Path) -> Path:
    entries, storages = written.entries_of(arrays)
    return written.zipped(written.state(entries), storages, path)


def test_both_formats_give_the_numbers_that_were_written(tmp_path: Path) -> None:
    entries, storages = written.entries_of(ARRAYS)
    lengths = {str(index): array.size for index, array in enumerate(ARRAYS.values())}
    for path in (
        zip_of(ARRAYS, tmp_path / "new.pth"),
        written.chained(written.state(entries), storages, lengths, tmp_path / "old.pth"),
    ):
        read = dict(read_state_dict(path).arrays())
        assert list(read) == list(ARRAYS)
        for name, array in ARRAYS.items():
            assert read[name].dtype == array.dtype
            np.testing.assert_array_equal(read[name], array)


def test_bfloat16_becomes_float32(tmp_path: Path) -> None:
    values = np.array([1.0, -0.15625, 3.0e38], np.float32)
    path = zip_of({"w": (values.view(np.uint32) >> 16).astype(np.uint16)}, tmp_path / "b.pth")
    np.testing.assert_allclose(dict(read_state_dict(path).arrays())["w"], values, rtol=2**-8)


def test_the_state_dict_in_a_training_checkpoint_is_found(tmp_path: Path) -> None:
    entries, storages = written.entries_of({f"module.{name}": array for name, array in ARRAYS.items()})
    content = (
        b"}("
        + written.text("epoch")
        + written.number(3)
        + written.text("model")
        + written.state(entries)
        + written.text("random numbers")
        + written.tensor("3", "int64", 1, (), ())
        + b"u"
    )
    read = read_state_dict(written.zipped(content, storages, tmp_path / "checkpoint.pth"))
    assert list(read.shapes) == list(ARRAYS)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"cos\nsystem\n" + written.text("touch executed") + b"\x85R", "os.system"),
        (b"cbuiltins\neval\n" + written.text("open('executed', 'w')") + b"\x85R", "builtins.eval"),
        (b"(" + written.text("touch executed") + b"ios\nsystem\n", "INST"),
        (written.text("os") + written.text("system") + b"\x93" + written.text("x") + b"\x85R", "os.system"),
        (b"ccollections\nOrderedDict\n" + written.text("x") + b"\x85R", "makes no tensor"),
        (b"ccollections\nOrderedDict\n)\x81", "NEWOBJ"),
        (b"ctorch\nload\n" + written.text("http://x/y.pth") + b"\x85R", "torch.load"),
        (b"cargparse\nNamespace\n)R}" + written.text("a") + b"K\x01sb", "argparse.Namespace"),
    ],
)  # fmt: skip
def test_nothing_is_executed(
    content: bytes, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written.zipped(content, {}, tmp_path / "x.pth")
    with pytest.raises(WeightsUnreadable, match="nothing of it was executed") as refused:
        read_state_dict(path)
    assert found in refused.value.found[0]
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (written.tensor("0", "float32", 4, (2, 3), (3, 1)), "w, (2, 3), is larger than its 4 stored numbers"),
        (written.tensor("0", "float32", 4, (1000, 1000), (0, 0)), "is larger than its 4 stored numbers"),
        (written.tensor("0", "float32", 4, (2, 2), (2, 1), offset=1), "is larger than its 4 stored numbers"),
        (written.tensor("0", "float32", 10**9, (10**9,), (1,)), "w needs 4000000000 bytes, and 16 are there"),
        (written.tensor("7", "float32", 4, (4,), (1,)), "the numbers of w are not in the file"),
    ],
)
def test_a_tensor_that_is_not_in_the_file_is_named_before_memory_is_taken(
    entry: bytes, said: str, tmp_path: Path
) -> None:
    path = written.zipped(written.state({"w": entry}), {"0": bytes(16)}, tmp_path / "x.pth")
    with pytest.raises(WeightsUnreadable) as refused:
        read_state_dict(path)
    assert said in refused.value.found[0]


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    entries, _ = written.entries_of({"w": np.zeros(4, np.float32)})
    content = written.state(entries)
    path = written.zipped(content, {"0": bytes(16)}, tmp_path / "x.pth", zipfile.ZIP_DEFLATED)
    with pytest.raises(WeightsUnreadable) as refused:
        read_state_dict(path)
    assert "compressed" in refused.value.found[0]


def test_truncated_and_damaged_files_are_refused_and_nothing_else_is_raised(tmp_path: Path) -> None:
    entries, storages = written.entries_of(ARRAYS)
    lengths = {str(index): array.size for index, array in enumerate(ARRAYS.values())}
    whole = [
        zip_of(ARRAYS, tmp_path / "new.pth").read_bytes(),
        written.chained(written.state(entries), storages, lengths, tmp_path / "old.pth").read_bytes(),
    ]
    rng = random.Random(0)
    path = tmp_path / "bad.pth"
    refused = 0
    for content in whole:
        for round_ in range(150):
            damaged = bytearray(content)
            if round_ % 2:
                damaged = damaged[: rng.randrange(len(content))]
            else:
                for _ in range(3):
                    damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            path.write_bytes(damaged)
            try:
                dict(read_state_dict(path).arrays())
            except WeightsUnreadable:
                refused += 1
    assert refused > 150  # every truncated one, and many of the others


def test_a_zip_archive_that_was_cut_is_called_so(tmp_path: Path) -> None:
    path = zip_of(ARRAYS, tmp_path / "cut.pth")
    path.write_bytes(path.read_bytes()[:300])  # in the middle of data.pkl
    with pytest.raises(WeightsUnreadable) as refused:
        read_state_dict(path)
    assert refused.value.found == ("it begins as a zip archive, and its end is missing", "it has 300 bytes")


@pytest.mark.parametrize("name", list(ARRAYS)[:-1])
def test_of_a_cut_file_the_first_tensor_that_is_not_whole_is_named(name: str, tmp_path: Path) -> None:
    entries, storages = written.entries_of(ARRAYS)
    lengths = {str(index): array.size for index, array in enumerate(ARRAYS.values())}
    archive = zip_of(ARRAYS, tmp_path / "new.pth")
    chain = written.chained(written.state(entries), storages, lengths, tmp_path / "old.pth")
    key = str(list(ARRAYS).index(name))
    stored = storages[key]
    following = str(int(key) + 1)
    header = zipfile.ZipFile(archive).getinfo(f"archive/data/{following}").header_offset
    begin = chain.read_bytes().index(struct.pack("<q", lengths[key]) + stored) + 8
    for path, end in ((archive, header), (chain, begin + len(stored))):
        content = path.read_bytes()
        path.write_bytes(content[: end - 3])
        with pytest.raises(WeightsUnreadable) as refused:
            read_state_dict(path)
        needs = f"{name} needs {len(stored)} bytes, and {len(stored) - 3} are there"
        assert refused.value.found == (needs, f"it has {end - 3} bytes")
        path.write_bytes(content[:end])
        after = list(ARRAYS)[int(key) + 1]
        with pytest.raises(WeightsUnreadable) as refused:
            read_state_dict(path)
        assert refused.value.found[0] == f"the numbers of {after} are not in the file"


def test_a_file_that_was_cut_behind_the_tensors_is_refused(tmp_path: Path) -> None:
    """The list of an archive, and the numbers of an optimizer."""
    archive = zip_of(ARRAYS, tmp_path / "new.pth")
    archive.write_bytes(archive.read_bytes().partition(b"PK\x01\x02")[0])
    with pytest.raises(WeightsUnreadable) as refused:
        read_state_dict(archive)
    assert refused.value.found[0] == "it begins as a zip archive, and its end is missing"
    both = {**ARRAYS, "moment": np.ones(4, np.float32)}
    entries, storages = written.entries_of(both)
    moment = entries.pop("moment")
    parts = {"model": written.state(entries), "optimizer": written.state({"moment": moment})}
    lengths = {str(index): array.size for index, array in enumerate(both.values())}
    path = written.chained(written.state(parts), storages, lengths, tmp_path / "old.pth")
    assert list(read_state_dict(path).shapes) == list(ARRAYS)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(WeightsUnreadable) as refused:
        read_state_dict(path)
    assert refused.value.found[0] == "the file ends before its last tensor does"


def test_a_state_dict_under_another_name_is_found_if_there_is_no_second(tmp_path: Path) -> None:
    entries, storages = written.entries_of(ARRAYS)
    moments = b"}(" + written.text("step") + written.number(3) + b"u"
    parts = {"net": written.state(entries), "optimizer": moments}
    read = read_state_dict(written.zipped(written.state(parts), storages, tmp_path / "net.pth"))
    assert list(read.shapes) == list(ARRAYS)
    parts["ema"] = written.state(entries)
    with pytest.raises(WeightsUnreadable, match="several") as refused:
        read_state_dict(written.zipped(written.state(parts), storages, tmp_path / "two.pth"))
    assert refused.value.found == ("it holds a dictionary of net, optimizer, ema",)
    parts = {"epoch": written.number(3), "optimizer": moments}
    with pytest.raises(WeightsUnreadable, match="no dictionary from names to tensors") as refused:
        read_state_dict(written.zipped(written.state(parts), {}, tmp_path / "none.pth"))
    assert refused.value.found == ("it holds a dictionary of epoch, optimizer",)


def test_a_dictionary_inside_itself_is_looked_into_once(tmp_path: Path) -> None:
    own = b"}q\x07(" + b"".join(written.text(f"k{at}") + b"h\x07" for at in range(3000)) + b"u"
    entries, storages = written.entries_of(ARRAYS)
    content = b"}(" + written.text("model") + written.state(entries) + written.text("own") + own + b"u"
    lengths = {str(index): array.size for index, array in enumerate(ARRAYS.values())}
    path = written.chained(content, storages, lengths, tmp_path / "old.pth")
    assert list(read_state_dict(path).shapes) == list(ARRAYS)


def test_a_program_of_torchscript_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "script.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", written.program(b"}"))
        archive.writestr("archive/code/__torch__/torchvision.py", "class SSD: pass")
        archive.writestr("archive/constants.pkl", written.program(b")"))
    with pytest.raises(WeightsUnreadable) as refused:
        read_state_dict(path)
    assert refused.value.found == ("a TorchScript program, which torch.jit.save writes",)


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name, content in {"empty": b"", "text": b"hello", "zip": b"PK\x05\x06" + bytes(18)}.items():
        path = tmp_path / f"{name}.pth"
        path.write_bytes(content)
        with pytest.raises(WeightsUnreadable):
            read_state_dict(path)
    with pytest.raises(WeightsUnreadable, match="no dictionary from names to tensors"):
        read_state_dict(written.zipped(b"K\x01", {}, tmp_path / "number.pth"))


@pytest.mark.parametrize("length", [2**40, 2**62, 2**63 - 1])
def test_a_storage_that_reaches_beyond_the_file_is_refused(tmp_path: Path, length: int) -> None:
    entries, storages = written.entries_of({"w": ARRAYS["conv.weight"]})
    path = written.chained(written.state(entries), storages, {"0": length}, tmp_path / "old.pth")
    with pytest.raises(WeightsUnreadable, match="damaged"):
        read_state_dict(path)


def test_an_archive_whose_list_claims_more_than_the_file_has_is_refused(tmp_path: Path) -> None:
    path = zip_of({"w": ARRAYS["conv.weight"]}, tmp_path / "w.pth")
    content = bytearray(path.read_bytes())
    at = content.rindex(b"archive/data/0") - 46  # in the list at the end, where the sizes are
    content[at + 20 : at + 28] = (2**31).to_bytes(4, "little") * 2
    path.write_bytes(bytes(content))
    with pytest.raises(WeightsUnreadable, match="damaged"):
        read_state_dict(path)


def test_an_archive_whose_list_names_places_before_its_beginning_is_refused(tmp_path: Path) -> None:
    path = zip_of({"w": ARRAYS["conv.weight"]}, tmp_path / "w.pth")
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x05\x06")
    content[at + 16 : at + 20] = (len(content) * 2).to_bytes(4, "little")  # where the list begins
    path.write_bytes(bytes(content))
    with pytest.raises(WeightsUnreadable):
        read_state_dict(path)
