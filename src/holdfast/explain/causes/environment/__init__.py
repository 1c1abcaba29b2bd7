"""Causes in the script, its environment and several machines."""

from __future__ import annotations

from holdfast.explain.causes.environment import (
    download_blocked,
    eager_execution,
    gpu_not_used,
    host_rebooted,
    illegal_instruction,
    peer_missing,
    preempted,
    recompiling,
    script_error,
    uneven_batches,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    script_error.script_error,
    gpu_not_used.gpu_not_used,
    eager_execution.eager_execution,
    recompiling.recompiling,
    illegal_instruction.illegal_instruction,
    download_blocked.download_blocked,
    preempted.preempted,
    host_rebooted.host_rebooted,
    peer_missing.peer_missing,
    uneven_batches.uneven_batches,
)
