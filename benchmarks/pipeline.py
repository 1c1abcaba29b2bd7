"""The pipeline against its peers on this machine, as ratios: one run, two cores, images of 0.5, 3 and 12 MP.

    python benchmarks/pipeline.py [--torch-python PYTHON] [--grain-python PYTHON] [--rounds 9] [--json FILE]

The contenders take turns in short rounds, so that whatever else the machine does falls on all of them alike; the
ratios are medians over the rounds. Beside the time on the clock stands the ratio of CPU time, which other work on
the machine disturbs less. All have two threads or workers and two batches of prefetching. The target is 512x512
for all, without augmentation unless said. Contenders:

    tutorial          parallel map of read, decode, resize to float, divide by 255; batch; prefetch; stretches
    tutorial, padded  the same with the aspect kept (`tf.image.resize_with_pad`)
    torch             PyTorch's DataLoader, two workers, Pillow: open, convert, resize, to float (needs torch)
    grain             Grain's MapDataset, two reading threads, OpenCV: read, resize in uint8, batch (needs grain, cv2)
    full decode       read and decode at full size on all cores, nothing else: the limit without scaled decoding
    bound             read and decode as ours does, at a fraction, and nothing else: no arrangement of threads, resizing
                      or batches can be faster with this decoder
    ours              the first epoch: decoded at a fraction, resized once, uint8; the aspect kept, the default
    ours, stretched   the same, stretched: a 4:3 image is decoded at twice the size for its shorter side
    ours, light       with flip, scale jitter and colour (colour is applied in the step, not here)
    packed            later epochs: the small copies that `holdfast data pack` makes
    packed, light     the same with flip, scale jitter and colour; the copies are larger, for the jitter
    … stretched       these two, stretched
    … device          resized by the compiled step (`data.resize = "device"`): what is left for the host; h200_resize.py
                      measures the step's part
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

SIZES = {"0.5": (816, 612), "3": (2048, 1536), "12": (4000, 3000)}
TARGET, BATCH, CORES = 512, 8, 2
WARM = 3  # batches that are not timed: a round starts its contender anew and stops it, so that none works in another's
TIMED = {"0.5": 24, "3": 12, "12": 6}  # batches a round
CONTENDERS = ("tutorial", "tutorial, padded", "torch", "grain", "full decode", "bound", "ours", "ours, stretched",
              "ours, light", "packed", "packed, light", "packed, stretched", "packed, light, stretched", "ours, device",
              "ours, light, device", "packed, device", "packed, light, device")  # fmt: skip
AIMS = (("ours", "tutorial", "0.5", 1.6), ("ours", "tutorial", "3", 1.9), ("ours", "tutorial", "12", 1.9),
        ("ours, light", "tutorial", "0.5", 1.5), ("ours, light", "tutorial", "3", 1.8),
        ("ours, light", "tutorial", "12", 1.9), ("packed, light", "tutorial", "3", 2.5),
        ("packed, light", "tutorial", "12", 6.0), ("ours", "torch", "0.5", 1.0), ("ours", "torch", "3", 1.0),
        ("ours", "torch", "12", 1.0), ("ours", "grain", "0.5", 1.0), ("ours", "grain", "3", 1.0),
        ("ours", "grain", "12", 1.0))  # fmt: skip


Start = Callable[[], Iterator[Any]]


# -- images -----------------------------------------------------------------------------------------


def photograph(width: int, height: int, seed: int) -> Any:
    """Noise in octaves, as a photograph has it: about 0.2 bytes a pixel as JPEG of quality 90."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(seed)
    total = rng.normal(120, 3, (height, width, 3)).astype(np.float32)
    for cells, strength in ((4, 60), (16, 35), (64, 20), (256, 10), (1024, 6)):
        rows = max(2, cells * height // width)
        for channel in range(3):
            coarse = Image.fromarray(rng.normal(0, 1, (rows, cells)).astype(np.float32))
            total[..., channel] += strength * np.asarray(
                coarse.resize((width, height), Image.Resampling.BICUBIC)
            )
    return Image.fromarray(np.clip(total, 0, 255).astype(np.uint8))


def generate(folder: Path, megapixels: str, count: int) -> list[str]:
    width, height = SIZES[megapixels]
    folder = folder / megapixels
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:03d}.jpg" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.exists():
            photograph(width, height, number).save(path, quality=90)
    return [str(path) for path in paths]


# -- contenders: each gives a way to start batches that never end -------------------------------------


def tutorial(paths: list[str], folder: Path, *, padded: bool = False) -> Start:
    import tensorflow as tf

    def load(path: Any) -> Any:
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        if padded:
            return tf.image.resize_with_pad(image, TARGET, TARGET) / 255.0
        return tf.image.resize(image, (TARGET, TARGET)) / 255.0

    data = tf.data.Dataset.from_tensor_slices(paths).repeat().map(load, num_parallel_calls=CORES)
    batches = data.batch(BATCH).prefetch(2)
    return lambda: iter(batches)


