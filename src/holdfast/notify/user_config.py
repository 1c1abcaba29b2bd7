"""The user's own configuration file, ~/.config/holdfast/config.toml: who is notified of every run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.errors import UsageError, nearest
from holdfast.notify.notice import KINDS
from holdfast.notify.targets import NotifyTarget, check_events, of_setting
from holdfast.regular_file import read_bytes

_MOST_BYTES = 1 << 20
_SECTIONS = ("notify",)
_KEYS = ("targets", "events", "host")


@dataclass(frozen=True, slots=True)
class UserConfig:
    targets: tuple[NotifyTarget, ...] = ()
    shows_host: bool = False
    mistakes: tuple[UsageError, ...] = field(default=(), compare=False)  # a wrong target costs itself only


def config_file(environment: Mapping[str, str]) -> Path:
    folder = environment.get("XDG_CONFIG_HOME") or str(
        Path(environment.get("HOME") or "~").expanduser() / ".config"
    )
    return Path(folder) / "holdfast" / "config.toml"


def read_config(environment: Mapping[str, str]) -> UserConfig:
    """What the file says; nothing where there is none. Raises UsageError where the file as a whole is wrong."""
    path = config_file(environment)
    try:
        content = tomllib.loads(read_bytes(path, most=_MOST_BYTES).decode())
    except (FileNotFoundError, NotADirectoryError):
        return UserConfig()
    except OSError as error:
        raise UsageError(
            f"the configuration file cannot be read: {error.strerror}",
            where=path,
            change="make it readable for this user, or move it away",
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the configuration file is not TOML: {error}",
            where=path,
            change="correct this line, or move the file away",
        ) from error
    return _config(content, environment, path)


def _config(content: Mapping[str, Any], environment: Mapping[str, str], path: Path) -> UserConfig:
    _refuse_unknown(content, _SECTIONS, path, "a section")
    notify = content.get("notify", {})
    if not isinstance(notify, dict):
        raise UsageError("notify is a section", where=path, change='[notify]\ntargets = ["ntfy://my-topic"]')
    _refuse_unknown(notify, _KEYS, path, "a setting of [notify]")
    if not isinstance(notify.get("host", False), bool):
        raise UsageError(
            "host is true or false", where=path, found=f"host = {notify['host']!r}", change="host = true"
        )
    events = check_events(notify.get("events", list(KINDS)), str(path))
    listed = notify.get("targets", [])
    targets: list[NotifyTarget] = []
    mistakes: list[UsageError] = []
    for one in listed if isinstance(listed, list) else [listed]:
        try:
            target = of_setting(one, environment, where=str(path))
        except UsageError as mistake:
            mistakes.append(mistake)
            continue
        wanted = tuple(name for name in target.events if name in events)
        targets.append(NotifyTarget(target.kind, target.address, wanted, target.headers))
    return UserConfig(tuple(targets), shows_host=notify.get("host") is True, mistakes=tuple(mistakes))


def _refuse_unknown(content: Mapping[str, Any], known: tuple[str, ...], path: Path, what: str) -> None:
    for name in content:
        if name not in known:
            close = nearest(name, known)
            raise UsageError(
                f"{name!r} is not {what}",
                where=path,
                change=f"write {close}" if close else f"write one of {', '.join(known)}",
            )
