"""Acts when a module that matters has been imported; costs one dictionary lookup for every other module."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from .runtime.context import ProbeContext

#: A process that imports one of these is watched.
FRAMEWORKS = frozenset({"keras", "tf_keras", "tensorflow", "jax", "torch"})

#: module of the user's process -> functions of the probe that are called with it once it has been imported
HOOKS = {
    "keras": "frameworks=process.framework_versions:keras_imported",
    "tensorflow": "frameworks=process.framework_versions:tensorflow_imported",
    "jax": "frameworks=process.framework_versions:jax_imported",
    "torch": "frameworks=process.framework_versions:torch_imported",
    "tf_keras": "frameworks=process.framework_versions:tf_keras_imported",
    "keras.src.callbacks.callback_list": "callbacks=fit.callback_list:hook_keras3",
    "keras.src.trainers.trainer": "fitting=fit.trainer_hooks:hook_base_trainer",
    "keras.src.backend.tensorflow.trainer": "fitting=fit.trainer_hooks:hook_trainer",
    "keras.src.backend.jax.trainer": "fitting=fit.trainer_hooks:hook_trainer",
    "keras.src.backend.torch.trainer": "fitting=fit.trainer_hooks:hook_trainer",
    "keras.src.trainers.epoch_iterator": "fitting=fit.trainer_hooks:hook_epoch_iterator",
    "keras.src.saving.saving_api": "saving=fit.model_saving:hook_keras3",
    "numpy": "ownsaves=fit.array_saving:hook_numpy",
    "pickle": "ownsaves=fit.array_saving:hook_dump",
    "joblib": "ownsaves=fit.array_saving:hook_dump",
    "keras.src.utils.rng_utils": "workers=process.worker_processes:hook_keras_seed",
    "tf_keras.src.utils.tf_utils": "workers=process.worker_processes:hook_keras_seed",
    "tensorflow.python.framework.random_seed": "workers=process.worker_processes:hook_tf_seed",
    "tensorflow.python.ops.script_ops": "workers=process.worker_processes:hook_python_functions",
    "multiprocessing.process": "workers=process.worker_processes:hook_process",
    "multiprocessing.pool": "workers=process.worker_processes:hook_pool",
    "multiprocessing.popen_fork": "workerends=process.worker_exits:hook_popen",
    "multiprocessing.popen_forkserver": "workerends=process.worker_exits:hook_popen",
    "tf_keras.src.engine.training": "keras2=keras2:hook_training",
    "tf_keras.src.callbacks": "keras2=keras2:hook_callbacks",
    "tf_keras.src.engine.data_adapter": "keras2=keras2:hook_data_adapter",
    "tf_keras.src.optimizers.optimizer": "keras2=keras2:hook_optimizer unapplied=loops.unapplied_gradients:hook_optimizer",  # noqa: E501
    "tf_keras.src.optimizers.legacy.optimizer_v2": "keras2=keras2:hook_optimizer",
    "keras.src.engine.training": "keras2=keras2:hook_training",
    "keras.src.callbacks": "keras2=keras2:hook_callbacks",
    "keras.src.engine.data_adapter": "keras2=keras2:hook_data_adapter",
    "keras.src.optimizers.optimizer": "keras2=keras2:hook_optimizer",
    "keras.src.optimizers.optimizer_experimental.optimizer": "keras2=keras2:hook_optimizer",
    "keras.src.optimizers.legacy.optimizer_v2": "keras2=keras2:hook_optimizer",
    "keras.src.optimizers.base_optimizer": "loops=loops.custom_loop:hook_optimizer3 unapplied=loops.unapplied_gradients:hook_optimizer",  # noqa: E501
    "tensorflow.python.data.ops.iterator_ops": "pipeline=inputs.tfdata_counters:hook_iterators loops=loops.custom_loop:hook_iterators",  # noqa: E501
    "tensorflow.python.eager.polymorphic_function.polymorphic_function": "loops=loops.custom_loop:hook_functions",
    "tensorflow.python.eager.polymorphic_function.tracing_compilation": "traces=loops.function_traces:hook_tracing",
    "tensorflow.python.eager.backprop": "loops=loops.custom_loop:hook_tape",
    "tensorflow.python.eager.imperative_grad": "unapplied=loops.unapplied_gradients:hook_gradients",
    "torch.optim.optimizer": "torchloops=loops.torch_hooks:hook_optimizer",
    "torch._tensor": "torchloops=loops.torch_hooks:hook_tensor",
    "torch.utils.data.dataloader": "torchloops=loops.torch_hooks:hook_loader",
    "tensorflow.python.checkpoint.checkpoint": "saving=fit.model_saving:hook_tf_checkpoint",
    "tensorflow.python.checkpoint.checkpoint_management": "saving=fit.model_saving:hook_tf_manager",
}


class ImportFinder:
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
    if not any(isinstance(finder, ImportFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, ImportFinder(framework_comes))


def visit_loaded() -> None:
    """What was imported before there was a session is told now."""
    for name in HOOKS:
        module = sys.modules.get(name)
        if module is not None and not _half_imported(module):
            _tell(name, module)


def _half_imported(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _find_elsewhere(
    own: ImportFinder, name: str, path: Sequence[str] | None, target: ModuleType | None
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
    from . import bootstrap

    session = bootstrap.session()
    if session is None or name not in HOOKS or name in session.hooked:
        return
    session.hooked.add(name)
    for entry in HOOKS[name].split():
        part, where = entry.split("=")
        session.guard(part, _call_hook, *where.split(":"), session, module)


def _call_hook(part: str, function: str, session: ProbeContext, module: ModuleType) -> None:
    from importlib import import_module

    getattr(import_module("." + part, __package__), function)(session, module)


def _import_begins(name: str) -> None:
    from . import bootstrap

    session = bootstrap.session()
    if session is not None and name in FRAMEWORKS:
        session.keep_ring()
        session.progress.import_begins()


def _import_ends(name: str) -> None:
    from . import bootstrap

    session = bootstrap.session()
    if session is not None and name in FRAMEWORKS:
        session.progress.import_ends()
