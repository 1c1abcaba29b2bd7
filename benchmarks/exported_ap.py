"""What a TFLite file finds in a dataset, scored as `holdfast eval` scores the model: the price of eight bits.

holdfast export RUN --to tflite --out small.tflite --images PHOTOS --int8 TRAINING_PHOTOS
holdfast eval RUN DATA --split test
python benchmarks/exported_ap.py small.tflite RUN DATA --split test        # or without DATA, as `holdfast eval`
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np

from holdfast import settings
from holdfast.data.reading.load import read
from holdfast.detectors.anchors.letterbox import InputMapping
from holdfast.detectors.export.serving_graph import as_detect_function
from holdfast.detectors.export.tflite_export import _runner
from holdfast.detectors.inference import as_trained
from holdfast.detectors.model_file import read as read_model
from holdfast.detectors.model_paths import find_model
from holdfast.evaluate.coco_metrics import score
from holdfast.evaluate.model_detections import predictions_of
from holdfast.pipeline.dataset_columns import from_facts
from holdfast.train.dataset_setup import load_splits
from holdfast.train.validation import ground_truth_of


@dataclass(frozen=True)
class Seen:
    boxes: np.ndarray
    scores: np.ndarray
    classes: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tflite", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", nargs="?", help="what the run validated on when left out")
    parser.add_argument("--split")
    args = parser.parse_args()
    spec, _ = read_model(find_model(args.model))
    dataset = (
        read(args.data) if args.data else load_splits(settings.read(args.model / "recipe.toml")).validation
    )
    dataset = dataset.only_split(args.split) if args.split else dataset
    shown, run = as_trained(spec), as_detect_function(_runner(args.tflite))
    facts, seen = [], []
    for record in dataset.records:
        image = shown(record.image.read())
        found = run(image.pixels)
        real = found.classes >= 0
        placed = InputMapping.of_mapping(image.mapping)
        boxes = placed.to_image(found.boxes[real], image.facts.upright_size)
        seen.append(Seen(boxes, found.scores[real], found.classes[real]))
        facts.append(image.facts)
    truth = ground_truth_of(from_facts(replace(dataset, classes=spec.classes, class_ids=()), facts))
    print(json.dumps(score(truth, predictions_of(seen)).numbers))


if __name__ == "__main__":
    main()
