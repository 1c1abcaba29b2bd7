"""The table of commands, and the one place that prints errors and chooses exit codes.

A command is a module with `add_arguments(parser)` and `run(args) -> int`; it is imported when it is
called, so that the table has the line of help. `--json` is the same option everywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from holdfast import terminal_text
from holdfast.cli.arguments import WHERE, Parser
from holdfast.errors import (
    ExitCode,
    HoldfastError,
    UnknownCommand,
    UnknownOption,
    UsageError,
    nearest,
    needs,
    of_os,
)


class Command(NamedTuple):
    name: str
    when: str
    help: str
    folder: str = "commands"

    @property
    def module(self) -> str:
        return f"holdfast.cli.{self.folder}.{self.name.replace('-', '_')}_command"


#: Every command that works. `when` groups them in the help.
COMMANDS: tuple[Command, ...] = (
    Command("demo", "start", "a tour in a few minutes: check, train, break, explain, resume, report", "demo"),
    Command("doctor", "start", "what works on this machine, and what to install", "setup"),
    Command("recipe", "before", "print a commented recipe, or check and resolve one"),
    Command("check", "before", "find problems in a dataset or recipe before training"),
    Command("data", "before", "convert, repair, inspect or pack a dataset"),
    Command("import", "before", "bring a detector from torchvision or the Object Detection API"),
    Command("anchors", "before", "measure anchor coverage of a dataset, and fit better anchors"),
    Command("plan", "before", "predict GPU memory for a recipe, and what to change if it does not fit"),
    Command("lr-find", "before", "find a learning rate for a recipe (LR range test)"),
    Command("train", "during", "train a detector from a recipe or a dataset, watched and resumable"),
    Command("launch", "during", "train with several processes or hosts, or submit a cluster job"),
    Command("run", "during", "watch any command, detect stalls, and explain why it ended"),
    Command("attach", "during", "say what a training that runs already is doing, and whether it hangs"),
    Command("board", "during", "a live web page of all runs on this machine"),
    Command("top", "during", "a live table of all runs in the terminal"),
    Command("notify", "during", "send a test message to a target of --notify", "setup"),
    Command("explain", "after", "explain why a run ended, or why it is stalled now; a log file is enough"),
    Command("compare", "after", "show what changed between two runs, and the effect of each change"),
    Command("causes", "after", "list all known causes, or print the page of one"),
    Command("report", "after", "write a run's report: verdict, timeline and facts in one HTML file"),
    Command("eval", "after", "compute COCO and VOC metrics, per class, with an error analysis"),
    Command("predict", "after", "run a model on images, and print or draw its detections"),
    Command("export", "after", "export a model as SavedModel, ONNX or TFLite, from image to boxes"),
    Command("completion", "start", "print the completion script of bash, zsh or fish", "setup"),
)

#: Package -> the extra that installs it.
_EXTRAS = {
    **dict.fromkeys(("numpy", "PIL", "defusedxml", "yaml", "fsspec", "google_crc32c"), "data"),
    **dict.fromkeys(("faster_coco_eval", "pycocotools"), "evaluate"),
    **dict.fromkeys(("tensorflow", "keras", "cv2", "simplejpeg"), "cpu"),
    **dict.fromkeys(("jax", "jaxlib"), "jax"),
    **dict.fromkeys(("onnx", "tf2onnx", "onnxruntime", "ai_edge_litert"), "export"),
    **dict.fromkeys(("gcsfs", "s3fs", "google"), "cloud"),
    "pyarrow": "parquet",
    "apprise": "notify",
}

EXIT_CODES = "Exit codes: 0 success, 1 problems found, 2 error. `run` returns the exit code of its command."

_GROUPS = {"start": "start here", "before": "before a run", "during": "during a run", "after": "after a run"}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Never shows a traceback for a user's mistake."""
    with terminal_text.installed():
        return _main(list(sys.argv[1:] if argv is None else argv))


