"""The words that started this process, with the options of the interpreter itself."""

from __future__ import annotations

import os
import sys


def words() -> list[str]:
    """Empty where they cannot be known: before Python 3.10 on a system without /proc."""
    known = getattr(sys, "orig_argv", None)
    if known is not None:
        return list(known)
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []
