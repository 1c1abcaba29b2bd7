"""Writing a dataset so that it is either whole or not there, and so that an interrupted write continues.

Files gather in `DST.partial` and each appears there by a rename; when all are there, the folder itself is
renamed to `DST`. A second start with the same plan finds what is done. Nothing that exists is replaced
unless that was asked for.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from holdfast.data.files import filesystem as files_filesystem
from holdfast.data.images.facts_cache import cache_folder
from holdfast.errors import AlreadyThere

_PLAN = ".holdfast-plan.json"


class Staging:
    def __init__(self, destination: str, plan: Mapping[str, object], *, overwrite: bool = False) -> None:
        self.destination = destination.rstrip("/") or destination
        self.overwrite = overwrite
        self.resumed = False
        self._plan = json.dumps(plan, sort_keys=True)
        self._refuse_to_overwrite()
        self.folder = self._folder()
        self._begin()

    def _folder(self) -> Path:
        if files_filesystem.is_url(self.destination):
            import hashlib

            name = hashlib.sha256(self.destination.encode()).hexdigest()[:16]
            return cache_folder() / f"upload-{name}.partial"
        return Path(self.destination + ".partial")

    def _refuse_to_overwrite(self) -> None:
        there = self.destination
        if not files_filesystem.exists(there) or self.overwrite:
            return
        if files_filesystem.is_folder(there) and (
            not os.listdir(there)
            if not files_filesystem.is_url(there)
            else next(files_filesystem.walk(there), None) is None
        ):
            return
        raise AlreadyThere(
            "something is already there, and nothing is overwritten unasked",
            where=there,
            change="give another destination, or add --overwrite to replace it",
        )

    def _begin(self) -> None:
        plan = self.folder / _PLAN
        if self.folder.exists():
            if plan.is_file() and plan.read_text(encoding="utf-8") == self._plan:
                self.resumed = True
                return
            if not self.overwrite:
                raise AlreadyThere(
                    "the rest of another unfinished write is there",
                    where=self.folder,
                    change="delete that folder, or add --overwrite to replace it",
                )
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True)
        self.write(_PLAN, self._plan.encode())

    def has(self, name: str) -> bool:
        """The file was written whole by this start or an earlier one."""
        return (self.folder / name).is_file()

    def write(self, name: str, data: bytes) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{len(name)}-writing")
        with files_filesystem.naming_file(target):
            unfinished.write_bytes(data)
            os.replace(unfinished, target)

    def open_unfinished(self, name: str) -> Path:
        """Where to write a large file; `finish` makes it appear."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.with_name(f".{target.name}.writing")

    def finish(self, name: str) -> None:
        os.replace(self.open_unfinished(name), self.folder / name)

    def commit(self) -> None:
        """Everything is written: make it appear at the destination at once."""
        (self.folder / _PLAN).unlink(missing_ok=True)
        if files_filesystem.is_url(self.destination):
            self._upload()
            return
        there = Path(self.destination)
        there.parent.mkdir(parents=True, exist_ok=True)
        if there.exists() and there.is_dir() and not any(there.iterdir()):
            there.rmdir()
        elif there.exists():
            old = there.with_name(there.name + ".replaced")
            os.replace(there, old)
            os.replace(self.folder, there)
            shutil.rmtree(old) if old.is_dir() else old.unlink()
            return
        os.replace(self.folder, there)

    def _upload(self) -> None:
        import fsspec

        filesystem, inner = fsspec.core.url_to_fs(self.destination)
        for file in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            name = f"{inner.rstrip('/')}/{file.relative_to(self.folder).as_posix()}"
            filesystem.makedirs(name.rsplit("/", 1)[0], exist_ok=True)
            filesystem.put_file(str(file), name)
        shutil.rmtree(self.folder)
