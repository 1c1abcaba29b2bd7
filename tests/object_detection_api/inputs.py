"""What the program is given: a configuration made from the API's own, and TFRecords, healthy or with one fault."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.data.formats import tf_example, tfrecord_framing

TEMPLATE = Path("research/object_detection/configs/tf2/ssd_mobilenet_v2_320x320_coco17_tpu-8.config")
_CUT_IMAGE_BYTES = 300
_RESIZER = re.compile(r"fixed_shape_resizer \{.*?\}", re.DOTALL)

Features = dict[str, list[bytes] | list[float] | list[int]]


@dataclass(frozen=True)
class Data:
    """The records and the label map that every case starts from."""

    record: Path
    label_map: Path

    @classmethod
    def below(cls, folder: Path) -> Data:
        return cls(_only(folder, "train*.record"), _only(folder, "*.pbtxt"))

    @property
    def classes(self) -> int:
        return len(re.findall(r"\bid\s*:", self.label_map.read_text()))


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.rglob(pattern))
    if not found:
        raise SystemExit(f"{folder} has no {pattern}")
    return found[0]


# -- configuration -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    steps: int = 300
    learning_rate: float = 0.02
    batch: int = 4
    size: int = 128
    keeps_aspect_ratio: bool = False
    fine_tune_checkpoint: str = ""


def write_config(
    path: Path, template: Path, config: Config, *, record: str, label_map: Path, classes: int
) -> None:
    text = template.read_text()
    for field, value in (
        ("num_classes", classes), ("height", config.size), ("width", config.size), ("batch_size", config.batch),
        ("num_steps", config.steps), ("total_steps", 1_000_000), ("learning_rate_base", config.learning_rate),
        ("warmup_learning_rate", config.learning_rate / 2), ("warmup_steps", 20),
    ):  # fmt: skip
        text = re.sub(rf"\b{field}: \S+", f"{field}: {value}", text)
    text = re.sub(r"label_map_path: .*", f'label_map_path: "{label_map}"', text)
    text = re.sub(r"input_path: .*", f'input_path: "{record}"', text)
    checkpoint = (
        f'fine_tune_checkpoint: "{config.fine_tune_checkpoint}"' if config.fine_tune_checkpoint else ""
    )
    text = re.sub(r"fine_tune_checkpoint: .*", checkpoint, text)
    if not config.fine_tune_checkpoint:
        text = re.sub(r"fine_tune_checkpoint_\w+: .*", "", text)
    if config.keeps_aspect_ratio:
        sizes = f"min_dimension: {config.size // 2} max_dimension: {config.size}"
        text = _RESIZER.sub(f"keep_aspect_ratio_resizer {{ {sizes} }}", text)
    path.write_text(text)


# -- records -----------------------------------------------------------------------------------------


def cut_record(data: Data, folder: Path) -> str:
    """The file ends in the middle of a record."""
    content = data.record.read_bytes()
    return _written(folder / "cut.record", content[: len(content) * 52 // 100])


def swapped_boxes(data: Data, folder: Path) -> str:
    """The left and the right edge of every box are exchanged."""

    def swap(features: Features) -> None:
        left, right = "image/object/bbox/xmin", "image/object/bbox/xmax"
        features[left], features[right] = features[right], features[left]

    return _rewritten(data, folder / "swapped.record", lambda number, features: swap(features))


def cut_image(data: Data, folder: Path) -> str:
    """The tenth image was not written to its end."""

    def cut(number: int, features: Features) -> None:
        if number == 10:
            features["image/encoded"] = [bytes(features["image/encoded"][0])[:_CUT_IMAGE_BYTES]]  # type: ignore[arg-type]

    return _rewritten(data, folder / "cut_image.record", cut)


def blocked_shard(data: Data, folder: Path) -> str:
    """Two shards, of which the second is a FIFO that nobody opens to write: the reader waits in `open`."""
    _written(folder / "part-00000.record", data.record.read_bytes())
    pipe = folder / "part-00001.record"
    os.mkfifo(pipe)
    return str(folder / "part-*.record")


def other_class(data: Data, folder: Path) -> Path:
    """A label map whose names are not those in the records; the ids are the same."""
    text = re.sub(r"name\s*:\s*(['\"]).*?\1", "name: 'something else'", data.label_map.read_text())
    path = folder / "other_names.pbtxt"
    path.write_text(text)
    return path


def _rewritten(data: Data, path: Path, change: Callable[[int, Features], None]) -> str:
    content = bytearray()
    with data.record.open("rb") as handle:
        for number, frame in enumerate(tfrecord_framing.frames(handle, data.record.stat().st_size)):
            record = (
                tfrecord_framing.read_frame(handle, frame)
                if isinstance(frame, tfrecord_framing.RecordFrame)
                else None
            )
            if record is None:
                raise SystemExit(f"{data.record} is broken already at record {number}")
            features = _features(tf_example.parse_example(record))
            change(number, features)
            content += tfrecord_framing.framed(tf_example.serialize_example(features))
    return _written(path, bytes(content))


def _features(example: tf_example.Example) -> Features:
    return {
        key: example.bytes_of(key) if example.slices(key) else list(values)  # type: ignore[arg-type]
        for key, values in example.features.items()
    }


def _written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)
