"""A checkpoint: a folder `step-N` of named arrays and facts, complete or absent.

```
checkpoints/step-200/weights.npz     one file per group of arrays; `numpy.load` opens it
                     optimizer.npz …
                     meta.json       everything that is not an array
                     SHA256SUMS      of the others; `sha256sum -c` checks it
checkpoints/latest, best             the name of a folder, for people and scripts
```

It is written as `step-N.part`, synced, and renamed: a folder without `.part` was complete when it got its
name. Later damage is found by its checksums. Independent of any framework.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import atomic_write, regular_file

Array = NDArray[Any]
Groups = Mapping[str, Mapping[str, Array]]

CHECKSUMS_FILE = "SHA256SUMS"
META_FILE = "meta.json"
LATEST, BEST = "latest", "best"
REPLACED_SUFFIX = ".was"
_LISTED = re.compile(rf"[\w-]+\.npz|{re.escape(META_FILE)}")  # no path: sums may be a stranger's
_POINTER_BYTES = 4096
_META_BYTES = 256 << 20  # it has the place in the data and the history of losses


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run at one step, on the host; not modified while it is written."""

    step: int
    groups: Groups  # "weights", "optimizer", … -> name -> array
    meta: Mapping[str, Any]  # JSON values; floats are restored bit for bit

    @property
    def name(self) -> str:
        return f"step-{self.step}"


@dataclass(frozen=True, slots=True)
class RejectedCheckpoint:
    """A corrupt checkpoint, and what is wrong with it."""

    path: Path
    reason: str


# -- writing --------------------------------------------------------------------------------------


