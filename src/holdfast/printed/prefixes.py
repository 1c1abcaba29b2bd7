"""What launchers and log collectors put in front of every line: time stamps, ranks, names of containers."""

from __future__ import annotations

import re

_PREFIX = re.compile(
    # docker, Kubernetes
    r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)(?: (?:stdout|stderr) [FP])?(?: |$)"
    r"|[A-Za-z][\w.-]*-\d+\s+\|(?: |$)"  # docker compose
    r"|\[(?:rank ?|default|pod/|gpu ?|worker ?)[^\]\s]*\]:? ?(?!Received)"  # torchrun, kubectl --prefix
    r"|\((?:\w+,? )?(?:pid|ip)=[^)]*\) ?"  # Ray
    r"|(?:stdout|stderr): ?"  # accelerate, deepspeed
    r"|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d [\w.-]+ [\w./-]+\[\d+\]: ?"  # journald, syslog
    r"|<\d+>\s?)"
)
_MOST = 3  # on one line


def without_prefix(text: str) -> str:
    """The line as the program printed it."""
    for _ in range(_MOST):
        match = _PREFIX.match(text)
        if match is None:
            break
        text = text[match.end() :]
    return text
