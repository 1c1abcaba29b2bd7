# ruff: noqa: F403  # every class of each module is an event of the journal
"""The vocabulary of the journal: one class an event, named in the past tense, in a module by what it is about.

An event's kind is its class name in snake case. Fields are plain JSON values. Every field has a
default, so that an event written by an older or a newer Holdfast can still be read: a field that is
missing takes its default, one that is not known is dropped. Times are in the entry around the
event (`reader.Entry`), not in the event.

Source lines are written ``"path/to/train.py:41"``. Sizes are bytes, durations seconds. A field called `text` is a
sentence for a person; no code decides by it.
"""

from __future__ import annotations

from .checkpoints import *
from .data import *
from .event import Event as Event
from .event import Json as Json
from .event import payload as payload
from .fit import *
from .group import *
from .loops import *
from .memory import *
from .process import *
from .run import *
from .watch import *

EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())

_BY_KIND = {event.kind: event for event in EVENTS}
_NOTE_OF_VERSION_0_1 = "note_made"


def from_json(kind: str, values: Json) -> Event | None:
    """The event, or None for a kind that this version does not know."""
    if kind == _NOTE_OF_VERSION_0_1:
        from ..version_0_1 import event_of  # only old journals need it

        return event_of(values)
    event = _BY_KIND.get(kind)
    if event is None:
        return None
    return event(**{name: value for name, value in values.items() if name in event.fields})
