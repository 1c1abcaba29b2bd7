"""How a run ended, or that it has not, in one of six words, whatever the cause."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Outcome, facts
from holdfast.explain.readings.end import left_on_signal
from holdfast.explain.readings.fits import Fit
from holdfast.journal import events as ev

#: A share of the planned steps that counts as all of them: datasets of unknown size vary a little.
_NEARLY_ALL = 0.9
_FRESH_S = 120.0
#: A stall that lasted this many times as long as when it was noticed is shown with both durations.
_NOTICED_AT_ONCE = 1.2


def outcome(evidence: Evidence) -> Outcome:
    open_end = evidence.ended is None or evidence.end_unknown
    if evidence.is_stalled and (open_end or _stopped_from_outside(evidence)):
        killed = evidence.ended is None and evidence.alive is False and not evidence.left
        return Outcome.KILLED if killed else Outcome.STALLED
    if evidence.stopped_by_us == "stall":
        return Outcome.STALLED
    if evidence.left:
        return Outcome.RUNNING
    if evidence.ended is None:
        return _without_an_end(evidence)
    if evidence.exit_signal is not None:
        return Outcome.FAILED if evidence.crashed or evidence.own_signal else Outcome.KILLED
    if evidence.end_unknown:
        return Outcome.ENDED
    if evidence.exit_code != 0:
        return Outcome.FAILED
    return Outcome.STOPPED_EARLY if fell_short(evidence) else Outcome.FINISHED


def _stopped_from_outside(evidence: Evidence) -> bool:
    return (
        evidence.stopped_by_us != ""
        or evidence.exit_signal in ("SIGINT", "SIGTERM", "SIGKILL", "SIGHUP")
        or (evidence.error is not None and evidence.error.type == "KeyboardInterrupt")
    )


def _without_an_end(evidence: Evidence) -> Outcome:
    if evidence.alive:
        return Outcome.RUNNING
    leaving = evidence.last(ev.ExitStarted)
    if leaving is not None and evidence.alive is False:
        if leaving.event.raised or leaving.event.exit_code:
            return Outcome.FAILED
        return Outcome.STOPPED_EARLY if fell_short(evidence) else Outcome.FINISHED
    if evidence.alive is False:
        return Outcome.ENDED if _end_unseen(evidence) else Outcome.KILLED
    if evidence.entries and evidence.now - last_sign(evidence) < _FRESH_S:
        return Outcome.RUNNING
    if not evidence.entries and evidence.output.traceback is not None and evidence.output.traceback.closes:
        return Outcome.FAILED
    return Outcome.ENDED if _end_unseen(evidence) else Outcome.KILLED


def _end_unseen(evidence: Evidence) -> bool:
    """Nothing was recorded, or the supervisor went before the command, which may have done all of its work. A probe
    would have noted that it exits."""
    unseen = not evidence.entries or evidence.last(ev.SupervisorLost) is not None
    return unseen and not evidence.probed and not evidence.log


def last_sign(evidence: Evidence) -> float:
    """The wall time of the newest record."""
    times = [evidence.entries[-1].at] if evidence.entries else []
    times += [sample.at for _, sample in evidence.samples[-1:]]
    return max(times, default=0.0)


def fell_short(evidence: Evidence) -> bool:
    """It ended by itself with clearly fewer steps than planned, or was asked to stop."""
    # Of several, an earlier one that was asked to stop is a fold, or the first part of two.
    fit = evidence.fit
    if fit is not None and fit.end.stopped:
        return fit.planned_steps is None or fit.steps < fit.planned_steps
    left = bool(left_on_signal(evidence))
    if any(fit.mixed for fit in evidence.fits):
        return left  # fits in several threads: whose steps they were is not known
    step, planned = evidence.step, evidence.planned
    if planned is not None and step is not None:
        several = len(evidence.fits) > 1  # a loop of fits may have had more of them before it
        stopped = [one for one in evidence.fits[:-1] if one.end.stopped]
        given_up = sum((one.planned_steps or 0) - one.steps for one in [*evidence.given_up, *stopped])
        return step < _NEARLY_ALL * (planned - given_up) or (several and left)
    if left or (not step and evidence.all(ev.EmptyPassSeen)):
        return True
    return any(_ended_short(one) for one in evidence.fits if not one.end.stopped)


def did_all(evidence: Evidence) -> bool:
    """It ended by itself, with all that it had planned."""
    return evidence.exit_code == 0 and not evidence.exit_signal and not fell_short(evidence)


def _ended_short(fit: Fit) -> bool:
    """`fit(epochs=0)` builds a model, and trains nothing."""
    if fit.started is None or not fit.finished or fit.lost_count or fit.start.epochs == 0:
        return False
    planned = fit.planned_epochs
    return fit.steps == 0 or (planned is not None and fit.end.epochs_done < planned)


def summary(evidence: Evidence, how: Outcome) -> tuple[Fact, ...]:
    """How it ended and how far it got."""
    steps = evidence.step is not None and evidence.printed is None
    peak = max(evidence.growth.peak_bytes, evidence.end.max_rss_bytes or 0)
    return tuple(
        facts(
            _ending(evidence, how),
            evidence.printed is not None and _printed(evidence.printed.event),
            steps and Fact("summary.steps", {"steps": evidence.step, "of": evidence.planned}),
            evidence.end.duration_s > 0 and Fact("summary.duration", {"seconds": evidence.end.duration_s}),
            peak > 0 and Fact("summary.memory", {"peak_bytes": peak}),
        )
    )


def _printed(position: ev.ProgressPrinted) -> Fact:
    steps = {"step": position.step, "of": position.of}
    return Fact("summary.printed", {**steps, "epoch": position.epoch, "of_epochs": position.of_epochs})


def _ending(evidence: Evidence, how: Outcome) -> Fact:
    if how == Outcome.RUNNING:
        return Fact("summary.running", {"alive": evidence.alive})
    if how == Outcome.STALLED:
        return Fact("summary.stalled", _stalled(evidence))
    if evidence.exit_signal is not None:
        return Fact("summary.signal", {"signal": evidence.exit_signal, "by_shell": evidence.by_shell})
    if evidence.ended is None and how in (Outcome.KILLED, Outcome.ENDED):
        return Fact("summary.no-end")
    if evidence.log:
        return Fact("summary.log", {"error": how == Outcome.FAILED})
    if how == Outcome.ENDED:
        return Fact("summary.end-unknown")
    if how == Outcome.FAILED:
        # Of a block inside a process the code is our own word for an exception: the process continues.
        return Fact("summary.failed", {"exit_code": None if evidence.beside else evidence.exit_code})
    return Fact("summary.by-itself", {"fits": evidence.fit_count})


def _stalled(evidence: Evidence) -> dict[str, str | float | None]:
    phase = {"phase": evidence.phase.label if evidence.phase is not None else None}
    if evidence.stall is None:
        return {**phase}
    noticed_s, silent_s = evidence.stall.event.silent_for_s, evidence.silent_for_s
    late = silent_s > _NOTICED_AT_ONCE * noticed_s
    return {**phase, "seconds": silent_s, "noticed_after_s": noticed_s if late else None}
