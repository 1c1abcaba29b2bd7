"""The page and the files that it consists of. Every one of them is listed here; nothing else is served."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

#: Modules of the page, in the order in which they are needed. They are fetched at once, not one after the other.
_MODULES = (
    "app.js", "api.js", "dom.js", "format.js", "run_store.js", "run_table.js", "run_pane.js", "verdict_view.js",
    "curve_data.js", "curve_chart.js", "curve_panel.js", "curves_pane.js", "compare_pane.js", "keyboard.js",
)  # fmt: skip
_STYLES = ("board.css", "pane.css")
_VENDORED = {
    "uplot.js": "text/javascript",
    "uplot.css": "text/css",
}  # with their licence, in the report's folder


@functools.cache
def asset(name: str) -> tuple[str, bytes] | None:
    """Content type and content of a file of the page."""
    if name in _MODULES:
        return "text/javascript", _read("holdfast.board", name)
    if name in _STYLES:
        return "text/css", _read("holdfast.board", name)
    if name in _VENDORED:
        return _VENDORED[name], _read("holdfast.report", name)
    return None


def page(changes: str, memory: dict[str, Any]) -> str:
    """With the runs that are known already, so that the first look shows them."""
    styles = "".join(f'<link rel="stylesheet" href="static/{name}">' for name in ("uplot.css", *_STYLES))
    early = "".join(f'<link rel="modulepreload" href="static/{name}">' for name in _MODULES[1:])
    first = f'{changes[:-1]}, "memory": {json.dumps(memory)}}}'.replace("<", "\\u003c")
    theme = memory.get("view", {}).get("theme", "")
    body = _read("holdfast.board", "board.html").decode()
    shade = f' data-theme="{theme}"' if theme in ("light", "dark") else ""
    return (
        f'<!doctype html><html lang="en"{shade}><head><meta charset="utf-8"><title>Runs · Holdfast</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"{styles}{early}"
        '<link rel="icon" href="data:,">'
        f'</head><body>{body}<script type="application/json" id="first">{first}</script>'
        '<script src="static/uplot.js" defer></script><script type="module" src="static/app.js"></script></body></html>'
    )


def _read(package: str, name: str) -> bytes:
    return resources.files(package).joinpath("page", name).read_bytes()
