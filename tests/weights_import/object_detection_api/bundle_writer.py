"""Writes tensor bundles, so that tests need neither TensorFlow nor large files; sound ones, and broken ones."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.weights_import.object_detection_api.object_graph import GRAPH_NAME
from holdfast.weights_import.object_detection_api.sorted_table import MAGIC, masked_crc

Arrays = Mapping[str, NDArray[np.generic]]
_DTYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9}


def write_bundle(prefix: Path, tensors: Arrays, *, graph: bytes | None = None) -> None:
    """`ckpt.index` and one shard."""
    entries, data = {b"": field(1, 1)}, bytearray()
    for name, value in sorted(tensors.items()):
        part = np.ascontiguousarray(value).tobytes()
        entries[name.encode()] = entry(_DTYPES[str(value.dtype)], value.shape, len(data), part)
        data += part
    if graph is not None:
        part = varint(len(graph)) + struct.pack("<I", masked_crc(struct.pack("<I", len(graph)))) + graph
        whole = struct.pack("<I", len(graph)) + part[len(varint(len(graph))) :]
        entries[GRAPH_NAME.encode()] = entry(7, (), len(data), part, checksum=masked_crc(whole))
        data += part
    prefix.with_name(f"{prefix.name}.data-00000-of-00001").write_bytes(bytes(data))
    prefix.with_name(f"{prefix.name}.index").write_bytes(table(entries))


def entry(
    dtype: int, shape: tuple[int, ...], offset: int, data: bytes, *, checksum: int | None = None
) -> bytes:
    sides = b"".join(field(2, field(1, side)) for side in shape)
    crc = masked_crc(data) if checksum is None else checksum
    return (
        field(1, dtype) + field(2, sides) + field(4, offset) + field(5, len(data)) + bytes([6 << 3 | 5])
        + struct.pack("<I", crc)
    )  # fmt: skip


def object_graph(paths: Mapping[str, str]) -> bytes:
    """The graph in which each path, with slashes, reaches a variable with its key."""
    nodes: list[tuple[dict[str, int], str]] = [({}, "")]
    for path, key in paths.items():
        at = 0
        for part in path.split("/"):
            if part not in nodes[at][0]:
                nodes.append(({}, ""))
                nodes[at][0][part] = len(nodes) - 1
            at = nodes[at][0][part]
        nodes[at] = (nodes[at][0], key)
    content = b""
    for children, key in nodes:
        node = b"".join(
            field(1, field(1, index) + field(2, name.encode())) for name, index in children.items()
        )
        if key:
            node += field(2, field(1, b"VARIABLE_VALUE") + field(3, key.encode()))
        content += field(1, node)
    return content


def table(entries: Mapping[bytes, bytes], *, block: bytes | None = None, compression: int = 0) -> bytes:
    """A sorted table of one block; `block` in place of the one that holds the entries."""
    content = pairs(entries) if block is None else block
    first = content + trailer(content, compression)
    index = pairs({b"\xff": varint(0) + varint(len(content))})
    second = index + trailer(index, 0)
    footer = varint(0) + varint(0) + varint(len(first)) + varint(len(index))
    return first + second + footer.ljust(40, b"\0") + struct.pack("<Q", MAGIC)


def pairs(entries: Mapping[bytes, bytes]) -> bytes:
    content = b"".join(
        varint(0) + varint(len(key)) + varint(len(value)) + key + value
        for key, value in sorted(entries.items())
    )
    return content + struct.pack("<II", 0, 1)


def trailer(block: bytes, compression: int) -> bytes:
    kind = bytes([compression])
    return kind + struct.pack("<I", masked_crc(block + kind))


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
