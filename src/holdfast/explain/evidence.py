"""The evidence of one run: its last attempt, typed, each fact with the place it was read from.

Nothing here touches a file; `gather` fills the record. Everything may be missing: a run without a probe
has no events from inside, one whose supervisor was killed has no end.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from holdfast.explain.finding import Fact
from holdfast.explain.readings import error as errors
from holdfast.explain.readings.fits import Fit
from holdfast.explain.readings.growth import Growth, read_growth, when_killed
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.output import Output
from holdfast.explain.readings.pipeline import PipelineNode, op_name, part_bytes, sized_nodes
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.readings.stacks import StackReading, read_stacks, shortened
from holdfast.journal import events as ev
from holdfast.journal.beats import Beat, Phase
from holdfast.journal.stack_files import Capture
from holdfast.journal.vitals import Sample

E = TypeVar("E", bound=ev.Event)

#: Exit codes by which a shell reports the signal that ended its own child.
_SHELL_SIGNALS = {129: "SIGHUP", 130: "SIGINT", 131: "SIGQUIT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS",
                  136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 142: "SIGALRM", 143: "SIGTERM", 152: "SIGXCPU",
                  153: "SIGXFSZ"}  # fmt: skip


_PHASES = {phase.label: phase for phase in Phase}
_OF_A_CHILD = ("CalledProcessError", "ChildFailedError", "ProcessExitedException", "ProcessRaisedException")


class LimitSetBy(enum.StrEnum):
    CGROUP = "cgroup"
    RLIMIT_AS = "rlimit-as"
    RLIMIT_DATA = "rlimit-data"
    MACHINE = "machine"


class MemoryLimit(NamedTuple):
    bytes: int
    set_by: LimitSetBy


@dataclass(frozen=True, slots=True)
class Attempt:
    """An earlier attempt, in short."""

    number: int
    ended: str  # "SIGKILL", "exit code 1", "not recorded"
    duration_s: float | None
    step: int | None


@dataclass(frozen=True)
class Sources:
    """What a run was started with."""

    scripts: dict[str, str] = field(default_factory=dict)  # file name -> text
    recipe: dict[str, Any] = field(default_factory=dict)  # "train.batch" -> value, of our own trainer


@dataclass(frozen=True)
class Evidence:
    name: str
    path: Path
    now: float
    entries: tuple[Recorded[Any], ...] = ()
    earlier: tuple[Attempt, ...] = ()
    samples: tuple[tuple[int, Sample], ...] = ()  # line in vitals.jsonl, sample; thinned in a long run
    beats: tuple[Beat, ...] = ()
    captures: tuple[tuple[str, Capture], ...] = ()  # file under stacks/, oldest first
    output: Output = field(default_factory=Output)
    fatal: errors.Fatal | None = None  # what Python's fault handler wrote at a crash
    alive: bool | None = None  # the process of the last attempt; None: cannot be known from here
    same_boot: bool | None = None  # the machine has not restarted since; None: another machine, or not known
    missing: tuple[Fact, ...] = ()  # records that are not there or could not be read
    saved: int | None = None  # the newest step of our own trainer that is saved

    # -- events ---------------------------------------------------------------------------------

    @cached_property
    def _by_kind(self) -> dict[str, list[Recorded[Any]]]:
        found: dict[str, list[Recorded[Any]]] = {}
        for said in self.entries:
            found.setdefault(said.event.kind, []).append(said)
        return found

    def all(self, kind: type[E]) -> list[Recorded[E]]:
        return self._by_kind.get(kind.kind, [])

    def last(self, kind: type[E]) -> Recorded[E] | None:
        found = self._by_kind.get(kind.kind)
        return found[-1] if found else None

    def first(self, kind: type[E]) -> Recorded[E] | None:
        found = self._by_kind.get(kind.kind)
        return found[0] if found else None

    @property
    def probed(self) -> bool:
        """Something inside the process spoke."""
        return any(said.by not in ("supervisor", "") for said in self.entries)

    # -- the end --------------------------------------------------------------------------------

    @cached_property
    def ended(self) -> Recorded[ev.AttemptEnded] | None:
        return self.last(ev.AttemptEnded)

    @cached_property
    def exit_code(self) -> int | None:
        if self.ended is not None:
            return self.ended.event.exit_code
        leaving = self.last(ev.ExitStarted)  # the supervisor is gone, the child said that it was leaving
        return leaving.event.exit_code if leaving is not None and not self.alive else None

    @cached_property
    def exit_signal(self) -> str | None:
        """The signal that ended the process, or its shell's word for it (exit code 137 is SIGKILL)."""
        if self.ended is None:
            return None
        return self.ended.event.signal or _SHELL_SIGNALS.get(self.ended.event.exit_code or 0)

    @property
    def by_shell(self) -> bool:
        """The signal is known only from the exit code of something between us and the process."""
        return self.exit_signal is not None and self.ended is not None and self.ended.event.signal is None

    @property
    def stopped_by_us(self) -> ev.StoppedBy:
        return self.ended.event.stopped_by_us if self.ended is not None else ""

    @cached_property
    def crashed(self) -> bool:
        return self.exit_signal in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")

    @cached_property
    def own_signal(self) -> tuple[str, str] | None:
        """The line at which the script sent itself the signal that ended it, and its source."""
        for said in reversed(self.all(ev.SelfSignalled)):
            if said.event.signal == self.exit_signal:
                return said.event.where, said.source
        return None

    @cached_property
    def went_wrong(self) -> bool:
        """It ended, and not with exit code 0."""
        return self.exit_signal is not None or (self.exit_code or 0) != 0

    @cached_property
    def exit_source(self) -> str:
        return f"exit status ({self.ended.source})" if self.ended is not None else "exit status"

    @cached_property
    def oom_kills(self) -> int | None:
        """By how much the kernel's kill counter rose during the attempt; None when it was not read."""
        if self.ended is not None:
            before, after = self.ended.event.oom_kills_before, self.ended.event.oom_kills_after
            if before is not None and after is not None:
                return after - before
        seen = self.last(ev.OomKillSeen)
        if seen is not None:
            return seen.event.oom_kills - seen.event.was
        counts = [sample.oom_kills for _, sample in self.samples if sample.oom_kills is not None]
        machine = self.last(ev.MachineRead)
        if counts and machine is not None and machine.event.oom_kills is not None:
            return counts[-1] - machine.event.oom_kills
        return counts[-1] - counts[0] if len(counts) > 1 else None

    @cached_property
    def kernel_log(self) -> list[str]:
        lines = list(self.ended.event.kernel_log) if self.ended is not None else []
        for said in self.all(ev.OomKillSeen):
            lines += said.event.kernel_log
        return lines

    @cached_property
    def stall(self) -> Recorded[ev.Stalled] | None:
        """The stall that it did not come out of."""
        stalled, went_on = self.last(ev.Stalled), self.last(ev.StallEnded)
        if stalled is None or (went_on is not None and went_on.line > stalled.line):
            return None
        if self.stopped_by_us == "stall":
            return stalled
        moved = [said for said in self.all(ev.EpochDone) if said.line > stalled.line]
        return None if moved else stalled

    @cached_property
    def silent_for_s(self) -> float:
        """How long that stall has lasted: by now, or until somebody sent the process a signal."""
        stall = self.stall
        if stall is None:
            return 0.0
        told = [
            one.mono for kind in (ev.SignalSent, ev.SignalReceived, ev.AttemptEnded) for one in self.all(kind)
        ]
        until = min((mono for mono in told if mono > stall.mono), default=float("inf"))
        seen = [sample.mono for _, sample in self.samples if stall.mono < sample.mono <= until]
        return stall.event.silent_for_s + max(0.0, max(seen, default=stall.mono) - stall.mono)

    @cached_property
    def is_stalled(self) -> bool:
        """It stands still now, or it was still standing when it was ended."""
        return self.stall is not None and self.exit_code != 0 and not self.crashed and not self.oom_ended

    @property
    def oom_ended(self) -> bool:
        killed = self.exit_signal == "SIGKILL" and ((self.oom_kills or 0) > 0 or self.named_by_kernel)
        return killed and not self.oom_of_others

    @cached_property
    def oom_of_others(self) -> bool:
        """All that the kernel is known to have killed were processes below: the main one was ended by somebody else."""
        gone = {said.event.worker_pid for said in self.all(ev.WorkerGone) if said.event.oom_kills_rose}
        named = {said.event.victim_pid for said in self.all(ev.OomKillSeen) if said.event.victim_pid}
        named |= {
            int(pid) for line in self.kernel_log for pid in re.findall(r"[Kk]illed process (\d+)", line)
        }
        return bool(gone) and named <= gone and (self.oom_kills or 0) <= len(gone)

    @property
    def named_by_kernel(self) -> bool:
        """The kernel's log says that it killed for memory; its counter may be read a moment too early."""
        return any(re.search(r"[Oo]ut of memory|oom-kill|Killed process", line) for line in self.kernel_log)

    # -- the exception --------------------------------------------------------------------------

    @cached_property
    def exit_called(self) -> Recorded[ev.ExitCalled] | None:
        """The call of sys.exit or os._exit that ended it."""
        called = self.all(ev.ExitCalled)[-1:]
        # One that was caught is not it.
        return next((said for said in called if said.event.code & 0xFF == self.exit_code), None)

    @cached_property
    def error(self) -> errors.Raised | None:
        """The exception that ended it. One that the script caught and went on from is not it, unless no fit worked."""
        if self.exit_code == 0 and not self.exit_signal:
            return self._swallowed
        if self.exit_signal not in (None, "SIGINT") and not self.crashed and not self.stall:
            return None
        told = [
            said
            for said in self.all(ev.ExceptionRaised)
            if said.event.caught is not True and said.event.process == "main" and said.event.left != "thread"
        ]
        told = [said for said in told if said.event.left == "script" or not self._went_on_after(said)]
        if told:
            script = [said for said in told if said.event.left == "script"]
            chosen = (script or told)[-1]
            below = [said for said in script if said.pid != chosen.pid]
            if (
                below and chosen.event.type in _OF_A_CHILD
            ):  # a launcher's word for what ended the process below it
                chosen = below[-1]
            return errors.from_event(chosen.event, chosen.source, [said.event for said in told])
        printed = self.output.traceback
        if printed is None or not printed.closes or self.alive:
            return None
        if (
            self.is_stalled and printed.trained_after
        ):  # a library told of something it did without, long before
            return None
        return errors.from_output(printed)

    def _went_on_after(self, said: Recorded[ev.ExceptionRaised]) -> bool:
        """A fit of the same process began, or an epoch was done, after this left another: the script caught it."""
        began = any(one.line > said.line and one.pid == said.pid for one in self.all(ev.FitStarted))
        return began or any(one.line > said.line and one.pid == said.pid for one in self.all(ev.EpochDone))

    @cached_property
    def _swallowed(self) -> errors.Raised | None:
        """What left every fit of a script that caught it each time and ended as if all were well."""
        fits = [fit for fit in self.fits if fit.done is not None]
        if not fits or not all(fit.done is not None and fit.done.event.raised for fit in fits) or self.alive:
            return None
        told = [
            said
            for said in self.all(ev.ExceptionRaised)
            if said.event.left in ("fit", "callback") and said.event.type == fits[-1].done.event.raised  # type: ignore[union-attr]
        ]
        if not told or told[-1].event.type in ("KeyboardInterrupt", "SystemExit"):
            return None
        return errors.from_event(told[-1].event, told[-1].source, [said.event for said in told], caught=True)

    @cached_property
    def error_text(self) -> str:
        return self.error.text if self.error is not None else ""

    # -- the work -------------------------------------------------------------------------------

    @cached_property
    def fits(self) -> tuple[Fit, ...]:
        numbers = {said.event.fit for said in self.all(ev.FitStarted)}
        numbers |= {said.event.fit for said in self.all(ev.FitDone)}
        numbers |= {said.event.fit for said in self.all(ev.EpochDone)}
        return tuple(self._fit(number) for number in sorted(numbers))

    @property
    def fit_count(self) -> int:
        """Of very many quick fits, most are told together."""
        return sum(fit.done.event.fits if fit.done is not None else 1 for fit in self.fits)

    def _fit(self, number: int) -> Fit:
        started = [said for said in self.all(ev.FitStarted) if said.event.fit == number]
        done = [said for said in self.all(ev.FitDone) if said.event.fit == number]
        epochs = tuple(said for said in self.all(ev.EpochDone) if said.event.fit == number)
        return Fit(number, started[-1] if started else None, done[-1] if done else None, epochs)

    @property
    def fit(self) -> Fit | None:
        return self.fits[-1] if self.fits else None

    @cached_property
    def step(self) -> int | None:
        """Training steps done by the process, all fits together."""
        counts = [beat.step for beat in self.beats[-1:]]
        counts += [sample.step for _, sample in self.samples[-1:] if sample.phase]
        counts += [said.event.step for said in self.all(ev.LossSeen)[-1:]]
        counts += [sum(fit.steps for fit in self.fits)] if self.fits else []
        leaving = self.last(ev.ExitStarted)
        counts += [leaving.event.steps] if leaving is not None else []
        if counts and not max(counts) and any(fit.lost_count for fit in self.fits):
            return None
        return max(counts) if counts else None

    @cached_property
    def given_up(self) -> list[Fit]:
        """Fits that an exception left while others got through and the script ended well: trials that were pruned."""
        left = [
            fit
            for fit in self.fits
            if fit.done is not None and fit.done.event.raised not in ("", "KeyboardInterrupt", "SystemExit")
        ]
        through = any(fit.done is not None and not fit.done.event.raised for fit in self.fits)
        return left if through and self.exit_code == 0 else []

    @cached_property
    def planned(self) -> int | None:
        plans = [fit.planned_steps for fit in self.fits]
        known = [plan for plan in plans if plan is not None]
        return sum(known) if known and len(known) == len(plans) else None

    @cached_property
    def phase(self) -> Phase | None:
        """What it was doing last; None where nobody looked inside."""
        if self.stall is not None and self.stall.event.phase:
            return _PHASES.get(self.stall.event.phase)
        if self.beats:
            return self.beats[-1].phase
        return _PHASES.get(next((sample.phase for _, sample in reversed(self.samples) if sample.phase), ""))

    @cached_property
    def backend(self) -> str:
        """What Keras, or a loop without Keras, computes with: tensorflow, jax or torch; "" where it was not seen."""
        told = [said.event.backend for said in self.all(ev.FrameworkSeen) if said.event.backend]
        if not told and any(said.event.by == "jax" for said in self.all(ev.LoopSeen)):
            return "jax"
        return told[-1] if told else ""

    @cached_property
    def model(self) -> Recorded[ev.ModelSeen] | None:
        return self.last(ev.ModelSeen)

    def data(self, role: str = "train") -> Recorded[ev.DatasetSeen] | None:
        """What feeds the last fit."""
        found = [said for said in self.all(ev.DatasetSeen) if said.event.role == role]
        return found[-1] if found else None

    @cached_property
    def losses(self) -> list[tuple[int, float, str]]:
        """Step, loss and source, oldest first; NaN and infinity included."""
        found = [
            (said.event.step, number_of(said.event.logs.get("loss")), said.source)
            for said in self.all(ev.LossSeen)
        ]
        found += [(beat.step, beat.loss, "beats") for beat in self.beats if beat.has_loss]
        by_step = {step: (step, loss, source) for step, loss, source in found if loss is not None}
        return [by_step[step] for step in sorted(by_step)]

    @cached_property
    def memory_limit(self) -> MemoryLimit | None:
        """The tightest limit on this process's memory and what sets it."""
        limits: list[MemoryLimit] = []
        machine, opened = self.last(ev.MachineRead), self.opened
        if machine is not None:
            if machine.event.memory_limit_bytes:
                limits.append(MemoryLimit(machine.event.memory_limit_bytes, LimitSetBy.CGROUP))
            for name in ("as", "data"):
                value = machine.event.rlimits.get(name)
                if value:
                    limits.append(MemoryLimit(value, LimitSetBy(f"rlimit-{name}")))
        limits += [
            MemoryLimit(sample.memory_limit_bytes, LimitSetBy.CGROUP)
            for _, sample in self.samples[-1:]
            if sample.memory_limit_bytes
        ]
        if opened is not None and opened.event.memory_bytes:
            limits.append(MemoryLimit(opened.event.memory_bytes, LimitSetBy.MACHINE))
        return min(limits) if limits else None

    @cached_property
    def opened(self) -> Recorded[ev.RunOpened] | None:
        return self.first(ev.RunOpened)

    # -- readings made once ---------------------------------------------------------------------

    @cached_property
    def growth(self) -> Growth:
        alive = [sample for _, sample in self.samples if sample.rss_bytes]
        killed = None
        if alive and self.oom_ended and self.ended is not None:
            last_beat = self.beats[-1] if self.beats else None
            killed = when_killed(alive[-1], last_beat, self.kernel_log, mono=self.ended.mono)
        return read_growth(self.samples, at_death=killed)

    @cached_property
    def stacks(self) -> StackReading | None:
        """Where it stands, from the newest capture of its stacks."""
        wanted = [(name, capture) for name, capture in self.captures if capture.reason != "asked"]
        if not wanted or (self.stall is None and self.exit_code == 0):
            return None
        name, capture = wanted[-1]
        started_in = self.opened.event.cwd if self.opened is not None else ""
        return read_stacks(shortened(capture, started_in), source=f"stacks/{name}")

    @cached_property
    def nodes(self) -> tuple[PipelineNode, ...]:
        """The pipeline that feeds training, from its source to its end."""
        data = self.data()
        return (
            ()
            if data is None
            else sized_nodes(data.event.nodes, data.source, self.batch_bytes, self._produced)
        )

    @cached_property
    def _produced(self) -> dict[str, int]:
        """Mean bytes of an element that leaves each kind of node, by tf.data's own counters."""
        found: dict[str, int] = {}
        for said in self.all(ev.PipelineSeen):
            for node in said.event.nodes if said.event.role == "train" else []:
                count, total = node.get("elements") or 0, node.get("produced_bytes") or 0
                held, held_bytes = node.get("buffered_elements") or 0, node.get("buffered_bytes") or 0
                if count and total:
                    found[op_name(str(node.get("name")))] = int(total / count)
                elif held and held_bytes:
                    found[op_name(str(node.get("name")))] = int(held_bytes / held)
        return found

    @cached_property
    def batch_bytes(self) -> int | None:
        """One batch as it is fed to training."""
        data = self.data()
        if data is not None and data.event.element_bytes:
            return data.event.element_bytes
        seen = [said for said in self.all(ev.BatchSeen) if said.event.role == "train"]
        sizes = [part_bytes(part) for part in seen[0].event.parts] if seen else []
        return sum(size for size in sizes if size) or None
