"""Keeps a library's known chatter off the screen. `output.log` has every line of it.

TensorFlow 2.21 prints two lines about oneDNN before its own log level is looked at, twice, and one more when it first
meets a type that oneDNN lacks on this processor. They say nothing about a run of ours, and no setting stops them.
"""

from __future__ import annotations

import re

_NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR|"
    rb"[IWE]\d{4} [\d:.]+ +\d+ (port|util|cpu_feature_guard)\.cc:\d+\] (oneDNN |This TensorFlow binary is optimized)"
)
_NOISE_PREFIXES = (b"WARNING: All log ", b"I0000 ", b"W0000 ", b"E0000 ")
_MAX_PARTIAL_LINE_BYTES = 1000  # of what is held back while a line is not whole


class TensorFlowNoiseFilter:
    """Of one stream. Only a line that begins like chatter waits for its end; all else goes through as it comes."""

    def __init__(self) -> None:
        self._held = b""
        self._at_start = True

    def shown(self, data: bytes) -> bytes:
        """What of `data`, and of what was held back before it, may be shown."""
        out = b""
        for line in (self._held + data).splitlines(keepends=True):
            whole = line.endswith((b"\n", b"\r"))
            if self._at_start and _NOISE.match(line):
                self._held = b"" if line.endswith(b"\n") else line  # a terminal ends it in two bytes
                continue
            if self._at_start and not whole and len(line) < _MAX_PARTIAL_LINE_BYTES and _may_be_noise(line):
                self._held = line
                return out
            self._held = b""
            self._at_start = whole
            out += line
        return out

    def rest(self) -> bytes:
        """At the end: what was held back and never became a line."""
        held, self._held = self._held, b""
        return b"" if _NOISE.match(held) else held


def _may_be_noise(line: bytes) -> bool:
    return any(line.startswith(begin) or begin.startswith(line) for begin in _NOISE_PREFIXES)
