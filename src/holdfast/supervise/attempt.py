"""One attempt of the command: waits for signals, looks once a second, and brings home how it ended."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.errors import ExitCode
from holdfast.host import cgroup, kernel_log, procfs
from holdfast.host.procfs import Stat
from holdfast.host.signals import signal_name
from holdfast.journal.events import AttemptEnded, SignalReceived, SignalSent, StoppedBy
from holdfast.supervise.child import leftovers
from holdfast.supervise.child.spawn import BLOCKED_SIGNALS, Child, ProcessExit
from holdfast.supervise.monitor import Monitor
from holdfast.supervise.recording.recorder import Recorder
from holdfast.supervise.signal_policy import (
    STOPPED_BY,
    EndRequest,
    InterruptCounter,
    Response,
    respond,
    still_counts,
)

_RELAY_EXIT_TIMEOUT_S = 3.0
_KILL_AFTER_S = 15.0  # between asking and killing
_GRACE_S = 30.0  # that what a shell script left may take to save, as schedulers give it


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How an attempt went, for the restart policy and the end block."""

    ended: AttemptEnded
    shell_code: int
    stall: str = ""  # the stall that stood at the end, in words


class AttemptRunner:
    """Watches one child until it ends. The caller has blocked the signals in `HELD`."""

    def __init__(
        self, child: Child, watch: Monitor, recorder: Recorder, *, on_stall: str, say: Callable[[str], None]
    ) -> None:
        self._child = child
        self.watch = watch
        self._record = recorder
        self._on_stall = on_stall
        self._say = say
        self._interrupts = InterruptCounter()
        self._asked: EndRequest | None = None
        self._told_since = False  # to end, after the command had
        self._stall = ""
        self._kill_at: float | None = None
        self._began = time.monotonic()

    def run(self) -> AttemptResult:
        due = time.monotonic()
        while True:
            told = signal.sigtimedwait(BLOCKED_SIGNALS, max(0.0, due - time.monotonic()))
            # CPython 3.11 gives an empty answer, number 0, when we were stopped until after the time was up.
            if told is not None and told.si_signo in BLOCKED_SIGNALS - {signal.SIGCHLD}:
                self._answer(told)
            ended = self._child.poll()
            if ended is not None:
                return self._finish(ended)
            now = time.monotonic()
            if now >= due:
                self._look(now)
                due = time.monotonic() + self.watch.every_s

    def _look(self, now: float) -> None:
        try:
            self._mind_terminal()
            self._mind_log()
            self._wake_to_end()
            self.watch.tick(now=now, at=time.time())
            self._mind_asked(now)
            self._mind_stall(now)
        except Exception as error:  # whatever goes wrong in the watch, the child and its exit code come first
            self._record.complain("a look at the command", error)
        if self._kill_at is not None and now >= self._kill_at:
            self._kill(f"it did not end within {_KILL_AFTER_S:.0f} s of being asked")
            self._kill_at = None

    # -- signals ------------------------------------------------------------------------------

    def _answer(self, told: signal.struct_siginfo) -> None:
        number, now = told.si_signo, time.monotonic()
        interrupts = self._interrupts.add(now) if number == signal.SIGINT else 0
        response = respond(number, interrupts=interrupts)
        if response is Response.RESIZE:
            self._child.resize()
        elif response is Response.RESUME:
            self._mind_terminal()
        elif response is Response.SUSPEND:
            self._suspend(told)
        else:
            self._note_signal(told)
            by = STOPPED_BY.get(signal.Signals(number))
            if by is not None and self._stopped_by != "stall":
                self._asked = EndRequest(by, now, self._batches)
            self._pass_on(number, response)

    def _pass_on(self, number: int, response: Response) -> None:
        if response is Response.KILL:
            self._kill("a second Ctrl-C")
        elif response is Response.TO_GROUP:
            self._child.send(number)
            if number == signal.SIGINT:
                self._say(
                    "holdfast: the interrupt was passed on; a second Ctrl-C within 10 s kills the command"
                )
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child.pid, number)
            self._wake_to_end()

    def _wake_to_end(self) -> None:
        """A suspended process takes no signal but SIGCONT. While its stacks are read it does not look suspended, so
        that this is seen to at every look after it was asked to end."""
        if self._stopped_by == "terminate":
            state = procfs.stat(self._child.pid)
            if state is not None and state.state == "T":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._child.pid, signal.SIGCONT)

    def _note_signal(self, told: signal.struct_siginfo) -> None:
        sender = told.si_pid or None
        self._record.append(
            SignalReceived(
                signal=signal_name(told.si_signo),
                from_pid=sender,
                from_command=procfs.command_line(sender)[:200] if sender else "",
            )
        )

    def _suspend(self, told: signal.struct_siginfo) -> None:
        """Ctrl-Z: a group without a parent in its session ignores SIGTSTP, so the child gets SIGSTOP."""
        self._note_signal(told)
        self._child.board.keyboard = False
        if self._child.user is not None:
            self._child.user.take_back()
        self.watch.alarm.ours_to_suspend = True
        self._child.send(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._child.send(signal.SIGCONT)
        self.watch.alarm.ours_to_suspend = False
        self._mind_terminal()

    @property
    def _stopped_by(self) -> StoppedBy:
        """What it was asked to end by, as long as that counts."""
        return self._asked.by if self._asked is not None else ""

    @property
    def _batches(self) -> int | None:
        beat = self.watch.pulse.newest
        return None if beat is None else beat.step + beat.test_batches

    def _mind_asked(self, now: float) -> None:
        if self._asked is not None:
            self._asked = self._asked.seen(now=now, batches=self._batches)
            if not still_counts(self._asked, now=now):
                self._asked = None

    # -- looking after ------------------------------------------------------------------------

    def _mind_terminal(self) -> None:
        user = self._child.user
        if user is None or not os.isatty(0):
            return
        in_front = user.ours
        if in_front and not self._child.board.keyboard:
            user.hand_over()
        self._child.board.keyboard = in_front

    def _mind_log(self) -> None:
        relayed = self._child.board.read()
        if relayed.log_errno:
            self._record.complain("output.log", os.strerror(relayed.log_errno))

    def _mind_stall(self, now: float) -> None:
        """Once the stacks are there: asks the whole tree to end, and kills it when it does not."""
        alarm = self.watch.alarm
        if self._on_stall == "report" or not alarm.standing or not alarm.captured or self._stopped_by:
            return
        if alarm.suspended:  # somebody stopped it, to go on later
            return
        self._asked = EndRequest("stall", now)
        self._stall = alarm.words
        self._say(f"holdfast: the command is asked to end (--on-stall {self._on_stall})")
        self._record.append(SignalSent(signal="SIGTERM", to_pid=self._child.pid, why="it stalled"))
        self._child.send(signal.SIGTERM)
        self._child.send(signal.SIGCONT)  # a suspended process takes no other signal
        self._kill_at = now + _KILL_AFTER_S

    def _kill(self, why: str) -> None:
        self.watch.alarm.capture_before_kill(self.watch.trainer, now=time.monotonic())
        self._record.append(SignalSent(signal="SIGKILL", to_pid=self._child.pid, why=why))
        for pid in [self._child.pid, *procfs.descendants(self._child.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._child.send(signal.SIGKILL)

    # -- the end ------------------------------------------------------------------------------

    def _finish(self, ended: ProcessExit) -> AttemptResult:
        now = time.monotonic()
        self._child.board.end_known = True
        try:
            self._mind_asked(now)
            self._mind_left(now)
        except Exception as error:
            self._record.complain("what the command left running", error)
        self._await_relay()
        self._mind_log()
        if self._child.user is not None:
            self._child.user.take_back()
        self.watch.close()
        try:
            event = self._ended_event(ended, now)
        except Exception as error:
            self._record.complain("the end of the command", error)
            event = AttemptEnded(
                exit_code=ended.exit_code, signal=ended.signal, stopped_by_us=self._stopped_by
            )
        self._record.append(event)
        self._child.close()
        stalled = self._stopped_by == "stall"
        return AttemptResult(
            ended=event,
            shell_code=int(ExitCode.STALLED) if stalled else ended.shell_code,
            stall=self._stall or self.watch.alarm.words,
        )

    def end_left(self) -> bool:
        """Before another attempt, which must not begin beside what this one left. False: there shall be none."""
        if leftovers.any_remain(self._left):
            self._say("holdfast: what the command left running is ended before it is started again")
            leftovers.terminate(self._left, within_s=_KILL_AFTER_S, told=self._note_left, wait=self._hurried)
        return not self._told_since

    def _mind_left(self, now: float) -> None:
        """A shell ends at once when it is asked, and what it waited for does not: that is asked too.

        After a stall the whole group was asked, and what does not end is killed. After SIGTERM it is given the time
        to save, and nothing is killed: that is the scheduler's to do.
        """
        if self._stopped_by not in ("stall", "terminate") or not leftovers.any_remain(self._left):
            return
        if self._stopped_by == "stall":
            within_s = max(0.0, (self._kill_at or now) - time.monotonic())
            leftovers.terminate(
                self._left,
                within_s=within_s,
                told=self._note_left,
                asked_group=self._child.pid,
                wait=self._hurried,
            )
            return
        of_group = {pid: one for pid, one in self._left().items() if one.group == self._child.pid}
        if of_group:
            self._say(
                "holdfast: the command has ended; what it left running gets SIGTERM too, and 30 s to end"
            )
            leftovers.send_signal(of_group, signal.SIGTERM, self._note_left)
            leftovers.gone_within(lambda: _still_there(self._left(), of_group), _GRACE_S, self._hurried)

    def _left(self) -> dict[int, Stat]:
        return leftovers.find_leftovers(self._child.pid, self.watch.relatives)

    def _note_left(self, pid: int, number: signal.Signals) -> None:
        self._record.append(
            SignalSent(signal=number.name, to_pid=pid, why="the command ended and left it running")
        )

    def _hurried(self, seconds: float) -> bool:
        """Waits for what was left; a Ctrl-C says that somebody has waited enough."""
        told = signal.sigtimedwait(BLOCKED_SIGNALS - {signal.SIGCHLD}, seconds)
        self._told_since |= told is not None and told.si_signo in STOPPED_BY
        return told is not None and told.si_signo == signal.SIGINT

    def _await_relay(self) -> None:
        """Lets the last output through. A process left behind may hold the pipe open: that is not waited for."""
        until = time.monotonic() + _RELAY_EXIT_TIMEOUT_S
        while time.monotonic() < until and not self._child.relay_gone():
            signal.sigtimedwait({signal.SIGCHLD}, 0.05)

    def _ended_event(self, ended: ProcessExit, now: float) -> AttemptEnded:
        state = cgroup.read(self.watch.sampler.group)
        # The kernel's log keeps our clock: both stand still while the machine is suspended.
        log = kernel_log.read(since=self._began - 1)
        return AttemptEnded(
            exit_code=ended.exit_code,
            signal=ended.signal,
            core_dumped=ended.core_dumped,
            duration_s=round(now - self._began, 3),
            max_rss_bytes=self._peak(ended),
            user_s=round(ended.usage.ru_utime, 3),
            system_s=round(ended.usage.ru_stime, 3),
            major_faults=ended.usage.ru_majflt,
            oom_kills_before=self.watch.oom_kills_before,
            oom_kills_after=state.oom_kills,
            pids_refused_before=self.watch.pids_refused_before,
            pids_refused_after=state.pids_refused,
            kernel_log=kernel_log.lines_about(log, self.watch.known_pids),
            stopped_by_us=self._stopped_by,
            left_running=self._left_running(),
        )

    def _peak(self, ended: ProcessExit) -> int | None:
        """The kernel's own, unless it is what the process had of us before it became the command."""
        peak = ended.usage.ru_maxrss * 1024
        ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return peak if peak > ours else (self.watch.peak_bytes or None)

    def _left_running(self) -> list[dict[str, object]]:
        return [{"pid": pid, "command": procfs.command_line(pid)[:200]} for pid in list(self._left())[:16]]


def _still_there(now: dict[int, Stat], before: dict[int, Stat]) -> dict[int, Stat]:
    return {pid: one for pid, one in now.items() if pid in before}
