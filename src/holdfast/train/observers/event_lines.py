"""Events as plain lines, before there is a plan to show progress against."""

from __future__ import annotations

from holdfast.journal.events import Event
from holdfast.train.event_text import event_line


class EventLines:
    name = "the terminal"

    def notify(self, event: Event) -> None:
        text = event_line(event)
        if text:
            print(text, flush=True)
