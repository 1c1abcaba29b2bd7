"""Writing a dataset so that it is either whole or not there, and so that an interrupted write continues.

Files gather in `DST.partial` and each appears there by a rename; when all are there, the folder itself is
renamed to `DST`. A second start with the same plan finds what is done. Nothing that exists is replaced
unless that was asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast import atomic_write, regular_file
from holdfast.data.files import filesystem as files_filesystem
from holdfast.errors import AlreadyThere
from holdfast.host.cache_folder import cache_folder

_PLAN = ".holdfast-plan.json"
_PLAN_BYTES = 64 << 20


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
            name = hashlib.sha256(self.destination.encode()).hexdigest()[:16]
            return cache_folder() / f"upload-{name}.partial"
        return Path(self.destination + ".partial")

    def _refuse_to_overwrite(self) -> None:
        there = self.destination
        if not files_filesystem.is_url(there) and os.path.islink(there):
            raise AlreadyThere(
                "the destination is a symbolic link, and a folder takes its place only as a whole",
                where=there,
                change=f"give the folder itself: {os.path.realpath(there)}",
            )
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
        if os.path.lexists(self.folder):
            plan = self._plan_there()
            if plan == self._plan:
                self.resumed = True
                return
            if plan is None:
                raise AlreadyThere(
                    "something of this name is there, and no unfinished write of this user",
                    where=self.folder,
                    change="move it away, or give another destination",
                )
            if not self.overwrite:
                raise AlreadyThere(
                    "the rest of another unfinished write is there",
                    where=self.folder,
                    change="delete that folder, or add --overwrite to replace it",
                )
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True)
        self.write(_PLAN, self._plan.encode())

    def _plan_there(self) -> str | None:
        """What an unfinished write of this user was to do; None for anything else, which is not ours to remove."""
        try:
            known = os.lstat(self.folder)
            if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
                return None
            return regular_file.read_text(self.folder / _PLAN, most=_PLAN_BYTES, links=False)
        except OSError:
            return None

    def has(self, name: str) -> bool:
        """The file was written whole by this start or an earlier one."""
        return (self.folder / name).is_file() and not (self.folder / name).is_symlink()

    def write(self, name: str, data: bytes) -> None:
        self.write_parts(name, (data,))

    def write_parts(self, name: str, parts: Iterable[bytes]) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # The same name at the next start, which replaces what a kill left; never that of another worker's file.
        mark = hashlib.blake2b(target.name.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        unfinished = target.with_name(f".{mark}-writing")
        with atomic_write.naming_file(target):
            unfinished.unlink(missing_ok=True)
            with unfinished.open("xb") as file:  # never through a link
                file.writelines(parts)
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
            old = atomic_write.random_sibling(there)
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
