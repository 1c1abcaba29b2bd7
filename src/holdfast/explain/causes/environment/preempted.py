"""The scheduler or the cloud asked it to end with SIGTERM."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.outcome import fell_short
from holdfast.explain.readings.end import left_on_signal, may_have_ended_it, went_on
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, going_on
from holdfast.journal import events as ev


@cause(
    "preempted",
    Group.ENVIRONMENT,
    specialises=(
        "script-error",
        "killed-from-outside",
    ),
)
def preempted(evidence: Evidence) -> Finding | None:
    told = [
        said
        for said in evidence.all(ev.SignalReceived)
        if said.event.signal == "SIGTERM" and may_have_ended_it(evidence, said)
    ]
    seen = [
        said
        for said in evidence.all(ev.SignalSeen)
        if said.event.signal == "SIGTERM" and may_have_ended_it(evidence, said)
    ]
    by_term = evidence.exit_signal == "SIGTERM" and evidence.stopped_by_us != "stall"
    if not (told or seen or by_term) or evidence.stopped_by_us == "stall" or evidence.alive:
        return None
    if evidence.own_signal is not None and not told:
        return None
    if evidence.exit_code == 0 and not evidence.exit_signal and not fell_short(evidence):
        return None  # it was told to, and had done its work
    asked = evidence.all(ev.GroupStopRequested)[-1:]
    facts = [Fact(f"the group was told: {said.event.text}", said.source) for said in asked]
    for said in told[-1:]:
        facts.append(Fact(f"the supervisor was sent SIGTERM{_sender(said)} and passed it on", said.source))
    for child in seen[-1:]:
        facts.append(Fact("the script was sent SIGTERM", child.source))
    inferred = evidence.planned is None and left_on_signal(evidence) == "SIGTERM" and not by_term
    if inferred and seen + told:
        facts.append(Fact("no step was done after it, and it ended by itself", "vitals.jsonl"))
    if by_term:
        facts.append(Fact("the process ended on SIGTERM", evidence.exit_source))
    elif evidence.exit_called is not None:
        called = evidence.exit_called.event
        facts.append(Fact(f"it ended itself by {called.by} at {called.where}", evidence.exit_called.source))
    elif evidence.exit_signal == "SIGKILL":
        facts.append(Fact("SIGKILL followed, as schedulers do after a time of grace", evidence.exit_source))
    told_at = [said.mono for said in told] + [said.mono for said in seen]
    finished_first = not by_term and any(went_on(evidence, mono) for mono in told_at)
    strength = Strength.SUPPORTED if inferred or finished_first else Strength.ESTABLISHED
    strength = Strength.POSSIBLE if evidence.is_stalled else strength
    return Finding(
        "preempted",
        strength,
        "it was interrupted from the terminal (SIGINT, Ctrl-C), and all processes of the group ended"
        if any(said.event.signal == "SIGINT" for said in asked)
        else "it was told to end by SIGTERM: a scheduler, a cloud or a person stopped it",
        tuple(facts),
        (),
        (
            going_on(evidence)
            or Remedy(
                "start the same command again: it goes on from what it saved, if the script loads that"
                if evidence.all(ev.SaveDone)
                else "save as it trains, so that the same command goes on where it was",
                "your-choice",
                'keras.callbacks.BackupAndRestore("backup", save_freq=500, double_checkpoint=True)',
            ),
            Remedy("ask for more time, or for a machine that is not reclaimed", "your-choice"),
        ),
        ends=not evidence.is_stalled,
    )


def _sender(said: Recorded[ev.SignalReceived]) -> str:
    """As the kernel told it; a supervisor in a group sends it to itself, at the conductor's word."""
    event = said.event
    if not event.from_pid:
        return ""
    if event.from_pid == said.pid:
        return " by itself, at the word of the group's conductor,"
    who = f" ({event.from_command})" if event.from_command else ", which had ended by then,"
    return f" from process {event.from_pid}{who}"
