"""Files of the Object Detection API given where a model or data is expected: they are imported first."""

from __future__ import annotations

import shlex
from pathlib import Path

from holdfast.detectors.model_paths import MODEL_NAME
from holdfast.errors import UsageError


def refuse_unimported(given: str, setting: str) -> None:
    """A pipeline.config, a checkpoint of TensorFlow by its prefix or one of its files, or a folder with one."""
    path = Path(given)
    if "://" in given or not given or (path / MODEL_NAME).is_file():
        return
    checkpoint = _checkpoint(path)
    if checkpoint is None and path.suffix != ".config" and not (path / "pipeline.config").is_file():
        return
    config = _config(path)
    named = shlex.quote(str(config)) if config is not None else "PIPELINE.config"
    prefix = shlex.quote(str(checkpoint)) if checkpoint is not None else "CHECKPOINT"
    raise UsageError(
        "these are files of TensorFlow's Object Detection API, and they are imported first",
        where=f"{setting} = {given}" if setting else given,
        change=f"holdfast import {named} --checkpoint {prefix} --out NAME; then holdfast train NAME/recipe.toml, or "
        "--set model.weights=NAME with other data",
    )


def _config(path: Path) -> Path | None:
    if path.suffix == ".config" and path.is_file():
        return path
    above = (path, path.parent) if path.is_dir() else (path.parent, path.parent.parent)
    return next((one / "pipeline.config" for one in above if (one / "pipeline.config").is_file()), None)


def _checkpoint(path: Path) -> Path | None:
    """What its files begin with."""
    if path.is_dir():
        found = sorted((*path.glob("*.index"), *path.glob("checkpoint/*.index")))
        return found[-1].with_suffix("") if found else None
    prefix = path.parent / path.name.partition(".data-")[0].removesuffix(".index")
    return prefix if prefix.with_name(f"{prefix.name}.index").is_file() else None
