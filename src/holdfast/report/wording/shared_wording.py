"""Sentences that causes of several groups share: words of errors, memory, stalled threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.explain.evidence import LimitSetBy
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.remedies import Before
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled
from holdfast.units import number, percent, size

_WHEN: dict[str, str] = {
    GrowthShape.NONE: "in all",
    GrowthShape.BEFORE_FIRST_STEP: "before the first step of the fit",
    GrowthShape.AT_FIT_ENTRY: "at once when the fit began",
    GrowthShape.BEFORE_FIT: "before training began",
    GrowthShape.FIRST_EPOCH: "in the first epoch, and no more after it",
    GrowthShape.FIRST_EPOCH_SO_FAR: "in the first epoch",
    GrowthShape.EVERY_STEP: "at every step, over all epochs",
    GrowthShape.BETWEEN_FITS: "from fit to fit",
    GrowthShape.IN_VALIDATION: "during validation",
    GrowthShape.IN_WORKERS: "in the loader processes",
    GrowthShape.ONE_JUMP: "in one jump",
    GrowthShape.ONE_STEP: "within one step, the one after step {last_step:count}",
}
_LIMITS: dict[str, str] = {
    LimitSetBy.CGROUP: "the control group's memory limit",
    LimitSetBy.RLIMIT_AS: "RLIMIT_AS (ulimit)",
    LimitSetBy.RLIMIT_DATA: "RLIMIT_DATA (ulimit)",
    LimitSetBy.MACHINE: "the machine's memory",
}
_BEFORE: dict[str, str] = {Before.MAKE_ROOM: "make room, then ", Before.RAISE_LIMIT: "raise it, then "}
#: A share of a step that is worth printing: less is lost in rounding.
_FEW_BYTES, _FEW_STEPS = 1024, 3


def grew(values: Mapping[str, Any]) -> str:
    """ "memory rose by 1.3 GiB within 14 s, during validation" """
    steps = values["steps"]
    per_step = values["bytes"] / steps if steps else 0.0
    often = steps > _FEW_STEPS and per_step > _FEW_BYTES
    taken = filled(" within {seconds:duration}", values) if values["seconds"] > 0 else ""
    when = filled(_WHEN[values["when"]], values)
    return f"memory rose by {size(values['bytes'])}{taken}, {when}" + (
        f", {size(per_step)} a step" if often else ""
    )


def outlier(values: Mapping[str, Any]) -> str:
    """ "batch 41 holds 9.9e+11 in x (row 3), where others reach 0.99" """
    by_sample = values["sample"] is not None
    where = "the data" if by_sample else filled("batch {step:count}", values)
    row = f"sample {values['sample']}" if by_sample else f"row {values['row']}"
    return (
        f"{where} holds {number(values['value'])} in {values['name']} ({row}), where others reach "
        f"{number(values['usual'])}"
    )


def limit_name(set_by: str) -> str:
    return _LIMITS[set_by]


def _thread(values: Mapping[str, Any]) -> str:
    thread = f"thread {values['thread']}" if values["thread"] else "the main thread"
    return thread + filled("[ of process {pid}][ ({process})]", values)


def _stalled(values: Mapping[str, Any]) -> str:
    wait = filled("[ waits in {wait}]", values) or " waits"
    call = filled(" ({syscall})", values) if "fd=" in values["syscall"] else ""
    return f"{_thread(values)}{wait}{call}{_place(values)}"


def _busy(values: Mapping[str, Any]) -> str:
    return f"{_thread(values)} computes ({percent(values['cpu_share'])} of a core){_place(values)}"


def _place(values: Mapping[str, Any]) -> str:
    at = "[ inside {inside}][, called from {where}]" if values["inside"] else "[ at {where}]"
    return filled(at + "[: {code:code 60}]", values)


def _resume(values: Mapping[str, Any]) -> str:
    before = _BEFORE[values["before"]] if values["before"] else ""
    if values["saved_step"] is None:
        return f"{before}start again: no step was saved"
    return before + filled("resume from step {saved_step:count}, which is saved", values)


#: Of a setting that keeps a detector from learning; its text is that of `holdfast check`.
DOUBTED: Text = "it found next to nothing, and {setting} is {value}: {text}"

FACTS: dict[str, Text] = {
    "setting.doubted": "{setting} = {value} in the recipe: {text}",
    "answers.alike": "{alike:percent} of its best answers for one validation image are those for the next one too, of "
    "{images:count image}: it hardly looks at the images",
    "answers.classes-by-chance": "it locates {located:percent} of the objects for validation, and gives "
    "{right:percent} of these the right class; always naming the most frequent one is right for {by_chance:percent}",
    "validation.best": "the best of {validations:count validation} had an AP50 of {precision:number}",
    "error.quoted": "{text}",
    "error.raised": "{type}[: {message:clip 300}]",
    "error.user-line": "the last line of your own code is {line}[: {code:code}]",
    "error.in-multiprocessing": "{text:clip}, in {frame:clip}",
    "memory.grew": grew,
    "memory.last-measured": lambda values: filled(
        f"last measured at {{used_bytes:size}}; {_LIMITS[values['set_by']]} is {{limit_bytes:size}}", values
    ),
    "batch.outlier": outlier,
    "arrays.unlike": "number {number} of {of} has shape {odd}, most have {usual}",
    "thread.stalled": _stalled,
    "thread.busy": _busy,
    "thread.raised": "a thread ended with {error}[ at {where}][: {message:clip 120}][; its line is {code:code}]",
    "signal.passed-on": "the supervisor received {signal}[ from process {from_pid}][ ({from_command})]"
    "[{from_coordinator:if} (sent by the group coordinator)] and passed it on",
    "signal.seen-by-script": "the script received {signal}[{direct:if}, not from the supervisor]",
    "steps.none-after-signal": "no step was done after the signal, and it ended by itself",
    "steps.by-epoch": "steps by epoch: {steps:list 12}[; planned {planned} each]",
    "steps.none": "no training step was done",
}

REMEDIES = {
    "line.fix": Advice(lambda values: f"fix {values['where']}" if values["where"] else "fix the error"),
    "setting.change": Advice("{change}"),
    "run.resume": Advice(_resume, "holdfast train --resume --run-dir RUN"),
}
