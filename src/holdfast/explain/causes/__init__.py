"""The causes that `explain` looks for. To add one, write its file and add its line in the table of its group."""

from __future__ import annotations

from holdfast.explain.causes import (
    control,
    data,
    device,
    environment,
    memory,
    numerics,
    processes,
    steps,
    storage,
)
from holdfast.explain.rule import Cause

#: Group by group; the order inside a group decides between equals.
CAUSES: tuple[Cause, ...] = (
    *memory.CAUSES,
    *device.CAUSES,
    *data.CAUSES,
    *steps.CAUSES,
    *control.CAUSES,
    *numerics.CAUSES,
    *storage.CAUSES,
    *processes.CAUSES,
    *environment.CAUSES,
)

BY_SLUG = {cause.slug: cause for cause in CAUSES}
