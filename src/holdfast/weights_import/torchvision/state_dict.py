"""A PyTorch state dict from its file, without torch: names and shapes at once, numbers when they are asked for.

Both formats of `torch.save`: the zip archive (since 1.6) and the older one, a chain of pickles and raw numbers.
Numbers are read from the file's own bytes and are never compressed there, so that a file cannot ask for more memory
than it has bytes.
"""

from __future__ import annotations

import errno
import io
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.regular_file import UNREADABLE_ARCHIVE
from holdfast.weights_import.torchvision.cut_archive import read_cut_archive
from holdfast.weights_import.torchvision.pickle_program import (
    NotTensors,
    Storage,
    TensorPlace,
    WeightsUnreadable,
    follow,
)

LARGEST_PICKLE = 64 << 20
#: Where training scripts keep the state dict in what they save; another name will do if there is one state dict.
INSIDE = ("model", "state_dict", "model_state_dict")
_NO_END = "it begins as a zip archive, and its end is missing"
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_SAVE_ALONE = 'in torch: torch.save(model.state_dict(), "FILE.pth"), and give that file'


@dataclass(frozen=True)
class StateDict:
    """`tensors` by name; `begins` says at which byte of the file each storage's numbers begin."""

    path: Path
    tensors: dict[str, TensorPlace]
    begins: dict[str, int]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: place.shape for name, place in self.tensors.items()}

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Each tensor's numbers, one after the other."""
        with self.path.open("rb") as file:
            for name, place in self.tensors.items():
                yield name, _numbers(file, self.begins[place.storage.key], place)


def read_state_dict(path: Path) -> StateDict:
    """Names, shapes and places of all tensors; a file that is no state dict is refused."""
    try:
        with path.open("rb") as file:
            zipped = zipfile.is_zipfile(file)
            file.seek(0)
            cut = not zipped and file.read(4) == b"PK\x03\x04"
            file.seek(0)
            found = (_of_zip if zipped else _of_cut_zip if cut else _of_chain)(file)
    except NotTensors as error:
        raise _holds_other(path, str(error)) from error
    except (zipfile.BadZipFile, *UNREADABLE_ARCHIVE) as error:
        raise _damaged(path, " ".join(str(error).split())[:200] or type(error).__name__) from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise _damaged(path, "a place before its beginning") from error
    tensors = _tensors(found.content, path)
    _check_places(tensors, found.sizes, path)
    if found.missing:  # something else than these tensors
        raise _damaged(path, found.missing)
    return StateDict(path, tensors, found.begins)


# -- the two formats ------------------------------------------------------------------------------


class _Stored(NamedTuple):
    """What the pickle describes, and where each storage begins and how many of its bytes are there."""

    content: Any
    begins: dict[str, int]
    sizes: dict[str, int]
    missing: str = ""  # what of the file is, if it was cut


def _of_zip(file: BinaryIO) -> _Stored:
    with zipfile.ZipFile(file) as archive:
        members = {info.filename: info for info in archive.infolist()}
        pickles = [name for name in members if name.rpartition("/")[2] == "data.pkl"]
        if len(pickles) != 1:
            raise NotTensors("a zip archive without data.pkl")
        root = pickles[0].removesuffix("data.pkl")
        if f"{root}constants.pkl" in members:
            raise NotTensors("a TorchScript program, which torch.jit.save writes")
        if any(info.compress_type != zipfile.ZIP_STORED for info in members.values()):
            raise NotTensors("a compressed archive, which torch does not write")
        if members[pickles[0]].file_size > LARGEST_PICKLE:
            raise NotTensors(f"a data.pkl of {members[pickles[0]].file_size} bytes")
        order = archive.read(f"{root}byteorder") if f"{root}byteorder" in members else b"little"
        if order != b"little":
            raise NotTensors("numbers in big-endian order")
        content = follow(io.BytesIO(archive.read(pickles[0])))
        begins, sizes = {}, {}
        end = os.fstat(file.fileno()).st_size
        for name, info in members.items():
            if name.startswith(f"{root}data/"):
                key = name.removeprefix(f"{root}data/")
                begins[key], sizes[key] = _begin(file, info), info.file_size
                if begins[key] + sizes[key] > end:
                    raise EOFError(f"the file ends before its member {name} does")
        return _Stored(content, begins, sizes)


def _of_cut_zip(file: BinaryIO) -> _Stored:
    def bytes_of(content: Any) -> dict[str, int]:
        storages = {one.storage for one in _every_place(content)}
        return {one.key: max(one.length, 0) * _width(one) for one in storages}

    try:
        return _Stored(*read_cut_archive(file, bytes_of), _NO_END)
    except NotTensors as error:
        if str(error) != "no end":
            raise
        raise EOFError(_NO_END) from error
    except (EOFError, ValueError) as error:  # not even the names are there
        raise EOFError(_NO_END) from error


