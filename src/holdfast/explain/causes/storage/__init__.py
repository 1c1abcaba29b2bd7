"""Causes in files and disks."""

from __future__ import annotations

from holdfast.explain.causes.storage import (
    cache_lock_stale,
    checkpoint_torn,
    disk_full,
    file_locked,
    path_missing,
    permission_denied,
    too_many_open_files,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    disk_full.disk_full,
    checkpoint_torn.checkpoint_torn,
    cache_lock_stale.cache_lock_stale,
    file_locked.file_locked,
    too_many_open_files.too_many_open_files,
    path_missing.path_missing,
    permission_denied.permission_denied,
)
