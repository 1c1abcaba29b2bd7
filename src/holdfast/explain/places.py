"""Files of captured stacks as the probe names them: from the folder on that the command was started in."""

from __future__ import annotations

from dataclasses import replace

from holdfast.explain.standing import is_users
from holdfast.journal.stacks import Capture, Frame, ProcessStacks


def shortened(capture: Capture, started_in: str) -> Capture:
    """The user's own files that lie below that folder; a library keeps its whole path, by which it is known."""
    if not started_in.strip("/"):
        return capture
    folder = started_in.rstrip("/") + "/"
    looks = [
        replace(look, processes=[_process(process, folder) for process in look.processes])
        for look in capture.looks
    ]
    return replace(capture, looks=looks)


def _process(process: ProcessStacks, folder: str) -> ProcessStacks:
    threads = [
        replace(thread, frames=[_frame(frame, folder) for frame in thread.frames])
        for thread in process.threads
    ]
    return replace(process, threads=threads)


def _frame(frame: Frame, folder: str) -> Frame:
    short = frame.file.removeprefix(folder)
    # A script without an ending, or a folder named as a library is, is known as the user's by its whole path only.
    known = short != frame.file and is_users(frame.file) and is_users(short)
    return replace(frame, file=short) if known else frame
