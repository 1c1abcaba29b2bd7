"""The last good run of the same script, found among the neighbouring folders."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence


def since_last_good(evidence: Evidence) -> tuple[str, ...]:
    return ()
