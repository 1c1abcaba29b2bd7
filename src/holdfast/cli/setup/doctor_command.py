"""`holdfast doctor`: one screen of what works on this machine, and what to install for what does not."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.errors import ExitCode

if TYPE_CHECKING:
    from holdfast.cli.setup.machine_checks import MachineCheck

SCHEMA = "holdfast.doctor/1"
_MARKS = {"ok": "ok", "limited": "limited", "optional": "-", "missing": "MISSING"}
_DESCRIPTION = """\
Looks at Python, the frameworks (each is imported once), the GPU, reading stacks, control groups, disk and the
credentials of clouds. Nothing is sent, and no secret is printed.

Exit codes: 0 fine; 1 something that is needed is missing, or what is installed does not work; 2 error."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--python",
        metavar="FILE",
        default=sys.executable,
        help="the interpreter that trains, where that is another one (default: this one)",
    )


def run(args: argparse.Namespace) -> int:
    import os
    from pathlib import Path

    from holdfast import __version__
    from holdfast.cli.setup import framework_checks, machine_checks
    from holdfast.cli.slow_notice import notice_if_slow

    checks = list(machine_checks.machine_checks(os.environ, Path("runs")))
    gpu = next(one for one in checks if one.name == "GPU")
    with notice_if_slow("importing the frameworks"):
        frameworks = framework_checks.framework_checks(args.python, with_gpu=gpu.state in ("ok", "missing"))
    place = checks.index(gpu) + 1
    checks[place:place] = frameworks
    well = not any(one.state == "missing" for one in checks)
    if args.json:
        listed = [one.as_json() for one in checks]
        print(
            json.dumps(
                {"schema": SCHEMA, "holdfast": __version__, "ok": well, "checks": listed}, ensure_ascii=False
            )
        )
    else:
        print(render(checks, __version__))
    return ExitCode.FINE if well else ExitCode.FINDINGS


def render(checks: Sequence[MachineCheck], version: str) -> str:
    """A line a check, then what to do, the needed first."""
    width = max(len(one.name) for one in checks)
    lines = [f"holdfast {version} on this machine", ""]
    lines += [f"  {_MARKS[one.state]:<7}  {one.name:<{width}}  {one.detail}" for one in checks]
    for state, title in (
        ("missing", "to be fixed"),
        ("limited", "works better with"),
        ("optional", "only if you need it"),
    ):
        wanted = [one for one in checks if one.state == state and one.change]
        if wanted:
            lines += ["", f"{title}:", *(f"  {one.name:<{width}}  {one.change}" for one in wanted)]
    if not any(one.state == "missing" for one in checks):
        lines += ["", "Nothing that is needed is missing."]
    return "\n".join(lines)
