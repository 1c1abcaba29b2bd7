"""Text as programs on all systems save it: UTF-8 with and without a mark, UTF-16 from Windows."""

from __future__ import annotations

import codecs
import io
from typing import IO

from holdfast.errors import UnreadableAnnotation

LARGEST_UTF16_BYTES = 1 << 30
DAMAGED = "\ufffd"  # what a byte that is not UTF-8 becomes


def name_of(head: bytes) -> str:
    """The encoding that the first bytes of a file show, by Python's name for it."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    odd, even = head[1:64:2], head[0:64:2]
    if len(odd) > 3 and not odd.strip(b"\0") and b"\0" not in even:
        return "utf-16-le"
    if len(odd) > 3 and not even.strip(b"\0") and b"\0" not in odd:
        return "utf-16-be"
    return "utf-8-sig"


def text(data: bytes) -> str:
    """The text; what cannot be read in its encoding becomes DAMAGED."""
    return data.decode(name_of(data), "replace")


def as_utf8(head: bytes) -> bytes:
    """The same bytes in UTF-8 without a mark, to look for ASCII in them; half a character at the end is dropped."""
    name = name_of(head)
    if name == "utf-8-sig":
        return head.removeprefix(codecs.BOM_UTF8)
    return head.decode(name, "ignore").encode()


def utf8_stream(handle: IO[bytes]) -> IO[bytes]:
    """The file as UTF-8; one in UTF-16 is held in memory, and nobody saves gigabytes that way."""
    head = handle.read(64)
    handle.seek(0)
    if name_of(head) == "utf-8-sig":
        return handle
    data = handle.read(LARGEST_UTF16_BYTES + 1)
    if len(data) > LARGEST_UTF16_BYTES:
        raise UnreadableAnnotation(f"the file is in UTF-16, and larger than {LARGEST_UTF16_BYTES >> 20} MiB")
    return io.BytesIO(as_utf8(data))


def is_lfs_pointer(data: bytes) -> bool:
    """What Git LFS leaves in place of a file that was not downloaded."""
    return data[:128].lstrip().startswith(b"version https://git-lfs")
