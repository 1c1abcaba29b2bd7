"""A callback raised an exception."""

import re

from holdfast.explain.readings.error import reader_gone, user_line
from holdfast.explain.readings.fits import steps_short
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

#: The method of a callback; those of Keras's own are left out.
_METHOD = re.compile(r"\bon_(train|test|predict|epoch|batch)\w*$")


@cause("callback-raised", specialises=("script-error", "dataset-exhausted"), mechanism=True, breaks=True)
def callback_raised(evidence: Evidence) -> Finding | None:
    left = [one for one in evidence.all(ev.ExceptionRaised) if one.event.left == "callback"]
    swallowed = [one for one in left if one.event.type == "StopIteration"]
    if swallowed and evidence.exit_code in (0, None):
        return _swallowed(evidence, swallowed)
    error = evidence.error
    if error is None or error.type in ("KeyboardInterrupt", "SystemExit") or reader_gone(evidence):
        return None
    own = [frame for frame in error.frames if _METHOD.search(frame) and "/keras/" not in frame]
    name = error.callback or (f"a callback ({own[-1]})" if own else "")
    if not name:
        return None
    values = {"callback": name, "type": error.type, "where": error.user_line, "message": error.essence}
    kinds = ("error.raised", "error.left-callback")
    return Finding(
        Strength.ESTABLISHED,
        Title("callback-raised", values),
        facts([Fact(kind, values, error.source) for kind in kinds], user_line(evidence)),
        (Remedy("line.change", values), Remedy("callback.catch-its-errors")),
    )


def _swallowed(evidence: Evidence, raised: list[Recorded[ev.ExceptionRaised]]) -> Finding:
    event, short = raised[0].event, steps_short(evidence)
    values = {"callback": event.callback, "where": event.user_line, "times": len(raised)}
    return Finding(
        Strength.ESTABLISHED,
        Title("callback-raised.swallowed", values),
        facts(
            raised[0].fact("callback.stop-iteration", **values),
            Fact("keras.swallows-stop-iteration", {}, "holdfast causes"),
            short and short.fact,
        ),
        [Remedy("callback.set-stop-training", values)],
    )
