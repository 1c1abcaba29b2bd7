"""The stable API is what docs/api.md lists: names, signatures, schemas and their versions."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

import holdfast
from holdfast.cli import main as cli
from holdfast.cli.setup import doctor_command
from holdfast.journal import reader
from holdfast.journal.events import RunOpened
from holdfast.journal.events.run_events import FORMAT_VERSION
from holdfast.notify import notice
from holdfast.report import verdict_json

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "api.md").read_text()
STORED = ROOT / "tests" / "journal" / "version_0_1"


def test_the_page_lists_every_public_name() -> None:
    listed = set(re.findall(r"^\| `holdfast\.(\w+)", PAGE, re.MULTILINE))
    assert listed == set(holdfast.__all__)


@pytest.mark.parametrize("name", ["watch", "KerasCallback", "LightningCallback"])
def test_signatures_are_those_of_the_page(name: str) -> None:
    (listed,) = re.findall(rf"`holdfast\.{name}\((.*?)\)`", PAGE)
    signature = inspect.signature(getattr(holdfast, name))
    words = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        words.append(f"{parameter.name}={parameter.default!r}")
    assert ", ".join(words) == listed


def test_versions_of_formats_are_those_of_the_page() -> None:
    for schema in (verdict_json.SCHEMA, doctor_command.SCHEMA, notice.SCHEMA, "holdfast.check/1"):
        assert f'`"schema": "{schema}"`' in PAGE
    assert f'`"version": {FORMAT_VERSION}`' in PAGE
    assert RunOpened().version == FORMAT_VERSION


def test_the_version_is_the_same_everywhere() -> None:
    assert f"version: {holdfast.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {holdfast.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert (ROOT / "src" / "holdfast" / "py.typed").exists()


KEYS = {
    "schema", "run", "outcome", "step", "of", "summary", "findings", "ruled_out", "known", "warned", "since_last_good",
}  # fmt: skip
FINDING_KEYS = {"cause", "strength", "title", "because", "against", "remedies", "led_to", "normal", "more"}


def test_the_keys_of_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a run folder that 0.1 wrote: newer versions read it, and no key goes."""
    run = next(path.parent for path in sorted(STORED.glob("*/journal.jsonl")) if "preempted" in path.parts)
    cli.main(["explain", str(run), "--json"])
    verdict = json.loads(capsys.readouterr().out)
    assert next(iter(verdict)) == "schema" and verdict["schema"] == "holdfast.verdict/1"
    assert verdict.keys() >= KEYS
    assert verdict["findings"][0].keys() >= FINDING_KEYS
    assert {"fact", "source"} <= verdict["findings"][0]["because"][0].keys()


def test_the_keys_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "/nowhere", "--json"]) == 2
    assert set(json.loads(capsys.readouterr().out)) == {"error", "what", "where", "found", "change", "more"}


def test_an_event_of_a_later_version_of_the_same_format_is_read() -> None:
    envelope = {"at": 1.0, "mono": 1.0, "by": "supervisor", "pid": 1, "attempt": 1}
    known = {**envelope, "kind": "run_opened", "event": {"name": "r", "field_of_tomorrow": 1}}
    unknown = {**envelope, "kind": "event_of_tomorrow", "event": {}}
    (entry,) = reader.decode([json.dumps(line).encode() for line in (known, unknown)])
    assert isinstance(entry.event, RunOpened) and entry.event.name == "r"


def test_the_hook_for_pre_commit_names_a_command_that_exists() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    (entry,) = re.findall(r"^  entry: holdfast (\w+)$", text, re.MULTILINE)
    assert entry in {command.name for command in cli.COMMANDS}
