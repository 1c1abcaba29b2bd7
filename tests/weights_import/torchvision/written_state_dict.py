"""Files as torch.save writes them, opcode by opcode, without torch: right ones, and ones that nobody should load."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

STORAGES = {
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "uint16": "BFloat16Storage",
}


def text(value: str) -> bytes:
    encoded = value.encode()
    return b"X" + struct.pack("<I", len(encoded)) + encoded


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value) if value < 2**31 else pickle.dumps(value, 2)[2:-1]


def numbers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(number(value) for value in values) + b"t"


def tensor(
    key: str, dtype: str, length: int, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> bytes:
    storage = (
        b"("
        + text("storage")
        + f"ctorch\n{STORAGES[dtype]}\n".encode()
        + text(key)
        + text("cpu")
        + number(length)
    )
    made = b"ctorch._utils\n_rebuild_tensor_v2\n((" + storage[1:] + b"tQ" + number(offset)
    return made + numbers(shape) + numbers(strides) + b"\x89ccollections\nOrderedDict\n)RtR"


def state(entries: Mapping[str, bytes]) -> bytes:
    """An ordered dictionary with an attribute, as a module's state dict has."""
    items = b"".join(text(name) + value for name, value in entries.items())
    return b"ccollections\nOrderedDict\n)R(" + items + b"u}" + text("_metadata") + b"}sb"


def program(content: bytes) -> bytes:
    return b"\x80\x02" + content + b"."


def entries_of(arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The tensors of arrays, each with a storage of its own, and the storages."""
    entries, storages = {}, {}
    for index, (name, array) in enumerate(arrays.items()):
        strides = tuple(step // array.itemsize for step in array.strides)
        flat = array if array.flags.c_contiguous else array.T
        assert flat.flags.c_contiguous
        entries[name] = tensor(str(index), array.dtype.name, array.size, array.shape, strides)
        storages[str(index)] = flat.tobytes()
    return entries, storages


def zipped(
    content: bytes, storages: Mapping[str, bytes], path: Path, compression: int = zipfile.ZIP_STORED
) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", program(content))
        for key, stored in storages.items():
            archive.writestr(f"archive/data/{key}", stored)
        archive.writestr("archive/version", "3\n")
    return path


def chained(content: bytes, storages: Mapping[str, bytes], lengths: Mapping[str, int], path: Path) -> Path:
    out = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        out.write(pickle.dumps(value, 2))
    out.write(program(content))
    out.write(pickle.dumps(sorted(storages), 2))
    for key in sorted(storages):
        out.write(struct.pack("<q", lengths[key]) + storages[key])
    path.write_bytes(out.getvalue())
    return path
