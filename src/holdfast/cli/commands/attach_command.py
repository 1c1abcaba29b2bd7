"""`holdfast attach PID`: what a training that runs already is doing, and whether it hangs. Read-only."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import atomic_write
from holdfast.cli.arguments import positive
from holdfast.cli.notifications import add_notify, notifying
from holdfast.errors import ExitCode, UsageError
from holdfast.stderr import print_line

if TYPE_CHECKING:
    from holdfast.explain.finding import Verdict
    from holdfast.journal.events import ProcessObserved
    from holdfast.supervise.attach.attached_run import AttachedRun

_DESCRIPTION = """\
Says within ten seconds what the process does: its phase, the stacks of the threads that matter, memory, CPU, GPU, open
files, children, and whether it hangs. Nothing is sent to the process: one that waits is not even paused, one that runs
is paused by py-spy for some milliseconds, three times. Without PID, lists training processes that nobody watches.

Exit codes: 0 it moves, or waits for too short a time to call it a hang (with --follow: it ended with exit code 0);
1 it hangs; 2 error."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("pid", nargs="?", metavar="PID", help="the number of the process")
    parser.add_argument("--run-dir", metavar="D", help="the run folder (default: runs/<script>-<n>)")
    parser.add_argument(
        "--follow", action="store_true", help="keep watching until it ends; Ctrl-C leaves it running"
    )
    parser.add_argument(
        "--stall-after",
        metavar="S",
        type=positive("seconds", such_as="60"),
        help="seconds without progress that count as a stall (default: by the phase)",
    )
    add_notify(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from holdfast.host.threads import BackgroundCall
    from holdfast.supervise.attach.attached_run import AttachedRun
    from holdfast.supervise.attach.target import NoSuchProcess, find_target
    from holdfast.supervise.run_names import choose_folder

    if args.notify and not args.follow:
        raise UsageError(
            "--notify is for --follow: without it the answer is on the screen within ten seconds",
            where="the command line",
            change=f"holdfast attach {args.pid or 'PID'} --follow --notify …",
        )
    target = find_target(args.pid)
    folder = choose_folder(target.command, run_dir=args.run_dir, name=None, runs=Path("runs"))
    BackgroundCall(lambda: import_module("holdfast.explain"))  # takes a moment, and the look takes seconds
    attached = AttachedRun(target, folder, stall_after_s=args.stall_after, print_line=print_line)
    try:
        observed = attached.first_look()
        if observed is None:
            attached.follow()  # records the end
            raise NoSuchProcess(
                f"process {target.pid} ended while it was being looked at",
                where=" ".join(target.command)[:200],
                found=f"what was seen of it is in {folder}",
                change=f"holdfast explain {folder}",
            )
        stalled = attached.stalled
        verdict = _explained(attached)
        _print(args, attached, observed, verdict, stalled=stalled)
        if not args.follow:
            attached.leave()
            return ExitCode.FINDINGS if stalled else ExitCode.FINE
        with notifying(args.notify, attached.folder) as watching:
            watching.left = True  # until it has ended
            code = _follow(attached, json_wanted=args.json)
            watching.left = False
        return code
    except KeyboardInterrupt:
        attached.leave()
        print_line(f"\nholdfast: left; process {target.pid} keeps running, and nobody watches it now")
        return ExitCode.INTERRUPTED


def _explained(attached: AttachedRun) -> Verdict:
    from holdfast.explain import explain

    verdict = explain(attached.folder.path)
    _store(attached, verdict)
    return verdict


def _store(attached: AttachedRun, verdict: Verdict) -> None:
    from holdfast.report.verdict_json import as_json

    try:
        text = json.dumps(as_json(verdict), indent=1, ensure_ascii=False) + "\n"
        atomic_write.write_text(attached.folder.verdict, text, errors="backslashreplace", private=True)
    except OSError as error:
        print_line(f"holdfast: could not write verdict.json: {error}")


def _print(
    args: argparse.Namespace,
    attached: AttachedRun,
    observed: ProcessObserved,
    verdict: Verdict,
    *,
    stalled: bool,
) -> None:
    from holdfast.journal.events import payload
    from holdfast.report import attached as view
    from holdfast.report.text import terminal_width, wants_colour
    from holdfast.report.verdict import render
    from holdfast.report.verdict_json import as_json

    target, out = attached.target, sys.stdout
    if args.json:
        print(
            json.dumps({**as_json(verdict), "pid": target.pid, "now": payload(observed)}, ensure_ascii=False)
        )
        return
    width, colour = terminal_width(out), wants_colour(out)
    print(view.answer(observed, pid=target.pid, stalled=stalled, colour=colour))
    if stalled or verdict.findings:
        print(render(verdict, width, colour).rstrip("\n"))
    print(
        view.render(
            observed, pid=target.pid, command=target.command, cwd=target.cwd, width=width, colour=colour
        )
    )
    again = "" if args.follow else f"; holdfast attach {target.pid} --follow keeps watching"
    print(f"holdfast: recorded in {attached.folder.path}{again}", flush=True)


def _follow(attached: AttachedRun, *, json_wanted: bool) -> int:
    from holdfast.cli.verdicts import explain_and_print
    from holdfast.units import long_duration

    pid = attached.target.pid
    if not json_wanted:
        print_line(f"holdfast: watching process {pid} until it ends; Ctrl-C leaves it running")
    status = attached.follow()
    if status is None:
        how = "how it ended is known to its parent only (before Linux 6.15)"
    else:
        how = f"by {status.signal}" if status.signal else f"with exit code {status.exit_code}"
    lived_s = attached.target.uptime_s + attached.watched_s
    print_line(f"holdfast: process {pid} ended {how}, after {long_duration(lived_s)}")
    explain_and_print(attached.folder, recorded=attached.recorded)
    return ExitCode.FINE if status is not None and status.exit_code == 0 else ExitCode.FINDINGS
