"""Copies of checkpoints, the model and the curves in a bucket, made behind the run's back, and a run gone on from them.

A checkpoint's files go up first and `SHA256SUMS` last: without it a folder is no checkpoint, so a copy that was cut
short is never taken for whole, and what is inside is checked against it when it comes back.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.data.files import cloud_copy
from holdfast.data.files import filesystem as files_filesystem
from holdfast.errors import AlreadyThere, HoldfastError
from holdfast.journal import events as ev
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import CHECKSUMS_FILE, CorruptCheckpoint

RETRY_S = 30.0


@dataclass(frozen=True, slots=True)
class BucketFolders:
    """Folders in a bucket; empty where nothing is to be copied."""

    checkpoints: str
    model: str = ""
    curves: str = ""


def bucket_folders(copy_to: str | None, environment: Mapping[str, str] = os.environ) -> BucketFolders | None:
    """As the recipe says; else as Vertex AI says in its variables."""
    if copy_to:
        root = copy_to.rstrip("/")
        return BucketFolders(f"{root}/checkpoints", root, f"{root}/tensorboard")
    given = environment.get("AIP_CHECKPOINT_DIR", "").rstrip("/")
    if not given:
        return None
    model, curves = (
        environment.get(name, "").rstrip("/") for name in ("AIP_MODEL_DIR", "AIP_TENSORBOARD_LOG_DIR")
    )
    return BucketFolders(given, model, curves)


class BucketCopier:
    """A witness: hears of checkpoints that are whole and copies the newest. It never stops the run."""

    def __init__(
        self, to: BucketFolders, folder: Path, say: Callable[[ev.Event], None], *, all_ours: bool = True
    ) -> None:
        self._to, self._folder, self._tell = to, folder, say
        self._all_ours = all_ours  # whatever lies in the bucket is this run's: it went on from there
        self._wake = threading.Condition()
        self._wanted: Path | None = None
        self._busy = self._closing = False
        self._there: set[str] = set()  # checkpoints that this process has copied
        self._thread = threading.Thread(target=self._work, name="copies", daemon=True)
        self._thread.start()

    def say(self, event: ev.Event) -> None:
        if isinstance(event, ev.SaveDone):
            with self._wake:
                self._wanted = Path(event.path)
                self._wake.notify_all()

    def close(
        self, timeout_s: float, *, hurried: Callable[[], bool] = lambda: False, grace_s: float = 0.0
    ) -> bool:
        """Waits for the copy under way; once `hurried`, for `grace_s` more. True when the newest checkpoint is up."""
        until, in_a_hurry = time.monotonic() + timeout_s, False
        with self._wake:
            while (self._busy or self._wanted is not None) and (left_s := until - time.monotonic()) > 0:
                if not in_a_hurry and hurried():
                    until, in_a_hurry = min(until, time.monotonic() + grace_s), True
                    continue
                self._wake.wait(min(left_s, 1.0))
            self._closing = True
            self._wake.notify_all()
            return not self._busy and self._wanted is None

    def put_model(self, model: Path) -> None:
        """The model and the curves, at the end. Raises when the bucket does not take them."""
        if self._to.model:
            cloud_copy.upload_file(model, f"{self._to.model}/{model.name}")
        self._put_curves()

    def _put_best(self, folder: Path) -> None:
        """It may have been superseded as the newest before its turn came, and a run that goes on elsewhere needs it."""
        best = checkpoint_files.read_pointer(folder, checkpoint_files.BEST)
        if best is not None and best.name not in self._there:
            upload(best, f"{self._to.checkpoints}/{best.name}")
            self._there.add(best.name)

    def _put_curves(self) -> None:
        curves = self._folder / "tensorboard"
        if self._to.curves and curves.is_dir():
            for file in sorted(path for path in curves.rglob("*") if path.is_file()):
                cloud_copy.upload_file(file, f"{self._to.curves}/{file.relative_to(curves).as_posix()}")

    def _work(self) -> None:
        while True:
            with self._wake:
                while self._wanted is None and not self._closing:
                    self._wake.wait()
                if self._wanted is None:
                    return
                path, self._wanted, self._busy = self._wanted, None, True
            done = self._copied(path)
            with self._wake:
                self._busy = False
                if not done and self._wanted is None and not self._closing:
                    self._wanted = path if path.is_dir() else None
                    self._wake.wait(RETRY_S)
                self._wake.notify_all()

    def _copied(self, path: Path) -> bool:
        began, url = time.monotonic(), f"{self._to.checkpoints}/{path.name}"
        try:
            upload(path, url)
            self._there.add(path.name)
            self._put_best(path.parent)
            self._put_curves()
            kept = {one.name for one in checkpoint_files.committed(path.parent)} | {path.name}
            prune(self._to.checkpoints, kept, None if self._all_ours else self._there)
        except FileNotFoundError:  # it was superseded meanwhile, and a newer one is on its way
            return True
        except (HoldfastError, OSError) as error:
            found = " ".join(str(one) for one in getattr(error, "found", []))
            self._tell(ev.CopyFailed(what=path.name, url=url, error=f"{error} {found}", retries=True))
            return False
        took_s = time.monotonic() - began
        self._tell(ev.CheckpointCopied(url=url, duration_s=round(took_s, 2)))
        return True


def upload(path: Path, url: str) -> None:
    """One checkpoint, its sums last."""
    names = sorted(file.name for file in path.iterdir())
    for name in [*(name for name in names if name != CHECKSUMS_FILE), CHECKSUMS_FILE]:
        cloud_copy.upload_file(path / name, f"{url}/{name}")


def prune(url: str, kept: set[str], ours: set[str] | None = None) -> None:
    """Removes copies of what is not kept here any more, of `ours` if given. The sums go first: without them it is no
    checkpoint."""
    filesystem, inner = files_filesystem._filesystem(url)
    files = cloud_copy.retry(lambda: filesystem.find(inner), url)
    steps = {file: _step_of(file, inner) for file in files}
    gone = [
        file for file, step in steps.items() if step and step not in kept and (ours is None or step in ours)
    ]
    for file in sorted(gone, key=lambda one: not one.endswith(CHECKSUMS_FILE)):
        cloud_copy.retry(lambda one=file: filesystem.rm_file(one), url)  # type: ignore[misc]


def _step_of(file: str, inner: str) -> str:
    """The checkpoint that a file of the bucket belongs to, or nothing."""
    name = file[len(inner.rstrip("/")) + 1 :].partition("/")[0]
    return name if name.startswith("step-") and name[5:].isdigit() else ""


def checkpoint_names(url: str) -> list[str]:
    """Names of checkpoints in a bucket that have their sums, the oldest first."""
    filesystem, inner = files_filesystem._filesystem(url)
    filesystem.invalidate_cache()
    files = cloud_copy.retry(lambda: filesystem.find(inner), url)
    whole = {_step_of(file, inner) for file in files if file.endswith(f"/{CHECKSUMS_FILE}")} - {""}
    return sorted(whole, key=lambda one: int(one[5:]))


def refuse_foreign_checkpoints(url: str) -> None:
    """Raises where a bucket holds checkpoints that a new run would mix its own with. One that cannot be listed now
    holds up nothing: a new run takes and removes only what it has put there itself."""
    try:
        there = checkpoint_names(url)
    except (HoldfastError, OSError):
        return
    if there:
        raise AlreadyThere(
            "the bucket holds the checkpoints of another run, and nothing is overwritten unasked",
            where=url,
            found=f"the newest is {there[-1]}",
            change=[
                "hardware.copy_to with a folder of its own for this run",
                "`holdfast launch RECIPE --run-dir DIR --resume` goes on with the run that it holds",
            ],
        )


def fetch_newest(url: str, folder: Path, say: Callable[[ev.Event], None]) -> None:
    """Fetches the newest whole checkpoint of the bucket if it is newer than what is whole here, and the best so far."""
    newest, _ = checkpoint_files.newest_complete(folder)
    try:
        cloud_copy.require_bucket(url)
        _fetch_if_newer(url, folder, newest.step if newest is not None else -1, say)
    except (HoldfastError, OSError) as error:
        if newest is None:
            raise
        say(ev.FetchFailed(url=url, error=str(error)))


def _fetch_if_newer(url: str, folder: Path, here: int, say: Callable[[ev.Event], None]) -> None:
    there = checkpoint_names(url)
    for name in reversed(there):
        if int(name[5:]) <= here:
            return
        meta = _fetch_checkpoint(f"{url}/{name}", folder / name, say, instead="the one before is taken")
        if meta is not None:
            best = f"step-{meta['progress'].get('patience', {}).get('best_step')}"
            if best in there and not (folder / best).exists():
                _fetch_checkpoint(
                    f"{url}/{best}", folder / best, say, instead="the best weights so far are lost"
                )
            return


def _fetch_checkpoint(
    url: str, to: Path, say: Callable[[ev.Event], None], *, instead: str
) -> dict[str, Any] | None:
    """What the checkpoint says of itself; None where the copy in the bucket is not whole."""
    part = to.with_name(f"{to.name}.part")
    try:
        _fetch(url, part)
        meta = dict(checkpoint_files.read(part).meta)
    except CorruptCheckpoint as torn:
        shutil.rmtree(part, ignore_errors=True)
        say(ev.CheckpointRejected(path=url, why=str(torn), instead=instead))
        return None
    if to.exists():  # torn, or it would not be fetched
        shutil.rmtree(to.with_name(f"{to.name}.torn"), ignore_errors=True)
        to.rename(to.with_name(f"{to.name}.torn"))
    part.rename(to)
    say(ev.CheckpointFetched(url=url))
    return meta


def _fetch(url: str, part: Path) -> None:
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    filesystem, inner = files_filesystem._filesystem(url)
    for file in cloud_copy.retry(lambda: filesystem.find(inner), url):
        name = file.rpartition("/")[2]
        cloud_copy.download_file(f"{url}/{name}", part / name)
