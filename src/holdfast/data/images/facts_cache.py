"""What was found out about images, kept between runs and keyed by the size and time of each file.

One SQLite file a dataset in the user's cache folder, never in the dataset. A cache that cannot be read or
written is as if it were not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from holdfast.data.files import filesystem
from holdfast.data.images.image_file import ImageFacts
from holdfast.data.records import ImageRef
from holdfast.host.cache_folder import cache_folder

VERSION = 4  # changes when Facts or the way of finding them changes


def cache_file(dataset: str) -> Path:
    whole = dataset if filesystem.is_url(dataset) else os.path.abspath(dataset)
    return (
        cache_folder()
        / f"images-{VERSION}-{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()[:16]}.sqlite"
    )


def key_of(image: ImageRef) -> tuple[str, str] | None:
    """Name and stamp of an image; None where the storage gives no time."""
    stamp = filesystem.size_and_time(image.path)
    if stamp is None:
        return None
    name = image.path if filesystem.is_url(image.path) else os.path.abspath(image.path)
    place = f"@{image.offset}+{image.length}" if image.in_shard else ""
    place += f"#{image.inside}" if image.inside else ""
    return name + place, f"{stamp[0]}.{stamp[1]}"


class ImageFactsCache:
    """Open in every worker for reading and in the main process for writing."""

    def __init__(self, file: Path, *, write: bool) -> None:
        self._base: sqlite3.Connection | None = None
        with contextlib.suppress(OSError, sqlite3.Error):
            self._base = self._opened(file, write)

    def _opened(self, file: Path, write: bool) -> sqlite3.Connection:
        if write:
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                return self._created(file)
            except sqlite3.DatabaseError:
                file.unlink()
                return self._created(file)
        return sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5.0)

    def _created(self, file: Path) -> sqlite3.Connection:
        base = sqlite3.connect(file, timeout=5.0)
        base.execute("pragma journal_mode=wal")
        base.execute("pragma synchronous=off")  # losing it costs time, never truth
        base.execute("create table if not exists facts (name text primary key, stamp text, facts text)")
        base.commit()
        return base

    def get(self, image: ImageRef) -> ImageFacts | None:
        key = key_of(image) if self._base is not None else None
        if self._base is None or key is None:
            return None
        try:
            row = self._base.execute("select stamp, facts from facts where name = ?", (key[0],)).fetchone()
            return ImageFacts(**json.loads(row[1])) if row and row[0] == key[1] else None
        except (sqlite3.Error, ValueError, TypeError, UnicodeEncodeError):
            return None

    def put(self, found: Iterable[tuple[tuple[str, str], ImageFacts]]) -> None:
        rows = [(name, stamp, json.dumps(asdict(facts))) for (name, stamp), facts in found]
        if self._base is not None and rows:
            with contextlib.suppress(sqlite3.Error, UnicodeEncodeError):
                self._base.executemany("insert or replace into facts values (?, ?, ?)", rows)
                self._base.commit()

    def close(self) -> None:
        if self._base is not None:
            with contextlib.suppress(sqlite3.Error):
                self._base.close()
