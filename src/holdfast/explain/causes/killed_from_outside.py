"""Somebody or something sent SIGKILL, and it was not the kernel for memory."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import at_the_end, near_the_limit
from holdfast.journal import events as ev


def killed_from_outside(evidence: Evidence) -> Finding | None:
    if (
        evidence.exit_signal != "SIGKILL"
        or evidence.stopped_by_us
        or (evidence.oom_kills or 0) > 0
        or evidence.oom_ended
    ):
        return None
    facts = [
        Fact(
            "the process ended on SIGKILL, which a program cannot send itself by accident",
            evidence.exit_source,
        )
    ]
    against: tuple[Fact, ...] = ()
    if evidence.oom_kills == 0:
        facts.append(Fact("the kernel's out-of-memory kill counter did not move", evidence.exit_source))
    else:
        against = (
            Fact(
                "the kernel's kill counter could not be read, so memory is not ruled out by it",
                "journal.jsonl",
            ),
        )
    facts += at_the_end(evidence)
    left = _left_running(evidence)
    facts += [Fact(f"{name} was below it and was left running", evidence.exit_source) for name in left[:2]]
    near = near_the_limit(evidence)
    if evidence.oom_kills == 0:
        strength = Strength.SUPPORTED if near else Strength.ESTABLISHED
    else:
        strength = Strength.POSSIBLE if near or not evidence.samples else Strength.SUPPORTED
    if evidence.stands:
        strength = Strength.POSSIBLE
    return Finding(
        "killed-from-outside",
        strength,
        f"the command was killed from outside, and the training below it runs on: {left[0]}"
        if left
        else "the process was killed from outside: by a person, a scheduler or an eviction",
        tuple(facts),
        against,
        (
            Remedy(
                "let the wrapper become the training, so that nothing stands between: end it with `exec`",
                "your-choice",
                'exec python train.py "$@"',
            ),
            Remedy("nobody watches what runs on: let it end, or end it by its number", "your-choice"),
        )
        if left
        else (
            Remedy(
                "ask the scheduler, the orchestrator or the machine's other users who sent it: "
                "`kubectl describe pod`, `sacct -j JOB`, `journalctl -k`",
                "your-choice",
            ),
            Remedy("let Holdfast restart it: `holdfast run --restarts 3 -- …`", "your-choice"),
        ),
        ends=not evidence.stands,
    )


def _left_running(evidence: Evidence) -> list[str]:
    """Processes that trained, and outlived the one that was killed."""
    trained = {said.pid for said in evidence.all(ev.FitStarted)} | {
        said.pid for said in evidence.all(ev.LoopSeen)
    }
    left = evidence.ended.event.left_running if evidence.ended is not None else []
    return [
        f"process {one.get('pid')} ({one.get('command', '')})" for one in left if one.get("pid") in trained
    ]


PAGE = """\
What it is
  The process was ended by SIGKILL, but not by the kernel's out-of-memory
  killer: a person with `kill -9`, a batch scheduler at its time limit, an
  orchestrator evicting a pod, a notebook server restarting its kernel.

How Holdfast knows
  The exit status is SIGKILL and the kernel's kill counter for the control
  group did not move. Without a counter, memory far below every limit is
  taken as support.

How to make it happen
  Start a training and send it `kill -9 PID` from another terminal.

How to cure it
  Find the sender: events of the orchestrator, the accounting of the
  scheduler, the audit log. Save checkpoints often, so that a kill costs
  little, and let the run be restarted.
      keras.callbacks.BackupAndRestore("backup", double_checkpoint=True)

When Holdfast would be wrong
  If the machine ran out of memory as a whole and the counter of the control
  group does not count such kills; the kernel log would say so.
"""
