"""`python -m tests.zoo.store KEPT [GPU_KEPT]`: store a real run of each cause as tests/explain/runs/<cause>.tar.xz.

KEPT is what `python -m tests.zoo --keep KEPT` left behind, GPU_KEPT the same of `python -m tests.gpu --keep`. For each
cause the first faulty program whose verdict is right: the files that `explain` reads, with neutral paths and names of
the machine. `pytest tests/explain --store` then stores the texts.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.gpu.__main__ import EXPECTED as GPU_PROGRAMS

from .judge import GOOD, mark
from .runs import explain_again, folder_name
from .trials import TESTS, all_trials

STORED = TESTS / "explain" / "runs"
_LEFT_OUT = {"checkpoints", "verdict.json"}
_PACKAGES = re.compile(r"/[^\s\"':,()<>]*?/((site|dist)-packages|src(?=/holdfast))/")
_LIBRARY = re.compile(r"/[^\s\"':,()<>]*?/lib/python3\.\d+/")


def main(kept: Path, kept_gpu: Path | None) -> int:
    STORED.mkdir(exist_ok=True)
    for cause, folder in [*_of_zoo(kept), *(_of_gpu(kept_gpu) if kept_gpu else ())]:
        pack(folder, STORED / f"{cause}.tar.xz")
        print(f"{cause:32} {folder.name}", flush=True)
    return 0


def _of_zoo(kept: Path) -> Iterator[tuple[str, Path]]:
    """Those of programs that are called like their cause first."""
    found: set[str] = set()
    faulty = [trial for trial in all_trials() if trial.kind == "faulty"]
    for trial in sorted(faulty, key=lambda one: one.program.stem != one.causes[0]):
        outcome = None if trial.causes[0] in found else explain_again(trial, kept)
        if outcome is not None and outcome.verdict and mark(trial, outcome.verdict).word in GOOD:
            cause = outcome.verdict["findings"][0]["cause"]
            if cause == trial.causes[0]:
                found.add(cause)
                yield cause, kept / folder_name(trial)


def _of_gpu(kept: Path) -> Iterator[tuple[str, Path]]:
    for program, cause in GPU_PROGRAMS.items():
        if cause is not None and (kept / program / "journal.jsonl").exists():
            yield cause, kept / program


def pack(folder: Path, target: Path) -> None:
    opened = json.loads((folder / "journal.jsonl").read_text().splitlines()[0])["event"]
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if not path.is_file() or name.parts[0] in _LEFT_OUT:
                continue
            data = _neutral(path.read_bytes().decode(errors="surrogateescape"), opened, folder)
            entry = tarfile.TarInfo(str(name))
            entry.size = len(data.encode(errors="surrogateescape"))
            archive.addfile(entry, io.BytesIO(data.encode(errors="surrogateescape")))


def _neutral(text: str, opened: dict[str, Any], folder: Path) -> str:
    """Without the paths and names of the machine that ran it."""
    python = Path(opened["command"][0])
    release = opened["system"].split()[1]
    for old, new in (
        (str(folder), f"/home/user/runs/{opened['name']}"),
        (str(folder.parent), "/home/user/runs"),
        (str(folder.parent.parent), "/home/user"),
        (opened["cwd"], "/home/user/training"),
        (str(python.parent), "/home/user/venv/bin"),
        (f'"host": "{opened["host"]}"', '"host": "elsewhere"'),
        (f'"boot_id": "{opened["boot_id"]}"', '"boot_id": "elsewhere"'),
        (release, "6.8.0"),
    ):
        text = text.replace(old, new)
    text = _PACKAGES.sub("/home/user/venv/lib/python3.11/site-packages/", text)
    text = _LIBRARY.sub(lambda found: found[0] if "/home/user" in found[0] else "/usr/lib/python3.11/", text)
    return text.replace(str(Path.home()), "/home/user")


if __name__ == "__main__":
    folders = [Path(argument).resolve() for argument in sys.argv[1:3]]
    sys.exit(main(folders[0], folders[1] if len(folders) > 1 else None))
