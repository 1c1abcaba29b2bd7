"""`holdfast explain RUN`: why it ended, or why it is stalled now; of a log alone as well."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.damaged_run import reading_run

if TYPE_CHECKING:
    from holdfast.explain.finding import Verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", metavar="RUN", type=Path, help="a run folder, a log file, or - for standard input"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--experiment",
        action="store_true",
        help="train the recorded model again for seconds on recorded rows, as it was and with the suspected fault "
        "corrected, and weigh the finding by whether it learns then; CPU only, with the run's own Python",
    )


def run(args: argparse.Namespace) -> int:
    import json
    import sys

    from holdfast.errors import ExitCode

    if args.experiment:
        _experiment(args.run)
    with reading_run(args.run):
        verdict = _verdict(args.run)
        if args.json:
            from holdfast.report.verdict_json import as_json

            text = json.dumps(as_json(verdict), indent=1, ensure_ascii=False) + "\n"
        else:
            from holdfast.report.text import terminal_width, wants_colour
            from holdfast.report.verdict import render

            text = render(verdict, terminal_width(sys.stdout), wants_colour(sys.stdout))
    sys.stdout.write(text)
    return ExitCode.FINE if verdict.went_well else ExitCode.FINDINGS


def _experiment(path: Path) -> None:
    from holdfast.cli.experiments import NoExperiment, experiment

    if str(path) == "-" or path.is_file():
        raise NoExperiment("an experiment needs the folder of a run: a log holds no model", where=path)
    experiment(path)


def _verdict(path: Path) -> Verdict:
    from holdfast.explain import explain, explain_log
    from holdfast.journal.folder import RunFolder
    from holdfast.supervise.scheduler import job_watch

    if str(path) == "-":
        return explain_log(None)
    if path.exists() and not path.is_dir():
        return explain_log(path)
    job_watch.ask_about(RunFolder(path))
    return explain(path)
