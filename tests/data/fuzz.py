"""Mutated datasets, one after another, checked in a process of bounded memory. Run by test_fuzz.py.

`python -m tests.data.fuzz COUNT SEED` prints one JSON object: how many ended in what, the peak of memory, and every
case that ended in anything but a report or an error that names a file.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from holdfast.data.checking.dataset_check import DatasetPart, check
from holdfast.data.reading.load import read
from holdfast.data.records import Box, Dataset, ImageRef, Record
from holdfast.data.writing.convert import ConvertOptions, write
from holdfast.errors import HoldfastError
from tests.fuzz.mutations import cut, flip, structure, stuff

from . import made
from . import test_listed_formats as listed

ADDRESS_SPACE = 6 << 30
CASE_LIMIT_S = 300  # only what hangs takes longer
Mutation = Callable[[random.Random, bytes], bytes]


def repeat(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    stop = min(len(data), start + rng.choice((1, 50, 1000)))
    return data[:stop] + data[start:stop] * rng.choice((1, 50, 2000)) + data[stop:]


def numbers(rng: random.Random, data: bytes) -> bytes:
    """One run of digits becomes a number that nobody expects."""
    places = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    if not places:
        return data
    at = rng.choice(places)
    end = at
    while end < len(data) and chr(data[end]).isdigit():
        end += 1
    odd = (
        b"-1",
        b"1e308",
        b"1e999",
        b"NaN",
        b"Infinity",
        b"9" * 25,
        b"9" * 6000,
        b"0",
        b"",
        b"65535",
        b"4294967295",
        b"true",
        b'"7"',
        b"null",
        b"0x10",
        b"1_000",
    )
    return data[:at] + rng.choice(odd) + data[end:]


def bomb(rng: random.Random, data: bytes) -> bytes:
    """Documents that grow or nest without end when read carelessly."""
    entities = (
        b'<!DOCTYPE a [<!ENTITY a "ha">'
        + b"".join(
            b'<!ENTITY a%d "%s">' % (n, b"&a%s;" % (str(n - 1).encode() if n else b"") * 10)
            for n in range(1, 20)
        )
        + b"]><annotation><filename>&a19;</filename></annotation>"
    )
    outside = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotation><filename>&x;</filename></annotation>'
    return rng.choice((
        entities,
        outside,
        b"<annotation>" + b"<object>" * 50_000,
        b"<annotation>" + b"<object>" * 20_000 + b"</object>" * 20_000 + b"</annotation>",
        b"[" * 100_000,
        b'{"shapes":' * 50_000,
        b'{"images":[' + b"[" * 100_000,
        b'{"images": [], "annotations": [' + b'{"a":' * 50_000,
        b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nnames: [*c, *c]\ntrain: images\n",
        b"0 " + b"0.5 " * 200_000,
        b'"' * 100_001,
        b"\xff\xfe" + "names".encode("utf-16") * 1000,
        b"\0" * 100_000,
        struct.pack("<Q", 2**62) + b"\0" * 40,
        b"item { id: 1 name: '" + b"{" * 50_000,
    ))  # fmt: skip


def image_bomb(rng: random.Random, data: bytes) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = b"\x89PNG\r\n\x1a\n"
    width, height = rng.choice(
        ((40_000, 40_000), (2**31 - 1, 2**31 - 1), (1, 2**31 - 1), (14_000, 14_000), (0, 0))
    )
    depth = rng.choice((1, 8, 16))
    rows = zlib.compress(bytes(rng.choice((10, 30_000_000))), 9)
    text = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(20_000_000), 9))
    size = struct.pack(">IIBBBBB", width, height, depth, 2 if depth > 1 else 0, 0, 0, 0)
    return (
        header + chunk(b"IHDR", size) + rng.choice((b"", text)) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


ANY: tuple[Mutation, ...] = (flip, cut, stuff, repeat)
TEXT: tuple[Mutation, ...] = (*ANY, numbers, numbers, bomb, structure, structure)
IMAGE: tuple[Mutation, ...] = (*ANY, image_bomb)


def seeds(folder: Path) -> list[Path]:
    """One small dataset in every format that is read."""
    images = folder / "pictures"
    images.mkdir()
    records = []
    for n, (format, suffix) in enumerate(
        (
            ("JPEG", ".jpg"),
            ("PNG", ".png"),
            ("GIF", ".gif"),
            ("BMP", ".bmp"),
            ("WEBP", ".webp"),
            ("TIFF", ".tif"),
        )
    ):
        path = images / f"{n}{suffix}"
        path.write_bytes(made.image(40, 30, seed=n, format=format))
        boxes = (Box(1, 2, 20, 25, "cat"), Box(5, 5, 12.5, 29, "dog", crowd=True))
        records.append(
            Record(
                str(n),
                path.name,
                ImageRef(str(path), width=40, height=30),
                boxes,
                "train" if n % 2 else "val",
            )
        )
    dataset = Dataset("", "coco", tuple(records), ("cat", "dog"), (1, 2))
    made_here = []
    for to in ("coco", "voc", "yolo", "tfrecord"):
        write(dataset, str(folder / to), to, ConvertOptions())
        made_here.append(folder / to)
    for name in ("csv", "labelme"):
        shutil.copytree(images, folder / name)
        made_here.append(folder / name)
    rows = "".join(
        f"{record.file_name},40,30,{box.name},{box.x1},{box.y1},{box.x2},{box.y2}\n"
        for record in records
        for box in record.boxes
    )
    (folder / "csv" / "labels.csv").write_text("filename,width,height,class,xmin,ymin,xmax,ymax\n" + rows)
    for record in records:
        shapes = [
            {"label": box.name, "shape_type": "rectangle", "points": [[box.x1, box.y1], [box.x2, box.y2]]}
            for box in record.boxes
        ]
        document = {
            "version": "5",
            "shapes": shapes,
            "imagePath": record.file_name,
            "imageHeight": 30,
            "imageWidth": 40,
        }
        (folder / "labelme" / f"{record.id}.json").write_text(json.dumps(document))
    for name, files in listed.ALL.items():
        listed.put(folder / name, **files)
        made_here.append(folder / name)
    if importlib.util.find_spec("pyarrow"):
        listed.parquet(
            folder / "parquet" / "data" / "train-00000-of-00001.parquet",
            {"image": listed.cells(2), "objects": [{"bbox": [[1.0, 2.0, 9.0, 8.0]], "category": [0]}] * 2},
            {"image": {"_type": "Image"}, "objects": {"bbox": {}, "category": listed.CLASS}},
        )
        made_here.append(folder / "parquet")
    return made_here


def one(rng: random.Random, dataset: Path, work: Path) -> tuple[str, str]:
    """Mutate one file of a copy and check it: what came of it, and a description."""
    files = sorted(path for path in dataset.rglob("*") if path.is_file() and path.suffix != ".sqlite")
    victim = rng.choice(files)
    is_image = victim.suffix in (".jpg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tfrecord", ".parquet")
    mutation = rng.choice(IMAGE if is_image else TEXT)
    data = mutation(rng, victim.read_bytes())
    copy = work / "case"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(dataset, copy)
    mutated = copy / victim.relative_to(dataset)
    mutated.write_bytes(data)
    said = f"{mutation.__name__} on {dataset.name}/{victim.relative_to(dataset)}"
    try:
        report, _ = check([DatasetPart(str(copy))], use_cache=False, processes=1)
        with contextlib.suppress(HoldfastError):
            read(str(copy))
    except HoldfastError as error:
        named = str(copy) in error.where or str(copy) in " ".join(error.found)
        return ("error" if named else "error without a file"), said
    places = {place.file for finding in report.findings for place in finding.places}
    blamed = any(victim.name in place or victim.stem in place for place in places)
    if mutation is bomb and not blamed and not _harmless(victim):
        return "a bomb that nobody noticed", said
    return ("finding" if blamed else "report"), said


def _harmless(victim: Path) -> bool:
    """Files that are a help and not the annotations: without them the dataset is read all the same."""
    return victim.name in (
        "holdfast.json",
        "label_map.pbtxt",
        "data.yaml",
        "train.txt",
        "val.txt",
        "labels.csv",
    )


def own_peak_mib() -> float:
    """Not by getrusage, which still knows the peak of the process that started this one."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main(count: int, seed: int) -> dict[str, object]:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    outcomes: Counter[str] = Counter()
    bad: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        datasets = seeds(Path(folder))
        for number in range(count):
            rng = random.Random(f"{seed}/{number}")
            started = time.monotonic()
            signal.alarm(CASE_LIMIT_S)
            try:
                outcome, said = one(rng, rng.choice(datasets), Path(folder))
            except BaseException as error:
                outcome, said = f"crash {type(error).__name__}", traceback.format_exc()[-1500:]
            signal.alarm(0)
            slowest = max(slowest, time.monotonic() - started)
            outcomes[outcome] += 1
            if outcome not in ("report", "finding", "error"):
                bad.append(f"case {seed}/{number}: {outcome}: {said}")
        gc.collect()
    peaks = [own_peak_mib(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024]
    return {
        "outcomes": dict(outcomes),
        "peak_mib": [round(peak) for peak in peaks],
        "slowest_s": round(slowest, 2),
        "bad": bad[:20],
    }


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"one case took more than {CASE_LIMIT_S} s")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _too_slow)
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
