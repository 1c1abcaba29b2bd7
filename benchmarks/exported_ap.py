"""What a TFLite file finds in a dataset, scored as `holdfast eval` scores the model: the price of eight bits.

holdfast export RUN --to tflite --out small.tflite --pictures PHOTOS --int8 TRAINING_PHOTOS
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
from holdfast.data.reading import read
from holdfast.detectors.export_graph import reading
from holdfast.detectors.export_tflite import _runner
from holdfast.detectors.inference import as_trained
from holdfast.detectors.model_file import read as read_model
from holdfast.detectors.model_place import find
from holdfast.detectors.resizing import Placed
from holdfast.evaluate.coco import score
from holdfast.evaluate.dataset import found_in
from holdfast.pipeline.columns import from_facts
from holdfast.train.prepare import sets
from holdfast.train.validation import truth_of


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
    spec, _ = read_model(find(args.model))
    dataset = read(args.data) if args.data else sets(settings.read(args.model / "recipe.toml")).validation
    dataset = dataset.only_split(args.split) if args.split else dataset
    shown, run = as_trained(spec), reading(_runner(args.tflite))
    facts, seen = [], []
    for record in dataset.records:
        picture = shown(record.picture.read())
        found = run(picture.pixels)
        real = found.classes >= 0
        placed = Placed.of_mapping(picture.mapping)
        boxes = placed.to_picture(found.boxes[real], picture.facts.upright_size)
        seen.append(Seen(boxes, found.scores[real], found.classes[real]))
        facts.append(picture.facts)
    truth = truth_of(from_facts(replace(dataset, classes=spec.classes, class_ids=()), facts))
    print(json.dumps(score(truth, found_in(seen)).numbers))


if __name__ == "__main__":
    main()
