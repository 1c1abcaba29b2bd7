"""Images, precision-recall curves and the recipe (as hparams) for TensorBoard, after every validation.

Written as `tensorboard.py` does, in the wire format of its plugins, without TensorFlow:
Summary.Value {1: tag, 4: Image, 8: Tensor, 9: Metadata {1: PluginData {1: name, 2: content}}}.
"""

from __future__ import annotations

import base64
import io
import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from holdfast.data.files.tfrecord_framing import framed
from holdfast.data.formats.tf_example import delimited, encoded
from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.evaluation_view import true_positives

THRESHOLDS = 101
MAX_IMAGES, MAX_CLASSES = 8, 20
_FLOAT = 1  # DT_FLOAT
_COLOURS = {True: (61, 220, 132), False: (255, 90, 95)}  # right or found, wrong or missed


class TensorBoardImages:
    """One file per attempt, made with the first validation; the recipe is its first entry."""

    def __init__(self, folder: Path, recipe: Mapping[str, Any]) -> None:
        self._folder, self._recipe = folder, recipe
        self._file: Path | None = None

    def write(
        self, step: int, truth: GroundTruth, predictions: Predictions, shown: Mapping[str, Any]
    ) -> None:
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.album.v2"
            self._file = self._folder / name
            version = _event(0, b"") + delimited(3, b"brain.Event:2")
            self._file.write_bytes(framed(version) + framed(_event(0, hparams(self._recipe))))
        values = b"".join([*image_summaries(shown["pictures"]), *pr_curve_summaries(truth, predictions)])
        with self._file.open("ab") as file:
            file.write(framed(_event(step, values)))


def image_summaries(shown: list[dict[str, Any]]) -> list[bytes]:
    """`worst/0`, `worst/1` …: the ground truth on the left, the predictions on the right."""
    made = []
    for number, one in enumerate(one for one in shown[:MAX_IMAGES] if one["jpeg"]):
        drawn = side_by_side(one)
        out = io.BytesIO()
        drawn.save(out, "JPEG", quality=85)
        image = (
            _number(1, drawn.height) + _number(2, drawn.width) + _number(3, 3) + delimited(4, out.getvalue())
        )
        made.append(_value(f"worst/{number}", delimited(4, image), "images", b""))
    return made


def side_by_side(one: Mapping[str, Any]) -> Image.Image:
    image = Image.open(io.BytesIO(base64.b64decode(one["jpeg"]))).convert("RGB")
    scale = image.width / max(1, one["width"])
    both = Image.new("RGB", (image.width * 2 + 4, image.height))
    for left, rows, key in ((0, one["truth"], "found"), (image.width + 4, one["found"], "right")):
        side = image.copy()
        pen = ImageDraw.Draw(side)
        for row in rows:
            box = [corner * scale for corner in row["box"]]
            pen.rectangle(box, outline=_COLOURS[row[key]], width=2)
            score = f" {row['score']:.2f}" if "score" in row else ""
            pen.text((box[0] + 3, box[1] + 1), row["name"] + score, fill=_COLOURS[row[key]])
        both.paste(side, (left, 0))
    return both


def pr_curve_summaries(truth: GroundTruth, predictions: Predictions) -> list[bytes]:
    """`precision_recall/all`, and one for each of the classes with the most boxes."""
    right = true_positives(truth, predictions)
    categories = truth.category[~truth.crowd]
    boxes = np.bincount(categories, minlength=len(truth.names))
    everything = [("all", np.ones(len(predictions), bool), len(categories))]
    of_classes = [
        (truth.names[at], predictions.category == at, int(boxes[at]))
        for at in np.argsort(-boxes, kind="stable")[:MAX_CLASSES]
        if boxes[at]
    ]
    content = _number(2, THRESHOLDS)  # PrCurvePluginData {2: num_thresholds}
    return [
        _value(f"precision_recall/{name}", delimited(8, _tensor(pr_table(predictions.score[of], right[of], there))),
               "pr_curves", content)
        for name, of, there in [*everything, *of_classes]
    ]  # fmt: skip


def pr_table(score: np.ndarray, right: np.ndarray, there: int) -> np.ndarray:
    """Rows in the order of the plugin: true and false positives, true and false negatives, precision, recall."""
    cuts = np.linspace(0.0, 1.0, THRESHOLDS)
    hit = np.array([(right & (score >= cut)).sum() for cut in cuts], float)
    wrong = np.array([(~right & (score >= cut)).sum() for cut in cuts], float)
    precision = np.divide(hit, hit + wrong, out=np.ones(THRESHOLDS), where=hit + wrong > 0)
    recall = hit / max(1, there)
    return np.stack([hit, wrong, np.zeros(THRESHOLDS), there - hit, precision, recall])


def hparams(recipe: Mapping[str, Any]) -> bytes:
    """HParamsPluginData {3: SessionStartInfo {1: map of google.protobuf.Value}}."""
    flat = {f"{section}.{name}": value for section, rows in recipe.items() for name, value in rows.items()}
    entries = b"".join(
        delimited(1, delimited(1, name.encode()) + delimited(2, _any(value)))
        for name, value in flat.items()
        if isinstance(value, bool | int | float | str)
    )
    started = entries + b"\x29" + struct.pack("<d", time.time())  # 5: start_time_secs
    scalar = delimited(8, _tensor(np.zeros((), np.float32)))
    return _value("_hparams_/session_start_info", scalar, "hparams", delimited(3, started))


def _any(value: bool | float | str) -> bytes:
    if isinstance(value, bool):
        return b"\x20" + encoded(int(value))
    if isinstance(value, str):
        return delimited(3, value.encode())
    return b"\x11" + struct.pack("<d", float(value))


def _event(step: int, values: bytes) -> bytes:
    head = b"\x09" + struct.pack("<d", time.time()) + _number(2, step)
    return head + delimited(5, values) if values else head


def _value(tag: str, body: bytes, plugin: str, content: bytes) -> bytes:
    metadata = delimited(1, delimited(1, plugin.encode()) + delimited(2, content))
    plugin_field = (
        b"" if plugin == "images" else delimited(9, metadata)
    )  # TensorBoard knows an Image by its field
    return delimited(1, delimited(1, tag.encode()) + body + plugin_field)


def _tensor(values: np.ndarray) -> bytes:
    dims = b"".join(delimited(2, _number(1, size)) for size in values.shape)
    content = values.astype("<f4").tobytes()
    return _number(1, _FLOAT) + delimited(2, dims) + delimited(4, content)


def _number(field: int, value: int) -> bytes:
    return encoded(field << 3) + encoded(value)
