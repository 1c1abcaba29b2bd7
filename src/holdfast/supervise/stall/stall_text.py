"""The sentences about stalls and about passes without an end, for the screen and for fields that people read."""

from __future__ import annotations

from holdfast.journal.events import Stalled
from holdfast.supervise.stall.endless_loops import EndlessPass, EndlessReason
from holdfast.supervise.stall.judgement import StallJudgement, StallKind
from holdfast.supervise.stall.phase_limits import LIMIT_FLOOR_S, LimitBasis, LimitReason
from holdfast.units import count, exact_seconds, long_duration, number

_PHASES_BEFORE_TRAINING = ("start", "import", "build")
_LIMIT_TEXTS = {
    LimitReason.INITIAL: "the first limit of this phase",
    LimitReason.CONFIGURED: "--stall-after",
    LimitReason.COMPILING: "the Python stack shows that it compiles",
    LimitReason.IMPORTING: "the Python stack shows that it imports",
    LimitReason.FREEING: "tf.data destroys a finished iterator, which may take a minute",
    LimitReason.LONGEST_STEP: "three times the longest normal step of {measured}, less a second to notice",
    LimitReason.SHORT_STEPS: "three times the longest normal step of {measured}, at least {floor}",
    LimitReason.LONGEST_PAUSE: "three times the longest pause that ended by itself, {measured}",
    LimitReason.MEDIAN_STEP: "twelve times the median of the first {steps} steps, {measured}",
    LimitReason.LONGEST_SILENCE: "three times the longest such silence so far, {measured}",
    LimitReason.ALL_LOCKED: "every thread waits for another, without a timeout",
    LimitReason.PYTHON_LOCKED: "every Python thread waits for another, without a timeout",
    LimitReason.BLOCKED_ON_FIFO: "it waits to open a FIFO that nobody opens at the other end",
    LimitReason.LOCKED_OUT: "an idle process has locked the file that it waits for",
    LimitReason.NO_BYTES: "a download gets no bytes, and waits without a time limit",
    LimitReason.READS_TERMINAL: "it waits for somebody to type",
    LimitReason.OPEN_ENDED: "every thread waits without a time limit",
    LimitReason.SLEEPS: "it sleeps, and wakes up by itself",
    LimitReason.SERVES: "it waits for somebody to connect",
}
_ENDLESS_TEXTS = {
    EndlessReason.PLAN_EXCEEDED: "{expected} batches were planned",
    EndlessReason.INFINITE_VALIDATION: "its dataset has no end, and no number of steps was given",
    EndlessReason.INFINITE_EPOCH: "its dataset has no end, and steps_per_epoch was not given",
    EndlessReason.LONGER_VALIDATION: "the longest before had {expected} batches",
    EndlessReason.LONGER_EPOCH: "the longest before had {expected} steps",
    EndlessReason.LONGER_THAN_EPOCH: "the whole epoch had {expected} batches of training",
    EndlessReason.PLANNED_BEYOND_TRAINING: "{expected} are planned, more than the whole training has",
    EndlessReason.LOSS_NOT_IMPROVING: (
        "it runs {condition}, and the loss has not improved on {loss} since step {expected}"
    ),
}


def limit_text(basis: LimitBasis) -> str:
    """How the limit was chosen."""
    return _LIMIT_TEXTS[basis.reason].format(
        measured=f"{basis.measured_s:.3g} s", steps=basis.steps, floor=exact_seconds(LIMIT_FLOOR_S)
    )


def limit_from(judgement: StallJudgement, endless: EndlessPass | None = None) -> str:
    """For `Stalled.limit_from`: which limit was exceeded and how it was chosen."""
    match judgement.kind:
        case StallKind.SUSPENDED:
            return "the process is suspended"
        case StallKind.BUSY:
            return f"busy all the time without a beat; {limit_text(judgement.basis)}"
        case StallKind.BUSY_FLAT:
            return "busy, but no batch comes and memory does not grow"
        case StallKind.ON_GPU:
            return "the GPU works, and the step does not end: far longer than any before"
        case StallKind.FILTERING:
            elements = count(judgement.filtered_elements, "element")
            return f"busy: the dataset's filter was given {elements} and let none through"
        case StallKind.ENDLESS_VALIDATION if endless is not None:
            return f"the validation may never end: {endless_reason(endless)}"
        case _:
            return limit_text(judgement.basis)


def describe_stall(event: Stalled, *, busy: bool = False) -> str:
    """``phase step, after step 119, epoch 3: nothing moved for 10 s (limit 8.5 s: …)``"""
    where = f"phase {event.phase}" if event.phase else "seen from outside"
    if printed := event.progress.get("printed"):
        where += f", after {printed} as printed"
    if event.callback:
        where += f" {event.callback}"
    if event.step is not None and event.epoch is not None and event.phase not in _PHASES_BEFORE_TRAINING:
        where += f", after step {event.step}, epoch {event.epoch + 1}"
    if event.limit_s == 0:
        return f"{where}: {event.limit_from}"
    silent, limit = exact_seconds(event.silent_for_s), exact_seconds(event.limit_s)
    return f"{where}: {'no batch came' if busy else 'nothing moved'} for {silent} (limit {limit}: {event.limit_from})"


def recovery_line(silent_for_s: float) -> str:
    return f"holdfast: the command moves again, after {long_duration(silent_for_s)}"


def endless_line(endless: EndlessPass) -> str:
    done = f"{count(endless.batches, 'batch', 'batches')} in {long_duration(endless.for_s)}"
    return f"holdfast: this {endless.what} may never end: {done}; {endless_reason(endless)}"


def endless_reason(endless: EndlessPass) -> str:
    return _ENDLESS_TEXTS[endless.reason].format(
        expected=endless.expected, condition=endless.condition, loss=number(endless.best_loss)
    )
