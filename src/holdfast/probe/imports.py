"""Acts when a module that matters has been imported; costs one dictionary lookup for every other module."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

#: A process that imports one of these is watched.
FRAMEWORKS = frozenset({"keras", "tf_keras", "tensorflow", "jax", "torch"})

#: module of the user's process -> function of the probe that is called with it once it has been imported
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
    "tensorflow.python.data.ops.iterator_ops": "pipeline:hook_iterators",
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


def visit_loaded(framework_comes: Callable[[], None]) -> None:
    """For a probe that comes late: what is imported already is told now."""
    if any(name in sys.modules for name in FRAMEWORKS):
        framework_comes()
    for name in HOOKS:
        module = sys.modules.get(name)
        if module is not None:
            _tell(name, module)


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
    if session is None or name not in HOOKS:
        return
    try:
        part, function = HOOKS[name].split(":")
        from importlib import import_module

        hook = getattr(import_module("." + part, __package__), function)
    except Exception as error:
        session.failed(HOOKS[name], error)
        return
    session.attempt_part(part, hook, module)


def _import_begins(name: str) -> None:
    from . import start

    session = start.session()
    if session is not None and name in FRAMEWORKS:
        session.progress.import_begins()


def _import_ends(name: str) -> None:
    from . import start

    session = start.session()
    if session is not None and name in FRAMEWORKS:
        session.progress.import_ends()
