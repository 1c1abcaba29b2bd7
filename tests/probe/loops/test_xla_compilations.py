"""Executable memory without a file, counted from a list as the kernel writes it."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import reader
from holdfast.journal.events import MachineCodeCounted
from holdfast.probe.loops.xla_compilations import XlaCompilations, regions

from ..probed import new_context

MAPS = """\
7f00-7f10 r-xp 00000000 00:00 0
7f10-7f20 rw-p 00000000 00:00 0
7f20-7f30 r-xp 00000000 fe:00 4711 /lib/libc.so.6
7f30-7f40 rwxp 00000000 00:00 0
7f40-7f50 r-xp 00000000 00:00 0 [vdso]
"""


def test_only_executable_memory_without_a_file_counts() -> None:
    assert regions(MAPS) == 2


def test_growth_is_told_and_rest_is_not(tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    context = new_context(tmp_path / "run")
    looking = XlaCompilations(context, "step", "train.py:3", maps)
    one = "7f00-7f10 r-xp 00000000 00:00 0\n"
    for now, step, count in (
        (0, 0, 2),
        (1, 1, 2),
        (2, 2, 3),
        (3, 3, 6),
        (4, 3, 6),
        (5, 4, 6),
        (7, 5, 20),
        (10, 6, 20),
    ):
        context.heartbeat.step = step
        maps.write_text(one * count)
        looking.poll(float(now))
    said = [entry.event for entry in reader.read(context.folder.journal)]
    assert said == [
        MachineCodeCounted(function="step", where="train.py:3", step=step, regions=regions)
        for step, regions in ((1, 2), (3, 6), (6, 20))
    ]
