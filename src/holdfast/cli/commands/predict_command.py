"""`holdfast predict`: runs a model on images; prints JSON or text, and draws the boxes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from holdfast.cli.arguments import SCORE, add_workers, integer
from holdfast.cli.image_arguments import choose_backend, count_images, image_names
from holdfast.cli.slow_notice import notice_if_slow
from holdfast.data.files.progress_bar import tracked
from holdfast.detectors.model_paths import find_model, make_folder, read_spec
from holdfast.errors import ExitCode
from holdfast.stderr import print_line
from holdfast.supervise.child.tensorflow_noise import filter_tensorflow_noise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a model file, or a run folder with a saved model")
    parser.add_argument("images", nargs="+", help="images, folders of images, or globs")
    parser.add_argument(
        "--score",
        type=SCORE,
        default=0.3,
        metavar="S",
        help="drop detections below this score (default: 0.3)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write the images with their boxes drawn to this folder"
    )
    parser.add_argument(
        "--batch", type=integer(1, such_as=8), default=8, help="images per batch (default: 8)"
    )
    add_workers(parser, "what runs the model")
    parser.add_argument("--json", action="store_true", help="print one JSON object per image, one per line")


@filter_tensorflow_noise()
def run(args: argparse.Namespace) -> int:
    paths = image_names(args.images)
    model = find_model(args.model)
    if args.out is not None:
        make_folder(args.out)  # before the model is loaded, which takes long
    choose_backend()
    with notice_if_slow(f"loading the model {model}"):
        from holdfast.data.records import ImageRef
        from holdfast.data.workers import worker_choice
        from holdfast.detectors.detect_workers import detect_by_workers
        from holdfast.detectors.inference import detect_all
        from holdfast.detectors.model_file import load

        # Workers load the model themselves; here only its classes are needed.
        spec = read_spec(model) if args.workers else {}
        detector = None if spec else load(model)
    classes = detector.spec.classes if detector is not None else tuple(spec["classes"])
    images, batch = [ImageRef(path) for path in paths], min(args.batch, len(paths))
    with (
        worker_choice.using(args.workers, reads=paths[:3]),
        notice_if_slow(f"detecting objects in {count_images(paths)}"),
    ):
        answers = (
            detect_by_workers(model, images, batch=batch)
            if detector is None
            else detect_all(detector, images, batch=batch)
        )
        unreadable = _show(paths, answers, classes, args)
    return ExitCode.FINDINGS if unreadable else ExitCode.FINE


def _show(paths: list[str], answers: Iterator[Any], names: tuple[str, ...], args: argparse.Namespace) -> int:
    """Prints, and draws with --out, each result as it comes, and names unreadable images at the end: how many."""
    unreadable = []
    counted = answers if sys.stdout.isatty() else tracked(answers, "detecting", len(paths))
    for path, seen in zip(paths, counted, strict=True):
        if seen.problem:
            unreadable.append(f"{path}: {seen.problem}")
            continue
        found = list(_found(seen, names, args.score))
        print(json.dumps(_as_json(path, seen, found)) if args.json else _as_text(path, found))
        if args.out is not None:
            draw(path, found, args.out)
    for one in unreadable:
        print_line(one)
    return len(unreadable)


def _found(seen: Any, names: tuple[str, ...], least: float) -> Iterator[dict[str, Any]]:
    for box, score, label in zip(seen.boxes, seen.scores, seen.classes, strict=True):
        if score >= least:
            yield {
                "class": names[int(label)],
                "score": round(float(score), 4),
                "box": [round(float(value), 1) for value in box],
            }


def _as_json(path: str, seen: Any, found: list[dict[str, Any]]) -> dict[str, Any]:
    return {"file": path, "width": seen.size[0], "height": seen.size[1], "detections": found}


def _as_text(path: str, found: list[dict[str, Any]]) -> str:
    lines = [
        f"{path}: {len(found)} detection{'s' * (len(found) != 1)}" if found else f"{path}: no detections"
    ]
    for one in found:
        x1, y1, x2, y2 = one["box"]
        lines.append(f"  {one['score']:.2f}  {one['class']}  ({x1:g}, {y1:g}) to ({x2:g}, {y2:g})")
    return "\n".join(lines)


def draw(path: str, found: list[dict[str, Any]], folder: Path) -> Path:
    """Writes a PNG copy with boxes and class names, under a file name that is still free."""
    from PIL import Image, ImageDraw, ImageOps

    from holdfast.data.images.image_file import as_rgb
    from holdfast.data.records import ImageRef

    with Image.open(BytesIO(ImageRef(path).read())) as opened:
        image = as_rgb(ImageOps.exif_transpose(opened))
    pen = ImageDraw.Draw(image)
    width = max(2, round(min(image.size) / 200))
    for one in reversed(found):
        colour = f"hsl({sum(map(ord, one['class'])) * 47 % 360}, 90%, 45%)"
        x1, y1, x2, y2 = one["box"]
        pen.rectangle((x1, y1, max(x1, x2), max(y1, y2)), outline=colour, width=width)
        label = f"{one['class']} {one['score']:.2f}"
        frame = pen.textbbox((x1 + width, y1 + width), label)
        pen.rectangle(frame, fill=colour)
        pen.text((x1 + width, y1 + width), label, fill="white")
    stem = Path(path).stem
    target = folder / f"{stem}.png"
    number = 1
    while target.exists():
        number += 1
        target = folder / f"{stem}-{number}.png"
    image.save(target)
    return target
