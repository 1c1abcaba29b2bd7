"""The memory of the command and of its workers, for a listing and for one four times as long."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from holdfast.data.synthetic import make_dataset
from holdfast.host import procfs
from tests.ray_cluster.ray_jobs import PATIENCE_S, Jobs, workers_of

COUNTS = (3_000, 12_000)
MOST_AN_IMAGE = 512  # bytes
DRAWN = 200  # the other images are copies, each with bytes of its own at its end


def measured_memory(jobs: Jobs) -> None:
    found = {}
    for count in COUNTS:
        many_images(jobs.folder / f"many-{count}", count)
        data = f"many-{count}"
        for job, words in {
            "check": ("check", data, "--json", "--no-speed", "--no-cache"),
            "data repair": ("data", "repair", data, f"{data}-clean"),
            "data convert": ("data", "convert", data, f"{data}-records", "--to", "tfrecord"),
            "data pack": ("data", "pack", data, "--size", "64", "--cache", f"{data}-packs"),
        }.items():
            peak, process = Peak(), jobs.command(*words, workers="auto")
            with peak.of(process):
                _, error = process.communicate(timeout=PATIENCE_S)
            found[job, count] = peak
            if process.returncode not in (0, 1):
                jobs.require(False, f"{job}: {error.decode(errors='replace')[-300:]}")
    less, more = COUNTS
    for job in sorted({job for job, _ in found}):
        one, other = found[job, less], found[job, more]
        for name, low, high in (
            ("command", one.command, other.command),
            ("worker", one.worker, other.worker),
        ):
            each = (high - low) / (more - less)
            said = f"{job}: {name} {low >> 20} and {high >> 20} MiB, {each:.0f} bytes an image"
            jobs.require(each < MOST_AN_IMAGE, said)


def many_images(folder: Path, count: int) -> None:
    make_dataset(folder, count=DRAWN, side=160)
    known = json.loads((folder / "annotations.json").read_text())
    boxes: dict[int, list[dict[str, object]]] = {one["id"]: [] for one in known["images"]}
    for box in known["annotations"]:
        boxes[box["image_id"]].append(box)
    for number in range(DRAWN, count):
        one = known["images"][number % len(boxes)]
        name = f"copy-{number:06d}.jpg"
        data = (folder / "images" / one["file_name"]).read_bytes()
        (folder / "images" / name).write_bytes(data + number.to_bytes(4, "big"))
        known["images"].append(one | {"id": 10**6 + number, "file_name": name})
        known["annotations"] += [
            box | {"id": 10**7 + 100 * number + at, "image_id": 10**6 + number}
            for at, box in enumerate(boxes[one["id"]])
        ]
    (folder / "annotations.json").write_text(json.dumps(known))


class Peak:
    """The most memory of its own (RssAnon) that the command had, and any worker, looked at five times a second."""

    def __init__(self) -> None:
        self.command, self.worker = 0, 0

    @contextlib.contextmanager
    def of(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        done = threading.Event()
        thread = threading.Thread(target=self._look, args=(process.pid, done), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _look(self, pid: int, done: threading.Event) -> None:
        while not done.wait(0.2):
            self.command = max(self.command, private_bytes(pid))
            workers = (*procfs.descendants(pid), *workers_of("ray::_work"))
            self.worker = max([self.worker, *map(private_bytes, workers)])


def private_bytes(pid: int) -> int:
    return procfs.status(pid).get("RssAnon", 0)
