"""Holdfast inside a process that runs already: `with holdfast.watch(…)`, and `%load_ext holdfast` in notebooks."""

from __future__ import annotations

from typing import Any

from holdfast.notebook.watch_block import watch

__all__ = ["load_ipython_extension", "unload_ipython_extension", "watch"]


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext holdfast`: the magics, and what became of kernels that died in this folder."""
    from holdfast.notebook import cell_magic

    cell_magic.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    from holdfast.notebook import cell_magic

    cell_magic.unload(shell)
