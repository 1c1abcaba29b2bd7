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
from pathlib import Path
from types import TracebackType

from holdfast.journal.folder import RunFolder
from holdfast.supervise import script_snapshot
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.run_names import choose_folder
from holdfast.supervise.session import RunOptions, run_opened_event

_COMPANION_TIMEOUT_S = 20.0
_PR_SET_PTRACER = 0x59616D61


class watch:  # read as a verb: `with holdfast.watch(…):`
    """Monitors this process during the block, and prints the verdict at its end."""

    def __init__(
        self, run_dir: str | Path | None = None, *, stall_after: float | None = None, quiet: bool = False
    ) -> None:
        self._run_dir = run_dir
        self._stall_after = stall_after
        self._quiet = quiet
        self._companion: subprocess.Popen[bytes] | None = None
        self.folder: Path | None = None  # None: the process is monitored already, and this block adds nothing

    def __enter__(self) -> watch:
        from holdfast import probe

        argv = tuple(sys.argv) if sys.argv and sys.argv[0] else ("notebook",)
        run_dir = None if self._run_dir is None else str(self._run_dir)
        folder = choose_folder(argv, run_dir=run_dir, name=None, runs=Path("runs"))
        folder.mkdir(parents=True, exist_ok=True)
        # Already monitored: under `holdfast run`, or in a block around this one.
        if getattr(sys, "_holdfast_probe", None) is not None:
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

        probe.deactivate()  # type: ignore[no-untyped-call]
        self._finish(kind.__name__ if kind is not None else "", str(error) if error is not None else "")
        if not self._quiet:
            self._print_verdict()

    def _open(self, folder: Path, command: tuple[str, ...]) -> None:
        """The first line of the journal, before the probe writes its own."""
        options = RunOptions(command=command, run_dir=folder, stall_after_s=self._stall_after, watch="beside")
        recorder = Recorder(RunFolder(folder))
        recorder.append(run_opened_event(options, RunFolder(folder)))
        script = script_snapshot.snapshot_script(command, RunFolder(folder), cwd=Path.cwd())
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
        ]
        if self._stall_after is not None:
            command.append(str(self._stall_after))
        companion = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
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

    def _print_verdict(self) -> None:
        """In this process, so that the notebook shows it."""
        from holdfast.explain import explain
        from holdfast.report.verdict import render

        if self.folder is None or not RunFolder(self.folder).is_run:
            return
        try:
            print(render(explain(self.folder)), file=sys.stderr)
        except Exception as error:
            print(f"holdfast: could not explain the run: {type(error).__name__}: {error}", file=sys.stderr)
