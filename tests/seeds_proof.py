"""Fifteen published code examples, bare and under Holdfast: `python -m tests.seeds_proof` (docs/before-and-after.md).

They come from five articles about Keras trainings that halt, which are not ours to distribute: the code is read from
`articles/*.txt` in HOLDFAST_TEST_DATA at run time. This module adds what an example lacks: names that it uses and does
not define, files that it expects, and the smallest edit that lets it run at all.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .real_data import ARTICLES
from .zoo.runs import Outcome, run
from .zoo.trials import Trial, World

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LIMIT_S = 150.0

_IMAGES = """
import os, numpy as np, tensorflow as tf
os.makedirs("pictures", exist_ok=True)
def _picture(kind, number):
    pixels = np.random.default_rng(number).integers(0, 255, (64, 64, 3)).astype("uint8")
    path = f"pictures/{number}.{kind}"
    encode = tf.io.encode_png if kind == "png" else tf.io.encode_jpeg
    open(path, "wb").write(encode(pixels).numpy())
    return path
"""
_MODEL = """
import keras
model = keras.Sequential([keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(4)])
model.compile("sgd", "mse")
"""
_BATCHES = """
dataset = tf.data.Dataset.from_tensor_slices((tf.random.normal((112, 32, 32, 3)), tf.random.normal((112, 4)))).batch(8)
"""
_RECORDS = """
def _floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))
for _number in (1, 2):
    with tf.io.TFRecordWriter(f"train_data_{_number}.tfrecord") as _writer:
        for _row in range(20):
            _coded = open(_picture("jpg", _row), "rb").read()
            _count = 1 + _row % 3
            _sides = ("xmin", "ymin", "xmax", "ymax")
            _features = {f"image/object/bbox/{side}": _floats([0.1] * _count) for side in _sides}
            _features["image/encoded"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[_coded]))
            _writer.write(tf.train.Example(features=tf.train.Features(feature=_features)).SerializeToString())
