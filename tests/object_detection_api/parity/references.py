"""`python -m tests.object_detection_api.parity.references --models DIR --python PYTHON`: the small answers of the API
that `make test` compares with, made again.

The API builds the small configurations, gets weights that follow from names, and answers. Its answers are stored in
tests/weights_import/object_detection_api/answers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.detectors.build import build
from holdfast.detectors.spec import DetectorSpec
from holdfast.weights_import.object_detection_api.checkpoint_variables import source_of
from holdfast.weights_import.object_detection_api.import_config import read_config
from holdfast.weights_import.object_detection_api.object_graph import read_graph
from holdfast.weights_import.object_detection_api.tensor_bundle import open_bundle
from tests.weights_import.object_detection_api import seeded
from tests.weights_import.object_detection_api.configs import MODELS, TRAINING

_HERE = Path(__file__).parent
ANSWERS = Path(__file__).parents[2] / "weights_import/object_detection_api/answers"
_KEPT = 60  # numbers of each raw output


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MODELS))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    asked = parser.parse_args()
    ANSWERS.mkdir(exist_ok=True)
    for name in asked.names:
        model = MODELS[name]
        with tempfile.TemporaryDirectory() as folder:
            found = answers(Path(folder), model, asked)
        np.savez_compressed(ANSWERS / f"{name}.npz", **thinned(found))
        print(name, (ANSWERS / f"{name}.npz").stat().st_size, "bytes")
    return 0


def answers(folder: Path, model: str, asked: argparse.Namespace) -> dict[str, Any]:
    config = folder / "pipeline.config"
    config.write_text(model + TRAINING)
    boxes, labels = seeded.boxes()
    np.savez(folder / "images.npz", images=seeded.image(), boxes=boxes, labels=labels)
    run(folder, asked, "7")
    np.savez(folder / "weights.npz", **by_key(folder, read_config(config)))
    run(folder, asked, str(folder / "weights.npz"))
    return dict(np.load(folder / "api.npz"))


def by_key(folder: Path, config: Any) -> dict[str, Any]:
    """The seeded weights by the checkpoint's keys, in the API's arrangement."""
    settings = config.model
    spec = DetectorSpec(
        settings.detector, settings.backbone, config.classes, (settings.size.height, settings.size.width),
        variant="object-detection-api", options=settings.options,
    )  # fmt: skip
    bundle = open_bundle(folder / "checkpoint" / "ckpt-0")
    graph = read_graph(bundle)
    assert graph is not None
    found = {}
    for variable in build(spec).variables:
        source = source_of(variable.path, spec)
        key = graph.key_of(f"model/{source.path}")
        assert key is not None, source.path
        value = seeded.weight(variable.path, tuple(variable.shape))
        for _ in range(
            1 if "conv1_conv" in variable.path else seeded.CLASSES if "class_out" in variable.path else 0
        ):
            value = source.change(value)  # often enough, it is its own inverse
        found[key] = value
    return found


def run(folder: Path, asked: argparse.Namespace, weights: str) -> None:
    research = asked.models / "research"
    paths = os.pathsep.join([str(research), str(research / "slim"), str(asked.models)])
    subprocess.run(
        [asked.python, str(_HERE / "api_side.py"), str(folder / "pipeline.config"), str(folder / "images.npz"),
         str(folder / "api.npz"), str(folder / "checkpoint"), weights],
        check=True, env={**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip


def thinned(found: dict[str, Any]) -> dict[str, Any]:
    """All detections and losses, and some of the numbers of every output."""
    outputs = ("box_", "class_", "rpn_", "refined")
    return {
        name: value.reshape(-1)[:: max(1, value.size // _KEPT)] if name.startswith(outputs) else value
        for name, value in found.items()
        if name != "anchors" and not name.startswith("exact_")
    }


if __name__ == "__main__":
    sys.exit(main())
