"""`holdfast report`: the report of a run, as one HTML file."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from holdfast import atomic_write
from holdfast.cli.damaged_run import reading_run
from holdfast.errors import AlreadyThere, ExitCode, HoldfastError, PathMissing, of_os
from holdfast.regular_file import open_regular


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="a run folder")
    parser.add_argument(
        "-o", "--output", help="where to write the report (default: report.html in the run folder)"
    )
    parser.add_argument(
        "--redact", action="store_true", help="for sharing: remove paths, host name, environment and output"
    )
    parser.add_argument("--open", action="store_true", help="open the report in a browser")


def run(args: argparse.Namespace) -> int:
    path = write(Path(args.run), Path(args.output) if args.output else None, redact=args.redact)
    print(path)
    if args.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return ExitCode.FINE


def write(run_folder: Path, output: Path | None = None, *, redact: bool = False) -> Path:
    """Writes the page and says where. Only a report of ours is ever replaced."""
    from holdfast.explain import explain
    from holdfast.journal.folder import RunFolder
    from holdfast.report import html, story
    from holdfast.report import redact as redacting
    from holdfast.report.verdict_json import as_json

    folder = RunFolder(run_folder)
    with reading_run(run_folder):
        verdict = as_json(explain(run_folder))
        timeline = story.read_timeline(folder)
        if redact:
            verdict, timeline = redacting.verdict(verdict, timeline.host), redacting.story(timeline)
        page = html.render(timeline, verdict)
    own = folder.path / "report-redacted.html" if redact else folder.report
    target = output / own.name if output is not None and output.is_dir() else output or own
    if output is not None and target.exists() and not _is_report(target):
        raise AlreadyThere(
            "the file exists and is not a Holdfast report",
            where=target,
            change="choose another name, or remove it",
        )
    try:
        atomic_write.write_text(target, page, errors="backslashreplace")
    except OSError as error:
        raise _not_written(error, target, run_folder) from error
    return target


def _is_report(path: Path) -> bool:
    try:
        with open_regular(path) as file:
            return b"Holdfast</title>" in file.read(4000)
    except OSError:
        return False


def _not_written(error: OSError, target: Path, run_folder: Path) -> HoldfastError:
    folder = target.absolute().parent
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return PathMissing(
            "the folder to write into does not exist",
            where=folder,
            change=f"mkdir -p {shlex.quote(str(folder))}",
        )
    said = of_os(OSError(error.errno, error.strerror, str(target)))
    elsewhere = f"holdfast report {shlex.quote(str(run_folder))} --output report.html   writes it here"
    said.change = (elsewhere, *said.advised)
    return said
