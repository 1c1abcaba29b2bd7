"""Words with which a shell, the kernel, SLURM or Kubernetes say how a process ended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class End(StrEnum):
    OUT_OF_MEMORY = "out-of-memory"  # of the host, said by the kernel or the scheduler
    KILLED = "killed"  # SIGKILL, by whom is not said
    TIME_LIMIT = "time-limit"
    PREEMPTED = "preempted"
    EVICTED = "evicted"
    CANCELLED = "cancelled"
    CRASHED = "crashed"  # SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE
    TERMINATED = "terminated"
    INTERRUPTED = "interrupted"
    NODE_FAILED = "node-failed"
    EXITED = "exited"  # by itself, with an exit code


@dataclass(frozen=True, slots=True)
class EndWords:
    kind: End
    signal: int | None = None
    exit_code: int | None = None
    pid: int | None = None
    reported_by: str = ""  # kernel, slurm, kubernetes, shell, launcher, scheduler

    @property
    def by_scheduler(self) -> bool:
        """A scheduler decided to end it; memory and errors of the machine are not its decision."""
        return self.kind in (End.TIME_LIMIT, End.PREEMPTED, End.EVICTED, End.CANCELLED)


_SIGNALS = {
    "SEGMENTATION FAULT": 11,
    "BUS ERROR": 7,
    "ABORTED": 6,
    "ILLEGAL INSTRUCTION": 4,
    "FLOATING POINT EXCEPTION": 8,
    "SIGSEGV": 11,
    "SIGBUS": 7,
    "SIGABRT": 6,
    "SIGILL": 4,
    "SIGFPE": 8,
}
_CRASH = r"Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception"
_SHELL = r"^\s*(?:[\w./~+-]+(?:\.sh)?: (?:line )?\d+: +|\[\d+\][+-]? +)?(?P<pid>\d+ +)?"

_RULES: tuple[tuple[End, str, re.Pattern[str]], ...] = (
    (
        End.OUT_OF_MEMORY,
        "kernel",
        re.compile(
            r"(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process (?P<pid>\d+)|"
            r"\boom-kill:constraint=.*?(?:,pid=(?P<pid2>\d+)|$)|"
            r"oom_reaper: reaped process (?P<pid3>\d+)|invoked oom-killer"
        ),
    ),
    (
        End.OUT_OF_MEMORY,
        "slurm",
        re.compile(
            r"slurmstepd: error: .*\boom[-_ ]?kill|Detected \d+ oom[-_ ]kill event|"
            r"Exceeded (?:job|step) memory limit|oom_kill event|\bOUT_OF_ME(?:MORY|\+)|"
            r"task \S+: Out Of Memory"
        ),
    ),
    (End.OUT_OF_MEMORY, "kubernetes", re.compile(r"\bOOMKilled\b")),
    (
        End.OUT_OF_MEMORY,
        "scheduler",
        re.compile(
            r"TERM_MEMLIMIT|job killed: (?:mem|vmem|rss) .*exceeded|PBS: job killed: mem|"
            r"exceeded memory limit",
            re.I,
        ),
    ),
    (End.TIME_LIMIT, "slurm", re.compile(r"DUE TO TIME LIMIT")),
    (
        End.TIME_LIMIT,
        "scheduler",
        re.compile(
            r"TERM_RUNLIMIT|PBS: job killed: walltime|walltime \d+ exceeded|"
            r"DeadlineExceeded\b.*(?:Job|Pod)|Job was active longer than specified deadline"
        ),
    ),
    (End.PREEMPTED, "slurm", re.compile(r"CANCELLED AT \S+ DUE TO (?:PREEMPTION|JOB REQUEUE)")),
    (End.NODE_FAILED, "slurm", re.compile(r"DUE TO NODE FAILURE|\bNODE_FAIL\b")),
    (End.CANCELLED, "slurm", re.compile(r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT")),
    (
        End.EVICTED,
        "kubernetes",
        re.compile(
            r"\bReason:\s+Evicted\b|\bThe node was low on resource\b|\bEvicted\b.*\bpod\b|"
            r"\bpod\b.*\bevicted\b",
            re.I,
        ),
    ),
    (
        End.PREEMPTED,
        "kubernetes",
        re.compile(
            r"\bPreempted\b.*\b(?:pod|by)\b|instance (?:is being|was) preempted|"
            r"spot (?:instance )?interruption notice",
            re.I,
        ),
    ),
    (
        End.KILLED,
        "kubernetes",
        re.compile(
            r"[Ee]xit(?:ed with)? ?[Cc]ode:?\s+(?P<code>137)\b|exitCode\"?: (?P<code2>137)\b|"
            r"exit(?:ed)?(?: with)?(?: status| code)?:? (?P<code3>137)\b"
        ),
    ),
    (
        End.KILLED,
        "launcher",
        re.compile(
            r"exitcode\s*:? ?-9\b.*\(?pid: ?(?P<pid>\d+)?|"
            r"Signal 9 \(SIGKILL\) received by PID (?P<pid2>\d+)|exited on signal 9 \(Killed\)|"
            r"died with <Signals\.SIGKILL: 9>|killed by signal: ?(?:Killed|9)|"
            r"terminated by signal SIGKILL"
        ),
    ),
    (
        End.CRASHED,
        "launcher",
        re.compile(
            r"Signal \d+ \((?P<name>SIG(?:SEGV|BUS|ABRT|ILL|FPE))\) received by PID (?P<pid>\d+)|"
            r"died with <Signals\.(?P<name2>SIG(?:SEGV|BUS|ABRT|ILL|FPE)): \d+>|"
            r"exited on signal \d+ \((?P<name3>"
            + _CRASH
            + r")\)|Fatal Python error: (?P<name4>"
            + _CRASH
            + r")|caught (?P<name5>segfault)",
            re.I,
        ),
    ),
    (
        End.CRASHED,
        "kernel",
        re.compile(
            r"\w+\[(?P<pid>\d+)\]: (?P<name>segfault) at|"
            r"traps: \S+\[(?P<pid2>\d+)\] (?P<name2>trap invalid opcode|general protection)"
        ),
    ),
    (
        End.TERMINATED,
        "launcher",
        re.compile(
            r"exited on signal 15 \(Terminated\)|"
            r"Signal 15 \(SIGTERM\) received by PID (?P<pid>\d+)|died with <Signals\.SIGTERM: 15>"
        ),
    ),
    (End.KILLED, "shell", re.compile(_SHELL + r"(?:zsh: )?[Kk]illed(?:: 9)?(?:\s{2,}.*|\s*)$")),
    (
        End.CRASHED,
        "shell",
        re.compile(
            _SHELL + rf"(?:zsh: )?(?P<name>{_CRASH})(?:: \d+)?(?: \(core dumped\)|"
            rf"\s+\(core dumped\))?(?:\s{{2,}}.*|\s*)$",
            re.I,
        ),
    ),
    (End.TERMINATED, "shell", re.compile(_SHELL + r"Terminated(?:: 15)?(?:\s{2,}.*|\s*)$")),
    (End.OUT_OF_MEMORY, "notebook", re.compile(r"session crashed after using all available RAM")),
    (
        End.KILLED,
        "notebook",
        re.compile(
            r"KernelRestarter: restarting kernel|\bkernel \S+ restarted\b|kernel appears to have died|\bKernel died\b|"
            r"Canceled future for execute_request message before replies were done"
        ),
    ),
    (
        End.CRASHED,
        "runtime",
        re.compile(
            r"^(?P<name>terminate called after throwing an instance of)|"
            r"^(?:\d{4}-\S+ \S+: )?F(?:\d{4})? .*(?P<name2>Check failed)|"
            r"^(?P<name3>double free|free\(\): invalid|malloc\(\): )|\*\*\* (?P<name4>stack smashing) detected"
        ),
    ),
    (
        End.CRASHED,
        "launcher",
        re.compile(r"\(exitcode: -(?P<name>4|6|7|8|11)\)(?: .*\(pid: (?P<pid>\d+)\))?"),
    ),
    (
        End.EXITED,
        "program",  # argparse
        re.compile(
            r"^[\w./-]+: error: (?:unrecognized arguments|the following arguments are required|argument \S+: )"
        ),
    ),
    (
        End.EXITED,
        "launcher",
        re.compile(
            r"(?:Process finished with|exited with|failed with) (?:exit )?(?:code|status):? (?P<code>-?\d+)\b",
            re.IGNORECASE,
        ),
    ),
    (End.INTERRUPTED, "", re.compile(r"^KeyboardInterrupt\s*$")),
)
_SHELL_LINE = re.compile(r": line \d+: +\d+ +\w")
#: One of these is in every line that a rule knows: most lines have none, and are not tried against each rule.
_MAY_END = re.compile(
    r"kill|oom|memory|out_of|cancel|limit|walltime|evict|preempt|spot|signal|exit|fail|fault|abort|bus error|terminat|"
    r"interrupt|illegal|exception|kernel|crash|TERM_|NODE_|free|malloc|smashing|trap|protection|error: |resource|"
    r"deadline|died|exceeded",
    re.IGNORECASE,
)
_SIGNAL_OF = {End.KILLED: 9, End.TERMINATED: 15, End.INTERRUPTED: 2}


def ending(text: str) -> EndWords | None:
    """How the line says that a process ended."""
    if not _MAY_END.search(text):
        return None
    if (reported := _SHELL_LINE.search(text)) is not None:  # perhaps behind a bar that has no line end
        text = text[text.rfind(" ", 0, reported.start()) + 1 :]
    for kind, reported_by, pattern in _RULES:
        match = pattern.search(text)
        if match is None:
            continue
        groups = match.groupdict()
        pid, code, name = (_first(groups, prefix) for prefix in ("pid", "code", "name"))
        number = _signal(name) if kind is End.CRASHED else _SIGNAL_OF.get(kind)
        return EndWords(kind, number, int(code) if code else None, int(pid) if pid else None, reported_by)
    return None


def _first(groups: dict[str, str | None], prefix: str) -> str:
    return next((value.strip() for name, value in groups.items() if name.startswith(prefix) and value), "")


def _signal(name: str) -> int | None:
    upper = name.upper()
    if upper.isdigit():
        return int(upper)
    return _SIGNALS.get(
        upper, 11 if upper in ("SEGFAULT", "GENERAL PROTECTION") else 4 if "OPCODE" in upper else None
    )
