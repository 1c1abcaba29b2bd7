"""Signal numbers as people write them."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """SIGTERM; "SIG36" for a real-time signal, which has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
