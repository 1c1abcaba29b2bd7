"""It hangs inside a callback."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.stacks import is_users, plain_name
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import span


@cause("callback-blocked", Group.CONTROL, mechanism=True)
def callback_blocked(evidence: Evidence) -> Finding | None:
    stall, standing = evidence.stall, evidence.stacks
    if stall is None:
        return None
    main = standing.main if standing is not None else None
    frame = (
        next(
            (
                one
                for one in main.frames
                if re.match(r"on_(train|test|predict|epoch|batch)\w*", plain_name(one)) and is_users(one.file)
            ),
            None,
        )
        if main is not None
        else None
    )
    if stall.event.phase != "callback" and frame is None:
        return None
    name = stall.event.callback or (frame.function if frame is not None else "a callback")
    facts = [
        Fact(f"it has not moved for {span(evidence.silent_for_s)} inside the callback {name}", stall.source)
    ]
    place = ""
    if main is not None and standing is not None:
        users = main.users
        if users is not None:
            place = f" at {users.file}:{users.line}"
            facts.append(Fact(f"the main thread stands at {main.where}", standing.source))
        if main.frames and main.frames[0] is not users:
            facts.append(
                Fact(
                    f"innermost: {main.frames[0].function} ({main.frames[0].file}:{main.frames[0].line})",
                    standing.source,
                )
            )
        doing = "computes" if main.busy else f"waits in {main.syscall or main.wait or 'an unknown call'}"
        facts.append(Fact(f"it {doing}", standing.source))
    certain = place != "" and standing is not None
    return Finding(
        "callback-blocked",
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        f"it hangs inside the callback {name}{place}",
        tuple(facts),
        (),
        (
            Remedy(
                "give what it waits for a time limit",
                "your-choice",
                "requests.post(url, json=logs, timeout=5)",
            ),
            Remedy("do slow work in a thread of its own, so that training goes on", "your-choice"),
        ),
    )
