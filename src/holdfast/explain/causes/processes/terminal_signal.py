"""The terminal ended it: Ctrl-C, or the window was closed."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.outcome import fell_short
from holdfast.explain.readings.end import left_on_signal, may_have_ended_it, went_on
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, users_line
from holdfast.journal import events as ev


@cause("terminal-signal", Group.PROCESSES, specialises=("script-error",))
def terminal_signal(evidence: Evidence) -> Finding | None:
    sent = [said for said in evidence.all(ev.SignalReceived) if said.event.signal in ("SIGINT", "SIGHUP")]
    told = [said for said in sent if may_have_ended_it(evidence, said)]
    interrupted = evidence.error is not None and evidence.error.type == "KeyboardInterrupt"
    by_signal = evidence.exit_signal if evidence.exit_signal in ("SIGINT", "SIGHUP", "SIGQUIT") else None
    caught = _caught(evidence)
    by_us = evidence.stopped_by_us == "interrupt" and not sent
    if evidence.alive or not (told or interrupted or by_signal or caught or by_us):
        return None
    if evidence.own_signal is not None and not told:
        return None
    if evidence.exit_code == 0 and not evidence.exit_signal and not fell_short(evidence):
        return None  # it was sent, and the script did all that it had planned
    name = by_signal or (told[-1].event.signal if told else caught.event.signal if caught else "SIGINT")
    facts = [
        Fact(f"the supervisor was sent {said.event.signal} and passed it on", said.source)
        for said in told[-1:]
    ]
    if by_signal:
        facts.append(Fact(f"the process ended on {by_signal}", evidence.exit_source))
    inferred = bool(told) and not (interrupted or by_signal) and went_on(evidence, told[-1].mono)
    if caught and not (told or by_signal or interrupted):
        facts += _how_it_left(evidence, caught)
        inferred = not _raised_out_of(evidence)
    if interrupted and evidence.error is not None:
        facts.append(Fact("the script was left by KeyboardInterrupt", evidence.error.source))
        facts += users_line(evidence)
    hup = name == "SIGHUP"
    return Finding(
        "terminal-signal",
        Strength.POSSIBLE
        if evidence.is_stalled
        else Strength.SUPPORTED
        if inferred
        else Strength.ESTABLISHED,
        "the terminal was closed while it ran (SIGHUP)"
        if hup
        else "it was ended from the terminal (SIGQUIT, Ctrl-\\)"
        if name == "SIGQUIT"
        else "it was interrupted from the terminal (SIGINT, Ctrl-C)",
        tuple(facts),
        (),
        (
            Remedy(
                "start it where no terminal can end it: in tmux, or with `setsid holdfast run -- …`",
                "your-choice",
            ),
            Remedy(
                "a Ctrl-C meant for `tail -f` reaches every program of that terminal: use another one for looking",
                "guess",
            ),
        ),
        ends=not evidence.is_stalled,
    )


def _caught(evidence: Evidence) -> Recorded[ev.SignalSeen] | None:
    """The signal that the script was sent itself, caught, and left at, with its work undone."""
    heard = [said for said in evidence.all(ev.SignalSeen) if said.event.signal in ("SIGINT", "SIGHUP")]
    by_itself = evidence.exit_code == 0 or evidence.exit_called is not None
    if not heard or not by_itself or evidence.exit_signal or not fell_short(evidence):
        return None
    return (
        heard[-1] if _raised_out_of(evidence) or left_on_signal(evidence) == heard[-1].event.signal else None
    )


def _raised_out_of(evidence: Evidence) -> str:
    """The user's line at which KeyboardInterrupt left the last fit; "" when it left none."""
    fit = evidence.fit
    if fit is None or fit.done is None or fit.done.event.raised != "KeyboardInterrupt":
        return ""
    told = [said.event for said in evidence.all(ev.ExceptionRaised) if said.event.type == "KeyboardInterrupt"]
    return next((event.user_line for event in told if event.user_line), "fit")


def _how_it_left(evidence: Evidence, caught: Recorded[ev.SignalSeen]) -> list[Fact]:
    facts = [Fact(f"the script was sent {caught.event.signal}, not by the supervisor", caught.source)]
    where = _raised_out_of(evidence)
    if where:
        facts.append(Fact(f"KeyboardInterrupt left fit ({where}); the script caught it", caught.source))
    else:
        facts.append(Fact("no step was done after it, and the script ended by itself", "vitals.jsonl"))
    return facts
