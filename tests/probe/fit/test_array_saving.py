"""Saves by NumPy and pickle that the disk does not take, with the real functions, on /dev/full."""

from __future__ import annotations

import os
import pickle
import types
from pathlib import Path

import numpy
import pytest

from holdfast.journal import reader
from holdfast.journal.events import SaveDone, SaveFailed
from holdfast.probe.fit import array_saving
from holdfast.probe.runtime.context import ProbeContext

from ..probed import new_context

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")


def _told(context: ProbeContext) -> list[tuple[str, str, int | None]]:
    events = [entry.event for entry in reader.read(context.folder.journal)]
    return [
        (one.kind, one.path, one.errno if isinstance(one, SaveFailed) else None)
        for one in events
        if isinstance(one, SaveFailed | SaveDone)
    ]


def test_only_what_the_disk_refused_is_told_and_what_came_after_it(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    own = types.SimpleNamespace(save=numpy.save, savez=numpy.savez, savetxt=numpy.savetxt)
    array_saving.hook_numpy(context, own)
    values = numpy.zeros(100_000)
    own.save(tmp_path / "a.npy", values)
    assert _told(context) == []
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(OSError, match=r"space|written"):
        own.save(full, values)
    own.save(tmp_path / "b.npy", values)
    assert [(kind, path) for kind, path, _ in _told(context)] == [
        ("save_failed", "/dev/full"), ("save_done", str(tmp_path / "b.npy")),
    ]  # fmt: skip


def test_a_dump_into_an_open_file_is_told_by_the_files_name(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    own = types.SimpleNamespace(dump=pickle.dump)
    array_saving.hook_dump(context, own)
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(OSError, match="No space"):
        own.dump(list(range(100_000)), full)
    assert _told(context) == [("save_failed", "/dev/full", 28)]
    failed = next(
        entry.event for entry in reader.read(context.folder.journal) if isinstance(entry.event, SaveFailed)
    )
    assert failed.where.endswith(f"test_array_saving.py:{_line_of('own.dump(list')}")


def _line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)