def _begin(file: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Behind the member's own header, whose lengths differ from those in the archive's list."""
    file.seek(info.header_offset)
    header = file.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"{info.filename}: no header")
    name, extra = struct.unpack("<HH", header[26:30])
    return int(info.header_offset + 30 + name + extra)


def _of_chain(file: BinaryIO) -> _Stored:
    if file.read(1) != b"\x80":
        raise ValueError("neither a zip archive nor a pickle")
    file.seek(0)
    if follow(file) != _LEGACY_MAGIC:
        raise NotTensors("a pickle that torch.save did not write")
    follow(file)  # the version of the protocol
    follow(file)  # sizes of the writer's integers
    content = follow(file)
    keys = follow(file)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise NotTensors("no list of storages")
    widths = {one.storage.key: _width(one.storage) for one in _every_place(content)}
    end = os.fstat(file.fileno()).st_size
    begins, sizes = {}, {}
    for key in keys:
        header = file.read(8)
        if len(header) < 8:
            break  # of the tensors that are not there the first is named
        (length,) = struct.unpack("<q", header)
        size = length * widths.get(key, 0)
        if key not in widths or length < 0:
            raise NotTensors(f"a storage {key!r} that no tensor uses")
        begins[key] = file.tell()
        sizes[key] = min(size, max(end - begins[key], 0))
        file.seek(size, io.SEEK_CUR)
    whole = len(begins) == len(set(keys)) and file.tell() <= end
    return _Stored(content, begins, sizes, "" if whole else "the file ends before its last tensor does")


def _every_place(content: Any) -> Iterator[TensorPlace]:
    """Each container is looked into once: a file may name one inside itself, thousands of times."""
    waiting, seen = [content], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, TensorPlace):
            yield one
        elif isinstance(one, dict | list | tuple) and id(one) not in seen:
            seen.add(id(one))
            waiting += one.values() if isinstance(one, dict) else one


# -- tensors --------------------------------------------------------------------------------------


def _tensors(content: Any, path: Path) -> dict[str, TensorPlace]:
    """The state dict itself, or the one inside what a training script saved."""
    items = content if isinstance(content, dict) else {}
    parts = {name: found for name, value in items.items() if (found := _tensors_of(value))}
    usual = next((parts[name] for name in INSIDE if name in parts), None)
    only = next(iter(parts.values())) if len(parts) == 1 else None
    tensors = usual or _tensors_of(content) or only
    if not tensors:
        raise WeightsUnreadable(
            "the file holds several state dicts, and none has a usual name" if parts
            else "the file holds no state dict: no dictionary from names to tensors",
            where=path, found=f"it holds {_described(content)}", change=_SAVE_ALONE,
        )  # fmt: skip
    # torch.nn.DataParallel puts its own name before each.
    wrapped = all(name.startswith("module.") for name in tensors)
    return {name.removeprefix("module.") if wrapped else name: one for name, one in tensors.items()}


def _tensors_of(value: Any) -> dict[str, TensorPlace]:
    items = value.items() if isinstance(value, dict) else ()
    return {str(name): one for name, one in items if isinstance(one, TensorPlace)}


def _described(content: Any) -> str:
    if not isinstance(content, dict) or not content:
        return f"a {type(content).__name__}"
    names = [str(name)[:40] for name in content]
    return f"a dictionary of {', '.join(names[:6])}{' …' if len(names) > 6 else ''}"


def _check_places(tensors: dict[str, TensorPlace], sizes: dict[str, int], path: Path) -> None:
    """Before any number is read: each tensor lies inside its storage, and is no larger than it."""
    for name, (storage, offset, shape, strides) in tensors.items():
        held = sizes.get(storage.key)
        if held is None:
            raise _damaged(path, f"the numbers of {name} are not in the file")
        if storage.length * _width(storage) > held:
            wanted = storage.length * _width(storage)
            raise _damaged(path, f"{name} needs {wanted} bytes, and {held} are there")
        last = offset + sum((side - 1) * step for side, step in zip(shape, strides, strict=True))
        if math.prod(shape) and (last >= storage.length or math.prod(shape) > storage.length):
            raise _damaged(path, f"{name}, {shape}, is larger than its {storage.length} stored numbers")


def _numbers(file: BinaryIO, begin: int, place: TensorPlace) -> NDArray[Any]:
    storage, offset, shape, strides = place
    width = _width(storage)
    if not math.prod(shape):
        return np.zeros(shape, _as_numpy(storage.dtype))
    length = 1 + sum((side - 1) * step for side, step in zip(shape, strides, strict=True))
    file.seek(begin + offset * width)
    stored = file.read(length * width)
    if len(stored) < length * width:
        change = "wait until it is written, and try again"
        raise WeightsUnreadable("the file was cut while it was read", where=file.name, change=change)
    flat = np.frombuffer(stored, "<u2" if storage.dtype == "bfloat16" else _as_numpy(storage.dtype))
    if storage.dtype == "bfloat16":
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    view = np.lib.stride_tricks.as_strided(flat, shape, [step * flat.itemsize for step in strides])
    return view.copy()


def _as_numpy(dtype: str) -> np.dtype[Any]:
    return np.dtype("float32" if dtype == "bfloat16" else dtype).newbyteorder("<")


def _width(storage: Storage) -> int:
    return 2 if storage.dtype == "bfloat16" else np.dtype(storage.dtype).itemsize


# -- errors ---------------------------------------------------------------------------------------


def _holds_other(path: Path, what: str) -> WeightsUnreadable:
    return WeightsUnreadable(
        "the file asks for something else than tensors, and nothing of it was executed",
        where=path, found=what, change=_SAVE_ALONE,
    )  # fmt: skip


def _damaged(path: Path, detail: str) -> WeightsUnreadable:
    return WeightsUnreadable(
        "the file is damaged or was not written by torch.save", where=path,
        found=[detail, f"it has {path.stat().st_size} bytes"],
        change="copy or download it again, and compare the sizes",
    )  # fmt: skip
