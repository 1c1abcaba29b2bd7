"""A thread and a queue for each target, so that a slow one keeps nobody waiting. A failure is said once a target."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.atomic_write import open_private
from holdfast.notify.delivery import Delivered, DeliveryError, deliver
from holdfast.notify.notice import Notice, shown
from holdfast.notify.targets import NotifyTarget

REQUEST_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 60.0
#: Of one run, before its last: a run that stalls and recovers all night must not flood a channel.
MAX_NOTICES = 20
#: After the run has ended: how long its command waits for messages that are on their way, and how long what did not
#: arrive until then is tried in the background.
WAIT_S, BACKGROUND_S = 8.0, 60.0

LOG_FILE = "notifications.jsonl"


def send_once(target: NotifyTarget, notice: Notice) -> None:
    """One try. Raises a DeliveryError."""
    if target.kind == "webhook":
        from holdfast.notify.webhook import post

        post(target.address, notice.as_json(), target.headers, timeout_s=REQUEST_TIMEOUT_S)
    elif target.kind == "apprise":
        from holdfast.notify.apprise_service import send

        send(target.address, notice)
    else:
        from holdfast.notify.shell_command import run_command

        run_command(target.address, notice, timeout_s=COMMAND_TIMEOUT_S)


class Outbox:
    """`say` prints one line for the user; `log` is the file that lists every message and what became of it."""

    def __init__(
        self,
        targets: tuple[NotifyTarget, ...],
        *,
        say: Callable[[str], None],
        log: Path | None = None,
        send: Callable[[NotifyTarget, Notice], None] = send_once,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._say, self._log, self._send, self._clock, self._sleep = say, log, send, clock, sleep
        self._targets = targets
        self._queues: list[queue.Queue[Notice | None]] = []
        self._threads: list[threading.Thread] = []
        self._closed, self._until = False, float("inf")
        self._reasons: dict[str, str] = {}  # of the newest try, by the address of the target
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self._count = 0
        for target in targets:
            waiting: queue.Queue[Notice | None] = queue.Queue()
            thread = threading.Thread(
                target=self._serve, args=(target, waiting), name=f"notify {target.kind}", daemon=True
            )
            self._queues.append(waiting)
            self._threads.append(thread)
            thread.start()

    def put(self, notice: Notice) -> None:
        """For every target that wants this event. Returns at once."""
        notice = shown(notice)
        self._count += 1
        if self._count > MAX_NOTICES and not notice.final:
            if self._count == MAX_NOTICES + 1:
                self._say(f"holdfast: {MAX_NOTICES} notifications were sent; only the end is sent now")
            return
        for waiting in self._queues:
            waiting.put(notice)

    def close(self, timeout_s: float, *, more_follows: bool = False) -> bool:
        """Waits for what is still to be sent; False when that was not done in time.

        With `more_follows` the caller waits again later: messages are tried until then.
        """
        self._until = float("inf") if more_follows else self._clock() + timeout_s
        if not self._closed:
            self._closed = True
            for waiting in self._queues:
                waiting.put(None)
        until = self._clock() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, until - self._clock()))
        late = [
            target for target, thread in zip(self._targets, self._threads, strict=True) if thread.is_alive()
        ]
        for target in late if more_follows else []:
            why = f"{self._reasons.get(target.address, 'no answer yet')}; it is tried again in the background"
            self.say_once(target, why)
        return not late

    def say_once(self, target: NotifyTarget, why: str) -> None:
        with self._lock:
            if target.address in self._said:
                return
            self._said.add(target.address)
        self._say(f"holdfast: no notification to {target.shown}: {why}; the run is not affected")

    def _serve(self, target: NotifyTarget, waiting: queue.Queue[Notice | None]) -> None:
        while (notice := waiting.get()) is not None:
            if notice.event in (*target.events, "test"):
                self._deliver(target, notice)

    def _deliver(self, target: NotifyTarget, notice: Notice) -> None:
        def send() -> None:
            try:
                self._send(target, notice)
            except DeliveryError as error:
                self._reasons[target.address] = str(error)
                raise

        done = deliver(send, pause=self._pause)
        self._record(target, notice, done)
        if done.reason:
            tries = f" (tried {done.tries} times)" if done.tries > 1 else ""
            self.say_once(target, f"{done.reason}{tries}")

    def _pause(self, seconds: float) -> bool:
        """False when the next try would come after the end of all sending."""
        if self._clock() + seconds > self._until:
            return False
        self._sleep(seconds)
        return True

    def _record(self, target: NotifyTarget, notice: Notice, done: Delivered) -> None:
        if self._log is None:
            return
        line = {"at": round(time.time(), 3), "event": notice.event, "target": target.shown, "tries": done.tries,
                "arrived": not done.reason, "reason": done.reason}  # fmt: skip
        try:
            with self._lock, os.fdopen(open_private(self._log, os.O_WRONLY | os.O_APPEND), "a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError:
            pass  # a full disk is reported by those who watch it
