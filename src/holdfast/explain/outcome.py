"""How a run ended or stands, in one of six words, whatever the cause."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.fits import Said
from holdfast.explain.words import counted, size, span
from holdfast.journal import events as ev

#: A share of the planned steps that counts as all of them: datasets of unknown size vary a little.
_NEARLY_ALL = 0.9
_FRESH_S = 120.0
_ENDING = ("SIGTERM", "SIGINT", "SIGHUP")
_LAST_STEPS_S = 3.0  # that a loop may go on for after a signal that ends it: the step under way, and one look
_FINISHES_S = 60.0  # that a script may take to finish its epoch first, and to leave without an error
_RAISES_S = 10.0  # within which a signal shows as an exception, where nobody counted steps
#: The supervisor's words for what it held for the reason of the end.
_HELD_FOR = {"SIGINT": "interrupt", "SIGQUIT": "interrupt", "SIGHUP": "hangup", "SIGTERM": "terminate"}


def outcome(evidence: Evidence) -> str:
    if evidence.stands and (evidence.ended is None or _stopped_from_outside(evidence)):
        if evidence.ended is None and evidence.alive is False:
            return "killed"
        return "stalled"
    if evidence.stopped_by_us == "stall":
        return "stalled"
    if evidence.ended is None:
        return _without_an_end(evidence)
    if evidence.exit_signal is not None:
        return "failed" if evidence.crashed or evidence.own_signal else "killed"
    if evidence.exit_code != 0:
        return "failed"
    return "stopped-early" if fell_short(evidence) else "finished"


def _stopped_from_outside(evidence: Evidence) -> bool:
    return (
        evidence.stopped_by_us != ""
        or evidence.exit_signal in ("SIGINT", "SIGTERM", "SIGKILL", "SIGHUP")
        or (evidence.error is not None and evidence.error.type == "KeyboardInterrupt")
    )


def _without_an_end(evidence: Evidence) -> str:
    if evidence.alive:
        return "running"
    leaving = evidence.last(ev.ExitStarted)
    if leaving is not None and evidence.alive is False:
        if leaving.event.raised or leaving.event.exit_code:
            return "failed"
        return "stopped-early" if fell_short(evidence) else "finished"
    if evidence.alive is False:
        return "killed"
    if evidence.entries and evidence.now - last_sign(evidence) < _FRESH_S:
        return "running"
    if not evidence.entries and evidence.output.traceback is not None and evidence.output.traceback.closes:
        return "failed"
    return "killed"


def last_sign(evidence: Evidence) -> float:
    """The wall time of the newest record."""
    times = [evidence.entries[-1].at] if evidence.entries else []
    times += [sample.at for _, sample in evidence.samples[-1:]]
    return max(times, default=0.0)


def fell_short(evidence: Evidence) -> bool:
    """It ended by itself with clearly fewer steps than planned, or was told to stop."""
    fit = evidence.fit  # of several, an earlier one that was told to stop is a fold, or the first part of two
    if fit is not None and fit.done is not None and fit.done.event.stopped:
        done, planned = fit.steps, fit.planned_steps
        return planned is None or done < planned
    if any(fit.mixed for fit in evidence.fits):
        return bool(left_on_signal(evidence))  # fits in several threads: whose steps they were is not known
    step, planned = evidence.step, evidence.planned
    if planned is not None and step is not None:
        several = len(evidence.fits) > 1  # a loop of fits may have had more of them before it
        told = [one for one in evidence.fits[:-1] if one.done is not None and one.done.event.stopped]
        given_up = sum((one.planned_steps or 0) - one.steps for one in [*evidence.given_up, *told])
        return step < _NEARLY_ALL * (planned - given_up) or (several and bool(left_on_signal(evidence)))
    if left_on_signal(evidence) or (not step and _got_nothing(evidence)):
        return True
    return any(
        _ended_short(one) for one in evidence.fits if not (one.done is not None and one.done.event.stopped)
    )


def _got_nothing(evidence: Evidence) -> bool:
    return any("empty_passes" in said.event.facts for said in evidence.all(ev.NoteMade))


def left_on_signal(evidence: Evidence) -> str:
    """The signal at which a loop that told no plan stopped stepping, and left by itself; "" when none did."""
    told = [(said.mono, said.event.signal) for said in evidence.all(ev.SignalReceived)]
    told += [(said.mono, said.event.signal) for said in evidence.all(ev.SignalSeen)]
    for mono, signal in sorted(told):
        before = [one.step for _, one in evidence.samples if mono - 10 < one.mono <= mono]
        after = [one.step for _, one in evidence.samples if one.mono > mono + _LAST_STEPS_S]
        moved = bool(before) and before[-1] > before[0]
        if moved and (not after or evidence.step == after[0]) and signal in _ENDING:
            return signal
    return ""


def went_on(evidence: Evidence, mono: float) -> bool:
    """Whether steps were done after a signal, beyond the one under way: the script handled it."""
    after = [one.step for _, one in evidence.samples if one.mono > mono + _LAST_STEPS_S]
    return bool(after) and (evidence.step or 0) > after[0]


def may_have_ended_it(evidence: Evidence, said: Said[ev.SignalReceived] | Said[ev.SignalSeen]) -> bool:
    """Whether a signal may be why it ended: settings are read again at SIGHUP, and a picture is drawn at Ctrl-C."""
    error, ended = evidence.error, evidence.ended
    own_error = error is not None and error.type not in ("KeyboardInterrupt", "SystemExit")
    if went_on(evidence, said.mono):
        held = evidence.stopped_by_us == _HELD_FOR.get(said.event.signal)
        soon = ended is not None and ended.mono - said.mono <= _FINISHES_S
        return not own_error and (held or soon)
    if own_error and not evidence.step:
        raised = [one.mono for one in evidence.all(ev.ExceptionRaised)] or [
            ended.mono if ended else said.mono
        ]
        return raised[-1] - said.mono <= _RAISES_S
    return True


def _ended_short(fit: object) -> bool:
    started, done = getattr(fit, "started", None), getattr(fit, "done", None)
    if started is None or done is None or done.event.raised or getattr(fit, "lost_count", False):
        return False
    planned = getattr(fit, "planned_epochs", None)
    if started.event.epochs == 0:  # `fit(epochs=0)` builds a model, and trains nothing
        return False
    return getattr(fit, "steps", 0) == 0 or (planned is not None and done.event.epochs_done < planned)


def summary(evidence: Evidence, word: str) -> str:
    """One line: how it ended and how far it got."""
    parts = [_ending(evidence, word)]
    if evidence.step is not None:
        of = f" of {evidence.planned:,}" if evidence.planned is not None else ""
        parts.append(f"{evidence.step:,}{of} {'step' if evidence.step == 1 and not of else 'steps'} done")
    if evidence.ended is not None and evidence.ended.event.duration_s:
        parts.append(f"ran for {span(evidence.ended.event.duration_s)}")
    peak = max(evidence.growth.peak_bytes, (evidence.ended.event.max_rss_bytes or 0) if evidence.ended else 0)
    if peak:
        parts.append(f"at most {size(peak)} of memory")
    return ", ".join(parts)


def _ending(evidence: Evidence, word: str) -> str:
    if word == "running":
        return "running" if evidence.alive else "running when last heard of"
    if word == "stalled":
        silent = ""
        if evidence.stall is not None:
            now_s, then_s = evidence.silent_for_s, evidence.stall.event.silent_for_s
            noticed = f" (noticed after {span(then_s)})" if now_s > 1.2 * then_s else ""
            silent = f" for {span(now_s)}{noticed}"
        where = f" in phase {evidence.phase}" if evidence.phase else ""
        return f"did not move{silent}{where}"
    if evidence.exit_signal is not None:
        by = " (told by a shell's exit code)" if evidence.by_shell else ""
        return f"ended by {evidence.exit_signal}{by}"
    if evidence.ended is None and word == "killed":
        return "the record stops without an end"
    if word == "failed":
        code = f"exit code {evidence.exit_code}" if evidence.exit_code is not None else "with an error"
        return f"ended with {code}" if evidence.exit_code is not None else "ended with an error"
    fits = evidence.fit_count
    return f"ended by itself, {counted(fits, 'fit')}" if fits > 1 else "ended by itself"
