"""Sentences about a run as a whole: how it ended, what is known of it, what is missing; and of no known cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text
from holdfast.units import count

_IMPLEMENTATIONS = {"cpython": "Python", "pypy": "PyPy", "graalpy": "GraalPy"}

FACTS: dict[str, Text] = {
    # -- the summary -------------------------------------------------------------------------------
    "summary.running": lambda values: "running" if values["alive"] else "running when last heard of",
    "summary.stalled": "did not move[ for {seconds:duration}][ (noticed after {noticed_after_s:duration})]"
    "[ in phase {phase}]",
    "summary.signal": "ended by {signal}[{by_shell:if} (from a shell's exit code)]",
    "summary.no-end": "the record stops without an end",
    "summary.end-unknown": "ended; how is known to its parent only",
    "summary.failed": lambda values: (
        f"ended with exit code {values['exit_code']}"
        if values["exit_code"] is not None
        else "ended with an error"
    ),
    "summary.by-itself": lambda values: (
        "ended by itself" + (f", {count(values['fits'], 'fit')}" if values["fits"] > 1 else "")
    ),
    "summary.log": lambda values: (
        "the log ends with an error" if values["error"] else "the log has no error at its end"
    ),
    "summary.steps": lambda values: _steps(values),
    "summary.printed": lambda values: _printed(values),
    "summary.duration": "ran for {seconds:duration}",
    "summary.memory": "at most {peak_bytes:size} of memory",
    # -- what is known -------------------------------------------------------------------------------
    "attempt.ended": "attempt {attempt} ended[ after {seconds:duration}]: {ended}[, step {step:count}]",
    "process.unknown": "this machine cannot tell whether the process is still running",
    "process.alive": "the process is still running",
    "process.left": lambda values: (
        "it was attached to and left; "
        + {True: "it still runs", False: "it has ended since, unwatched"}.get(
            values["alive"], "this machine cannot tell whether it still runs"
        )
    ),
    "process.gone": "the process is gone, and so is the supervisor, which recorded no end",
    "fits.abandoned": lambda values: (
        f"{values['fits']} of {values['of']} fits {'was' if values['fits'] == 1 else 'were'} ended by "
        f"{values['error']}{' at ' + values['line'] if values['line'] else ''}; the script caught it and continued"
    ),
    "group.remark": "{text}",
    "group.rejected": "{address} was turned away: {why}",
    "watch.failed": "a part of the supervisor did not work: {part}: {error}",
    "probe.failed": "a part of the probe did not work: {part}: {error}",
    "probe.left-out": lambda values: (
        f"the run was observed from outside only: the probe needs CPython 3.7 or later, and this is "
        f"{_IMPLEMENTATIONS.get(values['implementation'], values['implementation'])} {values['python']}"
    ),
    "view.from-outside": "the run was observed from outside: nothing inside reports its training, and steps and losses "
    "are as printed",
    "cause.not-judged": "the cause {cause} could not be judged: {error}",
    "framework.warned": "[{where}: ]{text:clip 240}",
    "experiment.offered": "the model and {rows:count row} were kept: `holdfast explain {run} --experiment` trains it "
    "for seconds with this corrected, and shows whether it learns then",
    # -- what is missing ----------------------------------------------------------------------------
    "missing.journal": "no journal ({error})",
    "journal.cut-off": "the journal's last line is cut off (line {line})",
    "journal.unreadable": "the journal has {lines:count line} that could not be read",
    "journal.wrong-types": "the journal is damaged, or of another version: "
    "{values:count value} of another type left out",
    "file.not-read": "{file} was not read: {error}",
    "missing.samples": "no vital signs of this attempt (vitals.jsonl)",
    "missing.heartbeats": "no heartbeats of this attempt: the process had no probe, or ended too early",
    "missing.output": "no output.log",
    "missing.all-but-the-log": "only the log is known: no exit status, no memory, no stacks",
    "log.written-by": "process {pid} still has the log open to write: {command:clip 80}; "
    "`holdfast attach {pid}` shows what it does",
    "kernel.killed-near": "within a minute of the log's last line the kernel killed a Python process: {line:clip 120}",
    "machine.oom-kills": "this control group has had {kills:count out-of-memory kill}; of which process is not known",
    "missing.log-lines": "{size_bytes:size} of log: its beginning, its end and samples between were read",
    # -- no known cause -----------------------------------------------------------------------------
    "end.seen": lambda values: (
        f"it ended with {values['signal'] or 'exit code ' + str(values['exit_code'])}"
        if values["signal"] or values["exit_code"] is not None
        else "the process was gone; how it ended is known to its parent only"
    ),
    "end.printed": "the log says how it ended: {text:clip}",
    "stall.silent": "it did not move for {seconds:duration}[ in phase {phase}]",
    "stall.main-thread": "the main thread was at {where}[, waiting in {wait}]",
    "output.last-line": "its last line of output: {text:clip}",
    "missing.end-words": "not found: an error at its end, or words of the shell, the kernel, SLURM or Kubernetes",
    "missing.exception": "not found: an exception, in the journal or in the output",
    "missing.oom-kill": "not found: an out-of-memory kill by the kernel",
    "missing.probe": "the probe did not report: not a Python process, or started with -I, -E or -S",
    "missing.probe-attached": "it was attached to: steps, epochs and exceptions are not known from outside",
    "missing.stacks": "not found: stacks of the stall",
}

TITLES: dict[str, Text] = {
    "unknown": lambda values: {
        "stalled": "it does not move, and the cause is not known",
        "killed": "it was ended, and it is not known by whom",
        "failed": "it failed, and the cause is not known",
        "ended": "it ended, and only its parent knows how",
        "stopped-early": "it ended by itself before its planned end, and the cause is not known",
    }.get(values["outcome"], "the cause is not known"),
    "unknown.no-end": "the record stops without an end, and why is not known",
    "unknown.process-gone": "the process ended inside the block: its kernel was restarted or killed, or it crashed",
    "unknown.log": lambda values: (
        "the log stops before the planned end, and does not say why"
        if values["broke_off"]
        else "the log says that it ended, and not why"
    ),
}

REMEDIES = {
    "run.watch-it": Advice(
        "run it again under Holdfast, which sees what a log cannot show: `holdfast run -- python train.py`"
    ),
    "unknown.shorter-limit": Advice(
        "run it again under Holdfast with a shorter limit: `holdfast run --stall-after 60 -- …`"
    ),
    "unknown.process-gone": Advice(
        "nothing, if you restarted the kernel; else read what the notebook server printed at that time"
    ),
    "attach.read-stacks": Advice(
        "attach again where its stacks can be read, which say what it waits for[ ({error})]: with py-spy "
        "installed, with `sudo`, or in a container that has CAP_SYS_PTRACE"
    ),
    "run.watch-from-the-start": Advice(
        "watch the next run from its start, which shows steps, data and exceptions too: "
        "`holdfast run -- python train.py`"
    ),
    "unknown.send-the-folder": Advice("report a missing cause, with the run's folder"),
}


def _printed(values: Mapping[str, Any]) -> str:
    """``step 5 of 50, epoch 2 of 3 (as printed)``"""
    pairs = (("step", values["step"], values["of"]), ("epoch", values["epoch"], values["of_epochs"]))
    parts = [f"{name} {at:,g}" + (f" of {of:,}" if of else "") for name, at, of in pairs if at is not None]
    return f"{', '.join(parts)} (as printed)"


def _steps(values: Mapping[str, Any]) -> str:
    if values["of"] is None:
        return f"{count(values['steps'], 'step')} done"
    return f"{count(values['steps'])} of {count(values['of'], 'step', 'steps')} done"
