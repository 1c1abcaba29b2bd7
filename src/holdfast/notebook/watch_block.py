"""`with holdfast.watch("runs/x"): model.fit(...)`: the same monitoring for a process that is already running.

For notebooks and for code that cannot be started by `holdfast run`. A companion process monitors from outside, the
probe reports from inside. What only a parent process can know is unknown here: the exit status, the signal that ended
the process, who sent signals to it, and what it printed. It cannot be stopped or restarted either.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from holdfast import atomic_write
from holdfast.journal.events import ScriptRead
from holdfast.journal.folder import RunFolder
from holdfast.secret_text import redacted_bytes
from holdfast.stderr import print_line
from holdfast.supervise import script_snapshot
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.run_names import choose_folder
from holdfast.supervise.session import RunOptions, run_opened_event

if TYPE_CHECKING:
    from holdfast.explain.finding import Verdict

_COMPANION_TIMEOUT_S = 20.0
_PR_SET_PTRACER = 0x59616D61


@dataclass(frozen=True)
class CellSource:
    notebook: str  # its name
    cell: str  # which cell, so that its runs are compared with each other
    text: str
    file: str  # the temporary one that stacks and tracebacks name


class watch:  # read as a verb: `with holdfast.watch(…):`
    """Monitors this process during the block, and prints the verdict at its end."""

    def __init__(
        self, run_dir: str | Path | None = None, *, stall_after: float | None = None, quiet: bool = False
    ) -> None:
        self._run_dir = run_dir
        self._stall_after = stall_after
        self._quiet = quiet
        self._companion: subprocess.Popen[bytes] | None = None
        self.source: CellSource | None = None  # of a cell; set before the block is entered
        self.verdict: Verdict | None = None  # at the end of the block
        self.folder: Path | None = None  # None: the process is monitored already, and this block adds nothing

    def __enter__(self) -> watch:
        from holdfast import probe

        argv = tuple(sys.argv) if sys.argv and sys.argv[0] else ("notebook",)
        if self.source is not None:
            argv = (f"{self.source.notebook}.ipynb#{self.source.cell}",)
        run_dir = None if self._run_dir is None else str(self._run_dir)
        folder = choose_folder(argv, run_dir=run_dir, name=None, runs=Path("runs"))
        atomic_write.make_private_folder(folder)
        # Already monitored: under `holdfast run`, or in a block around this one.
        if _is_watched():
            with contextlib.suppress(OSError):
                folder.rmdir()
            return self
        self._open(folder, argv)
        probe.activate(folder.resolve())  # type: ignore[no-untyped-call]
        self.folder = folder
        self._companion = self._start(folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._companion is None or self.folder is None:
            return
        from holdfast import probe
        from holdfast.probe import bootstrap

        if error is not None:
            with contextlib.suppress(Exception):  # the exception itself is what matters
                bootstrap.record_exception(error)
        probe.deactivate()  # type: ignore[no-untyped-call]
        self._finish(kind.__name__ if kind is not None else "", str(error) if error is not None else "")
        self._explain()

    def _open(self, folder: Path, command: tuple[str, ...]) -> None:
        """The first line of the journal, before the probe writes its own."""
        options = RunOptions(command=command, run_dir=folder, stall_after_s=self._stall_after, watch="beside")
        recorder = Recorder(RunFolder(folder))
        recorder.append(run_opened_event(options, RunFolder(folder)))
        script = (
            script_snapshot.snapshot_script(command, RunFolder(folder), cwd=Path.cwd())
            if self.source is None
            else _keep_source(self.source, RunFolder(folder))
        )
        if script is not None:
            recorder.append(script)
        recorder.close()

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "holdfast.supervise.companion",
            str(os.getpid()),
            str(folder.resolve()),
            str(time.monotonic()),
        ]
        if self._stall_after is not None:
            command.append(str(self._stall_after))
        # Under a cell there is a live view, which says the same.
        said = subprocess.DEVNULL if self.source is not None else None
        companion = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said, start_new_session=True)
        # Lets it read our stacks where only a parent process may.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PTRACER, companion.pid, 0, 0, 0)
        return companion

    def _finish(self, raised: str, message: str) -> None:
        companion = self._companion
        if companion is None or companion.stdin is None:
            return
        with contextlib.suppress(OSError):
            companion.stdin.write(json.dumps({"raised": raised, "message": message[:500]}).encode() + b"\n")
            companion.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            companion.wait(_COMPANION_TIMEOUT_S)

    def _explain(self) -> None:
        """In this process, so that the notebook shows it; and in verdict.json, for the board and for later."""
        from holdfast.explain import explain
        from holdfast.report.verdict import render
        from holdfast.report.verdict_json import as_json

        if self.folder is None or not RunFolder(self.folder).is_run:
            return
        try:
            self.verdict = explain(self.folder)
            if not self._quiet:
                print_line(render(self.verdict))
            text = json.dumps(as_json(self.verdict), indent=1, ensure_ascii=False)
        except Exception as error:
            print_line(f"holdfast: could not explain the run: {type(error).__name__}: {error}")
            return
        with contextlib.suppress(OSError):
            atomic_write.write_text(
                RunFolder(self.folder).verdict, text + "\n", errors="backslashreplace", private=True
            )


def _is_watched() -> bool:
    """Under `holdfast run`, or in a block around this one. An earlier block of this process is over."""
    from holdfast.probe import bootstrap

    there = getattr(sys, "_holdfast_probe", None)
    return there is not None and (there != bootstrap.__name__ or bootstrap.context_is_live())


def _keep_source(source: CellSource, folder: RunFolder) -> ScriptRead:
    kept = folder.source / f"{source.notebook}.py"
    kept.parent.mkdir(exist_ok=True)
    data = source.text.encode("utf-8", "backslashreplace")
    atomic_write.write_bytes(kept, redacted_bytes(data), private=True)
    return ScriptRead(script=kept.name, digest=script_snapshot.digest(data), kept=kept.name, file=source.file)
