"""The kinds of arguments, options that several commands share, and argparse's errors as `HoldfastError`.

An argument is checked before anything is read or started, so that no command sees a count of -3.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

from holdfast.errors import OutOfRange, UsageError, nearest
from holdfast.shared_limits import MAX_PROCESSES
from holdfast.units import parse_size

if TYPE_CHECKING:
    from holdfast.data.workers.worker_choice import WorkerChoice

WHERE = "the command line"


class Kind:
    """A number with a range: `wants` in words, `fits` as a rule, `such_as` as an example."""

    def __init__(
        self, read: Callable[[str], Any], wants: str, fits: Callable[[Any], bool], such_as: str
    ) -> None:
        self.read, self.wants, self.fits, self.such_as = read, wants, fits, such_as

    def __call__(self, text: str) -> Any:
        return self.read(text)


def integer(least: int, *, most: int | None = None, such_as: int | None = None) -> Kind:
    upto = f" from {least} to {most}" if most is not None else f" of at least {least}"
    shown = str(such_as if such_as is not None else max(1, least))
    return Kind(int, f"an integer{upto}", lambda n: least <= n and (most is None or n <= most), such_as=shown)


def positive(unit: str, *, such_as: str) -> Kind:
    return Kind(float, f"a number of {unit} above 0", lambda x: x > 0 and math.isfinite(x), such_as)


def parse_memory_size(text: str, *, where: str = WHERE) -> int:
    """Bytes of "16GiB". A small number without a unit was meant in GiB, and is refused with that advice."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise OutOfRange(
            f"{text!r} is not a memory size",
            where=where,
            change="a number and a unit, as in 16GiB, 16GB or 900MiB",
        ) from error
    if size < 1 << 20 and not text.strip()[-1].isalpha():
        raise OutOfRange(
            f"{text} without a unit is {text} bytes, and no GPU is that small",
            where=where,
            change=f"{text.strip()}GiB, if that is meant",
        )
    return size


PROCESSES = integer(1, most=MAX_PROCESSES, such_as=2)
PORT = integer(0, most=65535, such_as=8080)
SEED = integer(0, most=2**31 - 1, such_as=0)
RESTARTS = integer(0, such_as=3)
INPUT_SIDE = integer(64, most=4096, such_as=320)  # of a network's input, in pixels
EPSILON = Kind(float, "a number from 0 to 1", lambda x: 0.0 <= x <= 1.0, such_as="1e-5")  # of batch norm
SCORE = Kind(float, "a number from 0 to 1", lambda x: 0.0 <= x <= 1.0, such_as="0.5")


def _workers(text: str) -> WorkerChoice:
    from holdfast.data.workers import worker_choice

    return worker_choice.parse(text)


WORKERS = Kind(_workers, "1 to 4096, auto, or ray://HOST:PORT", lambda _: True, such_as="4")


def add_workers(parser: argparse.ArgumentParser, what: str, *, alias: bool = False) -> None:
    """`--workers`, for commands that work through a dataset; `alias`: its older name too."""
    parser.add_argument(
        "--workers", type=WORKERS, metavar="N|auto|ray://HOST:PORT",
        help=f"{what}: processes of this machine (default: all cores), or a Ray cluster; auto: the one that this "
        "machine belongs to",
    )  # fmt: skip
    if alias:
        add_hidden_alias(parser, "--processes", of="--workers", type=WORKERS)


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """`--set`, for every command that reads a recipe."""
    parser.add_argument(
        "--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
        help="change one setting, e.g. --set train.batch=16, or unset it: --set model.weights=",
    )  # fmt: skip


def add_run_folder(parser: argparse.ArgumentParser, *, resume: str) -> None:
    """`--run-dir`, `--resume` and `--accept-changes`, for the commands that train. `resume` is the help of that one."""
    parser.add_argument("--run-dir", metavar="D", help="the run folder (default: runs/<name>-<n>)")
    parser.add_argument("--resume", action="store_true", help=resume)
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="with --resume: accept a changed recipe or dataset, as far as the weights fit",
    )


def add_hidden_alias(parser: argparse._ActionsContainer, old: str, of: str, **options: Any) -> None:
    """An older name of the option `of`. It works as before, and no help lists it."""
    dest = of.removeprefix("--").replace("-", "_")
    parser.add_argument(old, dest=dest, default=argparse.SUPPRESS, help=argparse.SUPPRESS, **options)


