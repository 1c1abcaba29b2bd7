"""From a TOML file and `--set` overrides to a Recipe, or to one error that can be acted on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from holdfast.errors import (
    ContradictorySettings,
    NotAFile,
    OutOfRange,
    PathMissing,
    RecipeNotToml,
    SettingMissing,
    UnknownSetting,
    UsageError,
    WrongType,
    nearest,
    of_os,
)
from holdfast.settings import pretrained
from holdfast.settings.installed_backend import default_backend
from holdfast.settings.recipe import EITHER, TABLES, Recipe, Rule, is_required, rule_of, toml_value

LARGEST_RECIPE_BYTES = 4 << 20

#: From a file of weights to the settings that go with it; None where it is no detector's.
SettingsOfFile = Callable[[str], Mapping[str, Any] | None]


class Origin:
    """Where a key was set, so that an error can point at it."""

    def __init__(self, path: Path | None, text: str, overridden: Mapping[str, str]) -> None:
        self._path = path
        self._text = text
        self._overridden = overridden  # key -> the argument as it was typed

    def of(self, key: str) -> str:
        if key in self._overridden:
            return f"--set {self._overridden[key]}"
        line = line_of(self._text, key)
        by_hand = next((text for other, text in self._overridden.items() if other.startswith(f"{key}.")), "")
        if not line and by_hand:  # a table that only the command line names
            return f"--set {by_hand}"
        name = str(self._path) if self._path else "the recipe"
        return f"{name}:{line}" if line else name

    def change(self, key: str, *, to: str = "", value: str | None = None) -> str:
        """How it is written where it was set: in the file, or after --set. `to` is another key."""
        typed = self._overridden.get(key)
        if typed is not None:
            given = typed.partition("=")[2] if value is None else value
            return f"--set {to or key}={given}"
        if value is None:
            return f"write {to if '.' in to else f'[{to}]'}"
        return f'write {(to or key).split(".")[1]} = "{value}"'

    def overrides(self, table: str) -> str:
        """The first key of the table that the command line sets; "" when it sets none."""
        return next((key for key in self._overridden if key.startswith(f"{table}.")), "")


def read(path: Path | str, overrides: Sequence[str] = (), *, of_file: SettingsOfFile | None = None) -> Recipe:
    """The recipe in a file. `overrides` are "train.batch=16" as they come from the command line."""
    file = Path(path)
    if file.is_dir():
        raise NotAFile(
            "this is a folder; a recipe is a TOML file",
            where=file,
            change="give the recipe file; `holdfast recipe > recipe.toml` writes one to start from",
        )
    try:
        with file.open("rb") as opened:  # a pipe of the shell, `<(…)`, is a recipe too
            data = opened.read(LARGEST_RECIPE_BYTES + 1)
        if len(data) > LARGEST_RECIPE_BYTES:
            raise RecipeNotToml(
                "the file is larger than any recipe",
                where=file,
                found=f"more than {LARGEST_RECIPE_BYTES >> 20} MiB",
                change="give the recipe file; `holdfast recipe > recipe.toml` writes one to start from",
            )
        text = data.decode("utf-8-sig")  # Windows' Notepad writes a byte order mark
    except FileNotFoundError as error:
        close = nearest(file.stem, [other.stem for other in file.parent.glob("*.toml")])
        raise PathMissing(
            "there is no recipe at this path",
            where=file,
            found=f"in the same folder is {close}.toml" if close else "",
            change="give the path of a recipe; `holdfast recipe > recipe.toml` writes one to start from",
        ) from error
    except OSError as error:
        raise of_os(error) from error
    except UnicodeDecodeError as error:
        raise RecipeNotToml(
            "the recipe is not UTF-8 text",
            where=file,
            found=f"byte {error.object[error.start]:#04x} at offset {error.start}",
            change="save it as UTF-8",
        ) from error
    return resolve(_parse(text, file), overrides, path=file, text=text, of_file=of_file)


def resolve(
    tables: Mapping[str, Any],
    overrides: Sequence[str] = (),
    *,
    path: Path | None = None,
    text: str = "",
    of_file: SettingsOfFile | None = None,
) -> Recipe:
    """The recipe that nested tables describe, after the overrides. `of_file` knows what a file of weights goes with."""
    merged: dict[str, Any] = {name: dict(v) if isinstance(v, Mapping) else v for name, v in tables.items()}
    overridden = {_override(merged, one): one for one in overrides}
    _give_way(merged, overridden)
    train = merged.setdefault("train", {})
    if isinstance(train, dict):
        train.setdefault("backend", default_backend())
    origin = Origin(path, text, overridden)
    _refuse_unknown(merged, origin)
    _follow_weights(merged, of_file)
    built = {name: _table(name, kind, merged.get(name, {}), origin) for name, kind in TABLES.items()}
    _refuse_contradictions(merged, built, origin)
    if built["train"].epochs is not None:
        built["train"] = replace(built["train"], steps=None)  # replaces the default number of steps
    return Recipe(**built)


def _follow_weights(tables: dict[str, Any], of_file: SettingsOfFile | None) -> None:
    """A pretrained detector brings its architecture and more, where the recipe says nothing else."""
    model = tables.get("model", {})
    weights = model.get("weights")
    if not isinstance(weights, str):
        return
    brought: Mapping[str, Any] | None = pretrained.settings_of(
        weights, model.get("detector"), model.get("backbone")
    )
    if brought is None and weights not in pretrained.NAMES and of_file is not None:
        brought = of_file(weights)
    for key, value in (brought or {}).items():
        table, _, name = key.partition(".")
        tables.setdefault(table, {}).setdefault(name, value)


def _give_way(merged: dict[str, Any], overridden: Mapping[str, str]) -> None:
    """Of two settings that exclude each other, the command line's wins over the file's."""
    for pair in [pair for one, other, _ in EITHER for pair in ((one, other), (other, one))]:
        (table, name), (theirs, old) = (key.split(".") for key in pair)
        if pair[0] in overridden and pair[1] not in overridden and name in merged.get(table, {}):
            merged.get(theirs, {}).pop(old, None)


def line_of(text: str, key: str) -> int | None:
    """The line on which `table.key` is set: under its [table], or dotted, or in an inline table."""
    table, _, name = key.rpartition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        head = re.match(r"\s*\[([^\[\]]+)\]", line)
        if head:
            current = head[1].strip().strip("\"'")
            if not table and current == name:
                return number
            continue
        assigned = re.match(r"\s*([\w.\-\"']+)\s*=", line)
        if assigned:
            found = assigned[1].replace('"', "").replace("'", "").strip()
            full = f"{current}.{found}" if current else found
            if full == key or (
                full == table and re.search(rf"\b{re.escape(name)}\b\s*=", line[assigned.end() :])
            ):
                return number
    return None


def _parse(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        lines = text.splitlines()
        line = int(at[1]) if at else len(lines)
        shown = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        raise RecipeNotToml(
            "the recipe is not valid TOML",
            where=f"{file}:{line}",
            found=[str(error), *([f"the line is: {shown}"] if shown else [])],
            change='quote text (name = "value"), write true and false in lower case, and tables as [name]',
        ) from error


def _override(tables: dict[str, Any], text: str) -> str:
    key, equals, raw = text.partition("=")
    key = key.strip()
    table, dot, name = key.partition(".")
    if not equals or not dot or not name:
        close = f"{key}.KEY" if key in TABLES else nearest(key, all_keys())
        raise UsageError(
            f"--set needs table.key=value, and this is {text!r}",
            where=f"--set {text}",
            change=f"--set {close or 'train.batch'}={raw.strip() or '16'}",
        )
    within = tables.setdefault(table, {})
    if not isinstance(within, dict):
        within = tables[table] = {}
    if raw.strip() or key not in all_keys():
        within[name] = _value(raw.strip())
    else:
        within.pop(name, None)  # nothing after `=`: unset it
    return key


def _value(raw: str) -> Any:
    """As TOML; a bare word is text, so that a shell's quotes need no second pair."""
    try:
        return tomllib.loads(f"v = {raw}")["v"]
    except tomllib.TOMLDecodeError:
        return raw


