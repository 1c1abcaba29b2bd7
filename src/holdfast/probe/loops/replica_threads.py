"""Threads in which a strategy of tf.distribute runs, or traces, what one replica does."""

from __future__ import annotations

import threading


def number() -> int:
    """Of the replica whose thread this is, counted from 0; -1 in any other thread."""
    replica = getattr(threading.current_thread(), "replica_id", None)
    return replica if isinstance(replica, int) else -1


def is_replica() -> bool:
    return number() >= 0