def _main(words: list[str]) -> int:
    try:
        code = _dispatch(words)
        if sys.stdout is not None:  # the descriptor was closed before we started
            sys.stdout.flush()
        return code
    except HoldfastError as error:
        return _print_error(error, words)
    except KeyboardInterrupt:
        print("\nholdfast: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:  # the reader of our output is gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FINE
    except OSError as error:
        return _print_error(of_os(error), words)
    except Exception as error:
        if os.environ.get("HOLDFAST_DEBUG"):
            raise
        return _print_error(_missing_package(error, words) or _internal(error), words)


def _dispatch(words: list[str]) -> int:
    if len(words) == 2 and words[0] == "help":
        words = [_find(words[1]).name, "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return ExitCode.FINE
    if words[0] in ("-V", "--version", "version"):
        from holdfast import __version__

        print(f"holdfast {__version__}")
        return ExitCode.FINE
    command = _find(*words)
    module = import_module(command.module)
    parser = Parser(prog=f"holdfast {command.name}", description=command.help)
    module.add_arguments(parser)
    args, unknown = parser.parse_known_args(words[1:])
    if unknown:
        raise _unknown_option(parser, unknown)
    return int(module.run(args))


def _find(name: str, *rest: str) -> Command:
    for command in COMMANDS:
        if command.name == name:
            return command
    names = [command.name for command in COMMANDS]
    if name.startswith("-"):
        close = nearest(name, ["--help", "--version"])
        raise UnknownOption(
            f"holdfast has no option {name}",
            where=WHERE,
            change=f"holdfast {close}" if close else "holdfast --help lists the commands",
        )
    close, meant = nearest(name, names), _meant(name, rest)
    raise UnknownCommand(
        f"holdfast has no command {name!r}",
        where=WHERE,
        found=f"the nearest is {close!r}" if close else "the commands are " + ", ".join(names),
        change=meant or (f"holdfast {close}" if close else "holdfast --help describes them"),
    )


def _meant(name: str, rest: Sequence[str]) -> str:
    """The full command for somebody who forgot `run --` or `train`."""
    import shlex

    if name.endswith(".py"):
        return f"holdfast run -- {shlex.join(['python', name, *rest])}"
    if re.fullmatch(r"python[\d.]*|torchrun|accelerate|bash|sh", name):
        return f"holdfast run -- {shlex.join([name, *rest])}"
    return f"holdfast train {shlex.join([name, *rest])}" if name.endswith(".toml") else ""


def _unknown_option(parser: argparse.ArgumentParser, unknown: list[str]) -> HoldfastError:
    first = next((word for word in unknown if word.startswith("-")), unknown[0])
    if not first.startswith("-"):
        return UsageError(
            f"{parser.prog}: unexpected argument {first!r}",
            where=WHERE,
            change=f"{parser.prog} --help lists its arguments",
        )
    known = _options(parser)
    close = nearest(first.split("=")[0], known)
    return UnknownOption(
        f"{parser.prog} has no option {first.split('=')[0]}",
        where=WHERE,
        found=f"the nearest is {close}" if close else "its options are " + ", ".join(known),
        change=f"write {close}" if close else f"{parser.prog} --help",
    )


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """The options of the command and of its sub-commands."""
    found: list[str] = []
    for action in parser._actions:
        found += action.option_strings if action.help != argparse.SUPPRESS else []
        if isinstance(action, argparse._SubParsersAction):
            found += [option for child in action.choices.values() for option in _options(child)]
    return list(dict.fromkeys(found))


def _help() -> str:
    lines = [
        "holdfast: no Keras training run ends without an answer.",
        "",
        "usage: holdfast COMMAND [ARGUMENTS]      holdfast COMMAND --help",
    ]
    width = max(len(command.name) for command in COMMANDS)
    for when, title in _GROUPS.items():
        group = [command for command in COMMANDS if command.when == when]
        if group:
            lines += ["", f"{title}:", *(f"  {command.name:<{width}}  {command.help}" for command in group)]
    lines += ["", EXIT_CODES]
    return "\n".join(lines)


def _print_error(error: HoldfastError, words: Sequence[str]) -> int:
    own_words = words[: words.index("--")] if "--" in words else words
    if "--json" in own_words:
        print(json.dumps(error.as_json()))
    else:
        from holdfast.report.text import render_error, terminal_width, wants_colour

        print(
            render_error(error, width=terminal_width(sys.stderr), colour=wants_colour(sys.stderr)),
            file=sys.stderr,
        )
    return int(error.exit_code)


def _missing_package(error: Exception, words: list[str]) -> HoldfastError | None:
    """A package that the minimal installation does not have."""
    package = (getattr(error, "name", None) or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in _EXTRAS:
        return None
    extra = _EXTRAS[package]
    if extra in ("data", "evaluate") and words[0] not in ("check", "data"):
        extra = "cpu"  # the first of several that are missing
    return needs(package, extra, f"holdfast {words[0]}")


def _internal(error: Exception) -> HoldfastError:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)[-3:]
    internal = HoldfastError(
        f"a bug in Holdfast: {type(error).__name__}: {error}",
        where=", ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames),
        change="set HOLDFAST_DEBUG=1 for the full traceback, and please report it",
    )
    internal.slug = "internal"
    return internal
