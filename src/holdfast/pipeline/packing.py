"""Makes a pack: shard by shard, each committed by a rename, so that it can be killed and gone on with.

Pillow does the work, not TensorFlow, so it also runs beside a training run without a second TensorFlow in memory:

    python -m holdfast.pipeline.packing FOLDER     continues with the job in that folder, at low priority
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from io import BytesIO
from itertools import islice
from pathlib import Path

from holdfast import atomic_write
from holdfast.data.files import process_pool
from holdfast.data.files.filesystem import is_url
from holdfast.data.images.image_file import as_rgb
from holdfast.data.records import ImageRef
from holdfast.data.workers import worker_choice
from holdfast.data.workers.worker_choice import WorkerChoice
from holdfast.errors import DataError, DiskFull, HoldfastError
from holdfast.host.process_limits import usable_cores
from holdfast.pipeline.pack import QUALITY, PackIndex, PackItem, PackJob, read

SHARD_IMAGES = 256
KEEP_FREE_BYTES = 1 << 30
NICENESS = 15  # beside training, only what training leaves idle


def make_pack(
    job: PackJob,
    cache: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
    workers: WorkerChoice | None = None,
) -> Path | None:
    """Packs what is not packed yet, and returns the folder; None when nothing is worth packing.

    Killed at any instant it continues at the first shard that is not there; a finished one is found at once.
    """
    if not job.items:
        return None
    folder = write_job(job, cache)
    if not (folder / "index.json").exists():
        _run(job, folder, progress, workers)
    return folder


def write_job(job: PackJob, cache: Path) -> Path:
    folder = cache / f"pack-{job.key}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "job.json").exists():
        with atomic_write.replacing(folder / "job.json") as file:
            file.write(b'{"items": [')
            for number, item in enumerate(job.items):
                file.write((", " if number else "").encode() + json.dumps(asdict(item)).encode())
            file.write(f'], "budget_bytes": {job.budget_bytes}}}'.encode())
    return folder


def start_in_background(job: PackJob, cache: Path) -> subprocess.Popen[bytes] | None:
    """The same in a process of its own, at low priority, while training runs its first epoch."""
    if not job.items:
        return None
    folder = write_job(job, cache)
    with (folder / "output.log").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "holdfast.pipeline.packing", str(folder)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip


class BackgroundPack:
    """A pack that is made while training runs, and asked for at every step."""

    def __init__(self, job: PackJob, cache: Path) -> None:
        self._folder = cache / f"pack-{job.key}"
        self._process = start_in_background(job, cache)

    def ready(self) -> PackIndex | None:
        """The pack, once; None before it is finished, and forever when packing came to nothing."""
        if self._process is None or self._process.poll() is None:
            return None
        self._process = None
        return read(self._folder)

    def stop(self) -> None:
        """What is packed so far is kept, and gone on with by the next run."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def _run(
    job: PackJob,
    folder: Path,
    progress: Callable[[int, int], None] | None,
    workers: WorkerChoice | None = None,
) -> None:
    used, packed, count = 0, 0, len(job.items)
    shards = -(-count // SHARD_IMAGES)
    groups = enumerate(_groups(job.items, SHARD_IMAGES))
    with contextlib.ExitStack() as stack:
        made = _made_by_workers(folder, job, groups) if workers else _made_here(folder, groups, stack)
        for size in made:
            # In the dataset's order up to the budget, so that what is packed does not depend on the machine.
            if used + size > job.budget_bytes:
                break
            used, packed = used + size, packed + 1
            if progress is not None:
                progress(min(count, packed * SHARD_IMAGES), count)
    made.close()  # workers may have been ahead: what they made goes with the rest
    for number in range(packed, shards):
        (folder / _shard_name(number)).unlink(missing_ok=True)
    _remove_unfinished(folder)
    with atomic_write.replacing(folder / "index.json") as file:
        file.write(f'{{"key": {json.dumps(job.key)}, "bytes": {used}, "shards": ['.encode())
        for number in range(packed):
            file.write((", " if number else "").encode() + _shard_index(folder, number).read_bytes())
        file.write(b"]}")


def _remove_unfinished(folder: Path) -> None:
    """What a killed process left of shards that are whole. What is newer than the shard another process writes now."""
    for part in folder.glob(".*.part"):
        whole = folder / part.name[1:].rsplit(".", 2)[0]
        with contextlib.suppress(OSError):
            if part.stat().st_mtime_ns < whole.stat().st_mtime_ns:
                part.unlink()


def _made_here(
    folder: Path, groups: Iterable[tuple[int, list[PackItem]]], stack: contextlib.ExitStack
) -> Generator[int, None, None]:
    """The bytes of each shard."""
    pool = stack.enter_context(ThreadPoolExecutor(usable_cores()))
    for number, items in groups:
        size = _finished_shard(folder, number)
        yield _write_shard(folder, number, pool.map(_encoded, items), items) if size is None else size


def _made_by_workers(
    folder: Path, job: PackJob, groups: Iterable[tuple[int, list[PackItem]]]
) -> Generator[int, None, None]:
    for place in (folder, *(Path(item.path) for item in job.items[:1] if not is_url(item.path))):
        worker_choice.require_visible(place)
    done = process_pool.run(_shard_of, folder, groups, crashed=_shard_crashed, chunk=1)
    for size in done:
        if isinstance(size, Exception):
            raise size
        yield size


def _shard_of(folder: Path, group: tuple[int, list[PackItem]]) -> int | HoldfastError | OSError:
    """In a worker: what went wrong comes back to be raised where it is printed."""
    number, items = group
    try:
        size = _finished_shard(folder, number)
        return _write_shard(folder, number, map(_encoded, items), items) if size is None else size
    except (HoldfastError, OSError) as error:
        return error


def _shard_crashed(group: tuple[int, list[PackItem]]) -> HoldfastError:
    return DataError("the process that packed a shard ended without a word", where=group[1][0].path)


def _groups(items: Sequence[PackItem], size: int) -> Iterator[list[PackItem]]:
    remaining = iter(items)
    while group := list(islice(remaining, size)):
        yield group


def _finished_shard(folder: Path, number: int) -> int | None:
    """Its bytes, where it is whole."""
    try:
        shard = json.loads(_shard_index(folder, number).read_bytes())
        size = int(shard["bytes"])
        return size if os.stat(folder / shard["file"]).st_size == size else None
    except (OSError, ValueError, KeyError):
        return None


def _shard_name(number: int) -> str:
    return f"shard-{number:05d}.jpgs"


def _shard_index(folder: Path, number: int) -> Path:
    return folder / f"shard-{number:05d}.json"


def _write_shard(folder: Path, number: int, encoded: Iterator[bytes], items: list[PackItem]) -> int:
    name = _shard_name(number)
    images, at = [], 0
    with atomic_write.replacing(folder / name) as file:
        for item, data in zip(items, encoded, strict=True):
            if data:
                file.write(data)
                images.append([item.row, at, len(data), item.width, item.height])
                at += len(data)
            _require_free_space(folder)
    shard = {"file": name, "bytes": at, "pictures": images}
    atomic_write.write_bytes(_shard_index(folder, number), json.dumps(shard).encode())
    return at


def _require_free_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < KEEP_FREE_BYTES:
        raise DiskFull(
            "packing stops, because the disk is nearly full", where=folder,
            found=f"{free >> 20} MiB free, and {KEEP_FREE_BYTES >> 20} MiB are left for checkpoints",
            change="give a folder on another disk, or a smaller budget; training works without the pack",
        )  # fmt: skip


def _encoded(item: PackItem) -> bytes:
    """The small copy, or nothing where it would not be smaller, or the image cannot be decoded: training names it."""
    from PIL import Image, ImageOps

    whole = item.offset < 0
    source = ImageRef(item.path, None if whole else item.offset, None if whole else item.length)
    try:
        image = Image.open(BytesIO(source.read()))
        turned = image.getexif().get(0x0112, 1) >= 5
        width, height = (item.height, item.width) if turned else (item.width, item.height)
        # Twice the target, so that the last step is a good filter's and not the DCT's.
        image.draft("RGB", (2 * width, 2 * height))
        upright = as_rgb(ImageOps.exif_transpose(image))
        small = upright.resize((item.width, item.height), Image.Resampling.BICUBIC, reducing_gap=3.0)
        target = BytesIO()
        # Colour at half the size, as in nearly every photograph: a third less to decode, for 0.15 of 255 levels
        # more error on real images (0.97 against 0.82).
        small.save(target, "JPEG", quality=QUALITY, subsampling=2)
        copy = target.getvalue()
        # Of an image that was squeezed hard, fewer pixels can be more bytes, and bytes are what decoding costs.
        return copy if not item.length or len(copy) < item.length else b""
    except Exception:
        return b""


def _main(folder: Path) -> None:
    os.nice(NICENESS)
    stored = json.loads((folder / "job.json").read_bytes())
    job = PackJob(tuple(PackItem(**item) for item in stored["items"]), stored["budget_bytes"])
    if not (folder / "index.json").exists():
        _run(job, folder, lambda done, of: print(f"packed {done} of {of}", flush=True))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
