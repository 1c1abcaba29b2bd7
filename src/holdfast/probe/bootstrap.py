"""The first thing that runs in a process: cheap, because most Python processes never train.

Nothing is opened or written before a framework is imported, or an exception ends the script.
"""

from __future__ import annotations

import os
import sys

from . import import_hooks

#: Set in the environment by the first Python process of a tree, so that those below know they are not it.
FIRST_VARIABLE = "HOLDFAST_FIRST"

_WORKERS_CODE = ("from multiprocessing.", "from multiprocess.", "from joblib.externals.loky.", "from loky.")
_WORKERS_MODULE = ("joblib.externals.loky.", "loky.")

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would cost every Python process of a run some milliseconds
    from types import TracebackType
    from typing import Any

    from .runtime.context import ProbeContext

_settings: dict[str, Any] = {}
_session: ProbeContext | None = None


def begin(run_dir: str, attempt: int, *, role: str = "") -> bool:
    """Waits for a framework to be imported. False when a probe is at work in this process already."""
    if _settings.get("live") or getattr(sys, "_holdfast_probe", None) not in (None, __name__):
        return False
    sys._holdfast_probe = __name__  # type: ignore[attr-defined]
    _settings.update(run_dir=run_dir, attempt=attempt, role=role or _role(f"{attempt} {run_dir}"), live=True)
    if _session is not None:
        _session.reopen(run_dir, attempt=attempt)
    import_hooks.install(_framework_comes)
    if not role:
        _settings["excepthook"] = sys.excepthook
        sys.excepthook = _uncaught
    return True


def catch_up() -> None:
    """Hooks into what has been imported before the probe was started."""
    if any(name in sys.modules for name in import_hooks.FRAMEWORKS):
        _framework_comes()


def end() -> None:
    _settings["live"] = False
    if _session is not None:
        _session.close()


def session() -> ProbeContext | None:
    """The session of this process, if a framework was imported in it and the probe is on."""
    return _session if _settings.get("live") else None


def open_session() -> ProbeContext | None:
    global _session
    if _session is None and _settings.get("live"):
        from .runtime.context import ProbeContext

        _session = ProbeContext(_settings["run_dir"], attempt=_settings["attempt"], role=_settings["role"])
        _session.join()
    return session()


def _framework_comes() -> None:
    """Called when a framework is about to be imported. A session that cannot be opened is given up for good."""
    if _session is not None or not _settings.get("live"):
        return
    try:
        open_session()
        import_hooks.visit_loaded()
    except Exception as error:
        _settings["live"] = False
        if os.environ.get("HOLDFAST_PROBE_DEBUG"):
            print(f"holdfast: the probe could not start: {error!r}", file=sys.stderr)


def _role(this_run: str) -> str:
    """main; worker for a process that `multiprocessing` started; child when another Python of the run is above."""
    if _is_worker(sys.orig_argv):
        return "worker"
    if os.environ.get(FIRST_VARIABLE) == this_run:
        return "child"
    os.environ[FIRST_VARIABLE] = this_run
    return "main"


def _is_worker(command: list[str]) -> bool:
    """By the words that start it, which are Python's or joblib's own, and no part of a path."""
    for word, following in zip(command, [*command[1:], ""], strict=True):
        if word == "-c":
            return following.startswith(_WORKERS_CODE)
        if word == "-m":
            return following.startswith(_WORKERS_MODULE)
        if word == "--multiprocessing-fork":
            return True
    return False


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Writes down what ends the script, then lets it be printed as if the probe's own frames were not there."""
    try:
        from .process import exceptions

        trace = exceptions.without_probe_frames(trace)
        error.__traceback__ = trace
        if session() is not None or _settings.get("role") == "main":
            opened = open_session()
            if opened is not None:
                exceptions.script_raised(opened, error)
    except Exception:
        pass
    _settings["excepthook"](kind, error, trace)
