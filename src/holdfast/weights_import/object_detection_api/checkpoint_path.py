"""Which checkpoint a path means, and a clear word where it is something else."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.errors import PathMissing, UsageError
from holdfast.weights_import.object_detection_api.tensor_bundle import BadCheckpoint, index_path

_SUFFIX = re.compile(r"\.(index|data-\d{5}-of-\d{5}|meta)$")
_NEWEST = re.compile(r'model_checkpoint_path:\s*"([^"]+)"')


def find_checkpoint(path: Path) -> Path:
    """The prefix of a checkpoint's files: of `ckpt-0`, of one of its files, or of a folder with one."""
    if path.is_dir():
        return _in_folder(path)
    prefix = path.with_name(_SUFFIX.sub("", path.name))
    if index_path(prefix).is_file():
        return prefix
    if path.is_file():
        raise _other_file(path)
    beside = sorted(file.name[:-6] for file in path.parent.glob("*.index")) if path.parent.is_dir() else []
    raise PathMissing(
        "there is no checkpoint of this name",
        where=path,
        found=f"{path.parent} has {', '.join(beside[:5])}" if beside else f"no {path.name}.index",
        change="give what the checkpoint's files begin with, such as ckpt-0 of ckpt-0.index",
    )


def _in_folder(folder: Path) -> Path:
    if (folder / "saved_model.pb").is_file():
        raise UsageError(
            "this is a SavedModel, which is for inference",
            where=folder,
            found="saved_model.pb",
            change=f"give the checkpoint beside it: --checkpoint {folder.parent / 'checkpoint' / 'ckpt-0'}",
        )
    state = folder / "checkpoint"
    newest = _NEWEST.search(state.read_text(errors="replace")) if state.is_file() else None
    found = sorted(file.with_suffix("") for file in folder.glob("*.index"))
    if newest is not None and index_path(folder / Path(newest.group(1)).name).is_file():
        return folder / Path(newest.group(1)).name
    if len(found) == 1:
        return found[0]
    raise PathMissing(
        "the folder does not hold exactly one checkpoint",
        where=folder,
        found=[one.name for one in found[:5]] or "no .index file",
        change=f"name the checkpoint itself: {found[-1]}"
        if found
        else "give what its files begin with, such as ckpt-0",
    )


def _other_file(path: Path) -> Exception:
    if path.suffix == ".pb":
        return UsageError(
            "this is a frozen graph of TensorFlow 1, or a SavedModel's: it holds no checkpoint",
            where=path,
            change="give the checkpoint of a TF2 model, such as ckpt-0; one of TF1 cannot be imported",
        )
    return BadCheckpoint(
        "this is no checkpoint of TensorFlow 2",
        where=path,
        found=f"there is no {path.name}.index beside it",
        change="give what the checkpoint's files begin with, such as ckpt-0 of ckpt-0.index and its .data files",
    )
