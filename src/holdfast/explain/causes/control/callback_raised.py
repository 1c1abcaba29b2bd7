"""A callback raised an exception."""

from __future__ import annotations

import re

from holdfast.explain.finding import Values
from holdfast.explain.readings.error import Raised, reader_gone, user_line
from holdfast.explain.readings.fits import steps_short
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_METHOD = re.compile(r"\bon_(train|test|predict|epoch|batch)\w*$")


@cause(
    "callback-raised",
    specialises=("script-error", "dataset-exhausted"),
    mechanism=True,
    breaks=True,
)
def callback_raised(evidence: Evidence) -> Finding | None:
    swallowed = [
        raised
        for raised in evidence.all(ev.ExceptionRaised)
        if raised.event.left == "callback" and raised.event.type == "StopIteration"
    ]
    if swallowed and evidence.exit_code in (0, None):
        return _swallowed(evidence, swallowed)
    error = evidence.error
    if error is None or error.type in ("KeyboardInterrupt", "SystemExit") or reader_gone(evidence):
        return None
    name = error.callback or _own_callback(error)
    if not name:
        return None
    values: Values = {
        "callback": name,
        "type": error.type,
        "where": error.user_line,
        "message": error.essence,
    }
    facts = (Fact("error.raised", values, error.source), Fact("error.left-callback", values, error.source))
    return Finding(
        Strength.ESTABLISHED,
        Title("callback-raised", values),
        because=[*facts, *user_line(evidence)],
        remedies=[Remedy("line.change", values), Remedy("callback.catch-its-errors")],
    )


def _own_callback(error: Raised) -> str:
    """The method of a callback that is not one of Keras's own."""
    own = [frame for frame in error.frames if _METHOD.search(frame) and "/keras/" not in frame]
    return f"a callback ({own[-1]})" if own else ""


def _swallowed(evidence: Evidence, raised: list[Recorded[ev.ExceptionRaised]]) -> Finding:
    event = raised[0].event
    values: Values = {"callback": event.callback, "where": event.user_line, "times": len(raised)}
    facts = [
        Fact("callback.stop-iteration", values, raised[0].source),
        Fact("keras.swallows-stop-iteration", {}, "holdfast causes"),
    ]
    short = steps_short(evidence)
    if short is not None:
        facts.append(short.fit.by_epoch(short.planned))
    remedies = (Remedy("callback.set-stop-training", values),)
    return Finding(Strength.ESTABLISHED, Title("callback-raised.swallowed", values), facts, remedies)
