"""Writes docs/reference/ from the code: commands, settings, causes, events, errors, findings about data.

The build of the site (conf.py) runs it; by hand: python docs/make_reference.py. No reference page is written by hand.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path

OUT = Path(__file__).parent / "reference"


def write(out: Path = OUT) -> list[Path]:
    """All pages; returns their paths."""
    shutil.rmtree(out, ignore_errors=True)
    (out / "causes").mkdir(parents=True)
    pages = {
        "commands.md": commands(),
        "recipe.md": recipe(),
        "causes.md": causes(),
        "events.md": events(),
        "errors.md": errors(),
        "findings.md": findings(),
        **{f"causes/{slug}.md": page for slug, page in cause_pages()},
    }
    for name, text in pages.items():
        (out / name).write_text(text)
    return [out / name for name in pages]


def commands() -> str:
    from holdfast.cli.main import _GROUPS, COMMANDS, EXIT_CODES

    os.environ["COLUMNS"] = "96"
    parts = ["# Commands", EXIT_CODES]
    for when, title in _GROUPS.items():
        parts.append(f"## {title[0].upper()}{title[1:]}")
        for command in COMMANDS:
            if command.when == when:
                parser = argparse.ArgumentParser(prog=f"holdfast {command.name}", description=command.help)
                import_module(command.module).add_arguments(parser)
                parts.append(f"### holdfast {command.name}")
                parts += [f"```text\n{one.format_help().rstrip()}\n```" for one in _with_children(parser)]
    return _joined(parts)


def _with_children(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
                yield from _with_children(child)


def recipe() -> str:
    from holdfast import settings
    from holdfast.settings.recipe import Recipe

    parts = [
        "# Settings",
        "A recipe is one TOML file. Every setting except `data.train` has a default; an unknown name is an error "
        "that suggests the nearest one. `holdfast recipe` prints this as a file; `--set section.name=value` changes "
        "one setting on the command line.",
    ]
    for section in fields(Recipe):
        rows = ["| setting | default | what it is |", "|---|---|---|"]
        for one in fields(_type_of(Recipe, section.name)):
            rule = one.metadata["rule"]
            says = rule.doc + (f"; one of {', '.join(rule.choices)}" if rule.choices else "")
            rows.append(f"| `{section.name}.{one.name}` | {_default(one)} | {_cell(says)} |")
        parts += [f"## [{section.name}]", "\n".join(rows)]
    return _joined([*parts, "## As a file", f"```toml\n{settings.example().rstrip()}\n```"])


def _type_of(owner: type, name: str) -> type:
    import typing

    found = typing.get_type_hints(owner)[name]
    assert isinstance(found, type)
    return found


def _default(one: object) -> str:
    import json

    value = one.default if one.default is not MISSING else None  # type: ignore[attr-defined]
    if one.default is MISSING and one.default_factory is MISSING:  # type: ignore[attr-defined]
        return "must be given"
    if one.default_factory is not MISSING:  # type: ignore[attr-defined]
        value = one.default_factory()  # type: ignore[attr-defined]
    return "none" if value is None else f"`{json.dumps(value)}`"


def causes() -> str:
    from holdfast.explain.causes import CAUSES

    parts = [
        "# Causes",
        "The causes that `holdfast explain` checks. `holdfast causes SLUG` prints the same pages in a terminal.",
    ]
    for group in dict.fromkeys(cause.group for cause in CAUSES):
        rows = ["| cause | what |", "|---|---|"]
        rows += [
            f"| [{one.slug}](causes/{one.slug}.md) | {_cell(one.brief)} |"
            for one in CAUSES
            if one.group == group
        ]
        parts += [f"## {group[0].upper()}{group[1:]}", "\n".join(rows)]
    listed = "\n".join(f"causes/{cause.slug}" for cause in CAUSES)
    return _joined([*parts, f"```{{toctree}}\n:hidden:\n\n{listed}\n```"])


def cause_pages() -> Iterator[tuple[str, str]]:
    from holdfast.explain.causes import CAUSES

    for cause in CAUSES:
        yield (
            cause.slug,
            _joined([f"# {cause.slug}", f"{cause.brief} ({cause.group})", cause.page.replace("<", "&lt;")]),
        )


def events() -> str:
    from holdfast.journal.events import EVENTS

    parts = [
        "# Events of the journal",
        "`journal.jsonl` has one JSON object per line: `kind`, when (`at`, `mono`), who (`by`, `pid`, `attempt`) and "
        "the event's own fields under `event`. Every field has a default, so a newer Holdfast reads older journals.",
    ]
    for event in EVENTS:
        said = (event.__doc__ or "").strip()
        own = "" if said.startswith(f"{event.__name__}(") else said
        comments = _comments(event)
        rows = ["| field | type | what |", "|---|---|---|"]
        rows += [
            f"| `{name}` | `{_cell(kind)}` | {_cell(comments.get(name, ''))} |"
            for name, kind in event.fields.items()
        ]
        parts += [f"## {event.kind}", own, "\n".join(rows)]
    return _joined([part for part in parts if part])


def _comments(event: type) -> dict[str, str]:
    """What stands behind each field, or in the lines above it."""
    found = {}
    above: list[str] = []
    for line in inspect.getsource(event).splitlines():
        match = re.match(r"    (\w+): [^#]*(?:  # (.*))?$", line)
        if match:
            found[match[1]] = match[2] or " ".join(above)
        comment = re.match(r"    # *(.*)", line)
        above = [*above, comment[1]] if comment else []
    return found


def errors() -> str:
    rows = ["| error | exit code | what it is |", "|---|---|---|"]
    rows += [f"| `{slug}` | {code} | {_cell(text)} |" for slug, code, text in sorted(_errors())]
    intro = (
        "An error says what is wrong, where, what was found and what to change; with `--json` it is an object with "
        "those names. The slug never changes once released."
    )
    return _joined(["# Errors", intro, "\n".join(rows)])


def _errors() -> set[tuple[str, int, str]]:
    """Slug, exit code and first line of every error, read from the source: importing all would load TensorFlow."""
    import holdfast
    from holdfast.errors import ExitCode

    trees = [ast.parse(path.read_text()) for path in Path(holdfast.__file__).parent.rglob("*.py")]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    known = {"Exception": ("", "COULD_NOT")}
    rows: dict[ast.ClassDef, tuple[str, int, str]] = {}
    while new := [one for one in classes if one not in rows and _base(one) in known and _is_ours(one, rows)]:
        for one in new:
            set_here = {target.id: line.value for line in one.body if isinstance(line, ast.Assign)
                        for target in line.targets if isinstance(target, ast.Name)}  # fmt: skip
            slug, code = known[_base(one)]
            slug = set_here["slug"].value if "slug" in set_here else slug
            code = set_here["exit_code"].attr if "exit_code" in set_here else code
            known[one.name] = slug, code
            text = (ast.get_docstring(one) or slug.replace("-", " ")).split("\n")[0]
            rows[one] = slug, int(ExitCode[code]), text
    return set(rows.values())


def _base(node: ast.ClassDef) -> str:
    return node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else ""


def _is_ours(node: ast.ClassDef, rows: dict[ast.ClassDef, tuple[str, int, str]]) -> bool:
    return node.name == "HoldfastError" or _base(node) in {one.name for one in rows}


def findings() -> str:
    from holdfast.data.finding_kinds import KINDS

    rows = ["| finding | severity | what it is | what to do |", "|---|---|---|---|"]
    rows += [
        f"| `{slug}` | {k.severity} | {_cell(k.title)} | {_cell(k.remedy)} |" for slug, k in KINDS.items()
    ]
    intro = (
        "What `holdfast check` reports about a dataset. An error would stop or spoil a run; a warning may."
    )
    return _joined(["# Findings about data", intro, "\n".join(rows)])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _joined(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(f"{len(write())} pages in {OUT}")
