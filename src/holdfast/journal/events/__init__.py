# ruff: noqa: F403  # every class of each module is an event of the journal
"""The events of the journal: one class each, named in the past tense, in a module by topic.

An event's kind is its class name in snake case. Fields are plain JSON values. Every field has a
default, so that an event written by an older or a newer Holdfast can still be read: a field that is
missing takes its default, one that is not known is dropped. Times are in the entry around the
event (`reader.Entry`), not in the event.

Source lines are written ``"path/to/train.py:41"``. Sizes are bytes, durations seconds. A field called `text` is a
sentence for a person; no code decides by it.
"""

from __future__ import annotations

from .attach_events import *
from .checkpoint_events import *
from .dataset_events import *
from .event import Event as Event
from .event import Json as Json
from .event import payload as payload
from .fit_events import *
from .group_events import *
from .learning_events import *
from .loop_events import *
from .memory_events import *
from .monitor_events import *
from .process_events import *
from .run_events import *
from .scheduler_events import *

EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())

_BY_KIND = {event.kind: event for event in EVENTS}


def class_of(kind: str) -> type[Event] | None:
    """None for a kind that this version does not know."""
    return _BY_KIND.get(kind)