def full_decode(paths: list[str], folder: Path) -> Start:
    import tensorflow as tf

    def load(path: Any) -> Any:
        return tf.reduce_max(tf.io.decode_jpeg(tf.io.read_file(path), channels=3)[:1])

    data = tf.data.Dataset.from_tensor_slices(paths).repeat().map(load, num_parallel_calls=CORES)
    batches = data.batch(BATCH).prefetch(2)
    return lambda: iter(batches)


def torch_loader(paths: list[str], folder: Path) -> Start:
    import numpy as np
    import torch
    from PIL import Image

    class Images(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 1_000_000

        def __getitem__(self, index: int) -> Any:
            image = Image.open(paths[index % len(paths)]).convert("RGB")
            image = image.resize((TARGET, TARGET), Image.Resampling.BILINEAR)
            return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).float() / 255.0

    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(Images(), batch_size=BATCH, num_workers=CORES)
    return lambda: iter(loader)


def grain_loader(paths: list[str], folder: Path) -> Start:
    import cv2
    import grain
    import numpy as np

    cv2.setNumThreads(1)

    def load(path: str) -> Any:
        image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR_RGB)
        return cv2.resize(image, (TARGET, TARGET))

    data = grain.MapDataset.source(paths).repeat().map(load)
    options = grain.ReadOptions(num_threads=CORES, prefetch_buffer_size=3 * BATCH)
    return lambda: iter(data.to_iter_dataset(options).batch(BATCH))


def bound(paths: list[str], folder: Path) -> Start:
    from holdfast.data.records import Dataset, ImageRef, Record
    from holdfast.pipeline import batch_plan, dataset_columns, decode, image_bytes
    from holdfast.pipeline.batch_threads import BatchJob, BatchThreads
    from holdfast.pipeline.feed import Feed
    from holdfast.pipeline.stream import Stream

    records = tuple(Record(path, path, ImageRef(path)) for path in paths)
    data = dataset_columns.columns_of(Dataset(str(folder), "made", records, ()))
    (ratio,) = set(
        Stream(data, Feed(TARGET, TARGET, BATCH)).one_step(0)["tiles"][:, 0, batch_plan.RATIO].tolist()
    )
    size = tuple(data.stored_sizes[0].tolist())

    def only_decoded(at: int) -> None:
        decode.whole(image_bytes.read(data, at % len(paths)), 0, ratio, size)

    jobs = lambda: (BatchJob({}, BATCH, only_decoded) for _ in iter(int, 1))  # noqa: E731
    return lambda: BatchThreads(jobs(), threads=CORES, ahead=3).filled()


def ours(
    paths: list[str], folder: Path, *, light: bool, packed: bool, stretched: bool, device: bool
) -> Start:
    from holdfast.data.records import Box, Dataset, ImageRef, Record
    from holdfast.pipeline import dataset_columns, image_sizes, pack, packing
    from holdfast.pipeline.feed import LIGHT, PLAIN, Feed
    from holdfast.pipeline.stream import Stream

    boxes = tuple(Box(50.0 * n, 40.0 * n, 50.0 * n + 90, 40.0 * n + 80, "a") for n in range(8))
    records = tuple(Record(path, path, ImageRef(path), boxes) for path in paths)
    data = dataset_columns.columns_of(Dataset(str(folder), "made", records, ("a",)))
    fit: Any = "stretch" if stretched else "letterbox"
    feed = Feed(height=TARGET, width=TARGET, batch=BATCH, fit=fit, augment=LIGHT if light else PLAIN)
    feed = replace(feed, sent_pixels=image_sizes.sent_pixels(data, feed)) if device else feed
    copies = packing.make_pack(pack.plan_pack(data, feed, 1 << 40), folder / "packs") if packed else None
    return Stream(data, feed, threads=CORES, packed=pack.read(copies) if copies else None).batches


def contender(name: str, paths: list[str], folder: Path) -> Start:
    made = {"torch": torch_loader, "full decode": full_decode, "grain": grain_loader, "bound": bound}
    if name in made:
        return made[name](paths, folder)
    if "tutorial" in name:
        return tutorial(paths, folder, padded="padded" in name)
    how = {word: word in name for word in ("light", "packed", "stretched", "device")}
    return ours(paths, folder, **how)


# -- the process that runs contenders ---------------------------------------------------------------------


def serve(names: list[str], paths: list[str], folder: Path, timed: int) -> None:
    """Answers every line of input, a contender's name, with the seconds and CPU seconds of one round."""
    starts = {name: contender(name, paths, folder) for name in names}
    for start in starts.values():
        timed_round(start, 1)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(timed_round(starts[line.strip()], timed)), flush=True)


def timed_round(start: Start, timed: int) -> tuple[float, float]:
    batches = start()
    for _ in range(WARM):
        next(batches)
    cpu, clock = cpu_seconds(), time.perf_counter()
    for _ in range(timed):
        next(batches)
    taken = time.perf_counter() - clock, cpu_seconds() - cpu
    del batches
    gc.collect()
    return taken


