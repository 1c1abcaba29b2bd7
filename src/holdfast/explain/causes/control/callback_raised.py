"""A callback raised an exception."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.error import reader_gone
from holdfast.explain.readings.fits import steps_short
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, users_line
from holdfast.explain.words import clipped, listed
from holdfast.journal import events as ev


@cause(
    "callback-raised",
    Group.CONTROL,
    specialises=(
        "script-error",
        "dataset-exhausted",
    ),
    mechanism=True,
    breaks=True,
)
def callback_raised(evidence: Evidence) -> Finding | None:
    swallowed = [
        said
        for said in evidence.all(ev.ExceptionRaised)
        if said.event.left == "callback" and said.event.type == "StopIteration"
    ]
    if swallowed and evidence.exit_code in (0, None):
        return _swallowed(evidence, swallowed)
    error = evidence.error
    if error is None or error.type in ("KeyboardInterrupt", "SystemExit") or reader_gone(evidence):
        return None
    name = error.callback
    if not name:
        inside = [
            frame
            for frame in error.frames
            if re.search(r"\bon_(train|test|predict|epoch|batch)\w*$|callback_list", frame)
        ]
        own = [frame for frame in inside if "callback_list" not in frame and "/keras/" not in frame]
        if not inside or not own:
            return None
        name = f"a callback ({own[-1]})"
    facts = [Fact(clipped(f"{error.type}: {error.essence}", 300), error.source), *users_line(evidence)]
    facts.insert(1, Fact(f"it left the callback {name}", error.source))
    place = f" at {error.user_line}" if error.user_line else ""
    return Finding(
        "callback-raised",
        Strength.ESTABLISHED,
        f"the callback {name} raised {error.type}{place}: {clipped(error.essence, 100)}",
        tuple(facts),
        (),
        (
            Remedy(
                f"change the line {error.user_line}" if error.user_line else f"change {name}", "your-choice"
            ),
            Remedy(
                "let a callback that only reports survive its own failures: catch them in it", "your-choice"
            ),
        ),
    )


def _swallowed(evidence: Evidence, raised: list[Recorded[ev.ExceptionRaised]]) -> Finding | None:
    short = steps_short(evidence)
    event = raised[0].event
    facts = [
        Fact(
            f"{event.callback or 'a callback'} raised StopIteration at {event.user_line or 'an unknown line'}, "
            f"{len(raised)} times",
            raised[0].source,
        ),
        Fact("Keras takes StopIteration for the end of the data and cuts the epoch short", "holdfast causes"),
    ]
    if short is not None:
        facts.append(
            Fact(
                f"steps by epoch: {listed([str(n) for n in short[2]], 10)}; planned {short[1]}",
                short[0].done.source if short[0].done else "journal.jsonl",
            )
        )
    return Finding(
        "callback-raised",
        Strength.ESTABLISHED,
        f"the callback {event.callback or ''} raised StopIteration, which Keras swallows: epochs are cut short",
        tuple(facts),
        (),
        (
            Remedy(
                f"raise something else at {event.user_line}, or set self.model.stop_training = True",
                "your-choice",
            ),
        ),
    )
