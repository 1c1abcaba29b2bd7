"""`holdfast import FILE.pth`: a state dict of torchvision as a model file."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from holdfast.errors import AlreadyThere, ExitCode, UsageError


def run_import(args: argparse.Namespace) -> int:
    if args.checkpoint is not None:
        raise UsageError(
            "--checkpoint belongs to a pipeline.config, and this is a state dict",
            where="the command line",
            change="leave out --checkpoint",
        )
    out = free_folder(args.out or Path(args.file.stem))
    from holdfast.weights_import.torchvision.torchvision_file import TorchvisionFile

    file = TorchvisionFile(args.file, epsilon=args.epsilon)
    classes = class_names(args.classes, file.architecture.classes, file.architecture.detector)
    from holdfast.detectors import model_file
    from holdfast.detectors.build import build
    from holdfast.detectors.model_paths import MODEL_NAME
    from holdfast.detectors.spec import check
    from holdfast.weights_import.torchvision.torchvision_model import arrays_for, spec_of

    spec = check(spec_of(file, classes, args.input))
    detector = build(spec)
    model_file.fill(detector, arrays_for(file, detector))
    out.mkdir(parents=True, exist_ok=True)
    model_file.save(detector, out / MODEL_NAME)
    found = facts(file, spec, out, sum(int(_size(one)) for one in detector.variables))
    print(json.dumps(found) if args.json else as_text(found))
    return ExitCode.FINE


def free_folder(out: Path) -> Path:
    """A folder that is not there, or that is empty."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise AlreadyThere("the import would overwrite something", where=out, change="--out with a free path")
    return out


def class_names(given: str | None, usual: tuple[str, ...], detector: str) -> tuple[str, ...]:
    """Those of --classes, in the order of torchvision's labels from 1 on; else COCO's or numbers."""
    if given is None:
        return usual
    path = Path(given)
    text = path.read_text(encoding="utf-8") if path.is_file() else given.replace(",", "\n")
    names = tuple(line.strip() for line in text.splitlines() if line.strip())
    background = usual[:1] if detector == "retinanet" else ()
    wanted = len(usual) - len(background)
    if len(names) != wanted or len(set(names)) != len(names):
        raise UsageError(
            f"--classes needs {wanted} different names, for the labels from 1 on",
            where="the command line",
            found=f"{len(names)} names, {len(set(names))} of them different",
            change="one name a line in a file, or separated by commas; the background has none",
        )
    return (*background, *names)


def facts(file: Any, spec: Any, out: Path, weights: int) -> dict[str, Any]:
    return {
        "written": str(out),
        "architecture": file.architecture.name,
        "detector": spec.detector,
        "backbone": spec.backbone,
        "input": spec.input[0],
        "classes": list(spec.classes),
        "weights": weights,
    }


def as_text(found: dict[str, Any]) -> str:
    names = found["classes"]
    shown = ", ".join(names[:4]) + (f" … {names[-1]}" if len(names) > 5 else "")
    folder = shlex.quote(found["written"])
    return (
        f"{found['written']} holds torchvision's {found['architecture']}, all {found['weights']:,} weights\n"
        f"  classes  {len(names)}: {shown}\n"
        f"  input    {found['input']} x {found['input']} pixels; another with model.input in a training\n"
        f"  next     holdfast predict {folder} IMAGES\n"
        f"           holdfast train DATA --set model.weights={folder}"
    )


def _size(variable: Any) -> int:
    import math

    return math.prod(variable.shape)
