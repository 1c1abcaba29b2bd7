"""The secret of a group: who shows it may join. From the environment or a file, never from the command line."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from holdfast import regular_file
from holdfast.errors import UsageError, of_os

VARIABLE = "HOLDFAST_GROUP_TOKEN"
SHORTEST = (
    16  # characters; what people make up is shorter, and a job's number or name is known to a whole cluster
)
_LONGEST = 4096
_MAKE = 'umask 077; python3 -c "import secrets; print(secrets.token_hex(16))" > group.token'


def new() -> str:
    return secrets.token_hex(16)


def find(typed: str | None, file: str | None, environment: Mapping[str, str], *, needed: bool) -> str:
    """Empty where there is none and none is `needed`: on one host the group makes its own."""
    if typed is not None:
        raise UsageError(
            "--token would show the group's secret to every user of this machine",
            where="the command line",
            change=[
                f"{_MAKE}, copied to each host, and --token-file group.token",
                f"or {VARIABLE} in the environment",
            ],
        )
    token, where = (_read(file), file) if file else (environment.get(VARIABLE, ""), f"${VARIABLE}")
    if not token and needed:
        raise UsageError(
            "several hosts need a secret that they share: who has it may join the group",
            where="the command line",
            found=f"no --token-file, and no {VARIABLE} in the environment",
            change=f"{_MAKE}, copied to each host, and --token-file group.token on each",
        )
    if token and len(token) < SHORTEST:
        raise UsageError(
            f"the group's token is too short to be a secret: {len(token)} characters of at least {SHORTEST}",
            where=where,
            change=_MAKE,
        )
    return token


def _read(file: str) -> str:
    try:
        return regular_file.read_text(file, most=_LONGEST).strip()
    except OSError as error:
        raise of_os(error) from error
