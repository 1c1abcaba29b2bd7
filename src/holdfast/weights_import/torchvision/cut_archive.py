"""A zip archive of torch.save whose end is missing: which numbers are still there, so that a message can name a tensor.

The list of an archive is at its end. Without it each member is found by its own header, in the order of the file.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from holdfast.weights_import.torchvision.pickle_program import follow

_HEADER = b"PK\x03\x04"
_FIXED = 30  # bytes of a member's header in front of its name
_GAP = (
    4096  # bytes between what a member holds and the next header: what it is filled up with, and its checksum
)
_PIECE = 64 << 20  # of the file, which holds data.pkl: torch writes it first

Sizes = dict[str, int]


def read_cut_archive(file: BinaryIO, widths_of: Callable[[Any], Sizes]) -> tuple[Any, Sizes, Sizes]:
    """The content of data.pkl, and where each storage that is there begins and how many bytes of it there are.

    `widths_of` says how many bytes each storage of a content has.
    """
    end = os.fstat(file.fileno()).st_size
    file.seek(0)
    start = file.read(_PIECE)
    name, begin = _member(start, 0)
    if name.rpartition("/")[2] != "data.pkl":
        raise EOFError("its first member is not data.pkl")
    program = io.BytesIO(start)
    program.seek(begin)
    content = follow(program)
    wanted = widths_of(content)
    begins, sizes = {}, {}
    for key, place in _storages(file, program.tell(), f"{name.removesuffix('data.pkl')}data/", wanted):
        begins[key], sizes[key] = place, min(wanted.get(key, 0), max(end - place, 0))
    return content, begins, sizes


def _storages(file: BinaryIO, position: int, root: str, wanted: Sizes) -> Iterator[tuple[str, int]]:
    """The key of each storage, and where its numbers begin."""
    while True:
        file.seek(position)
        near = file.read(_GAP)
        header = near.find(_HEADER)
        if header < 0 or len(near) < header + _FIXED:
            return
        name, begin = _member(near, header)
        position += begin
        if name.startswith(root):
            key = name.removeprefix(root)
            yield key, position
            position += wanted.get(key, 0)


def _member(content: bytes, header: int) -> tuple[str, int]:
    """A member's name, and where it begins behind its header."""
    fixed = content[header : header + _FIXED]
    if len(fixed) < _FIXED or fixed[:4] != _HEADER:
        raise EOFError("it ends in its first header")
    name, extra = struct.unpack("<HH", fixed[26:])
    begin = header + _FIXED
    return content[begin : begin + name].decode("utf-8", "replace"), begin + name + extra