def all_keys() -> list[str]:
    return [f"{table}.{f.name}" for table, kind in TABLES.items() for f in fields(kind)]


def _refuse_unknown(tables: Mapping[str, Any], origin: Origin) -> None:
    for table, values in tables.items():
        if table not in TABLES:
            raise _unknown(origin.overrides(table) or table, origin)
        if not isinstance(values, dict):
            raise WrongType(
                f"{table} is a table of settings, not a single value",
                where=origin.of(table),
                found=f"{table} = {toml_value(values)}",
                change=f"write [{table}] on its own line, and its settings below",
            )
        known = {f.name for f in fields(TABLES[table])}
        for name in values:
            if name not in known:
                raise _unknown(f"{table}.{name}", origin)


#: Settings of earlier versions, and why they are gone.
RETIRED = {
    "hardware.data_service": "holdfast decodes on the machine that trains, fast enough for most GPUs: leave it out; "
    "`holdfast check RECIPE` measures it, and `holdfast data pack RECIPE` makes it faster",
}


def _unknown(key: str, origin: Origin) -> UnknownSetting:
    if key in RETIRED:
        return UnknownSetting(
            f"the setting {key} was removed",
            where=origin.of(key),
            found="a recipe of an earlier version",
            change=RETIRED[key],
        )
    table, dot, name = key.partition(".")
    close = nearest(key, all_keys() if dot else [*TABLES, *all_keys()])
    if dot and not close:
        close = next((known for known in all_keys() if known.split(".")[1] == name), None)
    if not dot and not close:
        close = next((known for known in all_keys() if known.split(".")[1] == key), None)
    allowed = [f.name for f in fields(TABLES[table])] if table in TABLES else list(TABLES)
    return UnknownSetting(
        f"unknown setting {key}" if dot else f"unknown table [{key}]",
        where=origin.of(key),
        found=(f"the nearest is {close}" if close else f"the settings of [{table}] are " + ", ".join(allowed))
        if table in TABLES or close
        else "the tables are " + ", ".join(TABLES),
        change=origin.change(key, to=close) if close else "`holdfast recipe` prints all settings",
    )