class Parser(argparse.ArgumentParser):
    """Raises an error instead of printing it and exiting."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        self._typed: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._typed = list(args or ())
        return super().parse_known_args(args, namespace)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        if action.nargs == argparse.REMAINDER:  # the user's command is passed on unchanged
            return arg_string
        name = _name(action)
        if not arg_string.strip():
            raise UsageError(
                f"{name} is empty",
                where=WHERE,
                found=f"{name} ''" if action.option_strings else "''",
                change=f"give {_shown(action)} a value"
                + (f", or leave {name} out" if action.option_strings and not action.required else ""),
            )
        try:
            value = super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            raise _unreadable(action, arg_string) from error
        if isinstance(action.type, Kind) and not action.type.fits(value):
            raise _out_of_range(action, arg_string)
        return value

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(one) for one in action.choices]
        close = nearest(str(value), known)
        sub = isinstance(action, argparse._SubParsersAction)
        before = f"{self.prog} " if sub or not action.option_strings else f"{_name(action)} "
        raise UsageError(
            f"{self.prog} has no action {value!r}" if sub else f"{_name(action)}: unknown value {value!r}",
            where=WHERE,
            found=[f"the {'actions' if sub else 'values'} are {', '.join(known)}"],
            change=[f"{before}{close}"] if close else [f"one of these; {self.prog} --help describes them"],
        )

    def error(self, message: str) -> NoReturn:
        """Errors that argparse has no hook for. Where a later Python words them differently, its text is printed."""
        help_line = f"{self.prog} --help lists its arguments"
        missing = re.search(r"arguments are required: (.*)", message)
        wanting = re.search(r"argument ([^:]*): expected (at least )?(one|\d+) arguments?", message)
        surplus = re.search(r"argument ([^:]*): ignored explicit argument (.*)", message)
        if missing:
            named = [self._named(word) for word in missing[1].split(", ")]
            what = f"{self.prog} needs {' and '.join(named)}"
            raise UsageError(what, where=WHERE, change=[_usage(self), help_line])
        if wanting:
            action = self._of(wanting[1])
            shown = _shown(action) if action is not None else wanting[1]
            name = _short(wanting[1])
            after = self._after(wanting[1].split("/"))
            raise UsageError(
                f"{name} needs a value",
                where=WHERE,
                found=f"{name} {after}" if after else "",
                change=[shown, help_line],
            )
        if surplus:
            name = _short(surplus[1])
            raise UsageError(
                f"{name} takes no value",
                where=WHERE,
                found=f"{name}={surplus[2].strip(chr(39))}",
                change=name,
            )
        raise UsageError(f"{self.prog}: {message}", where=WHERE, change=help_line)

    def _after(self, option: list[str]) -> str:
        """The word after the option, which argparse took for another option because of its dash."""
        following = [word for before, word in pairwise(self._typed) if before in option]
        return following[-1] if following else ""

    def _named(self, word: str) -> str:
        return next((_name(one) for one in self._actions if one.dest == word), word)

    def _of(self, name: str) -> argparse.Action | None:
        return next((one for one in self._actions if "/".join(one.option_strings) == name), None)


def _unreadable(action: argparse.Action, text: str) -> UsageError:
    kind = action.type
    wants = kind.wants if isinstance(kind, Kind) else "an integer" if kind is int else "a number"
    return UsageError(
        f"{_name(action)} must be {wants}",
        where=WHERE,
        found=f"{_before(action)}{text}",
        change=_example(action),
    )


def _out_of_range(action: argparse.Action, text: str) -> OutOfRange:
    kind = action.type
    assert isinstance(kind, Kind)
    return OutOfRange(
        f"{_name(action)} must be {kind.wants}",
        where=WHERE,
        found=f"{_before(action)}{text}",
        change=_example(action),
    )


def _example(action: argparse.Action) -> str:
    kind = action.type
    if not isinstance(kind, Kind):
        return _shown(action)
    leave = ", or leave it out" if action.option_strings and not action.required else ""
    return f"{_before(action)}{kind.such_as}{leave}"


def _name(action: argparse.Action) -> str:
    if action.option_strings:
        return max(action.option_strings, key=len)
    shown = action.metavar or action.dest.upper()
    return shown if isinstance(shown, str) else action.dest.upper()


def _before(action: argparse.Action) -> str:
    return f"{_name(action)} " if action.option_strings else ""


def _shown(action: argparse.Action) -> str:
    """As the user types it: `--out FOLDER`."""
    if not action.option_strings:
        return _name(action)
    one_of = "|".join(map(str, action.choices)) if action.choices is not None else ""
    return f"{_name(action)} {action.metavar or one_of or action.dest.upper()}"


def _short(name: str) -> str:
    return max(name.split("/"), key=len)


def _usage(parser: argparse.ArgumentParser) -> str:
    """The shortest valid command."""
    words = [
        _shown(one)
        for one in parser._actions
        if one.required and not isinstance(one, argparse._SubParsersAction)
    ]
    subs = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return " ".join([parser.prog, *(str(sub.metavar or sub.dest) for sub in subs), *words])
