"""The encoded bytes of an image: a file, a slice of one, or an object behind a URL."""

from __future__ import annotations

import os
from typing import Any

from holdfast.data.files.filesystem import is_url
from holdfast.data.records import ImageRef
from holdfast.errors import FileError
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.decode import Undecodable, scratch_bytes


def read(columns: Columns, row: int) -> Any:
    """In memory of this thread, where its next image will be. Raises Undecodable."""
    path, offset = columns.paths[row], int(columns.offsets[row])
    try:
        if is_url(path):
            place = (None, None) if offset < 0 else (offset, int(columns.lengths[row]))
            return ImageRef(path, *place).read()
        return _from_file(path, offset, int(columns.lengths[row]))
    except FileError as error:
        raise Undecodable(error.what) from None
    except OSError as error:
        raise Undecodable(f"{path}: {error.strerror or error}") from None


def _from_file(path: str, offset: int, length: int) -> Any:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if offset < 0:
            offset, length = 0, os.fstat(opened).st_size
        into = scratch_bytes("encoded", length)
        done = 0
        while done < length and (more := os.preadv(opened, [into[done:].data], offset + done)):
            done += more
    finally:
        os.close(opened)
    if not done:
        raise Undecodable("the file is empty, or ends before the image")
    return into[:done]
