"""The code blocks of README and docs, and how each is tried.

The words after the language say how: nothing means now and quickly; `slow` in `make proof` alone; `fails` when an
exit code of 1 is part of what is shown; `server` for a command that serves until Ctrl-C; `elsewhere: FILE` names the
test that tries it; `norun: REASON` for the few
that cannot be tried at all. A block without a language that has something to type in it is tried as `sh slow`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SHELL, DATA, TEXT = ("sh", "console"), ("toml", "json", "yaml"), ("", "text", "csv", "ini")
MODES = ("", "slow", "fails", "server", "norun", "elsewhere")
_COMMAND = re.compile(r"^(\$ |(holdfast|make|pip|python) )")


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    language: str
    mode: str
    reason: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> str:
        """What is typed: all of a `sh` block, the lines after `$ ` of a `console` block."""
        if self.language != "console":
            return self.text
        return "\n".join(line[2:] for line in self.text.splitlines() if line.startswith("$ "))

    @property
    def hides_a_command(self) -> bool:
        """A block that is not tried, and has something to type in it that is no synopsis."""
        typed = [line for line in self.text.splitlines() if _COMMAND.match(line)]
        return self.language in TEXT and any("[" not in line and "…" not in line for line in typed)


def pages() -> list[Path]:
    return [
        ROOT / "README.md",
        *sorted(p for p in (ROOT / "docs").rglob("*.md") if "reference" not in p.parts),
    ]


def read(path: Path) -> list[Block]:
    found: list[Block] = []
    lines = path.read_text().splitlines()
    at = 0
    while at < len(lines):
        fence = re.match(r"^(\s*)(```+)(.*)$", lines[at])
        if fence is None:
            at += 1
            continue
        end = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == fence[2])
        language, _, rest = fence[3].strip().partition(" ")
        mode, _, reason = rest.partition(":")
        body = "\n".join(line.removeprefix(fence[1]) for line in lines[at + 1 : end])
        page = str(path.relative_to(ROOT))
        block = Block(page, at + 1, language, mode.strip(), reason.strip(), body)
        unmarked = not language and block.hides_a_command
        found.append(replace(block, language="sh", mode="slow") if unmarked else block)
        at = end + 1
    return found


def all_blocks() -> list[Block]:
    return [block for page in pages() for block in read(page)]
