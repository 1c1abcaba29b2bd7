"""What a run was and what it printed last: the beginning of its journal and the end of its output."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from holdfast.board import bounded_read
from holdfast.board.plain_values import count, loaded, mapping, number, objects, text
from holdfast.journal.folder import RunFolder

_HEAD_BYTES, _OUTPUT_BYTES = 192 << 10, 24 << 10
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def read_facts(folder: RunFolder) -> dict[str, Any]:
    """Never raises for what a folder holds."""
    facts: list[tuple[str, str]] = []
    command = ""
    for entry in _entries(folder.journal):
        event = mapping(entry.get("event"))
        match entry.get("kind"):
            case "run_opened" if not command:
                given = event.get("command")
                words = (
                    [one for one in given if isinstance(one, str)][:200] if isinstance(given, list) else []
                )
                command = text(shlex.join(words), 2000)
                facts += [
                    ("host", text(event.get("host"))),
                    ("folder it ran in", text(event.get("cwd"), 500)),
                ]
                facts += [
                    ("system", text(event.get("system"))),
                    ("CPUs", str(count(event.get("cpus")) or "")),
                ]
            case "framework_seen":
                name = text(event.get("name"), 40)
                facts.append((name or "framework", text(event.get("version"), 60)))
            case "model_seen":
                facts.append(("model", _model(event)))
            case "machine_read":
                names = [text(gpu.get("name"), 60) for gpu in objects(event.get("gpus"), 16)]
                facts.append(("GPUs", ", ".join(dict.fromkeys(name for name in names if name))))
    kept = {name: value for name, value in reversed(facts) if value}
    return {
        "path": str(folder.path),
        "command": command,
        "facts": list(reversed(kept.items())),
        "output": printed(folder.output),
    }


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        lines = bounded_read.head(path, _HEAD_BYTES).split(b"\n")[:400]
    except OSError:
        return []
    wanted = (b"run_opened", b"framework_seen", b"model_seen", b"machine_read")
    return [loaded(line) for line in lines if any(kind in line[:40] for kind in wanted)]


def _model(event: dict[str, Any]) -> str:
    parameters, optimizer = number(event.get("parameters")), text(event.get("optimizer"), 60)
    parts = [text(event.get("name"), 80), f"{parameters:,.0f} parameters" if parameters else "", optimizer]
    return ", ".join(part for part in parts if part)


def printed(path: Path) -> str:
    """The end of the output as it would stand on a screen: what a progress bar wrote over is left out."""
    try:
        read = bounded_read.tail(path, _OUTPUT_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in _ESCAPES.sub("", read).split("\n"))
    return "\n".join(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", line) for line in lines)
