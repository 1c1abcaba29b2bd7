"""`%%holdfast` on a cell and `%holdfast` on a line, in Jupyter, Colab, VS Code and the terminal's IPython.

The cell runs in this process, as any cell does: its variables, its last value, its exceptions and the stop button are
as without the magic. Output is shown by the plain display protocol.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError, UsageError, of_os
from holdfast.notebook.watch_block import CellSource, watch
from holdfast.terminal_text import visible

_USAGE = "%%holdfast [RUN_DIR] [--stall-after SECONDS] [--no-view]"


def load(shell: Any) -> None:
    from holdfast.notebook import ended_kernels

    shell.register_magic_function(_cell_magic(shell), "cell", "holdfast")
    shell.register_magic_function(_line_magic(shell), "line", "holdfast")
    for ended in ended_kernels.explain_ended(Path("runs"), now=time.time()):
        _show_verdict(shell, ended.verdict, ended.folder, before="A cell of this folder never ended.")


def unload(shell: Any) -> None:
    for kind in ("cell", "line"):
        shell.magics_manager.magics[kind].pop("holdfast", None)


# -- the cell ---------------------------------------------------------------------------------------


def _cell_magic(shell: Any) -> Any:
    def holdfast(line: str, cell: str) -> None:
        """Watches the cell, shows it live, and says at its end how it went and why."""
        __tracebackhide__ = True  # a traceback begins at the cell
        try:
            run_dir, stall_after_s, wants_view = options(line)
            name = notebook_name(shell.user_ns, dict(os.environ))
            folder = run_dir or _free_folder(name)
            block = watch(folder, stall_after=stall_after_s, quiet=True)
        except HoldfastError as error:
            _print_error(error)
            return
        try:
            code = _Cell(shell, cell)
        except SyntaxError as error:
            raise error.with_traceback(None) from None  # it says where in the cell
        block.source = CellSource(name, cell_identity(shell, cell), cell, code.file)
        _run(shell, block, code, wants_view=wants_view and has_front_end(shell))

    return holdfast


def _run(shell: Any, block: watch, code: _Cell, *, wants_view: bool) -> None:
    __tracebackhide__ = True
    from holdfast.notebook.live_view import LiveView

    view = None
    try:
        with block:
            if block.folder is None:
                print(
                    "holdfast: this process is watched already; the cell adds no run of its own",
                    file=sys.stderr,
                )
            elif wants_view:
                view = LiveView(block.folder, _show)
                view.start()
            code.run()
    finally:
        if view is not None:
            view.end(block.verdict)
        elif block.verdict is not None and block.folder is not None:
            _show_verdict(shell, block.verdict, block.folder)


class _Cell:
    """The code of a cell, compiled as IPython does it, so that errors show its lines. A syntax error is raised here."""

    def __init__(self, shell: Any, cell: str) -> None:
        __tracebackhide__ = True
        self._shell = shell
        source = "\n" + shell.transform_cell(cell)  # the magic's own line is the first
        self.file = shell.compile.cache(source, _number(shell), raw_code=cell)
        self._tree = shell.transform_ast(shell.compile.ast_parse(source, filename=self.file))

    def run(self) -> None:
        """The last expression is displayed, as IPython does."""
        __tracebackhide__ = True
        body = list(self._tree.body)
        last = [body.pop()] if body and isinstance(body[-1], ast.Expr) else []
        names = self._shell.user_ns
        if body:
            exec(self._compiled(ast.Module(body, []), "exec"), names)
        if last:
            exec(self._compiled(ast.Interactive(last), "single"), names)

    def _compiled(self, tree: ast.AST, mode: str) -> Any:
        return self._shell.compile(tree, self.file, mode)


def _number(shell: Any) -> int:
    """Of the cell that is running, as its prompt shows it."""
    return max(0, len(shell.user_ns.get("In", ())) - 1)


def options(line: str) -> tuple[str | None, float | None, bool]:
    """Run folder, stall limit, and whether a live view is wanted."""
    words, run_dir, stall_after_s, wants_view = shlex.split(line), None, None, True
    while words:
        word = words.pop(0)
        if word == "--no-view":
            wants_view = False
        elif word == "--stall-after":
            stall_after_s = _seconds(words.pop(0) if words else "")
        elif word.startswith("-"):
            raise UsageError(
                f"%%holdfast does not know {word}", where="the first line of the cell", change=_USAGE
            )
        elif run_dir is not None:
            raise UsageError(
                "%%holdfast takes one run folder",
                where="the first line of the cell",
                found=word,
                change=_USAGE,
            )
        else:
            run_dir = word
    return run_dir, stall_after_s, wants_view


def _seconds(text: str) -> float:
    if re.fullmatch(r"\d+(\.\d+)?", text) and float(text) > 0:
        return float(text)
    raise UsageError(
        "--stall-after wants seconds above 0",
        where="the first line of the cell",
        found=text or "nothing",
        change="--stall-after 120",
    )


def notebook_name(names: dict[str, Any], environment: dict[str, str]) -> str:
    """Of the notebook, as Jupyter's server or VS Code say it; Colab does not."""
    given = environment.get("JPY_SESSION_NAME") or names.get("__vsc_ipynb_file__") or ""
    stem = Path(str(given)).stem
    return re.sub(r"[^\w.-]+", "-", stem).strip("-.")[:60] or "notebook"


