"""How often a message is tried, and until when. The clock and the pause are arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: Between the tries of one message. A service that is restarted is back within a minute.
PAUSES_S = (1.0, 5.0, 20.0)
_MAX_ASKED_PAUSE_S = 60.0  # what a service asks for in Retry-After


class DeliveryError(Exception):
    """A message did not arrive; the text is the reason."""


class Refused(DeliveryError):
    """Another try would end the same."""


class Unavailable(DeliveryError):
    """It may arrive later."""

    def __init__(self, reason: str, *, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


@dataclass(frozen=True, slots=True)
class Delivered:
    """How the delivery of one message went; no reason: it arrived."""

    tries: int
    reason: str = ""


def deliver(
    send: Callable[[], None], *, pause: Callable[[float], bool], pauses_s: tuple[float, ...] = PAUSES_S
) -> Delivered:
    """Tries until it arrives, is refused, or the pauses are used up. `pause` returns False when no time is left."""
    tries = 0
    while True:
        tries += 1
        try:
            send()
        except Refused as refusal:
            return Delivered(tries, str(refusal))
        except Unavailable as failure:
            if tries > len(pauses_s):
                return Delivered(tries, str(failure))
            wait_s = max(pauses_s[tries - 1], min(failure.pause_s or 0.0, _MAX_ASKED_PAUSE_S))
            if not pause(wait_s):
                return Delivered(tries, str(failure))
        except Exception as error:  # a bug of ours ends no other message
            return Delivered(tries, f"{type(error).__name__}: {error}")
        else:
            return Delivered(tries)
