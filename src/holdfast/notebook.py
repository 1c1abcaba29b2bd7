"""`with holdfast.watch("runs/x"): model.fit(...)`: the same watch, beside a process that runs already.

For notebooks and for code that cannot be started by `holdfast run`. A companion process looks from outside, the
probe speaks from inside. What only a parent can know is not known here: the exit status, the signal that ended
the process, who sent signals to it, and what it printed; nor can it be stopped or started again.
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

_FINISHES_WITHIN_S = 20.0
_PR_SET_PTRACER = 0x59616D61


class watch:  # read as a verb: `with holdfast.watch(…):`
    """Watches this process for the length of the block, and says at its end how it went."""

    def __init__(
        self, run_dir: str | Path | None = None, *, stall_after: float | None = None, quiet: bool = False
    ) -> None:
        self._asked = run_dir
        self._stall_after = stall_after
        self._quiet = quiet
        self._companion: subprocess.Popen[bytes] | None = None
        self.folder: Path | None = None  # None: the process is watched already, and this block adds nothing

    def __enter__(self) -> watch:
        from holdfast import probe

        argv = tuple(sys.argv) if sys.argv and sys.argv[0] else ("notebook",)
        asked = None if self._asked is None else str(self._asked)
        folder = choose_folder(argv, run_dir=asked, name=None, runs=Path("runs"))
        folder.mkdir(parents=True, exist_ok=True)
        if (
            getattr(sys, "_holdfast_probe", None) is not None
        ):  # under `holdfast run`, or in a block around this one
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
            self._tell()

    def _open(self, folder: Path, command: tuple[str, ...]) -> None:
        """The first line of the journal, before the probe writes its own."""
        orders = RunOptions(command=command, run_dir=folder, stall_after_s=self._stall_after, watch="beside")
        record = Recorder(RunFolder(folder))
        record.append(run_opened_event(orders, RunFolder(folder)))
        script = script_snapshot.snapshot_script(command, RunFolder(folder), cwd=Path.cwd())
        if script is not None:
            record.append(script)
        record.close()

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        words = [
            sys.executable,
            "-m",
            "holdfast.supervise.companion",
            str(os.getpid()),
            str(folder.resolve()),
        ]
        if self._stall_after is not None:
            words.append(str(self._stall_after))
        companion = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
        with contextlib.suppress(OSError, AttributeError):  # lets it read our stacks where only a parent may
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
            companion.wait(_FINISHES_WITHIN_S)

    def _tell(self) -> None:
        """In this process, so that a notebook shows it."""
        from holdfast.explain import explain
        from holdfast.report.verdict import render

        if self.folder is None or not RunFolder(self.folder).is_run:
            return
        try:
            print(render(explain(self.folder)), file=sys.stderr)
        except Exception as error:
            print(
                f"holdfast: the run could not be explained: {type(error).__name__}: {error}", file=sys.stderr
            )
