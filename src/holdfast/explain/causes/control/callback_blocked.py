"""It hangs inside a callback."""

import re

from holdfast.explain.readings.stacks import ThreadState, plain_name
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, facts
from holdfast.user_code import is_user_file

_METHOD = re.compile(r"on_(train|test|predict|epoch|batch)\w*")


@cause("callback-blocked", mechanism=True)
def callback_blocked(evidence: Evidence) -> Finding | None:
    stall, stacks = evidence.stall, evidence.stacks
    main = stacks.main if stacks is not None else None
    frames = main.frames if main is not None else ()
    method = next((one for one in frames if _METHOD.match(plain_name(one)) and is_user_file(one.file)), None)
    if stall is None or (evidence.phase is not Phase.CALLBACK and method is None):
        return None
    name = stall.event.callback or (method.function if method is not None else "")
    place = main.users_file_line if main is not None else ""
    return Finding(
        Strength.established_if(place),
        Title("callback-blocked", {"callback": name, "where": place}),
        facts(
            stall.fact("callback.stalled", callback=name, seconds=evidence.silent_for_s),
            main is not None and stacks is not None and _where(main, stacks.source),
        ),
        (Remedy("wait.set-timeout"), Remedy("callback.use-a-thread")),
    )


def _where(main: ThreadState, source: str) -> list[Fact]:
    inner = main.frames[0] if main.frames else None
    innermost = {"function": inner.function, "file": inner.file, "line": inner.line} if inner else {}
    waits = {"busy": main.busy, "wait": main.syscall or main.wait}
    return facts(
        main.users is not None and Fact("thread.main-at", {"where": main.where}, source),
        inner is not main.users and Fact("thread.innermost", innermost, source),
        Fact("thread.computes-or-waits", waits, source),
    )
