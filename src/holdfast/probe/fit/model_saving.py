"""Saves and restores: of models, of weights, of TensorFlow checkpoints; what failed, and what was really restored."""

from __future__ import annotations

import os
import shutil
import types
from dataclasses import dataclass
from typing import Any

from ...journal.beats import Phase
from ...journal.events import Restored, SaveDone, SaveFailed, SaveStarted
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.heartbeat import Stopwatch
from ..runtime.hook import Hook
from ..runtime.wrapping import observe
from ..state import model_facts, planned_steps, skipped_loops
from . import active_callback

PART = "model_saving"


@dataclass
class SaveLog:
    """What is under way between the observers of saves and loads."""

    failures: int = 0  # of saves by NumPy, pickle and joblib
    loading: str = ""  # by what, while a load is under way: `restore` calls `read`
    backup_path: str | None = (
        None  # loaded by BackupAndRestore; recorded after on_train_begin, with the epoch
    )

    def new_run(self) -> None:
        self.failures = 0
        self.backup_path = None


def hook_keras3(context: ProbeContext, module: Any) -> None:
    """`keras.src.saving.saving_api`, through which every save and load of Keras 3 goes."""
    for name, by in (("save_model", "Model.save"), ("save_weights", "Model.save_weights")):
        _watch_save(context, module, name, by, path_at=1)
    _watch_load(context, module, "load_weights", "load_weights", path_at=1, model_at=0)
    _watch_load(context, module, "load_model", "load_model", path_at=0, model_at=None)


def hook_tf_checkpoint(context: ProbeContext, module: Any) -> None:
    """`tf.train.Checkpoint`: save goes through write in some versions only."""
    for kind in (getattr(module, "Checkpoint", None), getattr(module, "CheckpointV1", None)):
        if kind is None:
            continue
        for name in ("save", "write"):
            _watch_save(context, kind, name, "tf.train.Checkpoint", path_at=1)
        for name in ("restore", "read"):
            _watch_load(context, kind, name, "tf.train.Checkpoint", path_at=1, model_at=0)


def hook_tf_manager(context: ProbeContext, module: Any) -> None:
    _watch_save(context, module.CheckpointManager, "save", "tf.train.CheckpointManager", path_at=99)


def hook_keras2(context: ProbeContext, module: Any) -> None:
    """The Model class of tf_keras or Keras 2."""
    kind = module.Model
    for name in ("save", "save_weights"):
        _watch_save(context, kind, name, f"Model.{name}", path_at=1)
    _watch_load(context, kind, "load_weights", "load_weights", path_at=1, model_at=0)


def hook_torch(context: ProbeContext, module: Any) -> None:
    """`torch.serialization`. On a full disk its writer raises an error that does not say so."""
    _watch_save(context, module, "save", "torch.save", path_at=1)


class _Save:
    """One save under way."""

    def __init__(self, context: ProbeContext, path: str, by: str) -> None:
        callback = active_callback.running()
        heartbeat = context.heartbeat
        self.path = path
        self.clock = Stopwatch()
        self.before = heartbeat.phase, heartbeat.detail
        self.mine = heartbeat.is_training_thread and heartbeat.phase is not Phase.SAVE
        if self.mine:
            heartbeat.set_phase(Phase.SAVE)
            context.record(SaveStarted(path=path, by=type(callback).__name__ if callback is not None else by))


def _watch_save(context: ProbeContext, owner: Any, name: str, by: str, *, path_at: int) -> None:
    def done(save: _Save, result: Any) -> None:
        path = result if isinstance(result, str) and result else save.path
        _leave(context, save)
        if save.mine:
            context.record(
                SaveDone(
                    path=path,
                    bytes=_bytes_at(path),
                    duration_s=round(save.clock.seconds, 4),
                    step=context.heartbeat.step,
                )
            )

    def failed(save: _Save, error: BaseException) -> None:
        _leave(context, save)
        if save.mine:
            event = context.exceptions.describe(error, left="save")
            context.record(
                SaveFailed(
                    path=save.path,
                    error=f"{event.type}: {event.message}"[:1000],
                    errno=event.errno,
                    free_bytes=free_at(save.path),
                    where=event.user_line,
                )
            )

    observe(
        context, owner, name, PART,
        before=lambda args, kwargs: _Save(context, _path(args, kwargs, path_at), by),
        after=done,
        failed=failed,
    )  # fmt: skip


def _leave(context: ProbeContext, save: _Save) -> None:
    if save.mine:
        context.heartbeat.set_phase(*save.before)


