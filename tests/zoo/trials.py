"""What is tried: each program's header tells its expected verdict and the world that it needs.

A header is TOML in comments, between ``# /// zoo`` and ``# ///``. One program gives several trials:
as it stands, under each of its `variants` (settings of its knobs), and under each of its `near`
settings, which must not be blamed for the program's cause.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FAULTY, HEALTHY = TESTS / "faulty", TESTS / "healthy"
_HEADER = re.compile(r"^# /// zoo\n(.*?)^# ///$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class World:
    """What stands around the program while it runs."""

    memory_mib: int | None = None  # limit of a memory control group, the supervisor included
    pids: int | None = None  # limit of a pids control group
    read_mib_s: int | None = None  # reads of the disk are throttled to this
    swap_mib: int | None = None
    tmpfs_mib: int | None = None  # a file system of this size stands at ./small
    shm_mib: int | None = None  # the same, below /dev/shm
    limits: dict[str, int] = field(default_factory=dict)  # as ulimit has them: {"v": 5000000, "n": 120}
    stdin: str = "null"  # null | open (a pipe that never says a word) | terminal
    send: dict[str, str] = field(
        default_factory=dict
    )  # {"signal", "to": "program" | "command" | "group"}, on ./ready


@dataclass(frozen=True)
class Trial:
    """One run of one program."""

    program: Path
    name: str
    kind: str  # faulty | near | healthy
    causes: tuple[str, ...]  # any of these may come first; empty: nothing may be blamed
    not_blamed: str = ""
    leads_to: str = ""  # the mechanism that must come with the root
    environment: dict[str, str] = field(default_factory=dict)
    world: World = World()
    limit_s: float = 300.0
    stall_after_s: float | None = None
    explain_at_s: float | None = None  # ask while it runs, so many seconds after ./ready, then end it
    quick: bool = False
    alone: bool = False  # its cause is a matter of speed: nothing may run beside it
    twice: bool = False  # what the first run leaves behind is part of the second
    other: bool = False  # the same illness under other names, other numbers or as another loop


def read_header(text: str) -> dict[str, object]:
    found = _HEADER.search(text)
    if found is None:
        raise ValueError("the program has no zoo header")
    return tomllib.loads(re.sub(r"^# ?", "", found.group(1), flags=re.MULTILINE))


def settings(text: str) -> dict[str, str]:
    """'N=3 SIZE=8' as an environment."""
    return dict(pair.split("=", 1) for pair in text.split())


def trials_of(program: Path) -> Iterator[Trial]:
    header = read_header(program.read_text())
    world = World(**{key: header[key] for key in World.__dataclass_fields__ if key in header})  # type: ignore[arg-type]
    cause = header["cause"]
    causes = () if cause == "healthy" else tuple(cause) if isinstance(cause, list) else (str(cause),)
    slug = program.name.removesuffix(".py")
    kind = "near" if slug.endswith(".near") else "healthy" if cause == "healthy" else "faulty"
    same = {
        key: header[key]
        for key in ("leads_to", "limit_s", "stall_after_s", "explain_at_s", "alone", "twice")
        if key in header
    }
    quick = bool(header.get("quick", False))

    def trial(extra: str, kind: str, causes: tuple[str, ...], **more: object) -> Trial:
        name = f"{slug} {extra}".strip()
        return Trial(
            program, name, kind, causes, environment=settings(extra), world=world, **{**same, **more}
        )  # type: ignore[arg-type]

    blamed = str(header.get("not_blamed", slug.removesuffix(".near") if kind == "near" else ""))
    yield trial("", kind, causes, quick=quick, not_blamed=blamed)
    for variant in header.get("variants", []):  # type: ignore[attr-defined]
        yield trial(variant, kind, causes, other=True, not_blamed=blamed)
    for near in header.get("near", []):  # type: ignore[attr-defined]
        flags, _, expected = near.partition(" -> ")
        yield trial(
            flags, "near", (expected,) if expected else (), not_blamed=causes[0], leads_to="", explain_at_s=None,
            quick=quick and bool(header.get("quick_near", False)), limit_s=header.get("limit_s", 300.0),
        )  # fmt: skip


def all_trials() -> list[Trial]:
    programs = sorted(path for folder in (FAULTY, HEALTHY) for path in folder.glob("*.py"))
    return [trial for path in programs if "# /// zoo\n" in path.read_text() for trial in trials_of(path)]
