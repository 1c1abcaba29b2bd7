"""Images that a repair draws again, upright and in RGB: here, or on a cluster by its workers."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from holdfast.atomic_write import naming_file
from holdfast.data.files import filesystem, process_pool
from holdfast.data.files.packed_list import PackedList
from holdfast.data.files.progress_bar import tracked
from holdfast.data.images.image_file import ImageFacts
from holdfast.data.images.normalise import upright_rgb, why_not_plain
from holdfast.data.records import ImageRef, Record
from holdfast.data.workers import worker_choice
from holdfast.errors import DataError, HoldfastError

#: Number, image and facts of one.
RedrawJob = tuple[int, ImageRef, ImageFacts]
Reasons = list[tuple[str, str]]
DRAWN_FORMATS = {".jpg": "JPEG", ".png": "PNG"}


class Redraws:
    """Where redrawn images wait: a folder that is made here with the first of them, so that no other is removed.

    It is next to the destination; for a URL, on this machine.
    """

    def __init__(self, destination: str) -> None:
        self._destination = None if filesystem.is_url(destination) else Path(os.path.abspath(destination))
        self._folder: Path | None = None

    def __enter__(self) -> Redraws:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def draw(self, kept: Sequence[tuple[Record, ImageFacts]]) -> Iterator[tuple[Record, Reasons]]:
        """Each record, with its image drawn again only where it has to be, and why."""
        jobs = PackedList(
            (number, record.image, facts)
            for number, (record, facts) in enumerate(kept)
            if why_not_plain(facts)
        )
        drawn = self._drawn(jobs) if jobs else iter(())
        for record, facts in kept:
            if not why_not_plain(facts):
                yield record, []
                continue
            path, reasons = next(drawn)
            image = replace(record.image, path=path, offset=None, length=None, inside="")
            yield replace(record, image=image), reasons

    def _drawn(self, jobs: Sequence[RedrawJob]) -> Iterator[tuple[str, Reasons]]:
        self._folder = self._made()
        if not worker_choice.current().on_ray:
            yield from (_draw(self._folder, job) for job in tracked(jobs, "drawing images", len(jobs)))
            return
        worker_choice.require_visible(self._folder)
        done = process_pool.run(_draw_or_error, self._folder, jobs, crashed=_crashed)
        for one in tracked(done, "drawing images", len(jobs)):
            if isinstance(one, Exception):
                raise one
            yield one

    def _made(self) -> Path:
        if self._destination is None:
            return Path(tempfile.mkdtemp(prefix="holdfast-redrawn-"))
        parent = self._destination.parent
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{self._destination.name[:40]}.redrawn-", dir=parent))


def _draw(folder: Path, job: RedrawJob) -> tuple[str, Reasons]:
    number, image, facts = job
    data, suffix = upright_rgb(image, facts)
    path = folder / f"{number:07d}{suffix}"
    with naming_file(path):
        path.write_bytes(data)
    return str(path), why_not_plain(facts)


def _draw_or_error(folder: Path, job: RedrawJob) -> tuple[str, Reasons] | HoldfastError | OSError:
    """In a worker: what went wrong comes back to be raised where it is printed."""
    try:
        return _draw(folder, job)
    except (HoldfastError, OSError) as error:
        return error


def _crashed(job: RedrawJob) -> HoldfastError:
    return DataError("the process that drew an image again ended without a word", where=job[1].path)