def cell_identity(shell: Any, cell: str) -> str:
    """The front end's name for the cell, so that its runs are compared with each other; else by its first line."""
    import zlib

    parent = shell.kernel.get_parent() if has_front_end(shell) else {}
    given = str((parent.get("metadata") or {}).get("cellId") or "")
    known = re.sub(r"[^\w-]+", "", given)[:8]
    first = next((line for line in cell.splitlines() if line.strip()), "")
    return known or f"{zlib.crc32(first.encode('utf-8', 'replace')):08x}"


def _free_folder(name: str) -> str:
    from holdfast.supervise.run_names import free_name

    return str(free_name(Path("runs"), name))


# -- the line ---------------------------------------------------------------------------------------


def _line_magic(shell: Any) -> Any:
    def holdfast(line: str) -> None:
        """`%holdfast RUN` explains a run; without one, the newest below ./runs."""
        from holdfast.explain import explain

        try:
            folder = Path(line.strip().strip("'\"")) if line.strip() else _newest_run()
            verdict = explain(folder)
        except HoldfastError as error:
            _print_error(error)
            return
        except OSError as error:  # of another user, say
            _print_error(of_os(error))
            return
        _show_verdict(shell, verdict, folder)

    return holdfast


def _newest_run() -> Path:
    from holdfast.board.run_places import RunPlace, find
    from holdfast.errors import PathMissing

    try:
        return next(iter(find(RunPlace(Path("runs"))).runs.values())).path
    except (OSError, StopIteration):
        change = "put %%holdfast above a cell that trains, or give the folder: %holdfast runs/x"
        raise PathMissing("there is no run here yet", where=Path("runs").absolute(), change=change) from None


# -- output -----------------------------------------------------------------------------------------


def has_front_end(shell: Any) -> bool:
    """A kernel's output can be replaced; a terminal's stays."""
    return getattr(shell, "kernel", None) is not None


def _show(bundle: dict[str, str], name: str, update: bool) -> None:
    _display(bundle, display_id=name, update=update)


def _show_verdict(shell: Any, verdict: Any, folder: Path, *, before: str = "") -> None:
    from holdfast.notebook import cell_view

    bundle = cell_view.verdict_bundle(verdict, {}, folder=str(folder), since_s=0.0)
    text = "\n".join(one for one in (before, bundle["text/plain"]) if one)
    if not has_front_end(shell):
        print(visible(text), file=sys.stderr)
        return
    lead = f"<div>{before}</div>" if before else ""
    _display({"text/html": lead + bundle["text/html"], "text/plain": text})


def _display(bundle: dict[str, str], **options: Any) -> None:
    from IPython import display

    show: Any = display.display
    show({kind: visible(text) for kind, text in bundle.items()}, raw=True, **options)


def _print_error(error: HoldfastError) -> None:
    from holdfast.report.text import render_error

    print(visible(render_error(error)), file=sys.stderr)
