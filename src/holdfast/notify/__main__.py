"""The process that follows a run folder and sends messages about it: `python -m holdfast.notify`.

The supervisor writes one line of JSON to its standard input (the folder, the targets), and another when the run has
ended and its verdict is written. A supervisor that goes without the second line was killed: then the last message says
so. The targets come this way because an argument or a variable would show their passwords to other users.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import select
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Follower
from holdfast.notify import notice, secret_values, targets
from holdfast.notify.followed_run import DueNotice, FollowedRun
from holdfast.notify.notice import Notice
from holdfast.notify.outbox import BACKGROUND_S, LOG_FILE, WAIT_S, Outbox
from holdfast.stderr import print_line

_POLL_S = 1.0
_MIN_RECORD_S = 2.0  # after a supervisor was killed, for the last lines of its journal


def main() -> int:
    orders = json.loads(sys.stdin.buffer.readline())
    folder = RunFolder(Path(orders["folder"]))
    chosen = tuple(targets.from_json(one) for one in orders["targets"])
    outbox = Outbox(chosen, say=print_line, log=folder.path / LOG_FILE)
    _refuse_early(chosen, outbox)
    sender = RunNotifier(folder, outbox, since=orders["since"], shows_host=orders["host"])
    sender.follow(parent=orders["parent"])
    if not outbox.close(WAIT_S, more_follows=True):
        # Whoever reads our standard error, as `| tee` does, waits until it is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        outbox.close(BACKGROUND_S)
    return 0


def _refuse_early(chosen: tuple[targets.NotifyTarget, ...], outbox: Outbox) -> None:
    """What Apprise does not know is said at the start, when somebody still looks."""
    from holdfast.notify.apprise_service import open_service
    from holdfast.notify.delivery import Refused

    for target in chosen:
        if target.kind == "apprise":
            try:
                open_service(target.address)
            except Refused as refusal:
                outbox.say_once(target, str(refusal))


class RunNotifier:
    """`since`: seconds since 1970; what the journal of a resumed run had before is no news."""

    def __init__(self, folder: RunFolder, outbox: Outbox, *, since: float, shows_host: bool) -> None:
        self._folder, self._outbox, self._since = folder, outbox, since
        self._host = socket.gethostname() if shows_host else ""
        self._follower, self._run = Follower(folder.journal), FollowedRun()

    def follow(self, *, parent: int) -> None:
        """Until the supervisor says that the run has ended, or is gone."""
        while True:
            ready, _, _ = select.select([sys.stdin.fileno()], [], [], _POLL_S)
            message = sys.stdin.buffer.readline().strip() if ready else None
            if message == b"left":  # the run continues, and nobody watches it
                return
            if message == b"ended":
                self._update()
                self._outbox.put(self._last())
                return
            if message == b"" or os.getppid() != parent:
                time.sleep(_MIN_RECORD_S)
                self._update()
                self._outbox.put(self._last("the supervisor of this run is gone; it may have been killed"))
                return
            self._update()

    def _update(self) -> None:
        with contextlib.suppress(OSError):
            entries = [entry for entry in self._follower.poll() if entry.at >= self._since]
            self._run.update(entries, now=time.monotonic())
        for due in self._run.due(now=time.monotonic()):
            self._outbox.put(self._notice(due))

    def _last(self, why: str = "") -> Notice:
        verdict = self._stored() if not why else self._explained()
        event = "failure" if why else notice.last_event(str(verdict.get("outcome", "failed")))
        return self._of(event, verdict, why)

    def _notice(self, due: DueNotice) -> Notice:
        """A run that recovered has no verdict yet."""
        verdict = {"run": self._folder.name} if due.event == "recovered" else self._explained(due.attempt)
        return self._of(due.event, verdict, due.why)

    def _of(self, event: notice.NoticeKind, verdict: dict[str, Any], why: str) -> Notice:
        from holdfast.report import redact

        host = socket.gethostname()
        shown = notice.of_verdict(
            event, redact.verdict(verdict, host), run_dir="", why=redact.text(why, host)
        )
        return replace(
            shown,
            run=str(verdict.get("run", "")),
            run_dir=shown_folder(self._folder.path),
            verdict=secret_values.hide(shown.verdict, os.environ),
            host=self._host,
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )

    def _stored(self) -> dict[str, Any]:
        """The verdict as it was printed; explained here where the disk had no place for it."""
        try:
            return dict(json.loads(self._folder.verdict.read_text()))
        except (OSError, ValueError):
            return self._explained()

    def _explained(self, attempt: int | None = None) -> dict[str, Any]:
        try:
            from holdfast.explain import explain
            from holdfast.report.verdict_json import as_json

            return as_json(explain(self._folder.path, compare=False, attempt=attempt))
        except Exception as error:  # whatever fails here, the message is sent
            return {"run": self._folder.name, "outcome": "", "summary": f"could not explain the run: {error}"}


def shown_folder(path: Path) -> str:
    """From the folder of the user where the run is in it; a home folder is written as ~."""
    whole = path.resolve()
    with contextlib.suppress(ValueError):
        return str(whole.relative_to(Path.cwd()))
    with contextlib.suppress(ValueError, RuntimeError):
        return str(Path("~") / whole.relative_to(Path.home()))
    return str(whole)


if __name__ == "__main__":
    sys.exit(main())
