"""The terminal ended it: Ctrl-C, or the window was closed."""

from holdfast.explain.outcome import did_all, fell_short
from holdfast.explain.pass_without_steps import was_stuck
from holdfast.explain.readings import end
from holdfast.explain.readings.error import user_line
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_SIGNALS = ("SIGINT", "SIGHUP")


@cause("terminal-signal", specialises=("script-error",))
def terminal_signal(evidence: Evidence) -> Finding | None:
    sent = [one for one in evidence.all(ev.SignalReceived) if one.event.signal in _SIGNALS]
    received = [one for one in sent if end.may_have_ended_it(evidence, one)]
    interrupted = evidence.error is not None and evidence.error.type == "KeyboardInterrupt"
    by_signal = evidence.exit_signal if evidence.exit_signal in (*_SIGNALS, "SIGQUIT") else None
    caught = _caught(evidence)
    by_us = evidence.stopped_by_us == "interrupt" and not sent
    if evidence.alive or not (received or interrupted or by_signal or caught or by_us):
        return None
    if (evidence.own_signal is not None and not received) or did_all(evidence):
        return None
    facts = [end.passed_on(one) for one in received[-1:]]
    facts += end.end_seen(evidence) if by_signal else ()
    inferred = False
    if received and not (interrupted or by_signal):
        inferred = end.continued_after(evidence, received[-1].mono)
    if caught and not (received or by_signal or interrupted):
        where = _interrupted_at(evidence)
        inferred = not where
        left = caught.fact("fit.interrupted", where=where)
        no_steps = Fact("steps.none-after-signal", {}, "vitals.jsonl")
        facts += [end.seen_by_script(caught, direct=True), left if where else no_steps]
    if interrupted and evidence.error is not None:
        facts += [Fact("error.interrupt", {}, evidence.error.source), *user_line(evidence)]
    seen = [one.event.signal for one in received[-1:]] + ([caught.event.signal] if caught else [])
    strength = Strength.SUPPORTED if inferred else Strength.ESTABLISHED
    if evidence.beside and interrupted:
        remedies = [Remedy("cell.keep-checkpoints")]
        return Finding(strength, Title("terminal-signal.cell"), because=facts, remedies=remedies)
    return Finding(
        Strength.POSSIBLE if was_stuck(evidence) else strength,
        Title("terminal-signal", {"signal": by_signal or next(iter(seen), "SIGINT")}),
        because=facts,
        remedies=[Remedy("terminal.start-without"), Remedy("terminal.use-another", safety="guess")],
        ends=not was_stuck(evidence),
    )


def _caught(evidence: Evidence) -> Recorded[ev.SignalSeen] | None:
    """The signal that the script was sent itself, caught, and left at, with its work undone."""
    seen = [one for one in evidence.all(ev.SignalSeen) if one.event.signal in _SIGNALS]
    by_itself = evidence.exit_code == 0 or evidence.exit_called is not None
    if not seen or not by_itself or evidence.exit_signal or not fell_short(evidence):
        return None
    left = _interrupted_at(evidence) or end.left_on_signal(evidence) == seen[-1].event.signal
    return seen[-1] if left else None


def _interrupted_at(evidence: Evidence) -> str:
    """The user's line at which KeyboardInterrupt left the last fit; "" when it left none."""
    if evidence.fit is None or evidence.fit.end.raised != "KeyboardInterrupt":
        return ""
    raised = [one.event for one in evidence.all(ev.ExceptionRaised) if one.event.type == "KeyboardInterrupt"]
    return next((event.user_line for event in raised if event.user_line), "fit")