def _watch_load(
    context: ProbeContext, owner: Any, name: str, by: str, *, path_at: int, model_at: int | None
) -> None:
    def done(token: Any, result: Any) -> None:
        path, where, target, count_before = token
        context.saves.loading = ""
        if where is None:
            return
        callback = active_callback.running()
        if callback is not None and type(callback).__name__ == "BackupAndRestore":
            context.saves.backup_path = path
            return
        if by == "tf.train.Checkpoint":
            context.guard(skipped_loops.PART, context.skipped_loops.state_read, skipped_loops.FILLED)
        count = model_facts.iterations(target if target is not None else result)
        plan = context.guard(PART, planned_steps.find, count) if count and not context.fits.current else None
        context.record(
            Restored(
                path=path,
                by=type(callback).__name__ if callback is not None else by,
                iterations=count,
                optimizer_restored=_restored(count_before, count),
                where=where,
                planned_steps=plan.steps if plan is not None else None,
                planned_name=plan.name if plan is not None else "",
            )
        )

    def begun(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target = args[model_at] if model_at is not None and len(args) > model_at else None
        inner = bool(context.saves.loading)
        context.saves.loading = by
        target = _with_optimizer(target)
        where = None if inner else user_lines.caller_line()
        return _path(args, kwargs, path_at), where, target, model_facts.iterations(target)

    def failed(token: Any, error: BaseException) -> None:
        context.saves.loading = ""

    observe(context, owner, name, PART, before=begun, after=done, failed=failed)


def _restored(before: int | None, after: int | None) -> bool | None:
    """Whether the optimizer's count came back; not known where it was the same before."""
    if after is None:
        return None
    return True if after != (before or 0) else (False if after == 0 else None)


def _with_optimizer(target: Any) -> Any:
    """A tf.train.Checkpoint has its objects as attributes; one of them may be an optimizer or have one."""
    if target is None or getattr(target, "optimizer", None) is not None:
        return target
    for value in list(vars(target).values()) if hasattr(target, "__dict__") else []:
        if getattr(value, "optimizer", None) is not None:
            return value
        kind = type(value)  # asking the optimizers of Keras 2 themselves would create their variables
        if hasattr(kind, "iterations") and hasattr(kind, "apply_gradients"):
            return types.SimpleNamespace(optimizer=value)
    return target


def _epoch_to_begin(model: Any) -> int | None:
    """Keras 3 keeps it in the model; Keras 2 in the variables that it has just read."""
    epoch: int | None = getattr(model, "_initial_epoch", None)
    state = getattr(model, "_training_state", None)
    saved = getattr(state, "_ckpt_saved_epoch", None)
    if epoch is not None or saved is None:
        return epoch
    done = int(saved.numpy())
    by_batch = isinstance(getattr(state, "_save_freq", None), int)
    return None if done < 0 else done if by_batch else done + 1


def backup_restored(context: ProbeContext, model: Any) -> None:
    """After on_train_begin: BackupAndRestore has put the model back to an epoch."""
    path, context.saves.backup_path = context.saves.backup_path, None
    if path is None:
        return
    count = model_facts.iterations(model)
    context.record(
        Restored(
            path=path,
            by="BackupAndRestore",
            iterations=count,
            epoch=_epoch_to_begin(model),
            optimizer_restored=None if count is None else count > 0,
        )
    )


def _path(args: tuple[Any, ...], kwargs: dict[str, Any], at: int) -> str:
    given = args[at] if len(args) > at else None
    for name in ("filepath", "file_prefix", "save_path", "checkpoint_number", "f"):
        given = kwargs.get(name, given)
    return os.fspath(given) if isinstance(given, (str, os.PathLike)) else ""


def _bytes_at(path: str) -> int | None:
    """Of a file, a folder, or all files that begin with a checkpoint's prefix."""
    if not path or "://" in path:
        return None
    try:
        if os.path.isfile(path):
            return os.path.getsize(path)
        if os.path.isdir(path):
            return sum(
                os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(path) for name in names
            )
        folder, prefix = os.path.split(path)
        sizes = [
            entry.stat().st_size for entry in os.scandir(folder or ".") if entry.name.startswith(prefix + ".")
        ]
        return sum(sizes) if sizes else None
    except OSError:
        return None


def free_at(path: str) -> int | None:
    folder = os.path.abspath(path or ".")
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


TORCH_HOOKS = (Hook(PART, "torch.serialization", hook_torch),)
KERAS_HOOKS = (Hook(PART, "keras.src.saving.saving_api", hook_keras3),)
KERAS2_HOOKS = (Hook(PART, "engine.training", hook_keras2),)
TENSORFLOW_HOOKS = (
    Hook(PART, "tensorflow.python.checkpoint.checkpoint", hook_tf_checkpoint),
    Hook(PART, "tensorflow.python.checkpoint.checkpoint_management", hook_tf_manager),
    # before TensorFlow 2.9
    Hook(PART, "tensorflow.python.training.tracking.util", hook_tf_checkpoint),
    Hook(PART, "tensorflow.python.training.checkpoint_management", hook_tf_manager),
)
