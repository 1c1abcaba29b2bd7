"""`--notify` of the commands that watch: who is to be notified, and the process that does it during the run."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.atomic_write import make_private_folder
from holdfast.errors import HoldfastError, needs
from holdfast.stderr import print_line

if TYPE_CHECKING:
    from holdfast.journal.folder import RunFolder
    from holdfast.notify.targets import NotifyTarget
    from holdfast.notify.user_config import UserConfig


#: A little longer than the process itself waits at the end of a run.
_WAIT_S = 10.0


def add_notify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--notify",
        metavar="TARGET",
        action="append",
        default=[],
        help="who is notified of a stall, a restart and the end: https://… (gets JSON), a service of Apprise "
        "(slack://…, ntfy://…, mailto://…), or a shell command; may be given several times; `off` for nobody",
    )


class Watching:
    """What a command says to the process that notifies."""

    def __init__(self) -> None:
        self.left = False  # the run continues without us: there is no last message


@contextlib.contextmanager
def notifying(given: list[str], folder: RunFolder) -> Iterator[Watching]:
    """Notifies during the block. A mistake in `--notify` is an error before the run; nothing later disturbs it."""
    watching = Watching()
    chosen, shows_host = chosen_targets(given)
    process = _start(chosen, folder, shows_host) if chosen else None
    try:
        yield watching
    finally:
        if process is not None:
            _finish(process, b"left\n" if watching.left else b"ended\n")


def chosen_targets(given: list[str]) -> tuple[tuple[NotifyTarget, ...], bool]:
    """Those of the command line and of the configuration file; whether the name of this host is sent too."""
    from holdfast.notify import targets

    typed = [
        targets.of_text(one, where=f"--notify {one.split('://')[0]}…") for one in given if one != targets.OFF
    ]
    for target in typed:
        if target.kind == "apprise":
            _refuse_without_apprise()
    configured = _configured(typed_only=targets.OFF in given)
    wanted = [*typed, *configured.targets]
    once = {target.address: target for target in reversed(wanted)}
    return tuple(reversed(once.values())), configured.shows_host


def _configured(*, typed_only: bool) -> UserConfig:
    """A mistake in the file is said, and does not keep a training from starting."""
    from holdfast.notify import user_config

    try:
        config = user_config.read_config(os.environ)
    except HoldfastError as error:
        if not typed_only:
            _say(f"{error.where} is not used, so nobody in it is notified", error)
        return user_config.UserConfig()
    if typed_only:
        return user_config.UserConfig(shows_host=config.shows_host)
    for mistake in config.mistakes:
        _say(f"a target of {mistake.where} is not used", mistake)
    return config


def _say(fact: str, error: HoldfastError) -> None:
    change = f"; {error.change[0]}" if error.change else ""
    print_line(f"holdfast: {fact}: {error.what}{change}")


def _refuse_without_apprise() -> None:
    from importlib.util import find_spec

    if find_spec("apprise") is None:
        raise needs("apprise", "notify", "--notify with this kind of address")


def _start(
    chosen: tuple[NotifyTarget, ...], folder: RunFolder, shows_host: bool
) -> subprocess.Popen[bytes] | None:
    try:
        make_private_folder(folder.path)
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast.notify"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the command
        )
        assert process.stdin is not None
        orders = {
            "folder": str(folder.path),
            "targets": [one.as_json() for one in chosen],
            "host": shows_host,
            "since": time.time(),
            "parent": os.getpid(),
        }
        process.stdin.write(json.dumps(orders).encode() + b"\n")
        process.stdin.flush()
        return process
    except OSError as error:
        print_line(f"holdfast: nobody will be notified: {error.strerror or error}")
        return None


def _finish(process: subprocess.Popen[bytes], message: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):
        assert process.stdin is not None
        process.stdin.write(message)
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        process.wait(_WAIT_S)  # it says what is late, and keeps trying that in the background
