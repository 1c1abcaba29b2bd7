"""TFRecord written: shards of about 128 MB with the keys of the TF Object Detection API, and a label map."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from holdfast.atomic_write import naming_file
from holdfast.data.files import process_pool
from holdfast.data.files.progress_bar import tracked
from holdfast.data.files.splits import split_in_name
from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.formats import label_map
from holdfast.data.formats.tf_example import serialize_example
from holdfast.data.images.image_file import header_of
from holdfast.data.records import Dataset, Record
from holdfast.data.workers import worker_choice
from holdfast.data.writing.atomic_output import Staging
from holdfast.data.writing.named_records import NamedRecords
from holdfast.data.writing.output_names import class_numbers
from holdfast.errors import DataError, HoldfastError

SHARD_BYTES = 128 << 20
TYPICAL_IMAGE_BYTES = 150_000
Rows = tuple[tuple[Record, str], ...]


def write_tfrecord(
    dataset: Dataset,
    named: NamedRecords,
    staging: Staging,
    shards: int | None = None,
    processes: int | None = None,
) -> None:
    """Shards are written by several processes when there are several: all cores, unless `processes` says how many."""
    numbers = class_numbers(dataset, first=1)
    labels = [
        label_map.Label(number, name) for name, number in sorted(numbers.items(), key=lambda item: item[1])
    ]
    staging.write("label_map.pbtxt", label_map.render(labels).encode("utf-8", "replace"))
    parts = [part for part in _shards(named, shards) if not staging.has(part[0])]
    worker_choice.require_visible(staging.folder)
    if not worker_choice.current().on_ray and (len(parts) < 2 or processes == 1):
        for name, rows in parts:
            _write_shard(staging, name, tracked(rows, f"writing {name}", len(rows)), numbers)
        return
    jobs = ((name, tuple(rows)) for name, rows in parts)  # only those in flight are there at once
    done = process_pool.run(
        _shard_or_error, (staging, numbers), jobs, crashed=_crashed, workers=processes, chunk=1
    )
    for error in tracked(done, "writing shards", len(parts)):
        if error is not None:
            raise error


def _shards(named: NamedRecords, shards: int | None) -> Iterator[tuple[str, NamedRecords]]:
    """Name and rows of every shard."""
    for split, part in named.splits().items():
        size = len(part)
        count = min(size, shards) if shards else 1 + size * TYPICAL_IMAGE_BYTES // SHARD_BYTES
        for number in range(count):
            rows = part.between(size * number // count, size * (number + 1) // count)
            yield f"{split or 'all'}-{number:05d}-of-{count:05d}.tfrecord".replace("/", "_"), rows


def _shard_or_error(
    shared: tuple[Staging, dict[str, int]], job: tuple[str, Rows]
) -> HoldfastError | OSError | None:
    """In a worker: what went wrong comes back to be raised where it is printed."""
    try:
        _write_shard(shared[0], job[0], iter(job[1]), shared[1])
    except (HoldfastError, OSError) as error:
        return error
    return None


def _crashed(job: tuple[str, Rows]) -> HoldfastError:
    return DataError("the process that wrote a shard ended without a word", where=job[0])


def _write_shard(
    staging: Staging, name: str, rows: Iterator[tuple[Record, str]], numbers: dict[str, int]
) -> None:
    unfinished = staging.open_unfinished(name)
    unfinished.unlink(missing_ok=True)  # of a write that was killed
    with naming_file(staging.folder / name), open(unfinished, "xb") as handle:
        for record, image_name in rows:
            handle.write(framed(serialize_example(_features(record, image_name, numbers, name))))
    staging.finish(name)


def _features(
    record: Record, name: str, numbers: dict[str, int], shard: str
) -> dict[str, list[bytes] | list[float] | list[int]]:
    encoded = record.image.read()
    facts = header_of(encoded)
    declared = record.image.declared_size
    if declared is None and facts is None:
        raise DataError("the image cannot be read, so its boxes have no size", where=record.image.path)
    width, height = declared or (0, 0)
    if facts is not None and declared not in (facts.size, facts.upright_size):
        width, height = facts.upright_size
    boxes = record.boxes
    features: dict[str, list[bytes] | list[float] | list[int]] = {
        "image/encoded": [encoded],
        "image/format": [(facts.format.lower() if facts else "jpeg").encode()],
        "image/filename": [name.encode("utf-8", "replace")],
        "image/source_id": [record.id.encode("utf-8", "replace")],
        "image/key/sha256": [hashlib.sha256(encoded).hexdigest().encode()],
        "image/width": [width],
        "image/height": [height],
        "image/object/bbox/xmin": [float(box.x1 / width) for box in boxes],
        "image/object/bbox/ymin": [float(box.y1 / height) for box in boxes],
        "image/object/bbox/xmax": [float(box.x2 / width) for box in boxes],
        "image/object/bbox/ymax": [float(box.y2 / height) for box in boxes],
        "image/object/class/text": [box.name.encode("utf-8", "replace") for box in boxes],
        "image/object/class/label": [numbers[box.name] for box in boxes],
        "image/object/is_crowd": [int(box.crowd) for box in boxes],
        "image/object/difficult": [int(box.difficult) for box in boxes],
    }
    if boxes and all(box.area is not None for box in boxes):
        features["image/object/area"] = [float(box.area) for box in boxes if box.area is not None]
    if boxes and all(box.id is not None for box in boxes):
        features["image/object/id"] = [box.id for box in boxes if box.id is not None]
    if record.split is not None and split_in_name(shard) != record.split:
        features["image/split"] = [record.split.encode("utf-8", "replace")]
    return features
