"""What feeds a fit, read without drawing from it."""

from __future__ import annotations

from typing import Any

from .session import Session


def iterator_made(session: Session, iterator: Any, arguments: dict[str, Any]) -> None:
    return


def look_for_bad_files(session: Session, error: BaseException) -> None:
    return
