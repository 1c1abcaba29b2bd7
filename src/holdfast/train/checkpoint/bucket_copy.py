"""Background upload of checkpoints, the model and the curves to a bucket, and resume from it.

A checkpoint's files go up first and `SHA256SUMS` last: without it a folder is no checkpoint, so a partial copy is never
taken for complete, and the files are checked against it when they are fetched.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.data.files import cloud_copy
from holdfast.data.files import filesystem as files_filesystem
from holdfast.errors import AlreadyThere, HoldfastError
from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import CHECKSUMS_FILE, CorruptCheckpoint

RETRY_S = 30.0
CURVES = "tensorboard"
UPLOAD_TIMEOUT_S = 600.0  # for the last checkpoint, when nobody asked to stop
Notify = Callable[[ev.Event], None]


@dataclass(frozen=True, slots=True)
class BucketFolders:
    """URLs in a bucket; an empty one is not copied to."""

    checkpoints: str
    model: str = ""
    curves: str = ""


def bucket_folders(copy_to: str | None, environment: Mapping[str, str] = os.environ) -> BucketFolders | None:
    """From the recipe, else from the environment variables of Vertex AI."""
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


class RunBucket:
    """The bucket of a run: fetched from at the start, uploaded to while it trains. No `folders`: no bucket."""

    def __init__(
        self, folders: BucketFolders | None, run: Path, checkpoints: Path, notify: Notify, *, resumes: bool
    ) -> None:
        self._folders, self._run, self._checkpoints = folders, run, checkpoints
        self._notify, self._resumes = notify, resumes
        self._copier: BucketCopier | None = None

    def require_empty(self) -> None:
        """For a new run: checkpoints in the bucket are another's, and are neither resumed from nor removed."""
        if self._folders is not None:
            refuse_foreign_checkpoints(self._folders.checkpoints)

    def fetch(self) -> None:
        if self._folders is not None:
            fetch_newest(self._folders.checkpoints, self._checkpoints, self._notify)

    @contextlib.contextmanager
    def uploading(
        self, *, stop_requested: Callable[[], bool], grace_s: float, resumed_from: str = ""
    ) -> Iterator[BucketCopier | None]:
        """The observer that uploads. At the end, however the run ends, waits for the last copy; once a stop is
        requested no longer than the grace period. A kill may have come between saving `resumed_from` and its copy."""
        if self._folders is None:
            yield None
            return
        self._copier = BucketCopier(self._folders, self._run, self._notify, all_ours=self._resumes)
        if resumed_from:
            self._copier.catch_up(self._checkpoints / resumed_from)
        try:
            yield self._copier
        finally:
            if not self._copier.close(UPLOAD_TIMEOUT_S, hurried=stop_requested, grace_s=grace_s):
                text = "the newest checkpoint is on this machine, and not yet in the bucket"
                self._notify(ev.Note(text=text))

    def upload_model(self, path: Path) -> None:
        """While `uploading`. A bucket that gives errors stops nothing."""
        if self._copier is None:
            return
        try:
            self._copier.upload_model(path)
        except (HoldfastError, OSError) as error:
            self._notify(ev.CopyFailed(what=str(path), error=str(error)))


def copied_before(journal: Path) -> bool:
    """Whether this run has uploaded checkpoints: then those in the bucket are its own."""
    return any(isinstance(entry.event, ev.CheckpointCopied) for entry in reader.read(journal))


