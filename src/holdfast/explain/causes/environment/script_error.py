"""The script raised an exception that nobody caught."""

import re

from holdfast.explain.outcome import fell_short
from holdfast.explain.readings.end import end_seen, exit_called, last_line
from holdfast.explain.readings.error import Raised, reader_gone, user_line
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

#: Signals by which a process ends itself: a timer of its own, or a write to a pipe without a reader.
_TIMERS = ("SIGALRM", "SIGVTALRM", "SIGPROF")
_COMPLAINT = re.compile(
    r"\b(errors?|invalid|required|missing|not found|cannot|unable|fail(ed|ure)?|abort(ed|ing)?)\b", re.I
)
#: What a package says that was written for another version of one that it uses.
_OTHER_VERSION = r"module '[\w.]+' has no attribute|cannot import name|unexpected keyword argument"
_SAME_MESSAGE = 60  # characters in which the same error is known again in another layer
_MESSAGE_KEPT = 2000  # characters of a message that the journal keeps
_WRITE_TO_A_FILE = Remedy("output.write-to-a-file")


@cause("script-error", breaks=True)
def script_error(evidence: Evidence) -> Finding | None:
    error = evidence.error
    if error is None or error.type == "SystemExit":
        return _by_exit(evidence)
    if error.type == "KeyboardInterrupt":
        return None
    if error.type == "LossNotFinite" and evidence.all(ev.NonFiniteSeen):
        return None  # our trainer's own error: what broke the loss is another finding
    if reader_gone(evidence):
        values = {"error": error.type, "where": error.user_line}
        strength = Strength.POSSIBLE if evidence.is_stalled else Strength.ESTABLISHED
        raised = Fact("error.raised", {"type": error.type, "message": error.message}, error.source)
        title, facts = Title("script-error.reader-gone", values), [raised, *user_line(evidence)]
        return Finding(strength, title, facts, [_WRITE_TO_A_FILE])
    return _refused_by_trainer(evidence, error) or _raised(evidence, error)


def _raised(evidence: Evidence, error: Raised) -> Finding:
    kind, message = error.own
    generator = _generator(evidence) if "`generator` yielded" in message else None
    facts = [Fact("error.raised", {"type": kind, "message": message}, error.source), *user_line(evidence)]
    facts += [generator] if generator is not None else []
    called = evidence.exit_called if error.left == "exit" else None
    facts += [exit_called(called)] if called is not None else []
    swallowed = error.caught and called is None
    facts += [Fact("error.caught", {}, evidence.exit_source)] if swallowed else []
    facts += [
        Fact("error.came-from", {"text": before}, error.source)
        for before in error.chain[-2:]
        if error.essence[:_SAME_MESSAGE] not in before  # recorded again by each layer that it left
    ]
    strength = Strength.established_if(evidence.ended is not None or bool(error.user_line))
    values = {"error": kind, "where": error.user_line, "message": message, "caught": bool(swallowed)}
    return Finding(
        Strength.POSSIBLE if evidence.is_stalled else strength,
        Title("script-error", values),
        because=facts,
        remedies=[_what_to_change(error, generator)],
    )


def _what_to_change(error: Raised, generator: Fact | None) -> Remedy:
    if generator is not None:
        return Remedy("generator.match-signature", generator.values)
    if error.type == "EOFError" and "input(" in error.user_code:
        return Remedy("input.use-an-option", {"where": error.user_line})
    if missing := re.match(r"No module named '([\w.]+)'", error.message):
        return Remedy("module.install", {"module": missing[1].partition(".")[0]})
    if (library := _library(error)) and re.search(_OTHER_VERSION, error.message):
        return Remedy("package.version", {"package": library})
    if not error.user_line:
        return Remedy("traceback.read")
    # A line that raises on purpose is where a fault is noticed, not where it is.
    reached = error.user_code.startswith("raise ")
    return Remedy("line.find-what-reaches-it" if reached else "line.fix", {"where": error.user_line})