"""


@dataclass(frozen=True)
class Completion:
    """What an example lacks. `edits` are (pattern, replacement) pairs for what no added name can cure."""

    before: str = ""
    after: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    cap_mib: int | None = None  # where the document speaks of memory
    cap_as_written: bool = False  # the edits make it smaller, and the cap is for its own size


_TWO_ARGUMENTS = (r"lambda \w+, ?\w+:", "lambda *_:")
_PAIRS_APART = (r"from_tensor_slices\((\w+)\)", r"from_tensor_slices(tuple(map(list, zip(*\1))))")
_OWN_OPTIMIZER = (
    r"(?m)^(large_model\b.*)$",
    r"\1\noptimizer = tf.keras.optimizers.Adam()\noptimizer.build(large_model.trainable_variables)",
)
COMPLETIONS = {
    "000-1": Completion(),
    "000-2": Completion(
        _IMAGES + "image_paths = [_picture('png', n) for n in range(64)]\n",
        "for images in dataset:\n    print(images.shape, float(tf.reduce_max(images)))\n",
    ),
    "000-3": Completion(
        _IMAGES + _MODEL + _BATCHES + "epochs = 2\n"
        "def compute_loss(model, batch):\n    return tf.reduce_mean((model(batch[0]) - batch[1]) ** 2)\n",
        "print('updates', int(optimizer.iterations))\n",
        ((r"for batch in dataset", "for batch_index, batch in enumerate(dataset)"),),
    ),
    "001-1": Completion(
        _IMAGES + _MODEL + "batch_size, num_epochs = 8, 2\n"
        "image_paths = [_picture('jpg', n) for n in range(32)]\n"
        "annotation_paths = [p + '.txt' for p in image_paths]\n"
        "[open(p, 'w').write('0.1 0.2 0.5 0.6') for p in annotation_paths]\n",
        "",
        (
            (
                r"return image, annotations",
                "return tf.cast(image, tf.float32), tf.strings.to_number(tf.strings.split(annotations))",
            ),
        ),
    ),
    "001-2": Completion(),
    "001-3": Completion(
        _IMAGES + _MODEL + _BATCHES + "num_epochs = 2\n",
        "print('iterations', int(model.optimizer.iterations))\n",
        ((r'"path/[^"]*"', '"checkpoints/last.weights.h5"'),),
    ),
    "002-1": Completion(),
    "002-2": Completion(_IMAGES + _RECORDS, "", ((r"\.batch\(", ".padded_batch("),)),
    "002-3": Completion("", "", ((r"640", "160"),), 3000, cap_as_written=True),
    "003-1": Completion("", "", (_TWO_ARGUMENTS,), 750),
    "003-2": Completion("", "", (_PAIRS_APART,), 600),
    "003-3": Completion("", "", (_TWO_ARGUMENTS, _OWN_OPTIMIZER), 700),
    "004-1": Completion("", "", (), 1400),
    "004-2": Completion(),
    "004-3": Completion(),
}  # fmt: skip


def examples() -> Iterator[tuple[str, str]]:
    """Name and code of every example, '000-1' the first of the first document."""
    for document in sorted(ARTICLES.glob("*.txt")):
        for number, found in enumerate(_BLOCK.finditer(document.read_text(errors="replace")), start=1):
            yield f"{document.name[:3]}-{number}", found.group(1)


def complete(code: str, completion: Completion, *, mend: bool) -> str:
    for pattern, replacement in completion.edits if mend else ():
        code, count = re.subn(pattern, replacement, code)
        assert count, f"nothing to mend by {pattern!r}"
    return f"{completion.before}\n{code}\n{completion.after}"


def stages(name: str, code: str) -> Iterator[tuple[str, str, int | None]]:
    """(stage, program, memory limit): as written; with what it lacks; mended; each limit."""
    completion = COMPLETIONS[name]
    yield "as written", code, None
    if completion.before:
        yield "completed", complete(code, completion, mend=False), None
    whole = complete(code, completion, mend=True)
    if completion.edits:
        yield "mended", whole, None
    if completion.cap_mib:
        yield f"in {completion.cap_mib} MiB", code if completion.cap_as_written else whole, completion.cap_mib


def _program(folder: Path, name: str, code: str) -> Path:
    path = folder / f"example_{name.replace('-', '_')}.py"
    path.write_text(code)
    return path


def _row(name: str, stage: str, bare: Outcome, watched: Outcome) -> dict[str, object]:
    verdict = watched.verdict or {}
    findings = [f"{one['cause']} ({one['strength']})" for one in verdict.get("findings", [])]
    titles = [one["title"] for one in verdict.get("findings", [])[:1]]
    last = [line for line in bare.output.splitlines() if line.strip()][-1:] or ["nothing"]
    return {
        "example": name, "stage": stage, "bare_exit": bare.exit_code, "bare_s": round(bare.seconds, 1),
        "bare_last_line": last[0][-160:], "exit": watched.exit_code, "seconds": round(watched.seconds, 1),
        "outcome": verdict.get("outcome"), "findings": findings, "title": titles[0] if titles else "",
        "notes": watched.notes,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.seeds_proof", description=__doc__)
    parser.add_argument("names", nargs="*", help="only these examples")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    if not ARTICLES.is_dir():
        print("HOLDFAST_TEST_DATA has no articles; nothing to do")
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, code in examples():
            if asked.names and name not in asked.names:
                continue
            for stage, program, cap in stages(name, code):
                path = _program(Path(folder), name, program)
                trial = Trial(
                    path, f"{name} {stage}", "seed", (), world=World(memory_mib=cap), limit_s=_LIMIT_S,
                    environment={"KERAS_HOME": str(Path(folder) / "keras")},
                )  # fmt: skip
                row = _row(name, stage, run(trial, bare=True), run(trial, keep=asked.keep))
                rows.append(row)
                print(json.dumps(row), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
