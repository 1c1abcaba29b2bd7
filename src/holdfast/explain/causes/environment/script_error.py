"""The script raised an exception that nobody caught."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.outcome import fell_short
from holdfast.explain.readings.error import Raised, reader_gone
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, users_line
from holdfast.explain.words import clipped
from holdfast.journal import events as ev


@cause("script-error", Group.ENVIRONMENT, breaks=True)
def script_error(evidence: Evidence) -> Finding | None:
    error = evidence.error
    if error is None:
        return _by_exit_code(evidence)
    if error.type in ("KeyboardInterrupt", "SystemExit"):
        return _by_exit_code(evidence) if error.type == "SystemExit" else None
    if error.type == "LossNotFinite" and evidence.all(ev.NonFiniteSeen):
        return None  # our trainer's own word for it; what broke the loss is another finding's to say
    if reader_gone(evidence):
        return _reader_gone(evidence, error)
    if (answer := _trainers_answer(evidence, error.message)) is not None:
        return answer
    kind, words = error.own
    facts = [Fact(clipped(f"{kind}: {words}", 300), error.source), *users_line(evidence)]
    fed_by = _generator(evidence) if "`generator` yielded" in words else None
    if fed_by is not None:
        facts.append(Fact(f"the generator is {fed_by[0]}, at {fed_by[1]}", fed_by[2]))
    if error.caught:
        facts.append(Fact("the script caught it and went on, so the exit code is 0", evidence.exit_source))
    facts += [
        Fact(f"it came from {clipped(cause, 200)}", error.source)
        for cause in error.chain[-2:]
        if error.essence[:60] not in cause  # told again by each layer that it left
    ]
    strength = Strength.ESTABLISHED if evidence.ended is not None or error.user_line else Strength.SUPPORTED
    if evidence.is_stalled:
        strength = Strength.POSSIBLE
    place = f" at {error.user_line}" if error.user_line else ""
    swallowed = "no fit got through, and the script went on as if it had: " if error.caught else ""
    return Finding(
        "script-error",
        strength,
        f"{swallowed}{kind}{place}: {clipped(words, 160)}",
        tuple(facts),
        (),
        (Remedy(_what_to_change(error, fed_by), "your-choice"),),
    )


def _what_to_change(error: Raised, fed_by: tuple[str, str, str] | None) -> str:
    if fed_by is not None:
        return f"change what {fed_by[0]} yields ({fed_by[1]}), or the signature that it was given"
    if error.type == "EOFError" and "input(" in error.user_code:
        return f"nobody is there to answer: let {error.user_line} take it from an option, or start it at a terminal"
    if error.user_line:
        return f"change the line {error.user_line}"
    return "read the traceback in output.log from its end"


def _generator(evidence: Evidence) -> tuple[str, str, str] | None:
    """The only Python generator that a dataset draws from: its name, its line, and where that was read."""
    found = {
        (str(node.get("function")), str(node.get("where")), said.source)
        for said in evidence.all(ev.DatasetSeen)
        for node in said.event.nodes
        if node.get("op") == "generator" and node.get("where")
    }
    return found.pop() if len(found) == 1 else None


def _reader_gone(evidence: Evidence, error: Raised) -> Finding:
    place = f" at {error.user_line}" if error.user_line else ""
    return Finding(
        "script-error",
        Strength.POSSIBLE if evidence.is_stalled else Strength.ESTABLISHED,
        f"whoever read what it writes is gone: {error.type}{place}",
        (Fact(f"{error.type}: {error.message}", error.source), *users_line(evidence)),
        (),
        (
            Remedy(
                "write to a file, and look into that: `head` and a closed viewer end before the training does",
                "your-choice",
                "python train.py > train.log 2>&1",
            ),
        ),
    )


def _trainers_answer(evidence: Evidence, message: str) -> Finding | None:
    """What `holdfast train` itself refused: an error with what it found and what to change, not a traceback."""
    for said in reversed(evidence.all(ev.ErrorReported)):
        error = said.event
        if error.what[:2000] == message:
            title = error.what if error.where in error.what else f"{error.what} ({error.where})"
            facts = [Fact(clipped(line, 300), said.source) for line in (error.found or [title])]
            remedies = [Remedy(line, "your-choice") for line in error.change]
            return Finding("script-error", Strength.ESTABLISHED, title, tuple(facts), (), tuple(remedies))
    return None


def _by_exit_code(evidence: Evidence) -> Finding | None:
    code = evidence.exit_code
    if evidence.own_signal is not None and evidence.exit_signal is not None:
        return _by_its_own_hand(evidence, evidence.exit_signal, *evidence.own_signal)
    if evidence.exit_signal in _ITS_OWN and not evidence.stopped_by_us:
        return _by_its_own_signal(evidence, evidence.exit_signal)
    if evidence.exit_signal is not None or evidence.stopped_by_us:
        return None
    if evidence.exit_called is not None and (code or fell_short(evidence)):
        return _by_its_own_call(evidence, evidence.exit_called)
    if not code:
        return None
    facts = [Fact(f"it ended with exit code {code} and printed no traceback", evidence.exit_source)]
    facts += [
        Fact(f"its last line: {clipped(line.text, 200)}", line.source) for line in evidence.output.lines[-1:]
    ]
    return Finding(
        "script-error",
        Strength.SUPPORTED,
        f"the command ended itself with exit code {code}" + _last_words(evidence),
        tuple(facts),
        (),
        (
            Remedy(
                "read the last lines of output.log; a script that ends by sys.exit says why there, if anywhere",
                "your-choice",
            ),
        ),
    )


def _by_its_own_hand(evidence: Evidence, name: str, where: str, source: str) -> Finding:
    at = f" at {where}" if where else ""
    return Finding(
        "script-error",
        Strength.ESTABLISHED,
        f"the script sent itself {name}{at}",
        (
            Fact(f"os.kill was called on the process itself{at}", source),
            Fact(f"the process ended on {name}", evidence.exit_source),
        ),
        (),
        (
            Remedy(
                f"look at what makes it reach {where}" if where else "look for what calls it", "your-choice"
            ),
        ),
    )


_TIMER = "a timer of its own went off (signal.alarm or setitimer), and nothing handled it"
_ITS_OWN = {
    "SIGALRM": _TIMER,
    "SIGVTALRM": _TIMER,
    "SIGPROF": _TIMER,
    "SIGPIPE": "it wrote to a pipe whose reader was gone",
}


def _by_its_own_signal(evidence: Evidence, name: str) -> Finding:
    facts = [Fact(f"the process ended on {name}", evidence.exit_source)]
    exiting = evidence.last(ev.ExitStarted)
    if exiting is not None:
        facts.append(
            Fact("the script was over by then: its handlers are gone, a timer is not", exiting.source)
        )
    remedy = (
        Remedy("handle it, and end the timer before the script is over", "your-choice", "signal.alarm(0)")
        if name != "SIGPIPE"
        else Remedy("keep the reader of its output alive, or write to a file", "your-choice")
    )
    return Finding("script-error", Strength.SUPPORTED, _ITS_OWN[name], tuple(facts), (), (remedy,))


def _last_words(evidence: Evidence) -> str:
    """The last line that it printed, where that speaks of what went wrong."""
    last = evidence.output.lines[-1].text if evidence.output.lines else ""
    return f": {clipped(last, 120)}" if _COMPLAINT.search(last) else ""


_COMPLAINT = re.compile(
    r"\b(errors?|invalid|required|missing|not found|cannot|unable|fail(ed|ure)?|abort(ed|ing)?)\b", re.I
)


def _by_its_own_call(evidence: Evidence, said: Recorded[ev.ExitCalled]) -> Finding:
    called = said.event
    where = f" at {called.where}" if called.where else ""
    message = clipped(called.message, 160)
    facts = [Fact(f"{called.by} was called{where} in phase {called.phase}", said.source)]
    facts += [Fact(f"with the words: {message}", said.source)] if message else []
    facts.append(Fact(f"the exit code is {evidence.exit_code}", evidence.exit_source))
    if evidence.exit_code and not message:
        facts += [
            Fact(f"its last line: {clipped(line.text, 200)}", line.source)
            for line in evidence.output.lines[-1:]
        ]
    # A script that has what it wanted leaves by sys.exit(0) too; os._exit drops what is not written yet.
    meant = evidence.exit_code == 0 and called.by == "sys.exit"
    return Finding(
        "script-error",
        Strength.POSSIBLE if meant else Strength.ESTABLISHED,
        f"the script ended itself by {called.by}{where}"
        + (f": {message}" if message else "")
        + (", with exit code 0, before all planned steps were done" if meant else ""),
        tuple(facts),
        (),
        (
            Remedy(
                f"look at what makes it reach {called.where}" if where else "look for what calls it",
                "your-choice",
            ),
        ),
    )
