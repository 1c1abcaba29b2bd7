"""`holdfast notify --test TARGET`: sends one message, and says whether it arrived."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from holdfast.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from holdfast.notify.notice import Notice
    from holdfast.notify.targets import NotifyTarget


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--test",
        metavar="TARGET",
        nargs="?",
        required=True,
        help="send a test message to this target; without one, to those of the configuration file",
    )


def run(args: argparse.Namespace) -> int:
    import datetime

    from holdfast.cli.notifications import chosen_targets
    from holdfast.notify.notice import trial_notice
    from holdfast.notify.user_config import read_config

    mistakes = () if args.test else read_config(os.environ).mistakes  # here a mistake is what is looked for
    chosen, _ = chosen_targets([args.test, "off"] if args.test else [])
    if not chosen and not mistakes:
        raise _nobody()
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    arrived = [_try(target, trial_notice("runs/test", at)) for target in chosen]
    return ExitCode.FINE if all(arrived) and not mistakes else ExitCode.FINDINGS


def _try(target: NotifyTarget, notice: Notice) -> bool:
    """One try without repetition: somebody waits for the answer."""
    from holdfast.notify.delivery import deliver
    from holdfast.notify.outbox import send_once

    done = deliver(lambda: send_once(target, notice), pause=lambda _: False, pauses_s=())
    print(f"holdfast: {target.shown}: " + (f"did not arrive: {done.reason}" if done.reason else "sent"))
    return not done.reason


def _nobody() -> UsageError:
    from holdfast.notify.user_config import config_file

    return UsageError(
        "there is no target to test",
        where=config_file(os.environ),
        change=[
            "holdfast notify --test https://…",
            'or write in that file: [notify]  targets = ["https://…"]',
        ],
    )
