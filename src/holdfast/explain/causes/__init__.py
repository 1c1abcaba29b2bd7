"""The table of causes: what `explain` looks for. To add one, write its file and add its line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.explain.causes import (
    cache_too_large,
    dataset_empty,
    dataset_exhausted,
    dataset_smaller_than_batch,
    early_stopping,
    generator_exhausted,
    killed_for_memory,
    killed_from_outside,
    memory_leak,
    preempted,
    prefetch_too_deep,
    script_error,
    shuffle_buffer_too_large,
    stopped_by_callback,
    terminal_signal,
)
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Finding, RuledOut


@dataclass(frozen=True, slots=True)
class Cause:
    slug: str
    group: str
    judge: Callable[[Evidence], Finding | RuledOut | None]
    page: str

    @property
    def brief(self) -> str:
        """One line: what it is."""
        import sys

        return (sys.modules[self.judge.__module__].__doc__ or "").strip()


#: In each group the specific before the general: among equals the earlier one is named first.
CAUSES: tuple[Cause, ...] = (
    # memory of the host
    Cause(
        "killed-for-memory", "memory of the host", killed_for_memory.killed_for_memory, killed_for_memory.PAGE
    ),
    Cause(
        "killed-from-outside",
        "memory of the host",
        killed_from_outside.killed_from_outside,
        killed_from_outside.PAGE,
    ),
    Cause(
        "shuffle-buffer-too-large",
        "memory of the host",
        shuffle_buffer_too_large.shuffle_buffer_too_large,
        shuffle_buffer_too_large.PAGE,
    ),
    Cause("cache-too-large", "memory of the host", cache_too_large.cache_too_large, cache_too_large.PAGE),
    Cause(
        "prefetch-too-deep", "memory of the host", prefetch_too_deep.prefetch_too_deep, prefetch_too_deep.PAGE
    ),
    Cause("memory-leak", "memory of the host", memory_leak.memory_leak, memory_leak.PAGE),
    # content of the data
    Cause("dataset-empty", "content of the data", dataset_empty.dataset_empty, dataset_empty.PAGE),
    Cause(
        "dataset-smaller-than-batch",
        "content of the data",
        dataset_smaller_than_batch.dataset_smaller_than_batch,
        dataset_smaller_than_batch.PAGE,
    ),
    # counting of steps and epochs
    Cause(
        "dataset-exhausted",
        "counting of steps and epochs",
        dataset_exhausted.dataset_exhausted,
        dataset_exhausted.PAGE,
    ),
    Cause(
        "generator-exhausted",
        "counting of steps and epochs",
        generator_exhausted.generator_exhausted,
        generator_exhausted.PAGE,
    ),
    # control flow
    Cause("early-stopping", "control flow", early_stopping.early_stopping, early_stopping.PAGE),
    Cause(
        "stopped-by-callback",
        "control flow",
        stopped_by_callback.stopped_by_callback,
        stopped_by_callback.PAGE,
    ),
    # processes and threads
    Cause("terminal-signal", "processes and threads", terminal_signal.terminal_signal, terminal_signal.PAGE),
    # environment, several machines
    Cause("script-error", "environment, several machines", script_error.script_error, script_error.PAGE),
    Cause("preempted", "environment, several machines", preempted.preempted, preempted.PAGE),
)

BY_SLUG = {cause.slug: cause for cause in CAUSES}