class BucketCopier:
    """An observer: copies the newest complete checkpoint. It never stops the run."""

    name = "the bucket"

    def __init__(self, to: BucketFolders, folder: Path, notify: Notify, *, all_ours: bool = True) -> None:
        self._to, self._folder, self._report = to, folder, notify
        self._all_ours = all_ours  # everything in the bucket is this run's: it was resumed from there
        self._wake = threading.Condition()
        self._wanted: Path | None = None
        self._resumed_from: Path | None = None
        self._busy = self._closing = False
        self._uploaded: set[str] = set()  # by this process
        self._curves_failed = False
        self._thread = threading.Thread(target=self._work, name="copies", daemon=True)
        self._thread.start()

    def notify(self, event: ev.Event) -> None:
        if isinstance(event, ev.SaveDone):
            self._want(Path(event.path))

    def catch_up(self, resumed_from: Path) -> None:
        """At the start: what the bucket does not have of it. Nothing is removed there before the run has saved."""
        self._resumed_from = resumed_from
        self._want(resumed_from)

    def _want(self, checkpoint: Path) -> None:
        with self._wake:
            self._wanted = checkpoint
            self._wake.notify_all()

    def close(
        self, timeout_s: float, *, hurried: Callable[[], bool] = lambda: False, grace_s: float = 0.0
    ) -> bool:
        """Waits for the pending copy; once `hurried`, for `grace_s` more. True when the newest is uploaded."""
        until, in_a_hurry = time.monotonic() + timeout_s, False
        with self._wake:
            while (self._busy or self._wanted is not None) and (remaining_s := until - time.monotonic()) > 0:
                if not in_a_hurry and hurried():
                    until, in_a_hurry = min(until, time.monotonic() + grace_s), True
                    continue
                self._wake.wait(min(remaining_s, 1.0))
            self._closing = True
            self._wake.notify_all()
            return not self._busy and self._wanted is None

    def upload_model(self, model: Path) -> None:
        """The model and the curves, at the end. Raises when the bucket refuses the model."""
        if self._to.model:
            cloud_copy.upload_file(model, f"{self._to.model}/{model.name}")
        self._upload_curves()

    def _upload_best(self, folder: Path) -> None:
        """It may have been superseded before its turn, and a run that resumes elsewhere needs it."""
        best = checkpoint_files.read_pointer(folder, checkpoint_files.BEST)
        if best is not None and best.name not in self._uploaded:
            self._bring(best)

    def _bring(self, checkpoint: Path) -> bool:
        """False where the bucket has this very checkpoint already."""
        url = f"{self._to.checkpoints}/{checkpoint.name}"
        is_new = not is_copied(checkpoint, url)
        if is_new:
            upload(checkpoint, url)
        self._uploaded.add(checkpoint.name)
        return is_new

    def _upload_curves(self) -> None:
        """Only to look at: what goes wrong with them is reported once, and keeps no checkpoint from being copied."""
        curves = self._folder / CURVES
        if not self._to.curves or not curves.is_dir():
            return
        try:
            for file in sorted(path for path in curves.rglob("*") if path.is_file()):
                cloud_copy.upload_file(file, f"{self._to.curves}/{file.relative_to(curves).as_posix()}")
        except (HoldfastError, OSError) as error:
            if not self._curves_failed:
                self._report(ev.CopyFailed(what=CURVES, url=self._to.curves, error=_in_words(error)))
            self._curves_failed = True

    def _work(self) -> None:
        while True:
            with self._wake:
                while self._wanted is None and not self._closing:
                    self._wake.wait()
                if self._closing or self._wanted is None:
                    return
                path, self._wanted, self._busy = self._wanted, None, True
            done = self._upload(path)
            with self._wake:
                self._busy = False
                if not done and self._wanted is None and not self._closing:
                    self._wanted = path if path.is_dir() else None
                    self._wake.wait(RETRY_S)
                self._wake.notify_all()

    def _upload(self, path: Path) -> bool:
        began, url = time.monotonic(), f"{self._to.checkpoints}/{path.name}"
        try:
            is_new = self._bring(path)
            self._upload_best(path.parent)
            if not is_new:
                return True
            self._upload_curves()
            if path != self._resumed_from:
                on_disk = {other.name for other in checkpoint_files.committed(path.parent)} | {path.name}
                prune(self._to.checkpoints, on_disk, None if self._all_ours else self._uploaded)
        except FileNotFoundError:  # superseded while it was copied; a newer one follows
            return True
        except (HoldfastError, OSError) as error:
            self._report(ev.CopyFailed(what=path.name, url=url, error=_in_words(error), retries=True))
            return False
        took_s = time.monotonic() - began
        self._report(ev.CheckpointCopied(url=url, duration_s=round(took_s, 2)))
        return True


def _in_words(error: Exception) -> str:
    return " ".join([str(error), *map(str, getattr(error, "found", []))])


def is_copied(path: Path, url: str) -> bool:
    """Whether the bucket has this checkpoint, complete and the same."""
    filesystem, inner = files_filesystem._filesystem(f"{url}/{CHECKSUMS_FILE}")
    filesystem.invalidate_cache()
    if not cloud_copy.retry(lambda: filesystem.exists(inner), url):
        return False
    return bool(
        cloud_copy.retry(lambda: filesystem.cat_file(inner), url) == (path / CHECKSUMS_FILE).read_bytes()
    )


def upload(path: Path, url: str) -> None:
    """One checkpoint, its checksums last."""
    names = sorted(file.name for file in path.iterdir())
    for name in [*(name for name in names if name != CHECKSUMS_FILE), CHECKSUMS_FILE]:
        cloud_copy.upload_file(path / name, f"{url}/{name}")


