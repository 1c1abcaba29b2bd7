"""A service that the Apprise library knows: Slack, Discord, Teams, Telegram, ntfy, e-mail and many others."""

from __future__ import annotations

import logging
from typing import Any

from holdfast.notify.delivery import Refused, Unavailable
from holdfast.notify.notice import Notice

MISSING = 'this address needs Apprise: pip install "holdfast[notify]"'
_TYPES = {"failure": "failure", "stall": "warning", "restart": "warning"}


def open_service(address: str) -> Any:
    """Apprise's object for the address. Raises Refused where Apprise is missing, or does not know the address."""
    try:
        import apprise
    except ImportError:
        raise Refused(MISSING) from None
    service = apprise.Apprise()
    with _LogLines() as lines:
        known = service.add(address)
    if not known:
        scheme = address.partition(":")[0]
        said = f" ({lines.text})" if lines.text else ""
        raise Refused(f"Apprise does not know this address as one of {scheme}://{said}")
    return service


def send(address: str, notice: Notice) -> None:
    service = open_service(address)
    with _LogLines() as lines:
        try:
            arrived = service.notify(
                title=notice.title, body=notice.body, notify_type=_TYPES.get(notice.event, "info")
            )
        except Exception as error:  # a service may raise anything
            raise Unavailable(f"{type(error).__name__}: {error}") from None
    if not arrived:
        raise Unavailable(lines.text or "Apprise could not send it, and gave no reason")


class _LogLines(logging.Handler):
    """Apprise logs why it failed, and returns False."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        return "; ".join(dict.fromkeys(self._lines))[:300]

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage().strip().rstrip("."))

    def __enter__(self) -> _LogLines:
        logger = logging.getLogger("apprise")
        logger.addHandler(self)
        logger.propagate = False
        return self

    def __exit__(self, *exc: object) -> None:
        logging.getLogger("apprise").removeHandler(self)
