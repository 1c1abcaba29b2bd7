"""Which TFRecords a run reads: those that its dataset names, else those that the process has open."""

from __future__ import annotations

import os
import re
import stat

from ..runtime.context import ProbeContext
from ..state import tfdata_graph

_NAMES = re.compile(r"\.(?:tf)?records?\b|tfrecord", re.IGNORECASE)


def of_run(context: ProbeContext) -> list[str]:
    """A dataset inside a function or a strategy is not seen; its files stay open while it is read."""
    dataset = context.data.dataset
    named = tfdata_graph.files_of(dataset) if dataset is not None else []
    return [path for path in named if "://" not in path] or open_files()


def open_files() -> list[str]:
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return []
    found = []
    for number in numbers:
        try:
            path = os.readlink("/proc/self/fd/" + number)
            if _NAMES.search(os.path.basename(path)) and stat.S_ISREG(os.stat(path).st_mode):
                found.append(path)
        except OSError:
            continue
    return sorted(set(found))
