"""One attempt of the command: forwards signals, ticks the monitor once a second, and records how it ended."""

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
from holdfast.shared_limits import LEFTOVERS_GRACE_S
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
_MAX_LISTED = 16
_BY_SHELL = 128  # a shell's exit code for a signal that ended its child
_KILL_AFTER_S = 15.0  # after SIGTERM


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How an attempt went, for the restart policy and the end summary."""

    ended: AttemptEnded
    shell_code: int
    stall: str = ""  # the description of a stall that was not over at the end


class AttemptRunner:
    """Watches one child until it ends. The caller has blocked the signals in `BLOCKED_SIGNALS`."""

    def __init__(
        self,
        child: Child,
        monitor: Monitor,
        recorder: Recorder,
        *,
        on_stall: str,
        print_line: Callable[[str], None],
        terminated: Callable[[], None] = lambda: None,
    ) -> None:
        self._terminated = terminated  # called at SIGTERM
        self._child = child
        self.monitor = monitor
        self._recorder = recorder
        self._on_stall = on_stall
        self._print_line = print_line
        self._interrupts = InterruptCounter()
        self._end_request: EndRequest | None = None
        self._stop_requested_later = False  # after the command had ended
        self._stall = ""
        self._kill_at: float | None = None
        self._started_at = time.monotonic()

    def run(self) -> AttemptResult:
        due = time.monotonic()
        while True:
            info = signal.sigtimedwait(BLOCKED_SIGNALS, max(0.0, due - time.monotonic()))
            # CPython 3.11 returns an empty result, number 0, when we were stopped until after the timeout.
            if info is not None and info.si_signo in BLOCKED_SIGNALS - {signal.SIGCHLD}:
                self._handle_signal(info)
            ended = self._child.poll()
            if ended is not None:
                return self._finish(ended)
            now = time.monotonic()
            if now >= due:
                self._tick(now)
                due = time.monotonic() + self.monitor.every_s

    def _tick(self, now: float) -> None:
        try:
            self._watch_terminal()
            self._check_log()
            self._resume_to_end()
            self.monitor.tick(now=now, at=time.time())
            self._update_end_request(now)
            self._handle_stall(now)
        except Exception as error:  # whatever fails in the monitor, the child and its exit code come first
            self._recorder.report_failure("a tick of the monitor", error)
        if self._kill_at is not None and now >= self._kill_at:
            self._kill(f"it did not end within {_KILL_AFTER_S:.0f} s of SIGTERM")
            self._kill_at = None

    # -- signals ------------------------------------------------------------------------------

    def _handle_signal(self, info: signal.struct_siginfo) -> None:
        number, now = info.si_signo, time.monotonic()
        interrupts = self._interrupts.add(now) if number == signal.SIGINT else 0
        response = respond(number, interrupts=interrupts)
        if response is Response.RESIZE:
            self._child.resize()
        elif response is Response.RESUME:
            self._watch_terminal()
        elif response is Response.SUSPEND:
            self._suspend(info)
        else:
            self._record_signal(info)
            if number == signal.SIGTERM:
                self._terminated()
            by = STOPPED_BY.get(signal.Signals(number))
            if by is not None and self._stopped_by != "stall":
                self._end_request = EndRequest(by, now, self._batches)
            self._forward_signal(number, response)

    def _forward_signal(self, number: int, response: Response) -> None:
        if response is Response.KILL:
            self._kill("a second Ctrl-C")
        elif response is Response.TO_GROUP:
            self._child.send(number)
            if number == signal.SIGINT:
                self._print_line(
                    "holdfast: forwarded the interrupt; a second Ctrl-C within 10 s kills the command"
                )
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child.pid, number)
            self._resume_to_end()

    def _resume_to_end(self) -> None:
        """A suspended process handles no signal but SIGCONT. py-spy hides the stopped state while it reads stacks, so
        this is checked at every tick after SIGTERM."""
        if self._stopped_by == "terminate":
            state = procfs.stat(self._child.pid)
            if state is not None and state.state == "T":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._child.pid, signal.SIGCONT)

    def _record_signal(self, info: signal.struct_siginfo) -> None:
        sender = info.si_pid or None
        self._recorder.append(
            SignalReceived(
                signal=signal_name(info.si_signo),
                from_pid=sender,
                from_command=procfs.command_line(sender)[:200] if sender else "",
            )
        )

    def _suspend(self, info: signal.struct_siginfo) -> None:
        """Ctrl-Z: a group without a parent in its session ignores SIGTSTP, so the child gets SIGSTOP."""
        self._record_signal(info)
        self._child.relay_state.keyboard = False
        if self._child.user is not None:
            self._child.user.reclaim()
        self.monitor.stalls.suspended_by_us = True
        self._child.send(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._child.send(signal.SIGCONT)
        self.monitor.stalls.suspended_by_us = False
        self._watch_terminal()

    @property
    def _stopped_by(self) -> StoppedBy:
        """Why the command was asked to end, as long as that request counts."""
        return self._end_request.by if self._end_request is not None else ""

    @property
    def _batches(self) -> int | None:
        beat = self.monitor.beats.newest
        return None if beat is None else beat.step + beat.test_batches

    def _update_end_request(self, now: float) -> None:
        if self._end_request is not None:
            self._end_request = self._end_request.updated(now=now, batches=self._batches)
            if not still_counts(self._end_request, now=now):
                self._end_request = None

    # -- at every tick ------------------------------------------------------------------------

    def _watch_terminal(self) -> None:
        user = self._child.user
        if user is None or not os.isatty(0):
            return
        in_foreground = user.in_foreground
        if in_foreground and not self._child.relay_state.keyboard:
            user.release()
        self._child.relay_state.keyboard = in_foreground

    def _check_log(self) -> None:
        counters = self._child.relay_state.read()
        if counters.log_errno:
            self._recorder.report_failure("output.log", os.strerror(counters.log_errno))

    def _handle_stall(self, now: float) -> None:
        """Once the stacks are captured: SIGTERM to the whole tree, and SIGKILL when it does not end."""
        stall = self.monitor.stalls.stall
        if self._on_stall == "report" or stall is None or self._stopped_by:
            return
        if stall.suspended or not self.monitor.captures.complete:  # who suspended it will resume it
            return
        self._end_request = EndRequest("stall", now)
        self._stall = stall.description
        self._print_line(f"holdfast: sending SIGTERM to the command (--on-stall {self._on_stall})")
        self._recorder.append(SignalSent(signal="SIGTERM", to_pid=self._child.pid, why="it stalled"))
        self._child.send(signal.SIGTERM)
        self._child.send(signal.SIGCONT)  # a suspended process handles no other signal
        self._kill_at = now + _KILL_AFTER_S

    def _kill(self, why: str) -> None:
        self.monitor.capture_before_kill(now=time.monotonic())
        self._recorder.append(SignalSent(signal="SIGKILL", to_pid=self._child.pid, why=why))
        for pid in [self._child.pid, *procfs.descendants(self._child.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._child.send(signal.SIGKILL)

    # -- the end ------------------------------------------------------------------------------

    def _finish(self, ended: ProcessExit) -> AttemptResult:
        now = time.monotonic()
        self._child.relay_state.end_known = True
        try:
            self._update_end_request(now)
            self._end_leftovers_of_request(now)
        except Exception as error:
            self._recorder.report_failure("leftover processes", error)
        self._await_relay()
        self._check_log()
        if self._child.user is not None:
            self._child.user.reclaim()
        self.monitor.close()
        try:
            event = self._ended_event(ended, now)
        except Exception as error:
            self._recorder.report_failure("the end of the command", error)
            event = AttemptEnded(
                exit_code=ended.exit_code, signal=ended.signal, stopped_by_us=self._stopped_by
            )
        self._record_mapped(ended)
        self._recorder.append(event)
        self._child.close()
        stall = self.monitor.stalls.stall
        stalled = self._stopped_by == "stall"
        return AttemptResult(
            ended=event,
            shell_code=int(ExitCode.STALLED) if stalled else ended.shell_code,
            stall=self._stall or (stall.description if stall is not None else ""),
        )

    def _record_mapped(self, ended: ProcessExit) -> None:
        if ended.signal != "SIGBUS" and ended.exit_code != _BY_SHELL + signal.SIGBUS:
            return
        try:
            for seen in self.monitor.sampler.mapped.at_the_end():
                self._recorder.append(seen)
        except Exception as error:
            self._recorder.report_failure("mapped files", error)

    def end_leftovers(self) -> bool:
        """Before another attempt, which must not run at the same time. False: a signal came, do not restart."""
        if leftovers.any_remain(self._leftovers):
            self._print_line("holdfast: ending leftover processes before the restart")
            leftovers.terminate(
                self._leftovers,
                within_s=_KILL_AFTER_S,
                on_sent=self._record_sent,
                wait=self._wait_or_interrupt,
            )
        return not self._stop_requested_later

    def _end_leftovers_of_request(self, now: float) -> None:
        """A shell ends at once on SIGTERM, and the training that it waited for does not: it gets SIGTERM too.

        After a stall the whole group got SIGTERM, and what does not end is killed. After a SIGTERM from outside the
        leftovers get time to save, and nothing is killed: that is the scheduler's job.
        """
        if self._stopped_by not in ("stall", "terminate") or not leftovers.any_remain(self._leftovers):
            return
        if self._stopped_by == "stall":
            within_s = max(0.0, (self._kill_at or now) - time.monotonic())
            leftovers.terminate(
                self._leftovers,
                within_s=within_s,
                on_sent=self._record_sent,
                signalled_group=self._child.pid,
                wait=self._wait_or_interrupt,
            )
            return
        of_group = {pid: stat for pid, stat in self._leftovers().items() if stat.group == self._child.pid}
        if of_group:
            self._print_line(
                "holdfast: the command has ended; its leftover processes get SIGTERM too, and 30 s to end"
            )
            leftovers.send_signal(of_group, signal.SIGTERM, self._record_sent)
            leftovers.gone_within(
                lambda: _remaining(self._leftovers(), of_group), LEFTOVERS_GRACE_S, self._wait_or_interrupt
            )

    def _leftovers(self) -> dict[int, Stat]:
        return leftovers.find_leftovers(self._child.pid, self.monitor.descendants)

    def _record_sent(self, pid: int, number: signal.Signals) -> None:
        self._recorder.append(
            SignalSent(signal=number.name, to_pid=pid, why="the command ended and left it running")
        )

    def _wait_or_interrupt(self, seconds: float) -> bool:
        """Waits for leftover processes. True after Ctrl-C: the user does not want to wait any longer."""
        info = signal.sigtimedwait(BLOCKED_SIGNALS - {signal.SIGCHLD}, seconds)
        self._stop_requested_later |= info is not None and info.si_signo in STOPPED_BY
        return info is not None and info.si_signo == signal.SIGINT

    def _await_relay(self) -> None:
        """Waits for the last output. A leftover process may keep the pipe open: that is not waited for."""
        until = time.monotonic() + _RELAY_EXIT_TIMEOUT_S
        while time.monotonic() < until and not self._child.relay_gone():
            signal.sigtimedwait({signal.SIGCHLD}, 0.05)

    def _ended_event(self, ended: ProcessExit, now: float) -> AttemptEnded:
        state = cgroup.read(self.monitor.sampler.group)
        # The kernel's log uses our clock: both stop while the machine is suspended.
        log = kernel_log.read(since=self._started_at - 1)
        return AttemptEnded(
            exit_code=ended.exit_code,
            signal=ended.signal,
            core_dumped=ended.core_dumped,
            duration_s=round(now - self._started_at, 3),
            step=None if self.monitor.beats.newest is None else self.monitor.beats.newest.step,
            max_rss_bytes=self._peak(ended),
            user_s=round(ended.usage.ru_utime, 3),
            system_s=round(ended.usage.ru_stime, 3),
            major_faults=ended.usage.ru_majflt,
            oom_kills_before=self.monitor.oom_kills_before,
            oom_kills_after=state.oom_kills,
            pids_refused_before=self.monitor.pids_refused_before,
            pids_refused_after=state.pids_refused,
            kernel_log=kernel_log.lines_about(log, self.monitor.known_pids),
            stopped_by_us=self._stopped_by,
            left_running=self._still_running(),
        )

    def _peak(self, ended: ProcessExit) -> int | None:
        """The kernel's own, unless it is our memory, which the process had before it became the command."""
        peak = ended.usage.ru_maxrss * 1024
        ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return peak if peak > ours else (self.monitor.peak_bytes or None)

    def _still_running(self) -> list[dict[str, object]]:
        pids = list(self._leftovers())[:_MAX_LISTED]
        return [{"pid": pid, "command": procfs.command_line(pid)[:200]} for pid in pids]


def _remaining(now: dict[int, Stat], before: dict[int, Stat]) -> dict[int, Stat]:
    return {pid: stat for pid, stat in now.items() if pid in before}
