"""The results of finished shards, until a job is done: what a job that was killed need not do again.

A shard is found again by its items, and counts only while the files that it read are as they were.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import holdfast
from holdfast import atomic_write, regular_file, units
from holdfast.data.files import filesystem
from holdfast.host.cache_folder import cache_folder
from holdfast.stderr import print_line

KEPT_S = 7 * 86400.0  # of a job that was never finished
URL_S = 6 * 3600.0  # of files in a bucket, whose changes are not asked for


class ShardResults:
    """`name` says what the results depend on besides the items; `files` are those that a result was made from."""

    def __init__(
        self, name: str, files: Callable[[Any], Iterable[str]], *, folder: Path | None = None
    ) -> None:
        digest = hashlib.blake2b(f"{holdfast.__version__} {name}".encode(), digest_size=12).hexdigest()
        root = folder or cache_folder() / "shards"
        self._folder, self._files = root / digest, files
        self.reused = 0
        _remove_old(root)

    def read(self, items: list[Any]) -> list[Any] | None:
        try:
            with regular_file.open_regular(self._file(items), links=False) as file:
                status = os.fstat(file.fileno())
                if not _own(status):
                    return None
                stamps, results = pickle.load(file)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError, AttributeError, ImportError):
            return None
        age_s = time.time() - status.st_mtime
        if len(results) != len(items) or stamps != _stamps(stamps):
            return None
        if age_s > URL_S and any(map(filesystem.is_url, stamps)):
            return None
        self.reused += 1
        found: list[Any] = results
        return found

    def write(self, items: list[Any], results: list[Any]) -> None:
        names = sorted({name for result in results for name in self._files(result) if name})
        self._folder.mkdir(parents=True, exist_ok=True)
        data = pickle.dumps((_stamps(names), results), protocol=pickle.HIGHEST_PROTOCOL)
        atomic_write.write_bytes(self._file(items), data, private=True)

    def remove(self) -> None:
        if self.reused:
            print_line(
                f"holdfast: {units.count(self.reused, 'shard was', 'shards were')} finished by an earlier start"
            )
        shutil.rmtree(self._folder, ignore_errors=True)

    def _file(self, items: list[Any]) -> Path:
        return self._folder / hashlib.blake2b(repr(items).encode(), digest_size=16).hexdigest()


def _own(status: os.stat_result) -> bool:
    """Whether nobody else can have written it: a cache may be shared, and reading a pickle executes it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _stamps(names: Iterable[str]) -> dict[str, tuple[int, int] | None]:
    """Sizes and times; of a file in a bucket nothing is asked, which would take as long as reading it."""
    return {name: None if filesystem.is_url(name) else filesystem.size_and_time(name) for name in names}


def _remove_old(root: Path) -> None:
    if not root.is_dir():
        return
    for folder in root.iterdir():
        try:
            if time.time() - os.stat(folder).st_mtime > KEPT_S:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
