"""Signal numbers as people write them."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """SIGTERM; "SIG36" for a real-time signal, which has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


#: Exit codes by which a shell reports the signal that ended its own child.
SHELL_SIGNALS = {129: "SIGHUP", 130: "SIGINT", 131: "SIGQUIT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS",
                  136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 142: "SIGALRM", 143: "SIGTERM", 152: "SIGXCPU",
                  153: "SIGXFSZ"}  # fmt: skip
