"""Acts when a module that matters has been imported; costs one dictionary lookup for every other module."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from .session import Session

#: A process that imports one of these is watched.
FRAMEWORKS = frozenset({"keras", "tf_keras", "tensorflow", "jax", "torch"})

#: module of the user's process -> functions of the probe that are called with it once it has been imported
HOOKS = {
    "keras": "frameworks:keras_imported",
    "tensorflow": "frameworks:tensorflow_imported",
    "jax": "frameworks:jax_imported",
    "torch": "frameworks:torch_imported",
    "tf_keras": "frameworks:tf_keras_imported",
    "keras.src.callbacks.callback_list": "callbacks:hook_keras3",
    "keras.src.trainers.trainer": "fitting:hook_base_trainer",
    "keras.src.backend.tensorflow.trainer": "fitting:hook_trainer",
    "keras.src.backend.jax.trainer": "fitting:hook_trainer",
    "keras.src.backend.torch.trainer": "fitting:hook_trainer",
    "keras.src.trainers.epoch_iterator": "fitting:hook_epoch_iterator",
    "keras.src.saving.saving_api": "saving:hook_keras3",
    "numpy": "ownsaves:hook_numpy",
    "pickle": "ownsaves:hook_dump",
    "joblib": "ownsaves:hook_dump",
    "keras.src.utils.rng_utils": "workers:hook_keras_seed",
    "tf_keras.src.utils.tf_utils": "workers:hook_keras_seed",
    "tensorflow.python.framework.random_seed": "workers:hook_tf_seed",
    "tensorflow.python.ops.script_ops": "workers:hook_python_functions",
    "multiprocessing.process": "workers:hook_process",
    "multiprocessing.pool": "workers:hook_pool",
    "multiprocessing.popen_fork": "workerends:hook_popen",
    "multiprocessing.popen_forkserver": "workerends:hook_popen",
    "tf_keras.src.engine.training": "keras2:hook_training",
    "tf_keras.src.callbacks": "keras2:hook_callbacks",
    "tf_keras.src.engine.data_adapter": "keras2:hook_data_adapter",
    "tf_keras.src.optimizers.optimizer": "keras2:hook_optimizer unapplied:hook_optimizer",
    "tf_keras.src.optimizers.legacy.optimizer_v2": "keras2:hook_optimizer",
    "keras.src.engine.training": "keras2:hook_training",
    "keras.src.callbacks": "keras2:hook_callbacks",
    "keras.src.engine.data_adapter": "keras2:hook_data_adapter",
    "keras.src.optimizers.optimizer": "keras2:hook_optimizer",
    "keras.src.optimizers.optimizer_experimental.optimizer": "keras2:hook_optimizer",
    "keras.src.optimizers.legacy.optimizer_v2": "keras2:hook_optimizer",
    "keras.src.optimizers.base_optimizer": "loops:hook_optimizer3 unapplied:hook_optimizer",
    "tensorflow.python.data.ops.iterator_ops": "pipeline:hook_iterators loops:hook_iterators",
    "tensorflow.python.eager.polymorphic_function.polymorphic_function": "loops:hook_functions",
    "tensorflow.python.eager.polymorphic_function.tracing_compilation": "traces:hook_tracing",
    "tensorflow.python.eager.backprop": "loops:hook_tape",
    "tensorflow.python.eager.imperative_grad": "unapplied:hook_gradients",
    "torch.optim.optimizer": "torchloops:hook_optimizer",
    "torch._tensor": "torchloops:hook_tensor",
    "torch.utils.data.dataloader": "torchloops:hook_loader",
    "tensorflow.python.checkpoint.checkpoint": "saving:hook_tf_checkpoint",
    "tensorflow.python.checkpoint.checkpoint_management": "saving:hook_tf_manager",
}


class Finder:
    """Stands first in sys.meta_path, finds nothing itself, and hangs a hook on what the others find."""

    def __init__(self, framework_comes: Callable[[], None]) -> None:
        self._framework_comes = framework_comes
        self._looking: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if (name not in HOOKS and name not in FRAMEWORKS) or name in self._looking:
            return None
        self._looking.add(name)
        try:
            spec = _find_elsewhere(self, name, path, target)
        finally:
            self._looking.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self._hang(spec, name)
        return spec

    def _hang(self, spec: ModuleSpec, name: str) -> None:
        """The loader stays the one it is; only its way to execute this module is replaced, once."""
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_tell(module: ModuleType) -> None:
            if name in FRAMEWORKS:
                self._framework_comes()
            _import_begins(name)
            try:
                loader.__dict__.pop("exec_module", None)
                execute(module)
            finally:
                _import_ends(name)
            _tell(name, module)

        if hasattr(loader, "__dict__"):  # one written in C or with slots: its module goes unwatched
            loader.exec_module = execute_and_tell


def install(framework_comes: Callable[[], None]) -> None:
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder(framework_comes))


def visit_loaded() -> None:
    """What was imported before there was a session is told now."""
    for name in HOOKS:
        module = sys.modules.get(name)
        if module is not None and not _half_imported(module):
            _tell(name, module)


def _half_imported(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _find_elsewhere(
    own: Finder, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        find_spec = getattr(finder, "find_spec", None)
        if finder is own or find_spec is None:
            continue
        spec = find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


def _tell(name: str, module: ModuleType) -> None:
    from . import start

    session = start.session()
    if session is None or name not in HOOKS or name in session.hooked:
        return
    session.hooked.add(name)
    for entry in HOOKS[name].split():
        part, function = entry.split(":")
        session.guard(part, _call_hook, part, function, session, module)


def _call_hook(part: str, function: str, session: Session, module: ModuleType) -> None:
    from importlib import import_module

    getattr(import_module("." + part, __package__), function)(session, module)


def _import_begins(name: str) -> None:
    from . import start

    session = start.session()
    if session is not None and name in FRAMEWORKS:
        session.keep_ring()
        session.progress.import_begins()


def _import_ends(name: str) -> None:
    from . import start

    session = start.session()
    if session is not None and name in FRAMEWORKS:
        session.progress.import_ends()
