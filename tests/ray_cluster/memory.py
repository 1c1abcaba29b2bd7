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
from tests.ray_cluster.ray_jobs import Jobs, workers_of

COUNTS = (2_000, 8_000)
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
                _, error = process.communicate(timeout=900)
            found[job, count] = peak
            if process.returncode not in (0, 1):
                jobs.require(False, f"{job}: {error.decode(errors='replace')[-300:]}")
    less, more = COUNTS
    for job in sorted({job for job, _ in found}):
        one, other = found[job, less], found[job, more]
        each = (other.command_mib - one.command_mib) * 1024 / (more - less)
        said = f"{job}: command {one.command_mib} and {other.command_mib} MiB, {each:.1f} KiB an image"
        jobs.require(each < 16, said)
        jobs.require(
            other.worker_mib < 1.5 * one.worker_mib,
            f"{job}: worker {one.worker_mib} and {other.worker_mib} MiB",
        )


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
        self.command_mib, self.worker_mib = 0, 0

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
            self.command_mib = max(self.command_mib, _own_mib(pid))
            self.worker_mib = max([self.worker_mib, *map(_own_mib, workers_of("ray::_work"))])


def _own_mib(pid: int) -> int:
    return procfs.keyed(procfs.read(f"/proc/{pid}/status")).get("RssAnon", 0) >> 20
