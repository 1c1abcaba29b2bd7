"""The evidence of one run: its last attempt, typed, each fact with the place it was read from.

Nothing here touches a file; `gather` fills the record. Everything may be missing: a run without a probe
has no events from inside, one whose supervisor was killed has no end.
"""

from __future__ import annotations

import enum
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from holdfast.explain.finding import Fact
from holdfast.explain.readings import error as errors
from holdfast.explain.readings.fits import Fit
from holdfast.explain.readings.growth import Growth, read_growth, when_killed
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.output import Output
from holdfast.explain.readings.pipeline import PipelineNode, part_bytes, produced_bytes, sized_nodes
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.readings.stacks import StackReading, read_stacks
from holdfast.host.signals import SHELL_SIGNALS
from holdfast.journal import events as ev
from holdfast.journal.beats import Beat, Phase
from holdfast.journal.stack_files import Capture
from holdfast.journal.vitals import Sample

if TYPE_CHECKING:
    from holdfast.printed.endings import EndWords

E = TypeVar("E", bound=ev.Event)

_NOT_ERRORS = ("KeyboardInterrupt", "SystemExit")
_PHASES = {phase.label: phase for phase in Phase}
#: Writers of the journal that are not inside the process.
_OUTSIDE = ("", "supervisor", "scheduler", "relay", "conductor")


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
    experiment: dict[str, Any] | None = None  # the stored result of an experiment about this attempt
    saved: int | None = None  # the newest step of our own trainer that is saved
    log: str = ""  # the name of the log, where there is nothing else
    end_text: str = ""  # the line by which the log says how it ended
    end_words: EndWords | None = None  # and what it says
    oom_printed: bool = False  # and that line says that memory had run out

    # -- events ---------------------------------------------------------------------------------

    @cached_property
    def _by_kind(self) -> dict[str, list[Recorded[Any]]]:
        found: dict[str, list[Recorded[Any]]] = {}
        for entry in self.entries:
            found.setdefault(entry.event.kind, []).append(entry)
        return found

    def all(self, kind: type[E]) -> list[Recorded[E]]:
        return self._by_kind.get(kind.kind, [])

    def last(self, kind: type[E]) -> Recorded[E] | None:
        return next(reversed(self.all(kind)), None)

    def first(self, kind: type[E]) -> Recorded[E] | None:
        return next(iter(self.all(kind)), None)

    def seen(self, kind: type[E]) -> E:
        """The newest of this kind; an empty one, with its defaults, where there is none."""
        last = self.last(kind)
        return last.event if last is not None else kind()

    @property
    def probed(self) -> bool:
        """Something inside the process wrote to the journal, and more than that the probe was left out of it."""
        inside = (entry for entry in self.entries if entry.by not in _OUTSIDE)
        return any(not isinstance(entry.event, ev.ProbeLeftOut) for entry in inside)

    # -- the end --------------------------------------------------------------------------------

    @cached_property
    def ended(self) -> Recorded[ev.AttemptEnded] | None:
        return self.last(ev.AttemptEnded)

    @cached_property
    def end(self) -> ev.AttemptEnded:
        """How it ended; empty where that is not known."""
        return self.seen(ev.AttemptEnded)

    @cached_property
    def exit_code(self) -> int | None:
        if self.ended is None and not self.alive:  # the supervisor is gone, the child wrote that it exits
            leaving = self.last(ev.ExitStarted)
            return leaving.event.exit_code if leaving is not None else None
        return self.end.exit_code

    @cached_property
    def exit_signal(self) -> str | None:
        """The signal that ended the process, or its shell's word for it (exit code 137 is SIGKILL)."""
        by_kernel = (self.oom_kills or 0) > 0 or self.named_by_kernel
        if self.end_unknown and by_kernel and not self.oom_of_others:
            return "SIGKILL"  # by the kernel's own record
        return self.end.signal or SHELL_SIGNALS.get(self.end.exit_code or 0)

    @property
    def by_shell(self) -> bool:
        """The signal is known only from the exit code of something between us and the process."""
        return self.exit_signal is not None and self.end.signal is None and not self.end_unknown

    @property
    def end_unknown(self) -> bool:
        """It ended, and only its parent knows how."""
        end = self.end
        return self.ended is not None and end.exit_code is None and not (end.signal or end.stopped_by_us)

    @property
    def attached(self) -> bool:
        """It ran before Holdfast came: there is no probe in it, and its beginning is not known."""
        return self.opened is not None and self.opened.event.watch == "attached"

    @property
    def beside(self) -> bool:
        """Watched from inside, by `holdfast.watch` or in a notebook: only the block is known, not the process."""
        return self.opened is not None and self.opened.event.watch == "beside"

    @property
    def left(self) -> bool:
        """It was attached to, and left before it ended."""
        return self.attached and self.ended is None

    @property
    def stopped_by_us(self) -> ev.StoppedBy:
        return self.end.stopped_by_us

    @cached_property
    def crashed(self) -> bool:
        return self.exit_signal in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")

    @cached_property
    def own_signal(self) -> tuple[str, str] | None:
        """The line at which the script sent itself the signal that ended it, and its source."""
        sent = [one for one in self.all(ev.SelfSignalled) if one.event.signal == self.exit_signal]
        return (sent[-1].event.where, sent[-1].source) if sent else None

    @cached_property
    def went_wrong(self) -> bool:
        """It ended, and not with exit code 0."""
        return self.exit_signal is not None or (self.exit_code or 0) != 0

    @cached_property
    def exit_source(self) -> str:
        if self.ended is None:
            return "exit status"
        return self.ended.source if self.log else f"exit status ({self.ended.source})"

    @cached_property
    def oom_kills(self) -> int | None:
        """By how much the kernel's kill counter rose during the attempt; None when it was not read."""
        before, after, seen = self.end.oom_kills_before, self.end.oom_kills_after, self.last(ev.OomKillSeen)
        if before is not None and after is not None:
            return after - before
        if seen is not None:
            return seen.event.oom_kills - seen.event.was
        counts = [sample.oom_kills for _, sample in self.samples if sample.oom_kills is not None]
        at_first = self.seen(ev.MachineRead).oom_kills
        if counts and at_first is not None:
            return counts[-1] - at_first
        return counts[-1] - counts[0] if len(counts) > 1 else None

    @cached_property
    def kernel_log(self) -> list[str]:
        kills = self.all(ev.OomKillSeen)
        return [*self.end.kernel_log, *(line for kill in kills for line in kill.event.kernel_log)]

    @cached_property
    def stall(self) -> Recorded[ev.Stalled] | None:
        """The stall that it did not come out of."""
        stalled, resumed = self.last(ev.Stalled), self.last(ev.StallEnded)
        ended = stalled is not None and resumed is not None and resumed.line > stalled.line
        if stalled is None or (ended and resumed is not None and not self._after_our_signal(resumed)):
            return None
        moved = any(epoch.line > stalled.line for epoch in self.all(ev.EpochDone))
        return None if moved and self.stopped_by_us != "stall" else stalled

    @cached_property
    def silent_for_s(self) -> float:
        """How long that stall has lasted: by now, or until somebody sent the process a signal."""
        stall, kinds = self.stall, (ev.SignalSent, ev.SignalReceived, ev.AttemptEnded)
        if stall is None:
            return 0.0
        signalled = (one.mono for kind in kinds for one in self.all(kind) if one.mono > stall.mono)
        until = min(signalled, default=math.inf)
        seen = [sample.mono for _, sample in self.samples if stall.mono < sample.mono <= until]
        return stall.event.silent_for_s + max(0.0, max(seen, default=stall.mono) - stall.mono)

    @cached_property
    def is_stalled(self) -> bool:
        """It does not move now, or did not when it was ended."""
        return self.stall is not None and self.exit_code != 0 and not self.crashed and not self.oom_ended

    @property
    def oom_ended(self) -> bool:
        killed = self.exit_signal == "SIGKILL" and ((self.oom_kills or 0) > 0 or self.named_by_kernel)
        return killed and not self.oom_of_others

    @cached_property
    def oom_of_others(self) -> bool:
        """All that the kernel is known to have killed were processes below: the main one was ended by somebody else."""
        gone = {one.event.worker_pid for one in self.all(ev.WorkerGone) if one.event.oom_kills_rose}
        named = {one.event.victim_pid for one in self.all(ev.OomKillSeen) if one.event.victim_pid}
        logged = re.findall(r"[Kk]illed process (\d+)", "\n".join(self.kernel_log))
        named |= {int(pid) for pid in logged}
        return bool(gone) and named <= gone and (self.oom_kills or 0) <= len(gone)

    @property
    def named_by_kernel(self) -> bool:
        """The kernel's log says that it killed for memory; its counter may be read a moment too early."""
        killed = re.compile(r"[Oo]ut of memory|oom-kill|Killed process")
        return self.oom_printed or any(killed.search(line) for line in self.kernel_log)

    # -- the exception --------------------------------------------------------------------------

    @cached_property
    def exit_called(self) -> Recorded[ev.ExitCalled] | None:
        """The call of sys.exit or os._exit that ended it, and not one that was caught."""
        called = self.last(ev.ExitCalled)
        return called if called is not None and called.event.code & 0xFF == self.exit_code else None

    @cached_property
    def error(self) -> errors.Raised | None:
        """The exception that ended it; not one that the script caught before it continued, unless no fit worked."""
        if self.exit_code == 0 and not self.exit_signal:
            return self._swallowed
        if self.exit_signal not in (None, "SIGINT") and not self.crashed and not self.stall:
            return None
        if raised := [one for one in self.all(ev.ExceptionRaised) if self._may_end_it(one)]:
            script = [one for one in raised if one.event.left in ("script", "exit")]
            chosen = (script or raised)[-1]
            below = [one for one in script if one.pid != chosen.pid]
            # A launcher only reports what ended the process below it.
            passed_on = below and chosen.event.type in errors.LAUNCHER_ERRORS
            return errors.from_event(below[-1] if passed_on else chosen, raised)
        printed = self.output.traceback
        # Of a stalled run: a library reported something it did without, long before.
        aside = printed is not None and self.is_stalled and printed.trained_after
        if printed is None or not printed.closes or self.alive or aside:
            return None
        event, line = errors.exception_of(printed.text), printed.line
        return errors.from_event(Recorded(event, line.number, at=0.0, mono=0.0, file=line.file), [])

    def _may_end_it(self, raised: Recorded[ev.ExceptionRaised]) -> bool:
        """It left the main process, and no fit of that process began, nor an epoch was done, after it left another."""
        event = raised.event
        if event.left == "exit":  # it was handled, by the call that ended the script
            call = self.exit_called
            return call is not None and call.pid == raised.pid and call.line > raised.line
        own = event.caught is not True and event.process == "main" and event.left != "thread"
        worked = self._worked_until.get(raised.pid, 0) < raised.line
        return own and not self._after_our_signal(raised) and (event.left == "script" or worked)

    def _after_our_signal(self, seen: Recorded[Any]) -> bool:
        """We had sent the signal that ended a stall: a launcher passes it on and raises, and processes move to end."""
        sent = self.first(ev.SignalSent) if self.stopped_by_us == "stall" else None
        return sent is not None and seen.mono >= sent.mono

    @cached_property
    def _worked_until(self) -> dict[int, int]:
        """The last line at which a fit began or an epoch was done, by process."""
        return {
            one.pid: one.line for one in self.entries if isinstance(one.event, ev.FitStarted | ev.EpochDone)
        }

    @cached_property
    def _swallowed(self) -> errors.Raised | None:
        """What left every fit of a script that caught it each time and ended as if all were well."""
        fits = [fit.end.raised for fit in self.fits if fit.done is not None]
        if not fits or not all(fits) or self.alive or fits[-1] in _NOT_ERRORS:
            return None
        left = [one for one in self.all(ev.ExceptionRaised) if one.event.left in ("fit", "callback")]
        same = [one for one in left if one.event.type == fits[-1]]
        return errors.from_event(same[-1], same, caught=True) if same else None

    @cached_property
    def error_text(self) -> str:
        return self.error.text if self.error is not None else ""

    # -- the work -------------------------------------------------------------------------------

    @cached_property
    def fits(self) -> tuple[Fit, ...]:
        started = {one.event.fit: one for one in self.all(ev.FitStarted)}
        done = {one.event.fit: one for one in self.all(ev.FitDone)}
        epochs: dict[int, list[Recorded[ev.EpochDone]]] = {}
        for one in self.all(ev.EpochDone):
            epochs.setdefault(one.event.fit, []).append(one)
        return tuple(
            Fit(
                number,
                started.get(number),
                done.get(number),
                tuple(epochs.get(number, ())),
                self._restored_in(started.get(number), done.get(number)),
            )
            for number in sorted({*started, *done, *epochs})
        )

    def _restored_in(
        self, started: Recorded[ev.FitStarted] | None, done: Recorded[ev.FitDone] | None
    ) -> Recorded[ev.Restored] | None:
        """What was restored while a fit ran, by a callback of it."""
        if started is None or done is None:
            return None
        within = [one for one in self.all(ev.Restored) if started.line < one.line < done.line]
        return within[-1] if within else None

    @property
    def fit_count(self) -> int:
        """Of very many quick fits, most are recorded together."""
        return sum(fit.end.fits for fit in self.fits)

    @property
    def fit(self) -> Fit | None:
        return self.fits[-1] if self.fits else None

    @cached_property
    def step(self) -> int | None:
        """Training steps done by the process, all fits together; as printed where nothing inside counts them."""
        if self.printed is not None:
            return self.printed.event.step
        counts = [beat.step for beat in self.beats[-1:]]
        counts += [sample.step for _, sample in self.samples[-1:] if sample.phase]
        counts += [one.event.step for one in self.all(ev.LossSeen)[-1:]]
        counts += [sum(fit.steps for fit in self.fits)] if self.fits else []
        counts += [one.event.steps for one in self.all(ev.ExitStarted)[-1:]]
        if counts and not max(counts) and any(fit.lost_count for fit in self.fits):
            return None
        return max(counts, default=None)

    @cached_property
    def printed(self) -> Recorded[ev.ProgressPrinted] | None:
        """How far it had come by its own output, where nothing inside reports steps."""
        trains = (ev.FitStarted, ev.LoopSeen, ev.DatasetSeen)
        inside = any(one.by and isinstance(one.event, trains) for one in self.entries)
        reported = inside or any(beat.step for beat in self.beats)
        return None if reported else self.last(ev.ProgressPrinted)

    @cached_property
    def given_up(self) -> list[Fit]:
        """Fits that an exception left while others got through and the script ended well: trials that were pruned."""
        if self.exit_code != 0 or not any(fit.done is not None and not fit.end.raised for fit in self.fits):
            return []
        return [fit for fit in self.fits if fit.end.raised not in ("", *_NOT_ERRORS)]

    @cached_property
    def planned(self) -> int | None:
        plans = [fit.planned_steps for fit in self.fits]
        return sum(plan or 0 for plan in plans) if plans and None not in plans else None

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
        named = [one.event.backend for one in self.all(ev.FrameworkSeen) if one.event.backend]
        if not named and any(one.event.by == "jax" for one in self.all(ev.LoopSeen)):
            return "jax"
        return named[-1] if named else ""

    @cached_property
    def model(self) -> Recorded[ev.ModelSeen] | None:
        return self.last(ev.ModelSeen)

    def data(self, role: str = "train") -> Recorded[ev.DatasetSeen] | None:
        """What feeds the last fit."""
        return next((one for one in reversed(self.all(ev.DatasetSeen)) if one.event.role == role), None)

    def dataset(self, role: str = "train") -> ev.DatasetSeen:
        """The same; empty where it was not seen."""
        data = self.data(role)
        return data.event if data is not None else ev.DatasetSeen(role=role)

    @cached_property
    def losses(self) -> list[tuple[int, float, str]]:
        """Step, loss and source, oldest first; NaN and infinity included.

        Where losses are read now and then, a heartbeat repeats the last one that was read, which is not its step's.
        """
        by_step = {beat.step: (beat.step, beat.loss, "beats") for beat in self.beats if beat.has_loss}
        seen = [(one, number_of(one.event.logs.get("loss"))) for one in self.all(ev.LossSeen)]
        by_step |= {
            one.event.step: (one.event.step, loss, one.source) for one, loss in seen if loss is not None
        }
        ordered = [by_step[step] for step in sorted(by_step)]
        pairs = zip([None, *(loss for _, loss, _ in ordered)], ordered, strict=False)
        return [one for before, one in pairs if one[2] != "beats" or one[1] != before]

    @cached_property
    def memory_limit(self) -> MemoryLimit | None:
        """The tightest limit on this process's memory and what sets it."""
        machine, last = self.seen(ev.MachineRead), [sample for _, sample in self.samples[-1:]]
        limits = [(machine.memory_limit_bytes, LimitSetBy.CGROUP)]
        limits += [(sample.memory_limit_bytes, LimitSetBy.CGROUP) for sample in last]
        limits.append((machine.rlimits.get("as"), LimitSetBy.RLIMIT_AS))
        limits.append((machine.rlimits.get("data"), LimitSetBy.RLIMIT_DATA))
        limits += [(self.opened.event.memory_bytes, LimitSetBy.MACHINE)] if self.opened is not None else []
        return min((MemoryLimit(size, set_by) for size, set_by in limits if size), default=None)

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
        """What its threads do, from the newest capture of their stacks."""
        of_no_stall = ("asked", "attach") if self.stall is None else ("asked",)
        wanted = [(name, capture) for name, capture in self.captures if capture.reason not in of_no_stall]
        if not wanted or (self.stall is None and self.exit_code == 0):
            return None
        name, capture = wanted[-1]
        started_in = self.opened.event.cwd if self.opened is not None else ""
        return read_stacks(capture, source=f"stacks/{name}", started_in=started_in)

    @cached_property
    def nodes(self) -> tuple[PipelineNode, ...]:
        """The pipeline that feeds training, from its source to its end."""
        data = self.data()
        counted = [one.event for one in self.all(ev.PipelineSeen) if one.event.role == "train"]
        return sized_nodes(data, self.batch_bytes, produced_bytes(counted)) if data is not None else ()

    @cached_property
    def batch_bytes(self) -> int | None:
        """One batch as it is fed to training."""
        if size := self.dataset().element_bytes:
            return size
        seen = [one for one in self.all(ev.BatchSeen) if one.event.role == "train"]
        return sum(part_bytes(part) or 0 for one in seen[:1] for part in one.event.parts) or None