def prune(url: str, kept: set[str], ours: set[str] | None = None) -> None:
    """Removes copies of checkpoints that are no longer kept on disk, of `ours` if given. The checksums go first:
    without them it is no checkpoint."""
    filesystem, inner = files_filesystem._filesystem(url)
    files = cloud_copy.retry(lambda: filesystem.find(inner), url)
    steps = {file: _step_of(file, inner) for file in files}
    removable = [
        file for file, step in steps.items() if step and step not in kept and (ours is None or step in ours)
    ]
    for file in sorted(removable, key=lambda name: not name.endswith(CHECKSUMS_FILE)):
        cloud_copy.retry(lambda name=file: filesystem.rm_file(name), url)  # type: ignore[misc]


def _step_of(file: str, inner: str) -> str:
    """The checkpoint that a file of the bucket belongs to; empty for none."""
    name = file[len(inner.rstrip("/")) + 1 :].partition("/")[0]
    return name if name.startswith("step-") and name[5:].isdigit() else ""


def checkpoint_names(url: str) -> list[str]:
    """Names of checkpoints in a bucket that have their checksums, the oldest first."""
    filesystem, inner = files_filesystem._filesystem(url)
    filesystem.invalidate_cache()
    files = cloud_copy.retry(lambda: filesystem.find(inner), url)
    complete = {_step_of(file, inner) for file in files if file.endswith(f"/{CHECKSUMS_FILE}")} - {""}
    return sorted(complete, key=lambda name: int(name[5:]))


def refuse_foreign_checkpoints(url: str) -> None:
    """Raises when a bucket already has checkpoints. One that cannot be listed stops nothing: a new run fetches and
    removes only what it uploaded itself."""
    try:
        there = checkpoint_names(url)
    except (HoldfastError, OSError):
        return
    if there:
        raise AlreadyThere(
            "the bucket has the checkpoints of another run, and nothing is overwritten unless you ask for it",
            where=url,
            found=f"the newest is {there[-1]}",
            change=[
                "give this run its own folder: hardware.copy_to",
                "`holdfast launch RECIPE --run-dir DIR --resume` resumes the run in the bucket",
            ],
        )


def fetch_newest(url: str, folder: Path, notify: Notify) -> None:
    """Fetches the newest complete checkpoint of the bucket if it is newer than those on disk, and the best so far."""
    newest, _ = checkpoint_files.newest_complete(folder)
    try:
        cloud_copy.require_bucket(url)
        _fetch_if_newer(url, folder, newest.step if newest is not None else -1, notify)
    except (HoldfastError, OSError) as error:
        if newest is None:
            raise
        notify(ev.FetchFailed(url=url, error=str(error)))


def _fetch_if_newer(url: str, folder: Path, step_on_disk: int, notify: Notify) -> None:
    there = checkpoint_names(url)
    for name in reversed(there):
        if int(name[5:]) <= step_on_disk:
            return
        meta = _fetch_checkpoint(f"{url}/{name}", folder / name, notify, instead="using the one before it")
        if meta is not None:
            best = f"step-{meta['progress'].get('patience', {}).get('best_step')}"
            if best in there and not (folder / best).exists():
                _fetch_checkpoint(
                    f"{url}/{best}", folder / best, notify, instead="the best weights so far are lost"
                )
            return


def _fetch_checkpoint(url: str, to: Path, notify: Notify, *, instead: str) -> dict[str, Any] | None:
    """The checkpoint's meta.json; None when the copy in the bucket is corrupt."""
    part = to.with_name(f"{to.name}.part")
    try:
        _fetch(url, part)
        meta = dict(checkpoint_files.read(part).meta)
    except CorruptCheckpoint as corrupt:
        shutil.rmtree(part, ignore_errors=True)
        notify(ev.CheckpointRejected(path=url, why=str(corrupt), instead=instead))
        return None
    if to.exists():  # corrupt, or it would not be fetched
        shutil.rmtree(to.with_name(f"{to.name}.torn"), ignore_errors=True)
        to.rename(to.with_name(f"{to.name}.torn"))
    part.rename(to)
    notify(ev.CheckpointFetched(url=url))
    return meta


def _fetch(url: str, part: Path) -> None:
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    filesystem, inner = files_filesystem._filesystem(url)
    for file in cloud_copy.retry(lambda: filesystem.find(inner), url):
        name = file.rpartition("/")[2]
        cloud_copy.download_file(f"{url}/{name}", part / name)
