"""Ask a module in a process of its own, and read its JSON answer.

Frameworks are heavy, may open a GPU, and cannot be unloaded; a process takes all of that with it when it ends. The
module is run as `python -m MODULE ARGUMENTS`, reads the question from standard input, and prints its answer on a line
of its own on standard output. All other lines there are progress.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.host.signals import signal_name

#: Keeps TensorFlow and JAX on the CPU, and quiet.
HIDDEN_GPUS: Mapping[str, str] = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "JAX_PLATFORMS": "cpu",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


class Reply(NamedTuple):
    """`answer` is None when the process printed none; `exit_code` is negative after a signal."""

    answer: Any
    exit_code: int
    stderr: bytes
    timed_out: bool

    @property
    def last_line(self) -> str:
        """The last line on standard error that is not empty: usually the exception."""
        lines = [line.strip() for line in self.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""

    @property
    def ending(self) -> str:
        """How the process ended: `exit code 1`, `killed by SIGKILL`, `timed out`."""
        if self.timed_out:
            return "timed out"
        if self.exit_code >= 0:
            return f"exit code {self.exit_code}"
        return f"killed by {signal_name(-self.exit_code)}"


def ask(
    module: str,
    *arguments: str,
    question: Any = None,
    python: str = sys.executable,
    prefix: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Reply:
    """Runs the module until it ends. `environment` is added to ours; `prefix` comes before the interpreter.

    A module given as a file imports nothing of Holdfast: our folder, which may hold packages for another Python, is
    then not added to the interpreter's path.
    """
    alone = module.endswith(".py")
    command = [*prefix, python, *([module] if alone else ["-m", module]), *arguments]
    added = {**({} if alone else _source_path(python)), **(environment or {})}
    answer, timed_out = None, threading.Event()
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(b"" if question is None else json.dumps(question).encode())
        stdin.seek(0)
        with subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env={**os.environ, **added}
        ) as child:

            def stop() -> None:
                timed_out.set()
                child.kill()

            timer = threading.Timer(timeout_s or 0, stop)
            if timeout_s is not None:
                timer.start()
            try:
                assert child.stdout is not None
                for line in child.stdout:
                    parsed = _answer(line)
                    answer = parsed if parsed is not None else answer
                    if parsed is None and on_progress is not None:
                        on_progress(line.decode("utf-8", "replace").rstrip())
                exit_code = child.wait()
            finally:  # after Ctrl-C nobody waits for the answer
                timer.cancel()
                child.kill()
        stderr.seek(0)
        return Reply(answer, exit_code, stderr.read(), timed_out.is_set())


def _answer(line: bytes) -> Any:
    if not line.startswith((b"{", b"[")):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None


def _source_path(python: str) -> dict[str, str]:
    """Another interpreter may not have Holdfast installed."""
    if python == sys.executable:
        return {}
    paths = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
