"""The first thing that runs in a process: cheap, because most Python processes never train.

Nothing is opened or written before a framework is imported, or an exception ends the script. Which parts observe
which framework: `parts.py`.
"""

from __future__ import annotations

import os
import sys

from . import command_line, import_hooks

#: Set in the environment by the first Python process of a tree, so that those below know they are not it.
FIRST_VARIABLE = "HOLDFAST_FIRST"

_WORKERS_CODE = ("from multiprocessing.", "from multiprocess.", "from joblib.externals.loky.", "from loky.")
_WORKERS_MODULE = ("joblib.externals.loky.", "loky.")

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would cost every Python process of a run some milliseconds
    from types import ModuleType, TracebackType
    from typing import Any

    from .runtime.context import ProbeContext

_settings: dict[str, Any] = {}
_context: ProbeContext | None = None
_hooks = import_hooks.HookTable()


def begin(run_dir: str, attempt: int, *, role: str = "") -> bool:
    """Waits for a framework to be imported. False when a probe is active in this process already."""
    if _settings.get("live") or getattr(sys, "_holdfast_probe", None) not in (None, __name__):
        return False
    sys._holdfast_probe = __name__  # type: ignore[attr-defined]
    _settings.update(run_dir=run_dir, attempt=attempt, role=role or _role(f"{attempt} {run_dir}"), live=True)
    if _context is not None:
        _context.reopen(run_dir, attempt=attempt)
    import_hooks.install(_hooks, _ImportObserver())
    if not role:
        _settings["excepthook"] = sys.excepthook
        sys.excepthook = _uncaught
    return True


def catch_up() -> None:
    """Hooks into what has been imported before the probe was started."""
    for name in sorted(import_hooks.FRAMEWORKS):
        if name in sys.modules:
            _framework_begins(name)


def end() -> None:
    _settings["live"] = False
    if _context is not None:
        _context.close()


def context_is_live() -> bool:
    """Whether `begin` was called, and `end` was not since."""
    return bool(_settings.get("live"))


def context() -> ProbeContext | None:
    """The context of this process, if a framework was imported in it and the probe is on."""
    return _context if _settings.get("live") else None


def open_context() -> ProbeContext | None:
    global _context
    if _context is None and _settings.get("live"):
        from . import parts

        opened = parts.create_context(
            _settings["run_dir"], attempt=_settings["attempt"], role=_settings["role"]
        )
        opened.join()
        _context = opened
        parts.watch_process(opened)
        _hooks.add(opened, parts.process_hooks())
    return context()


class _ImportObserver:
    def framework_begins(self, name: str) -> None:
        _framework_begins(name)
        opened = context()
        if opened is not None:
            opened.keep_heartbeat()
            opened.heartbeat.import_begins()

    def framework_ends(self, name: str) -> None:
        opened = context()
        if opened is not None:
            opened.heartbeat.import_ends()

    def imported(self, name: str, module: ModuleType) -> None:
        opened = context()
        if opened is not None:
            _hooks.install(opened, name, module)


def _framework_begins(name: str) -> None:
    """A framework is about to be imported. A context that cannot be opened is given up for good."""
    if name in _settings.setdefault("frameworks", set()) or not _settings.get("live"):
        return
    try:
        opened = open_context()
        if opened is not None:
            from . import parts

            _settings["frameworks"].add(name)
            _hooks.add(opened, parts.framework_hooks(name))
    except Exception as error:
        _settings["live"] = False
        if os.environ.get("HOLDFAST_PROBE_DEBUG"):
            print(f"holdfast: the probe could not start: {error!r}", file=sys.stderr)


def _role(this_run: str) -> str:
    """main; worker for a process that `multiprocessing` started; child when another Python of the run is above."""
    if _is_worker(command_line.words()):
        return "worker"
    if os.environ.get(FIRST_VARIABLE) == this_run:
        return "child"
    os.environ[FIRST_VARIABLE] = this_run
    return "main"


def _is_worker(command: list[str]) -> bool:
    """By the words that start it, which are Python's or joblib's own, and no part of a path."""
    for word, following in zip(command, [*command[1:], ""]):
        if word == "-c":
            return following.startswith(_WORKERS_CODE)
        if word == "-m":
            return following.startswith(_WORKERS_MODULE)
        if word == "--multiprocessing-fork":
            return True
    return False


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Records what ends the script, then lets it be printed as if the probe's own frames were not there."""
    try:
        from .process import exceptions

        trace = exceptions.without_probe_frames(trace)
        error.__traceback__ = trace
        record_exception(error)
    except Exception:
        pass
    _settings["excepthook"](kind, error, trace)


def record_exception(error: BaseException) -> None:
    """One that ends the script, or leaves the block that is watched."""
    if context() is not None or _settings.get("role") == "main":
        opened = open_context()
        if opened is not None:
            opened.guard("exceptions", opened.exceptions.script_raised, error)
