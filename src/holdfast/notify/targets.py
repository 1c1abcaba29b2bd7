"""Where messages go: `--notify TARGET` and the user's configuration file, as typed targets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from holdfast.errors import UsageError, nearest
from holdfast.notify.notice import KINDS

TargetKind = Literal["webhook", "apprise", "command"]
OFF = "off"  # `--notify off`: nothing is sent, whatever the configuration file says
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://\S+$")
_KEYS = ("target", "events", "headers")


@dataclass(frozen=True, slots=True)
class NotifyTarget:
    kind: TargetKind
    address: str
    events: tuple[str, ...] = KINDS
    headers: dict[str, str] = field(default_factory=dict)  # of a webhook

    @property
    def shown(self) -> str:
        """Without what may be a secret: an address of a webhook or of Apprise often is the password."""
        if self.kind == "command":
            first = self.address.split()[0]
            return f"the command {first!r}"
        parts = urlsplit(self.address)
        if self.kind == "webhook":
            return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")
        return f"{parts.scheme}://…"

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "address": self.address,
            "events": list(self.events),
            "headers": self.headers,
        }


def of_text(text: str, *, where: str) -> NotifyTarget:
    """A target as it is typed. Raises UsageError where it cannot be one."""
    address = text.strip()
    if not address:
        raise UsageError(
            "a notification has no target",
            where=where,
            change="--notify https://…, --notify ntfy://TOPIC, or --notify 'COMMAND'",
        )
    if not _URL.match(address):
        if address.startswith(("http:", "https:")):
            raise UsageError(
                "this is no complete address",
                where=where,
                found=address,
                change="write it as https://HOST/PATH, without spaces",
            )
        return NotifyTarget("command", address)
    scheme = address.partition(":")[0].lower()
    if scheme not in ("http", "https"):
        return NotifyTarget("apprise", address)
    try:
        host, _port = urlsplit(address).hostname, urlsplit(address).port
    except ValueError as error:
        raise UsageError(
            f"this is no address: {error}", where=where, found=address, change="write it as https://HOST/PATH"
        ) from error
    if not host:
        raise UsageError(
            "this address has no host", where=where, found=address, change="write it as https://HOST/PATH"
        )
    return NotifyTarget("webhook", address)


def of_setting(value: Any, environment: Mapping[str, str], *, where: str) -> NotifyTarget:
    """An entry of `targets` in the configuration file: a string, or a table with `target`, `events` and `headers`."""
    if isinstance(value, str):
        return of_text(value, where=where)
    if not isinstance(value, dict) or not isinstance(value.get("target"), str):
        raise UsageError(
            "a target is a string, or a table with `target`",
            where=where,
            found=str(value)[:80],
            change='targets = ["ntfy://my-topic", {target = "https://…", events = ["failure"]}]',
        )
    for key in value:
        if key not in _KEYS:
            close = nearest(key, _KEYS)
            raise UsageError(
                f"a target has no setting {key!r}",
                where=where,
                change=f"write {close}" if close else f"write one of {', '.join(_KEYS)}",
            )
    plain = of_text(value["target"], where=where)
    headers = value.get("headers", {})
    if not isinstance(headers, dict):
        raise UsageError(
            "headers is a table of names and values",
            where=where,
            change='headers = {Authorization = "$TOKEN"}',
        )
    filled = {str(name): _filled(str(text), environment, where=where) for name, text in headers.items()}
    return NotifyTarget(
        plain.kind, plain.address, check_events(value.get("events", list(KINDS)), where), filled
    )


def check_events(value: Any, where: str) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    for name in names:
        if name not in KINDS:
            close = nearest(str(name), KINDS)
            raise UsageError(
                f"there is no event {name!r}",
                where=where,
                found=f"the events are {', '.join(KINDS)}",
                change=f'write "{close}"' if close else "",
            )
    return tuple(names)


def _filled(text: str, environment: Mapping[str, str], *, where: str) -> str:
    """`$NAME` is a variable of the environment, so that no secret is in the file."""

    def value_of(match: re.Match[str]) -> str:
        if match[1] not in environment:
            raise UsageError(
                f"the environment has no variable {match[1]}",
                where=where,
                change=f"export {match[1]}=…",
            )
        return environment[match[1]]

    return re.sub(r"\$\{?([A-Za-z_]\w*)\}?", value_of, text)


def from_json(values: Mapping[str, Any]) -> NotifyTarget:
    return NotifyTarget(values["kind"], values["address"], tuple(values["events"]), dict(values["headers"]))