def write(folder: Path, snapshot: Snapshot) -> Path:
    """Writes and commits. After an OSError nothing is left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / snapshot.name
    part = folder / f"{snapshot.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir()
        _write_contents(part, snapshot)
        _commit(part, final)
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    set_pointer(folder, LATEST, snapshot.name)
    return final


def _write_contents(part: Path, snapshot: Snapshot) -> None:
    sums = []
    for group, arrays in snapshot.groups.items():
        sums.append(_write_file(part / f"{group}.npz", arrays=arrays))
    sums.append(_write_file(part / META_FILE, text=json.dumps(dict(snapshot.meta), indent=1)))
    _write_file(part / CHECKSUMS_FILE, text="".join(f"{digest}  {name}\n" for digest, name in sums))
    _sync_folder(part)


def _write_file(path: Path, *, arrays: Mapping[str, Array] | None = None, text: str = "") -> tuple[str, str]:
    with path.open("wb") as file:
        if arrays is None:
            file.write(text.encode())
        else:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    return _digest(path), path.name


def _commit(part: Path, final: Path) -> None:
    """Renames. An existing one of the same step (a corrupt one, redone) is moved out of the way first."""
    was = final.with_name(f"{final.name}{REPLACED_SUFFIX}")
    if final.exists():
        shutil.rmtree(was, ignore_errors=True)
        final.rename(was)
    part.rename(final)
    _sync_folder(final.parent)
    shutil.rmtree(was, ignore_errors=True)


def recover(folder: Path) -> None:
    """While nobody writes: undoes a commit that was interrupted after it moved the old checkpoint."""
    for was in folder.glob(f"step-*{REPLACED_SUFFIX}"):
        final = was.with_name(was.name.removesuffix(REPLACED_SUFFIX))
        if final.exists():
            shutil.rmtree(was, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):  # in a read-only folder the one before is used
                was.rename(final)


def set_pointer(folder: Path, name: str, target: str) -> None:
    """Makes `latest` or `best` name `target`, atomically."""
    atomic_write.write_text(folder / name, target + "\n")


def restore_pointer(folder: Path, name: str, step: int) -> None:
    """When the checkpoint of that step exists and the pointer does not name it."""
    target = f"step-{step}"
    if (folder / target).is_dir() and read_pointer(folder, name) != folder / target:
        with contextlib.suppress(OSError):  # an unwritable folder is reported at the next save
            set_pointer(folder, name, target)


def _digest(path: Path) -> str:
    with regular_file.open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError:  # not supported by some network file systems; the rename is still atomic
        pass
    finally:
        os.close(fd)


# -- reading --------------------------------------------------------------------------------------


def committed(folder: Path) -> list[Path]:
    """All checkpoints that were completely written, oldest first."""
    found = [(_step(path), path) for path in folder.glob("step-*") if path.is_dir()]
    return [path for step, path in sorted((s, p) for s, p in found if s is not None)]


def read_pointer(folder: Path, name: str) -> Path | None:
    """The checkpoint that `latest` or `best` names, if it exists."""
    try:
        target = folder / regular_file.read_text(folder / name, most=_POINTER_BYTES).strip()
    except (OSError, ValueError):  # ValueError for bytes that are no text
        return None
    return target if target.is_dir() and _step(target) is not None else None


def newest_complete(folder: Path) -> tuple[Snapshot | None, list[RejectedCheckpoint]]:
    """The newest complete checkpoint, and the newer ones that are corrupt."""
    rejected: list[RejectedCheckpoint] = []
    for path in reversed(committed(folder)):
        try:
            return read(path), rejected
        except CorruptCheckpoint as error:
            rejected.append(RejectedCheckpoint(path, str(error)))
    return None, rejected


class CorruptCheckpoint(Exception):
    """A checkpoint differs from what was written; the message says how."""


def read(path: Path, groups: tuple[str, ...] | None = None) -> Snapshot:
    """A checkpoint, with its checksums verified. `groups` reads only some of the arrays."""
    sums = _checksums(path)
    wanted = [
        name for name in sums if name == META_FILE or groups is None or name.removesuffix(".npz") in groups
    ]
    for name in wanted:
        try:
            actual = _digest(path / name)
        except OSError as error:
            raise CorruptCheckpoint(f"{name} cannot be read: {error.strerror}") from error
        if actual != sums[name]:
            raise CorruptCheckpoint(f"{name} has another checksum than when it was written")
    try:
        meta = regular_file.read_json(path / META_FILE, most=_META_BYTES)
        if not isinstance(meta, dict):
            raise ValueError(f"{META_FILE} holds no names")
        arrays = {name.removesuffix(".npz"): _arrays(path / name) for name in wanted if name != META_FILE}
    except (*regular_file.UNREADABLE_ARCHIVE, OSError, zipfile.BadZipFile) as error:
        raise CorruptCheckpoint(f"it cannot be read: {error}") from error
    return Snapshot(_step(path) or 0, arrays, meta)


def _checksums(path: Path) -> dict[str, str]:
    try:
        lines = regular_file.read_text(path / CHECKSUMS_FILE, most=_META_BYTES).splitlines()
        sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except FileNotFoundError as error:
        raise CorruptCheckpoint(f"{CHECKSUMS_FILE} is missing") from error
    except OSError as error:
        raise CorruptCheckpoint(f"{CHECKSUMS_FILE} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CorruptCheckpoint(f"{CHECKSUMS_FILE} has lines that are no checksums") from error
    if META_FILE not in sums:
        raise CorruptCheckpoint(f"{CHECKSUMS_FILE} does not list {META_FILE}")
    if not all(_LISTED.fullmatch(name) for name in sums):
        raise CorruptCheckpoint(f"{CHECKSUMS_FILE} lists what is no file of a checkpoint")
    return sums


def _arrays(path: Path) -> dict[str, Array]:
    regular_file.refuse_bomb(path)
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    if not all(
        isinstance(array, np.ndarray) for array in arrays.values()
    ):  # numpy returns other members as bytes
        raise ValueError(f"{path.name} holds something else than arrays")
    return arrays


def _step(path: Path) -> int | None:
    match = re.fullmatch(r"step-(\d+)", path.name)
    return int(match[1]) if match else None


# -- keeping --------------------------------------------------------------------------------------


def superseded(steps: list[int], *, keep: int, best: int | None) -> list[int]:
    """The steps whose checkpoints can be removed: all but the newest `keep` and the best."""
    newest = set(sorted(steps)[-keep:])
    return [step for step in sorted(steps) if step not in newest and step != best]


def prune(folder: Path, *, keep: int, written: int) -> None:
    """Removes what step `written` supersedes, and what a killed writer left. A folder is renamed before its files go.

    Checkpoints of later steps are corrupt, since the run resumed before them: they do not count, and stay.
    """
    best = read_pointer(folder, BEST)
    steps = [step for path in committed(folder) if (step := _step(path)) is not None and step <= written]
    for step in superseded(steps, keep=keep, best=_step(best) if best else None):
        path = folder / f"step-{step}"
        old = path.rename(path.with_name(f"{path.name}.old"))
        shutil.rmtree(old, ignore_errors=True)
    recover(folder)
    for leftover in (*folder.glob("step-*.part"), *folder.glob("step-*.old")):
        shutil.rmtree(leftover, ignore_errors=True)
    for pointer in (LATEST, BEST):
        for leftover in atomic_write.leftovers(folder / pointer):
            leftover.unlink(missing_ok=True)


# -- comparing ------------------------------------------------------------------------------------


def digest_of(groups: Groups) -> str:
    """One sha256 over names, types, shapes and bytes, in the order of the names."""
    total = hashlib.sha256()
    for group in sorted(groups):
        for name in sorted(groups[group]):
            array = np.ascontiguousarray(groups[group][name])
            total.update(f"{group}/{name} {array.dtype.str} {array.shape}\n".encode())
            total.update(array.tobytes())
    return total.hexdigest()