def _table(name: str, kind: type, values: Mapping[str, Any], origin: Origin) -> Any:
    hints = get_type_hints(kind)
    given = {}
    for one in fields(kind):
        key = f"{name}.{one.name}"
        if one.name in values:
            given[one.name] = _checked(key, values[one.name], hints[one.name], one, origin)
        elif is_required(one):
            raise SettingMissing(
                f"{key} is not set, and has no default",
                where=origin.of(name),
                found=rule_of(one).doc,
                change=f"[{name}]\n{one.name} = {rule_of(one).example!r}".replace("'", '"'),
            )
    return kind(**given)


def _checked(key: str, value: Any, hint: Any, one: Field[Any], origin: Origin) -> Any:
    rule = rule_of(one)
    kinds = tuple(
        k for k in (get_args(hint) if isinstance(hint, UnionType) else (hint,)) if k is not NoneType
    )
    fitted = _fit(value, kinds)
    if fitted is _NO_FIT:
        raise WrongType(
            f"{key} must be {_in_words(kinds)}",
            where=origin.of(key),
            found=f"{key.split('.')[1]} = {toml_value(value)}, which is {_kind_in_words(type(value))}",
            change=f"give {_allowed(rule, kinds)}",
        )
    if isinstance(fitted, str) and rule.choices and fitted not in rule.choices:
        close = nearest(fitted, rule.choices)
        raise OutOfRange(
            f"{key}: unknown value {fitted!r}",
            where=origin.of(key),
            found=f"the values are {_allowed(rule, kinds)}",
            change=origin.change(key, value=close) if close else "give one of these",
        )
    if isinstance(fitted, str) and rule.pattern and not re.fullmatch(rule.pattern, fitted):
        raise OutOfRange(
            f"{key}: invalid value {fitted!r}", where=origin.of(key), change=f"give {rule.pattern_says}"
        )
    if isinstance(fitted, str) and not fitted.strip() and not rule.choices:
        raise OutOfRange(f"{key} is empty", where=origin.of(key), change=rule.doc)
    if isinstance(fitted, int | float) and not isinstance(fitted, bool) and not _inside(fitted, rule):
        raise OutOfRange(
            f"{key} = {fitted} is out of range", where=origin.of(key), change=f"give {_allowed(rule, kinds)}"
        )
    return fitted


_NO_FIT = object()


def _fit(value: Any, kinds: tuple[Any, ...]) -> Any:
    """The value as one of the kinds; an integer is accepted as a float, nothing else is converted."""
    for kind in kinds:
        if get_origin(kind) is list:
            if isinstance(value, list) and all(isinstance(item, str) for item in value):
                return value
        elif isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
            return value
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _NO_FIT


def _inside(value: float, rule: Rule) -> bool:
    if value != value:
        return False
    if rule.low is not None and (value < rule.low or (rule.low_open and value == rule.low)):
        return False
    return rule.high is None or value <= rule.high


def _in_words(kinds: tuple[Any, ...]) -> str:
    return " or ".join(_kind_in_words(kind) for kind in kinds)


def _kind_in_words(kind: Any) -> str:
    if get_origin(kind) is list:
        return 'a list of strings such as ["a", "b"]'
    words = {bool: "true or false", int: "an integer", float: "a number", str: "a string", list: "a list"}
    return words.get(kind, f"a {kind.__name__}")


