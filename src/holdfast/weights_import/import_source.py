"""What a file is that `holdfast import` was given, by its name and its first bytes. Standard library alone."""

from __future__ import annotations

import enum
from pathlib import Path

from holdfast.errors import NotAFile, PathMissing, UsageError

ZIP, PICKLE = b"PK\x03\x04", b"\x80"


class ImportSource(enum.Enum):
    """What can be imported."""

    STATE_DICT = "a PyTorch state dict"
    PIPELINE_CONFIG = "a pipeline.config of the Object Detection API"


def source_of(path: Path) -> ImportSource:
    """What the file is; raises where it is nothing that can be imported."""
    if path.is_dir():
        inside = path / "pipeline.config"
        raise NotAFile(
            "this is a folder, and an import starts from a file",
            where=path,
            found=f"it holds {inside.name}" if inside.is_file() else (),
            change=f"holdfast import {inside}" if inside.is_file() else "give the file itself",
        )
    if not path.is_file():
        raise PathMissing(
            "there is no file to import at this path",
            where=path,
            change="give a .pth file of torchvision, or a pipeline.config of the Object Detection API",
        )
    if path.suffix in (".config", ".pbtxt", ".prototxt"):
        return ImportSource.PIPELINE_CONFIG
    with path.open("rb") as file:
        start = file.read(4)
    if path.suffix in (".pth", ".pt", ".bin", ".ckpt") or start == ZIP or start[:1] == PICKLE:
        return ImportSource.STATE_DICT
    raise UsageError(
        "this is nothing that can be imported",
        where=path,
        found=f"it ends in {path.suffix!r}" if path.suffix else "its name has no ending",
        change="give a .pth file of torchvision, or a pipeline.config of the Object Detection API",
    )
