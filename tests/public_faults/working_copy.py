"""A copy of one program that runs here: today's names, stand-ins for downloads, its corrected form where asked."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

from . import data_files
from .old_names import modern
from .programs import HERE, Program

_LARGE_BYTES = 30_000_000  # a folder above this is linked, not copied


def make(program: Program, sources: Path, folder: Path) -> tuple[Path, Path]:
    """The program to run, below `folder`, and its current folder: what was copied, or where the program is."""
    path = program.source(sources)
    top = sources / program.repository.partition("/")[2] / program.folder if program.folder else path.parent
    _copy(top, folder)
    target = folder / path.relative_to(top)
    text = path.read_text(errors="replace")
    for module in _modules(folder):
        if module != target and (module.stem in text or module.parent.name in text):
            _try_to_rewrite(module)
    target.write_text(runnable(program, sources))
    if program.stand_in_file:
        data_files.write(program.stand_in_file, folder if program.folder else target.parent)
    return target, folder if program.folder else target.parent


def runnable(program: Program, sources: Path) -> str:
    """The text of the copy: one line before the program, then the program in today's names."""
    source = program.source(sources).read_text(errors="replace")
    for old, new in program.fix:
        if old not in source:
            raise ValueError(f"{program.name}: the fix does not apply, {old!r} is not in the program")
        source = source.replace(old, new)
    source = modern(source, epochs=program.epochs, lists=program.lists)
    return with_stand_ins(source, sources, full_size=program.full_size)


def with_stand_ins(source: str, sources: Path, *, full_size: bool = False) -> str:
    paths = f"sys.path.insert(1, {str(HERE / 'support')!r}); sys.path.append({str(sources / 'packages')!r})"
    body = ast.parse(source).body
    future = [one for one in body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    rest = [one for one in body if one not in future]
    first = "".join(ast.unparse(one) + "\n" for one in future)
    size = "; stand_ins.TRAIN, stand_ins.TEST = 60000, 10000" if full_size else ""
    return f"{first}import sys; {paths}; import stand_ins{size}\n" + ast.unparse(ast.Module(rest, [])) + "\n"


def _copy(top: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for entry in top.iterdir():
        if entry.is_dir() and _size(entry) > _LARGE_BYTES:
            (folder / entry.name).symlink_to(entry)
        elif entry.is_dir():
            shutil.copytree(entry, folder / entry.name, ignore=shutil.ignore_patterns("__pycache__", ".git"))
        else:
            shutil.copy2(entry, folder / entry.name)


def _size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def _modules(folder: Path) -> list[Path]:
    return [one for one in folder.rglob("*.py") if one.is_file() and not one.is_symlink()]


def _try_to_rewrite(module: Path) -> None:
    """Modules next to the program that cannot be parsed are left as they are: most are never imported."""
    try:
        module.write_text(modern(module.read_text(errors="replace")))
    except (SyntaxError, ValueError):
        return
