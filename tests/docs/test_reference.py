"""The reference is made from the code: everything that has a name there has its place here."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reference") / "reference"
    generator().write(out)
    return out


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_setting_event_error_and_finding_is_there(made: Path) -> None:
    from holdfast.cli.main import COMMANDS
    from holdfast.data.finding_kinds import KINDS
    from holdfast.journal.events import EVENTS

    commands = (made / "commands.md").read_text()
    assert all(f"### holdfast {command.name}\n" in commands for command in COMMANDS)
    assert "usage: holdfast data repair" in commands, "sub-commands too"
    events = (made / "events.md").read_text()
    assert all(f"## {event.kind}\n" in events for event in EVENTS)
    assert "| `train.batch` | `" in (made / "recipe.md").read_text()
    errors = (made / "errors.md").read_text()
    assert "| `path-missing` | 2 |" in errors
    assert "| `loss-not-finite` | 1 |" in errors, "also those that are defined next to what raises them"
    assert all(f"| `{slug}` |" in (made / "findings.md").read_text() for slug in KINDS)


def test_every_cause_has_its_page_and_its_line(made: Path) -> None:
    from holdfast.explain.causes import CAUSES

    listed = (made / "causes.md").read_text()
    for cause in CAUSES:
        page = (made / "causes" / f"{cause.slug}.md").read_text()
        assert page.startswith(f"# {cause.slug}\n")
        assert "\n## What it is\n" in page
        assert page.count("```") % 2 == 0
        assert f"(causes/{cause.slug}.md)" in listed


def test_links_into_the_reference_lead_somewhere(made: Path) -> None:
    lost = []
    for page in (ROOT / "docs").rglob("*.md"):
        for target in re.findall(r"\]\((?:\.\./)?reference/([^)#]+)\)", page.read_text()):
            if "reference" not in page.parts and not (made / target).exists():
                lost.append(f"{page.name}: {target}")
    assert lost == []


def test_tables_have_as_many_cells_in_every_row(made: Path) -> None:
    for page in made.glob("*.md"):
        for table in re.findall(r"(?:^\|.*\n)+", page.read_text(), flags=re.M):
            rows = [len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()]
            assert len(set(rows)) == 1, f"{page.name}: {table[:200]}"
