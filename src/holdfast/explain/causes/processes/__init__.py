"""Causes in processes, threads and signals."""

from __future__ import annotations

from holdfast.explain.causes.processes import (
    cpu_oversubscribed,
    deadlock,
    exit_hang,
    fork_deadlock,
    generator_not_thread_safe,
    loader_swallows_errors,
    native_crash,
    output_pipe_full,
    process_suspended,
    shared_memory_full,
    terminal_signal,
    thread_limit,
    worker_died,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    worker_died.worker_died,
    fork_deadlock.fork_deadlock,
    deadlock.deadlock,
    shared_memory_full.shared_memory_full,
    output_pipe_full.output_pipe_full,
    loader_swallows_errors.loader_swallows_errors,
    generator_not_thread_safe.generator_not_thread_safe,
    native_crash.native_crash,
    thread_limit.thread_limit,
    cpu_oversubscribed.cpu_oversubscribed,
    process_suspended.process_suspended,
    terminal_signal.terminal_signal,
    exit_hang.exit_hang,
)
