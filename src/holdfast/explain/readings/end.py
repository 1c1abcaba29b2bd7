"""How a run ended, and whether a signal is why."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

#: Where a line comes from that the kernel of this machine wrote, and no log.
KERNEL_LOG = "kernel log"
_BY_HAND = ("SIGINT", "SIGTERM", "SIGKILL", "SIGHUP")
_ENDING = ("SIGTERM", "SIGINT", "SIGHUP")
#: Steps must have been done within so long before a signal for it to have stopped them. Chosen.
_STEPPING_S = 10.0
#: A loop may continue so long after a signal that ends it: the step under way, and one sample.
_LAST_STEPS_S = 3.0
#: A script may take so long to finish its epoch first, and to exit without an error.
_FINISHES_S = 60.0
#: Where nobody counted steps, a signal shows as an exception within this time.
_RAISES_S = 10.0
#: The supervisor's own reason for the end, by the signal that it passed on.
_PASSED_ON = {"SIGINT": "interrupt", "SIGQUIT": "interrupt", "SIGHUP": "hangup", "SIGTERM": "terminate"}


def end_seen(evidence: Evidence) -> tuple[Fact, ...]:
    """The signal or the exit code with which it ended."""
    if evidence.ended is None:
        return ()
    if evidence.log and evidence.end_text:
        return (Fact("end.printed", {"text": evidence.end_text}, evidence.exit_source),)
    values = {"signal": evidence.exit_signal, "exit_code": evidence.exit_code}
    return (Fact("end.seen", values, evidence.exit_source),)


def ended_by_hand(evidence: Evidence) -> bool:
    """It still runs, or what ended it came from outside."""
    interrupted = evidence.error is not None and evidence.error.type == "KeyboardInterrupt"
    return evidence.exit_signal in _BY_HAND or evidence.ended is None or interrupted


def last_line(evidence: Evidence) -> tuple[Fact, ...]:
    """What it printed last."""
    last = evidence.output.lines[-1:]
    return tuple(Fact("output.last-line", {"text": line.text}, line.source) for line in last)


def before_first_step(evidence: Evidence) -> tuple[Fact, ...]:
    return () if evidence.step else (Fact("steps.none", {}, "beats"),)


def passed_on(received: Recorded[ev.SignalReceived]) -> Fact:
    """A signal that the supervisor received; the coordinator of a group has it sent by the supervisor itself."""
    event = received.event
    by_itself = event.from_pid == received.pid
    return received.fact(
        "signal.passed-on",
        signal=event.signal,
        from_pid=None if by_itself else event.from_pid or None,
        from_command="" if by_itself else event.from_command,
        from_coordinator=bool(event.from_pid) and by_itself,
    )


def seen_by_script(seen: Recorded[ev.SignalSeen], *, direct: bool) -> Fact:
    """A signal that the script itself received; direct: the supervisor did not pass it on."""
    return seen.fact("signal.seen-by-script", signal=seen.event.signal, direct=direct)


def exit_called(called: Recorded[ev.ExitCalled]) -> Fact:
    event = called.event
    values = {"by": event.by, "where": event.where, "phase": event.phase, "message": event.message}
    return called.fact("exit.called", **values)


def left_on_signal(evidence: Evidence) -> str:
    """The signal at which a loop without a known plan stopped stepping and exited by itself; "" when none did."""
    received = [(one.mono, one.event.signal) for one in evidence.all(ev.SignalReceived)]
    received += [(one.mono, one.event.signal) for one in evidence.all(ev.SignalSeen)]
    for mono, signal in sorted(received):
        before = [one.step for _, one in evidence.samples if mono - _STEPPING_S < one.mono <= mono]
        after = [one.step for _, one in evidence.samples if one.mono > mono + _LAST_STEPS_S]
        moved = bool(before) and before[-1] > before[0]
        if moved and (not after or evidence.step == after[0]) and signal in _ENDING:
            return signal
    return ""


def continued_after(evidence: Evidence, mono: float) -> bool:
    """Whether steps were done after a signal, beyond the one under way: the script handled it."""
    after = [one.step for _, one in evidence.samples if one.mono > mono + _LAST_STEPS_S]
    return bool(after) and (evidence.step or 0) > after[0]


def may_have_ended_it(
    evidence: Evidence, signal: Recorded[ev.SignalReceived] | Recorded[ev.SignalSeen]
) -> bool:
    """Whether a signal may be why it ended: a script may reload its settings at SIGHUP, or plot at Ctrl-C."""
    error, ended = evidence.error, evidence.ended
    own_error = error is not None and error.type not in ("KeyboardInterrupt", "SystemExit")
    if continued_after(evidence, signal.mono):
        passed_on_by_us = evidence.stopped_by_us == _PASSED_ON.get(signal.event.signal)
        soon = ended is not None and ended.mono - signal.mono <= _FINISHES_S
        return not own_error and (passed_on_by_us or soon)
    if own_error and not evidence.step:
        raised = [one.mono for one in evidence.all(ev.ExceptionRaised)]
        raised = raised or [ended.mono if ended else signal.mono]
        return raised[-1] - signal.mono <= _RAISES_S
    return True
