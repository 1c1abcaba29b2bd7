"""Somebody or something sent SIGKILL, and it was not the kernel for memory."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.memory import near_the_limit
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, at_the_end
from holdfast.journal import events as ev


@cause("killed-from-outside", Group.MEMORY, breaks=True)
def killed_from_outside(evidence: Evidence) -> Finding | None:
    if evidence.own_signal is not None:
        return None
    if evidence.exit_signal in _OTHERS and not evidence.stopped_by_us:
        return _by_another_signal(evidence, evidence.exit_signal)
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
    spent = _time_spent(evidence)
    if spent is not None:
        return _finding(f"{_OTHERS['SIGXCPU']}", [*facts, spent], _MORE_TIME)
    left = _left_running(evidence)
    facts += [Fact(f"{name} was below it and was left running", evidence.exit_source) for name in left[:2]]
    near = near_the_limit(evidence)
    if evidence.oom_kills == 0:
        strength = Strength.SUPPORTED if near else Strength.ESTABLISHED
    else:
        strength = Strength.POSSIBLE if near or not evidence.samples else Strength.SUPPORTED
    if evidence.is_stalled:
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
        ends=not evidence.is_stalled,
    )


#: Signals whose default action ends a program, and what sends them.
_OTHERS = {
    "SIGXCPU": "it used up the processor time that it was given (ulimit -t)",
    "SIGUSR1": "it was sent SIGUSR1, as schedulers do before their time is over, and nothing in it handles that",
    "SIGUSR2": "it was sent SIGUSR2, as schedulers do before their time is over, and nothing in it handles that",
}
_MORE_TIME = (
    Remedy("ask for more time, or raise the limit: `ulimit -t unlimited`", "your-choice"),
    Remedy(
        "save as it trains, and start the same command again",
        "your-choice",
        'keras.callbacks.BackupAndRestore("backup", save_freq=500, double_checkpoint=True)',
    ),
)
_HANDLE_IT = (
    Remedy(
        "save and leave when it comes",
        "your-choice",
        "signal.signal(signal.SIGUSR1, lambda *_: setattr(model, 'stop_training', True))",
    ),
)


def _by_another_signal(evidence: Evidence, name: str) -> Finding:
    facts = [Fact(f"the process ended on {name}", evidence.exit_source)]
    spent = _time_spent(evidence)
    facts += [spent] if spent is not None else []
    return _finding(_OTHERS[name], facts, _MORE_TIME if name == "SIGXCPU" else _HANDLE_IT)


def _time_spent(evidence: Evidence) -> Fact | None:
    """The processor time that it used, where that is all it was given: at the hard limit the kernel sends SIGKILL."""
    machine = evidence.last(ev.MachineRead)
    limit = machine.event.rlimits.get("cpu") if machine is not None else None
    if evidence.ended is None or limit is None:
        return None
    used_s = (evidence.ended.event.user_s or 0.0) + (evidence.ended.event.system_s or 0.0)
    text = f"it used {used_s:.0f} s of processor time, and the limit is {limit} s"
    return Fact(text, evidence.exit_source) if used_s >= 0.95 * limit else None


def _finding(title: str, facts: list[Fact], remedies: tuple[Remedy, ...]) -> Finding:
    return Finding("killed-from-outside", Strength.ESTABLISHED, title, tuple(facts), (), remedies)


def _left_running(evidence: Evidence) -> list[str]:
    """Processes that trained, and outlived the one that was killed."""
    trained = {said.pid for said in evidence.all(ev.FitStarted)} | {
        said.pid for said in evidence.all(ev.LoopSeen)
    }
    left = evidence.ended.event.left_running if evidence.ended is not None else []
    return [
        f"process {one.get('pid')} ({one.get('command', '')})" for one in left if one.get("pid") in trained
    ]