def _allowed(rule: Rule, kinds: tuple[Any, ...]) -> str:
    parts = []
    if int in kinds or float in kinds:
        parts.append(_range_in_words(rule, "an integer" if int in kinds else "a number"))
    if rule.choices:
        parts.append(", ".join(f'"{choice}"' for choice in rule.choices))
    if rule.pattern_says:
        return rule.pattern_says
    return " or ".join(parts) if parts else _in_words(kinds)


def _range_in_words(rule: Rule, number: str) -> str:
    if rule.low is not None and rule.high is not None:
        start = f"above {rule.low} and up" if rule.low_open else f"from {rule.low}"
        return f"{number} {start} to {rule.high}"
    if rule.low is not None:
        return f"{number} {'above' if rule.low_open else 'of at least'} {rule.low}"
    return number


def _refuse_contradictions(tables: Mapping[str, Any], built: Mapping[str, Any], origin: Origin) -> None:
    def given(key: str) -> bool:
        table, _, name = key.partition(".")
        return name in tables.get(table, {})

    for one, other, why in EITHER:
        if given(one) and given(other):
            raise ContradictorySettings(
                f"{one} and {other} are both set, and {why}",
                where=f"{origin.of(one)} and {origin.of(other)}",
                change="keep one of them",
            )
    train = built["train"]
    if isinstance(train.micro_batch, int) and train.batch % train.micro_batch:
        whole = [n for n in range(1, train.batch + 1) if train.batch % n == 0]
        below = max((n for n in whole if n <= train.micro_batch), default=1)
        raise ContradictorySettings(
            f"train.batch = {train.batch} is not a multiple of train.micro_batch = {train.micro_batch}",
            where=origin.of("train.micro_batch" if given("train.micro_batch") else "train.batch"),
            found="the micro-batch must divide the batch, so that every optimizer step has the same number of images",
            change=f"micro_batch = {below}, or one of {', '.join(map(str, whole))}",
        )
    _refuse_uneven_shares(built, origin)
    _refuse_missing_pretrained(built["model"], origin)
    classes = built["data"].classes
    if classes is not None and len(set(classes)) != len(classes):
        twice = next(name for name in classes if classes.count(name) > 1)
        raise ContradictorySettings(
            f"data.classes lists {twice!r} twice",
            where=origin.of("data.classes"),
            change="list each class once",
        )


def _refuse_missing_pretrained(model: Any, origin: Origin) -> None:
    if model.weights not in pretrained.NAMES:
        return
    if pretrained.find_pretrained(model.weights, model.detector, model.backbone) is not None:
        return
    there = [one for one in pretrained.PRETRAINED if one.detector == model.detector] or pretrained.PRETRAINED
    raise ContradictorySettings(
        f'there are no weights "{model.weights}" of {model.detector} on {model.backbone}',
        where=origin.of("model.weights"),
        found="torchvision has "
        + ", ".join(f'"{one.weights}" of {one.detector} on {one.backbone}' for one in there),
        change=f'model.weights = "{there[0].weights}" and model.backbone = "{there[0].backbone}", or leave '
        "model.backbone out",
    )


def _refuse_uneven_shares(built: Mapping[str, Any], origin: Origin) -> None:
    train, hardware = built["train"], built["hardware"]
    if (hardware.least_processes or 1) > hardware.processes:
        raise ContradictorySettings(
            "the least number of processes is larger than the number that is to train",
            where=origin.of("hardware.least_processes"),
            found=f"hardware.processes = {hardware.processes}",
            change=f"least_processes with at most {hardware.processes}",
        )
    shares = hardware.processes * hardware.devices
    if train.batch % shares:
        who = f"{hardware.processes} processes" + (
            f" with {hardware.devices} devices each" if hardware.devices > 1 else ""
        )
        raise ContradictorySettings(
            f"train.batch = {train.batch} cannot be split evenly across {who}",
            where=origin.of("hardware.processes" if hardware.processes > 1 else "hardware.devices"),
            change=f"batch = {shares * max(1, round(train.batch / shares))}",
        )
    if hardware.processes > 1 and train.backend != "jax":
        raise ContradictorySettings(
            f"hardware.processes = {hardware.processes} needs the backend jax",
            where=origin.of("hardware.processes"),
            found=f'backend = "{train.backend}" supports the devices of one process only',
            change=['backend = "jax"', "or hardware.devices, for several devices of one host"],
        )
