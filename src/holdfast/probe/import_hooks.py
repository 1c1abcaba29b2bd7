"""Acts when a module that matters has been imported; costs one dictionary lookup for every other module."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Protocol

    from .runtime.context import ProbeContext
    from .runtime.hook import Hook

    class ImportObserver(Protocol):
        def framework_begins(self, name: str) -> None: ...
        def framework_ends(self, name: str) -> None: ...
        def imported(self, name: str, module: ModuleType) -> None: ...


#: A process that imports one of these is observed.
FRAMEWORKS = frozenset({"keras", "tf_keras", "tensorflow", "jax", "torch"})


class HookTable:
    """The hooks of this process by the module that they wait for. Empty before a framework is imported."""

    def __init__(self) -> None:
        self._hooks: dict[str, list[Hook]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._hooks

    def add(self, context: ProbeContext, hooks: Iterable[Hook]) -> None:
        """Waits for their modules; what has been imported already is hooked at once."""
        names = []
        for hook in hooks:
            self._hooks.setdefault(hook.module, []).append(hook)
            names.append(hook.module)
        for name in dict.fromkeys(names):
            module = sys.modules.get(name)
            if module is not None and not _half_imported(module):
                self.install(context, name, module)

    def install(self, context: ProbeContext, name: str, module: ModuleType) -> None:
        for hook in self._hooks.get(name, ()):
            context.guard(hook.part, hook.install, context, module)
        if name in self._hooks:
            self._hooks[name] = []  # each is installed once


class ImportFinder:
    """First in sys.meta_path: it finds nothing itself, and follows the import of what the others find."""

    def __init__(self, table: HookTable, observer: ImportObserver) -> None:
        self._table = table
        self._observer = observer
        self._searching: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if (name not in self._table and name not in FRAMEWORKS) or name in self._searching:
            return None
        self._searching.add(name)
        try:
            spec = self._find_elsewhere(name, path, target)
        finally:
            self._searching.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self._follow(spec, name)
        return spec

    def _find_elsewhere(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec = find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def _follow(self, spec: ModuleSpec, name: str) -> None:
        """The loader stays the one it is; only its way to execute this module is replaced, once."""
        loader: Any = spec.loader
        execute: Callable[[ModuleType], None] = loader.exec_module
        observer = self._observer

        def execute_observed(module: ModuleType) -> None:
            if name in FRAMEWORKS:
                observer.framework_begins(name)
            try:
                loader.__dict__.pop("exec_module", None)
                execute(module)
            finally:
                if name in FRAMEWORKS:
                    observer.framework_ends(name)
            observer.imported(name, module)

        if hasattr(loader, "__dict__"):  # one written in C or with slots: its module is not observed
            loader.exec_module = execute_observed


def install(table: HookTable, observer: ImportObserver) -> None:
    if not any(isinstance(finder, ImportFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, ImportFinder(table, observer))


def _half_imported(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
