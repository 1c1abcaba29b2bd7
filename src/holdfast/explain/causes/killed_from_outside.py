"""Somebody or something sent SIGKILL, and it was not the kernel for memory."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength
from holdfast.explain.grounds import at_the_end, near_the_limit


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
        "the process was killed from outside: by a person, a scheduler or an eviction",
        tuple(facts),
        against,
        (
            Remedy(
                "ask the scheduler, the orchestrator or the machine's other users who sent it: "
                "`kubectl describe pod`, `sacct -j JOB`, `journalctl -k`",
                "your-choice",
            ),
            Remedy("let Holdfast restart it: `holdfast run --restarts 3 -- …`", "your-choice"),
        ),
        ends=not evidence.stands,
    )


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
