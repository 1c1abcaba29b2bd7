"""`holdfast report`: the report of a run, as one HTML file."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from holdfast import atomic_write
from holdfast.errors import AlreadyThere, ExitCode, HoldfastError, PathMissing, of_os


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
    verdict = as_json(explain(run_folder))
    told = story.read_timeline(folder)
    if redact:
        verdict, told = redacting.verdict(verdict, told.host), redacting.story(told)
    own = folder.path / "report-redacted.html" if redact else folder.report
    target = output / own.name if output is not None and output.is_dir() else output or own
    if output is not None and target.exists() and b"Holdfast</title>" not in target.read_bytes()[:4000]:
        raise AlreadyThere(
            "the file exists and is not a Holdfast report",
            where=target,
            change="choose another name, or remove it",
        )
    page = html.render(told, verdict)
    try:
        atomic_write.write_text(target, page, errors="backslashreplace")
    except OSError as error:
        raise _not_written(error, target) from error
    return target


def _not_written(error: OSError, target: Path) -> HoldfastError:
    folder = target.absolute().parent
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return PathMissing(
            "the folder to write into does not exist",
            where=folder,
            change=f"mkdir -p {shlex.quote(str(folder))}",
        )
    return of_os(OSError(error.errno, error.strerror, str(target)))