def cpu_seconds() -> float:
    """Of this process and its workers, which run on."""
    ticks, waiting = 0, [os.getpid()]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        try:
            ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:13]))
            for task in (process / "task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:  # gone meanwhile
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


# -- the race ---------------------------------------------------------------------------------------------


class Host:
    """The process of some contenders, from outside: TensorFlow's in one, PyTorch's in another."""

    def __init__(self, python: str, names: list[str], megapixels: str, folder: Path) -> None:
        command = [
            python,
            __file__,
            "--serve",
            ";".join(names),
            "--megapixels",
            megapixels,
            "--images",
            str(folder),
        ]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        if self._answer() != "ready":
            raise SystemExit(f"the contenders did not start: run {' '.join(command)}")

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def round(self, name: str) -> tuple[float, float]:
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        seconds, cpu = json.loads(self._answer())
        return seconds, max(cpu, 1e-9)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Racer:
    """Images a second of one contender, a round each."""

    rates: list[float] = field(default_factory=list)
    cpu_rates: list[float] = field(default_factory=list)


def race(
    megapixels: str, names: list[str], folder: Path, pythons: dict[str, str], rounds: int
) -> dict[str, Racer]:
    """`pythons` are the interpreters of those that do not run in this one."""
    ours = Host(sys.executable, [name for name in names if name not in pythons], megapixels, folder)
    others = {name: Host(pythons[name], [name], megapixels, folder) for name in names if name in pythons}
    racers = {name: Racer() for name in names}
    images = TIMED[megapixels] * BATCH
    try:
        for _ in range(rounds):
            for name, racer in racers.items():
                seconds, cpu = others.get(name, ours).round(name)
                racer.rates.append(images / seconds)
                racer.cpu_rates.append(images / cpu)
    finally:
        for host in (ours, *others.values()):
            host.stop()
    return racers


def ratio(racers: dict[str, Racer], name: str, over: str, *, cpu: bool = False) -> float:
    """The median over the rounds of one contender's speed over another's in the same round."""
    pairs = [
        (racers[name].cpu_rates, racers[over].cpu_rates) if cpu else (racers[name].rates, racers[over].rates)
    ]
    return statistics.median(one / other for one, other in zip(*pairs[0], strict=True))


def has(python: str, packages: str) -> bool:
    return subprocess.run([python, "-c", f"import {packages}"], capture_output=True).returncode == 0


def report(megapixels: str, racers: dict[str, Racer]) -> list[dict[str, Any]]:
    rows = []
    print(f"\n{megapixels + ' MP':24}   images/s   of tutorial  (CPU)   of torch  (CPU)")
    for name, racer in racers.items():
        row: dict[str, Any] = {
            "megapixels": megapixels,
            "contender": name,
            "images_per_s": statistics.median(racer.rates),
        }
        for over in ("tutorial", "torch"):
            if over in racers:
                row[f"of_{over}"] = ratio(racers, name, over)
                row[f"of_{over}_cpu"] = ratio(racers, name, over, cpu=True)
        rows.append(row)
        torch = f"{row['of_torch']:9.2f}  {row['of_torch_cpu']:6.2f}" if "of_torch" in row else "        –"
        print(
            f"{name:24} {row['images_per_s']:9.0f} {row['of_tutorial']:12.2f}  {row['of_tutorial_cpu']:6.2f}  {torch}"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--torch-python", default=sys.executable, help="an interpreter that has torch, pillow"
    )
    parser.add_argument(
        "--grain-python", default=sys.executable, help="an interpreter that has grain, opencv-python-headless"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--images", type=Path, default=Path(tempfile.gettempdir()) / "holdfast-benchmark-images"
    )
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument("--megapixels", choices=tuple(SIZES), help="only this size")
    parser.add_argument(
        "--only", help="these contenders, with semicolons between: 'tutorial;ours;ours, device'"
    )
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    counts = {"0.5": 48, "3": 24, "12": 12}
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    if args.serve:
        paths = generate(args.images, args.megapixels, counts[args.megapixels])
        serve(args.serve.split(";"), paths, args.images / args.megapixels, TIMED[args.megapixels])
        return
    names = args.only.split(";") if args.only else list(CONTENDERS)
    pythons = {"torch": args.torch_python, "grain": args.grain_python}
    for name, packages in (("torch", "torch, PIL"), ("grain", "grain, cv2")):
        if name in names and not has(pythons[name], packages):
            print(f"{name} is not installed here: the comparison with it is LEFT OUT. To have it: python -m venv V; "
                  f"V/bin/pip install its packages ({packages}); then --{name}-python V/bin/python")  # fmt: skip
            names.remove(name)
    rows, found = [], {}
    for megapixels in [args.megapixels] if args.megapixels else SIZES:
        generate(args.images, megapixels, counts[megapixels])
        found[megapixels] = race(megapixels, names, args.images, pythons, args.rounds)
        rows += report(megapixels, found[megapixels])
    print()
    for name, over, megapixels, aim in AIMS:
        if megapixels in found and {name, over} <= found[megapixels].keys():
            by, cpu = (ratio(found[megapixels], name, over, cpu=cpu) for cpu in (False, True))
            says = "reached" if by >= aim else "MISSED"
            print(
                f"aim: {name} at {megapixels} MP at least {aim} times {over}: {by:.2f} (CPU {cpu:.2f}), {says}"
            )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
