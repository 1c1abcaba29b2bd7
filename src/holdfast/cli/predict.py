"""`holdfast predict`: a model over pictures, as JSON and as pictures with boxes drawn."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sized
from pathlib import Path
from typing import Any

from holdfast.cli.arguments import SCORE, whole
from holdfast.cli.patience import patience
from holdfast.detectors.model_place import find, make_folder
from holdfast.errors import ExitCode, PathMissing, UsageError, of_os
from holdfast.supervise.hushed import hushed

HELP = "run a model over pictures, and print or draw what it finds"

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a model file, or a run that has saved one")
    parser.add_argument("images", nargs="+", help="pictures, folders of pictures, or globs")
    parser.add_argument(
        "--score", type=SCORE, default=0.3, metavar="S", help="leave out what scores less (0.3)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write the pictures there, with boxes drawn"
    )
    parser.add_argument("--batch", type=whole(1, such_as=8), default=8, help="pictures at once (8)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a picture, a line each")


@hushed()
def run(args: argparse.Namespace) -> int:
    paths = find_pictures(args.images)
    model = find(args.model)
    if args.out is not None:
        make_folder(args.out)  # before minutes are spent
    choose_backend()
    with patience(f"loading the model {model}"):
        from holdfast.data.records import Picture
        from holdfast.detectors.inference import detect_all
        from holdfast.detectors.model_file import load

        detector = load(model)
    answers = detect_all(detector, [Picture(str(path)) for path in paths], batch=min(args.batch, len(paths)))
    with patience(f"looking at {counted(paths)}"):
        unreadable = _show(paths, answers, detector.spec.classes, args)
    return ExitCode.FINDINGS if unreadable else ExitCode.FINE


def _show(paths: list[Path], answers: Iterator[Any], names: tuple[str, ...], args: argparse.Namespace) -> int:
    """Prints, and draws where asked to, each answer as it comes; returns how many pictures could not be read."""
    unreadable = 0
    for path, seen in zip(paths, answers, strict=True):
        if seen.problem:
            unreadable += 1
            print(f"{path}: {seen.problem}", file=sys.stderr)
            continue
        found = list(_found(seen, names, args.score))
        print(json.dumps(_as_json(path, seen, found)) if args.json else _as_text(path, found))
        if args.out is not None:
            draw(path, found, args.out)
    return unreadable


def counted(pictures: Sized) -> str:
    return "1 picture" if len(pictures) == 1 else f"{len(pictures)} pictures"


def choose_backend() -> None:
    """Keras must be told before it is imported; what a model was trained on does not matter to its file."""
    import os

    if os.environ.get("KERAS_BACKEND") not in ("tensorflow", "jax"):
        os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def find_pictures(places: list[str]) -> list[Path]:
    """Files in the order given; a folder's are sorted, and looked for in folders below it."""
    from glob import glob

    from holdfast.data import storage

    found: list[Path] = []
    for place in places:
        path = Path(place)
        if path.is_dir():
            below = (path / name for name in storage.walk(place))  # refuses a folder that may not be read
            inside = sorted(file for file in below if file.suffix.lower() in ENDINGS)
        elif path.is_file():
            _refuse_no_picture(path)
            inside = [path]
        else:
            inside = [Path(name) for name in sorted(glob(place, recursive=True))]
        if not inside:
            raise PathMissing(
                "there is no picture",
                where=place,
                found=f"no file in the folder, or below it, ends in {' '.join(ENDINGS)}"
                if path.is_dir()
                else "no file has this name or fits this pattern",
                change="give a picture, a folder that holds some, or a glob",
            )
        found += inside
    return found


def _refuse_no_picture(path: Path) -> None:
    """Of a file that is not called like one: before minutes are spent on loading a model."""
    if path.suffix.lower() in ENDINGS:
        return
    from PIL import Image

    try:
        with Image.open(path):
            return
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, PermissionError):
            raise of_os(error) from error
        raise UsageError(
            "this file is not a picture",
            where=path,
            found=f"it ends in {path.suffix}" if path.suffix else "nothing in it says of what kind it is",
            change="give a picture, a folder that holds some, or a glob",
        ) from error


def _found(seen: Any, names: tuple[str, ...], least: float) -> Iterator[dict[str, Any]]:
    for box, score, label in zip(seen.boxes, seen.scores, seen.classes, strict=True):
        if score >= least:
            yield {
                "class": names[int(label)],
                "score": round(float(score), 4),
                "box": [round(float(value), 1) for value in box],
            }


def _as_json(path: Path, seen: Any, found: list[dict[str, Any]]) -> dict[str, Any]:
    return {"file": str(path), "width": seen.size[0], "height": seen.size[1], "detections": found}


def _as_text(path: Path, found: list[dict[str, Any]]) -> str:
    lines = [f"{path}: {len(found)} found" if found else f"{path}: nothing found"]
    for one in found:
        x1, y1, x2, y2 = one["box"]
        lines.append(f"  {one['score']:.2f}  {one['class']}  ({x1:g}, {y1:g}) to ({x2:g}, {y2:g})")
    return "\n".join(lines)


def draw(path: Path, found: list[dict[str, Any]], folder: Path) -> Path:
    """A copy with boxes and names, as PNG, under a name that no other picture of the call has."""
    from PIL import Image, ImageDraw, ImageOps

    from holdfast.data.pictures import as_rgb

    with Image.open(path) as opened:
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
    target = folder / f"{path.stem}.png"
    number = 1
    while target.exists():
        number += 1
        target = folder / f"{path.stem}-{number}.png"
    image.save(target)
    return target
