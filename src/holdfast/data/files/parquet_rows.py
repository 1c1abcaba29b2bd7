"""Tables in Parquet: the columns that are needed, and the bytes of one image at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from holdfast.data.files import filesystem
from holdfast.errors import UnreadableAnnotation, needs
from holdfast.regular_file import BOMB_BYTES, BOMB_TIMES

INSIDE = "parquet:"
_MOST_AT_ONCE = 1024  # rows
_FEW_VALUES, _VALUES_A_BYTE = 1_000_000, 4


def parquet_module() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise needs("pyarrow", "parquet", "reading Parquet") from None
    return pyarrow.parquet


@contextlib.contextmanager
def reading_table(path: str) -> Iterator[None]:
    """What pyarrow raises for a file that is damaged, anywhere in it, as UnreadableAnnotation."""
    import pyarrow

    try:
        yield
    except (OSError, ValueError, OverflowError, MemoryError, pyarrow.ArrowException) as error:
        raise UnreadableAnnotation(
            "this is not a Parquet file that can be read",
            where=path,
            found=str(error).split("\n")[0][:200],
            change="download it again: it may be a Git LFS pointer, or cut short",
        ) from None


def open_table(path: str) -> Any:
    """A `ParquetFile`; UnreadableAnnotation says why it is none."""
    module = parquet_module()
    file = filesystem.open_binary(path)  # refuses what is no regular file, at which pyarrow would wait
    if not filesystem.is_url(path):
        file.close()
    with reading_table(path):
        return module.ParquetFile(file if filesystem.is_url(path) else path)


def bounded_batches(table: Any, path: str, columns: list[str]) -> Iterator[Any]:
    """The rows of these columns in parts of bounded memory; UnreadableAnnotation for more values than a file can hold.

    One value that repeats shrinks to nothing, and each row may stand for the largest text of its column's dictionary.
    """
    wanted = _chunks(table.metadata, columns)
    size, _ = filesystem.size_and_time(path) or (0, 0)
    values = max(table.metadata.num_rows, sum(one.num_values for one in wanted))
    if values > max(_FEW_VALUES, _VALUES_A_BYTE * size):
        said = f"it unpacks to {values:,} values from {size:,} bytes with all images, as no dataset does"
        raise UnreadableAnnotation(said, where=path)
    largest = max((one.total_uncompressed_size for one in wanted), default=1)
    at_once = min(_MOST_AT_ONCE, max(1, BOMB_BYTES // max(1, largest)))
    with reading_table(path):
        yield from table.iter_batches(batch_size=at_once, columns=columns)


def _chunks(metadata: Any, columns: list[str]) -> list[Any]:
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    every = (group.column(number) for group in groups for number in range(group.num_columns))
    return [one for one in every if any(f"{one.path_in_schema}.".startswith(f"{name}.") for name in columns)]


def place_of(row: int, column: str) -> str:
    """For `ImageRef.inside`."""
    return f"{INSIDE}{row}:{column}"


def image_bytes(path: str, place: str) -> bytes:
    """The image that `place_of` names. The row group of the last image is kept, for the next one of it."""
    row_text, _, column = place.removeprefix(INSIDE).partition(":")
    row, first = int(row_text), 0
    # The process is part of the key: a handle that is shared by forked workers has one position for all of them.
    for group, count in enumerate(_row_counts(path, os.getpid())):
        if row < first + count:
            cell = _row_group(path, os.getpid(), group, column)[row - first].as_py()
            data = cell.get("bytes") if isinstance(cell, dict) else cell
            if isinstance(data, bytes):
                return data
            break
        first += count
    raise UnreadableAnnotation(f"row {row} has no image in the column {column!r}", where=path)


@lru_cache(maxsize=16)
def _row_counts(path: str, pid: int) -> tuple[int, ...]:
    metadata = open_table(path).metadata
    return tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))


@lru_cache(maxsize=1)
def _row_group(path: str, pid: int, group: int, column: str) -> Any:
    table = open_table(path)
    chunks = [one for one in _chunks(table.metadata, [column]) if one.total_uncompressed_size > BOMB_BYTES]
    if any(one.total_uncompressed_size > BOMB_TIMES * one.total_compressed_size for one in chunks):
        raise UnreadableAnnotation("its images unpack to far more than they hold, as none do", where=path)
    with reading_table(path):
        return table.read_row_group(group, columns=[column]).column(column)
