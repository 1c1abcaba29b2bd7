"""Tries and pauses, a real webhook with every kind of answer, a command, and the queue of each target."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.notify import shell_command, webhook
from holdfast.notify.delivery import Delivered, Refused, Unavailable, deliver
from holdfast.notify.notice import Notice, trial_notice
from holdfast.notify.outbox import MAX_NOTICES, Outbox
from holdfast.notify.targets import NotifyTarget
from tests.notify.receiver import receiving
from tests.waiting import PATIENCE_S

NOTICE = Notice("failure", "r", "runs/r", "failed", "disk-full", "verdict[disk-full]: full")


def failing(*errors: Exception) -> Callable[[], None]:
    left = list(errors)

    def send() -> None:
        if left:
            raise left.pop(0)

    return send


def tried(send: Callable[[], None], *, time_left: bool = True) -> tuple[Delivered, list[float]]:
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        return time_left

    return deliver(send, pause=pause), pauses


def test_it_is_tried_again_until_it_arrives() -> None:
    assert tried(failing()) == (Delivered(1), [])
    assert tried(failing(Unavailable("down"), Unavailable("down"))) == (Delivered(3), [1.0, 5.0])
    assert tried(failing(*[Unavailable("down")] * 9)) == (Delivered(4, "down"), [1.0, 5.0, 20.0])


def test_what_would_end_the_same_is_not_tried_again() -> None:
    assert tried(failing(Refused("401"))) == (Delivered(1, "401"), [])
    assert tried(failing(Unavailable("down")), time_left=False) == (Delivered(1, "down"), [1.0])
    assert tried(failing(RuntimeError("bug"))) == (Delivered(1, "RuntimeError: bug"), [])


def test_the_pause_that_a_service_asks_for_has_a_limit() -> None:
    asked = failing(Unavailable("429", pause_s=7.0), Unavailable("429", pause_s=9000.0))
    assert tried(asked)[1] == [7.0, 60.0]


def post(address: str, **headers: str) -> None:
    webhook.post(address, NOTICE.as_json(), headers, timeout_s=PATIENCE_S)


def test_a_webhook_gets_json() -> None:
    with receiving() as hook:
        post(hook.address.replace("127", "me:wo%3Ard@127"), **{"X-Own": "1"})
    assert hook.bodies == [NOTICE.as_json()]
    sent = hook.requests[0]
    assert (sent["Content-Type"], sent["X-own".title()]) == ("application/json", "1")
    assert sent["Authorization"] == "Basic bWU6d286cmQ="


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        (401, Refused, "401 Unauthorized: the token or password"),
        (403, Refused, "403 Forbidden: the token"),
        (404, Refused, "404 Not Found: nothing receives"),
        (418, Refused, "it answered 418"),
        (302, Refused, "redirects to elsewhere.example, and redirects are not followed"),
        (307, Refused, "redirects to elsewhere.example"),
        (500, Unavailable, "it answered 500 Internal Server Error"),
        (429, Unavailable, "it answered 429 Too Many Requests"),
    ],
)
def test_answers_of_a_webhook(code: int, kind: type[Exception], reason: str) -> None:
    headers = {"Location": "https://elsewhere.example/x", "Retry-After": "7"}
    with receiving(answers=[code], headers=headers) as hook, pytest.raises(kind, match=reason) as caught:
        post(hook.address)
    assert len(hook.bodies) == 1
    assert getattr(caught.value, "pause_s", None) == (7.0 if kind is Unavailable else None)


def test_a_webhook_that_is_not_there_or_does_not_answer() -> None:
    with socket.socket() as nobody:  # who has the port, and takes no connection
        nobody.bind(("127.0.0.1", 0))
        with pytest.raises(Unavailable, match="connection refused"):
            post(f"http://127.0.0.1:{nobody.getsockname()[1]}/hook")
    with receiving(silent=True) as hook, pytest.raises(Unavailable, match=r"no answer within 0.2 s"):
        webhook.post(hook.address, {}, {}, timeout_s=0.2)
    with receiving() as hook, pytest.raises(Refused, match="cannot be sent"):
        post(hook.address, **{"X-Own": "two\nlines"})


def test_a_command_gets_variables_and_text(tmp_path: Path) -> None:
    out = tmp_path / "out"
    shell_command.run_command(
        f'echo "$HOLDFAST_EVENT $HOLDFAST_CAUSE" > {out}; cat >> {out}', NOTICE, timeout_s=PATIENCE_S
    )
    assert out.read_text() == f"failure disk-full\n{NOTICE.title}\n{NOTICE.body}\n"


def test_commands_that_fail() -> None:
    with pytest.raises(Unavailable, match="exit code 3: no route"):
        shell_command.run_command("echo no route >&2; exit 3", NOTICE, timeout_s=PATIENCE_S)
    with pytest.raises(Refused, match="exit code 127"):
        shell_command.run_command("no_such_program_here", NOTICE, timeout_s=PATIENCE_S)
    with pytest.raises(Refused, match=r"did not end within 0.2 s"):
        shell_command.run_command("sleep 60", NOTICE, timeout_s=0.2)


def test_what_an_exception_says_never_keeps_a_message_from_being_sent(tmp_path: Path) -> None:
    """A variable has no zero byte, and UTF-8 no half of a pair."""
    odd = Notice("failure", "r\udcff", "runs/r", verdict="ValueError: \0 \ud800 \x1b[2J")
    with receiving() as hook:
        command = NotifyTarget("command", f"cat > {tmp_path / 'got'}")
        outbox = Outbox((command, NotifyTarget("webhook", hook.address)), say=print, log=tmp_path / "log")
        outbox.put(odd)
        assert outbox.close(PATIENCE_S)
    assert hook.bodies[0]["verdict"] == "ValueError: \\u0000 \\ud800 \\u001b[2J"
    assert "\nValueError: \\u0000 " in (tmp_path / "got").read_text()
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_a_slow_target_keeps_no_other_waiting(tmp_path: Path) -> None:
    sent: list[str] = []
    stuck, arrived = threading.Event(), threading.Event()

    def send(target: NotifyTarget, notice: Notice) -> None:
        if target.address == "slow":
            stuck.wait(PATIENCE_S)
        sent.append(f"{target.address} {notice.event}")
        arrived.set()

    said: list[str] = []
    both = (NotifyTarget("command", "slow"), NotifyTarget("command", "quick", events=("failure",)))
    outbox = Outbox(both, say=said.append, log=tmp_path / "log", send=send)
    outbox.put(Notice("stall", "r", "d"))
    outbox.put(NOTICE)
    assert arrived.wait(PATIENCE_S)
    assert sent == ["quick failure"]
    outbox._queues[1].put(None)
    outbox._threads[1].join(PATIENCE_S)
    assert not outbox.close(0.0, more_follows=True)
    assert said == [
        "holdfast: no notification to the command 'slow': no answer yet; it is tried again in the background; "
        "the run is not affected"
    ]
    stuck.set()
    assert outbox.close(PATIENCE_S)
    assert sent == ["quick failure", "slow stall", "slow failure"]
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(row["target"], row["event"], row["arrived"]) for row in rows] == [
        ("the command 'quick'", "failure", True),
        ("the command 'slow'", "stall", True),
        ("the command 'slow'", "failure", True),
    ]


def test_the_reason_is_said_once() -> None:
    said: list[str] = []

    def send(target: NotifyTarget, notice: Notice) -> None:
        raise Refused("401")

    outbox = Outbox((NotifyTarget("webhook", "https://h/secret"),), say=said.append, send=send)
    outbox.put(Notice("stall", "r", "d"))
    outbox.put(NOTICE)
    assert outbox.close(PATIENCE_S)
    assert said == ["holdfast: no notification to https://h: 401; the run is not affected"]


def test_a_run_that_stalls_all_night_sends_a_limited_number() -> None:
    sent: list[str] = []
    said: list[str] = []
    outbox = Outbox(
        (NotifyTarget("command", "x"),),
        say=said.append,
        send=lambda target, notice: sent.append(notice.event),
    )
    for _ in range(MAX_NOTICES + 5):
        outbox.put(Notice("stall", "r", "d"))
    outbox.put(NOTICE)
    assert outbox.close(PATIENCE_S)
    assert sent == ["stall"] * MAX_NOTICES + ["failure"]
    assert said == [f"holdfast: {MAX_NOTICES} notifications were sent; only the end is sent now"]


def test_after_the_end_no_pause_is_longer_than_the_time_left() -> None:
    pauses: list[float] = []

    def send(target: NotifyTarget, notice: Notice) -> None:
        raise Unavailable("down")

    said: list[str] = []
    outbox = Outbox(
        (NotifyTarget("command", "x"),), say=said.append, send=send, clock=lambda: 0.0, sleep=pauses.append
    )
    outbox._until = 5.5
    outbox.put(trial_notice("runs/r", ""))
    for thread in outbox._threads:
        outbox._queues[0].put(None)
        thread.join(PATIENCE_S)
    assert pauses == [1.0, 5.0]
    assert said == [
        "holdfast: no notification to the command 'x': down (tried 3 times); the run is not affected"
    ]
