"""Data in a bucket: the workers read it themselves, and the results are those of one process.

The bucket is the GCS emulator. The workers reach it directly, the command through a proxy that counts what it reads.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.data.files import cloud_copy
from holdfast.data.synthetic import make_dataset
from tests.launch import faulty_bucket
from tests.launch.faulty_bucket import Fault, Store
from tests.ray_cluster.ray_jobs import Jobs, Measured, tree

IMAGES = 80
URL = "gs://images/data"
#: Else gcsfs asks for the kind of the bucket and for credentials, in vain, and waits.
ANONYMOUS = {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false", "NO_GCE_CHECK": "true"}


@dataclass
class Shop:
    store: Store

    @property
    def workers_see(self) -> Mapping[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.store.direct, **ANONYMOUS}

    @property
    def read(self) -> int:
        """How many images came through the proxy."""
        return self.store.done["counted"]


@contextlib.contextmanager
def store() -> Iterator[Shop]:
    with faulty_bucket.running("images") as found:
        found.faults = [
            Fault("counted", lambda method, path: "alt=media" in path and ".jpg" in path, times=10**9)
        ]
        yield Shop(found)


def from_a_bucket(jobs: Jobs, shop: Shop) -> None:
    folder = jobs.folder / "bucket"
    make_dataset(folder, count=IMAGES, side=480, dirt=False)
    os.environ |= shop.workers_see
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        cloud_copy.upload_file(file, f"{URL}/{file.relative_to(folder).as_posix()}")
    jobs.more = {"STORAGE_EMULATOR_HOST": shop.store.url}
    _compared(jobs, shop, "check", ("check", URL, "--json", "--no-speed", "--no-cache"))
    _compared(
        jobs, shop, "predict", ("predict", "model.npz", f"{URL}/images/*1.jpg", "--json", "--score", "0.01")
    )
    _compared(jobs, shop, "eval", ("eval", "model.npz", URL, "--json"))
    for name, words in {
        "repair": ("data", "repair", URL, "OUT", "--to", "coco"),
        "convert": ("data", "convert", URL, "OUT", "--to", "tfrecord", "--shards", "4"),
        "pack": ("data", "pack", URL, "--size", "96", "--cache", "OUT"),
    }.items():
        _compared(jobs, shop, name, words)
    jobs.more = {}


def _compared(jobs: Jobs, shop: Shop, name: str, words: tuple[str, ...]) -> None:
    one = jobs.timed(*(_out(name, "1") if word == "OUT" else word for word in words), workers="1")
    before = shop.read
    two = jobs.timed(*(_out(name, "auto") if word == "OUT" else word for word in words), workers="auto")
    read = shop.read - before
    digests = [_result(jobs, name, *pair, written="OUT" in words) for pair in ((one, "1"), (two, "auto"))]
    jobs.row(
        f"{name} of a bucket",
        *digests,
        two.error[-300:] if two.code > 1 else f"the command read {read} images",
    )
    jobs.require(read == 0, f"{name}: the workers read the bucket themselves")


def _out(name: str, workers: str) -> str:
    return f"bucket-{name}-{workers}"


def _result(jobs: Jobs, name: str, measured: Measured, workers: str, *, written: bool) -> str:
    """Of a pack without its list of items, which says where each image was read."""
    where = Path(jobs.folder / _out(name, workers))
    return tree(where, without="job.json") if written else measured.digest