def _library(error: Raised) -> str:
    """The package whose code raised it; "" for the user's own code and for files by their path alone."""
    inner = error.frames[-1] if error.frames else ""
    installed = re.match(r"(?:.*/(?:site|dist)-packages/)?(\w+)/", inner)
    return installed[1] if installed and not inner.startswith(error.user_line or "\n") else ""


def _generator(evidence: Evidence) -> Fact | None:
    """The only Python generator that a dataset draws from."""
    found = {
        (str(node.get("function")), str(node.get("where")), seen.source)
        for seen in evidence.all(ev.DatasetSeen)
        for node in seen.event.nodes
        if node.get("op") == "generator" and node.get("where")
    }
    if len(found) != 1:
        return None
    function, where, source = found.pop()
    return Fact("pipeline.generator", {"function": function, "where": where}, source)


def _refused_by_trainer(evidence: Evidence, raised: Raised) -> Finding | None:
    """What `holdfast train` itself refused: an error with what it found and what to change, not a traceback."""
    for reported in reversed(evidence.all(ev.ErrorReported)):
        error = reported.event
        if error.what[:_MESSAGE_KEPT] != raised.message:
            continue
        values = {"what": error.what, "where": "" if error.where in error.what else error.where}
        facts = [reported.fact("error.found", text=line) for line in error.found or [error.what]]
        remedies = [Remedy("error.change", {"text": line}) for line in error.change]
        return Finding(Strength.ESTABLISHED, Title("script-error.trainer", values), facts, remedies)
    return None


# -- ends without an exception -----------------------------------------------------------------------


def _by_exit(evidence: Evidence) -> Finding | None:
    signal, code, end = evidence.exit_signal, evidence.exit_code, end_seen(evidence)
    if evidence.own_signal is not None and signal is not None:
        where, source = evidence.own_signal
        title = Title("script-error.self-signal", {"signal": signal, "where": where})
        facts = [Fact("signal.self-sent", {"where": where}, source), *end]
        remedies = [Remedy("line.find-what-reaches-it", {"where": where})]
        return Finding(Strength.ESTABLISHED, title, facts, remedies)
    if signal == "SIGPIPE" and not evidence.stopped_by_us:
        return Finding(Strength.SUPPORTED, Title("script-error.closed-pipe"), end, [_WRITE_TO_A_FILE])
    if signal in _TIMERS and not evidence.stopped_by_us:
        exiting, title = evidence.last(ev.ExitStarted), Title("script-error.timer", {"signal": signal})
        over = [exiting.fact("exit.timer-armed")] if exiting is not None else []
        return Finding(Strength.SUPPORTED, title, [*end, *over], [Remedy("timer.handle-or-stop")])
    if signal is not None or evidence.stopped_by_us:
        return None
    if evidence.exit_called is not None and (code or fell_short(evidence)):
        return _called_exit(evidence, evidence.exit_called)
    return _with_exit_code(evidence) if code else None


def _called_exit(evidence: Evidence, called: Recorded[ev.ExitCalled]) -> Finding:
    event = called.event
    # A script that has what it wanted leaves by sys.exit(0) too; os._exit drops what is not written yet.
    on_purpose = evidence.exit_code == 0 and event.by == "sys.exit"
    strength = Strength.POSSIBLE if on_purpose else Strength.ESTABLISHED
    wordless = bool(evidence.exit_code) and not event.message
    values = {"by": event.by, "where": event.where, "message": event.message, "on_purpose": on_purpose}
    facts = [exit_called(called), *end_seen(evidence), *(last_line(evidence) if wordless else ())]
    remedies = [Remedy("line.find-what-reaches-it", {"where": event.where})]
    return Finding(strength, Title("script-error.exit-call", values), facts, remedies)


def _with_exit_code(evidence: Evidence) -> Finding:
    last = evidence.output.lines[-1].text if evidence.output.lines else ""
    code = {"exit_code": evidence.exit_code}
    title = Title("script-error.exit-code", {**code, "complaint": last if _COMPLAINT.search(last) else ""})
    facts = [Fact("exit.no-traceback", code, evidence.exit_source), *last_line(evidence)]
    return Finding(Strength.SUPPORTED, title, facts, [Remedy("output.read-its-end")])
