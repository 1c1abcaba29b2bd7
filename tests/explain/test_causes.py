"""Every cause: the evidence of a run that has it, and of one that only looks like it.

The evidence is made, event by event. test_stored_runs.py has real runs, and the text of their verdicts.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.explain import Strength, Verdict, causes, readings
from holdfast.explain.causes import CAUSES
from holdfast.explain.rule import Cause
from holdfast.report import wording
from holdfast.report.verdict import render
from holdfast.report.verdict_json import as_json
from tests.explain.made import Run, title_of
from tests.explain.test_stored_runs import STORED

SLUGS = [cause.slug for cause in CAUSES]

#: Whether the process lives is read from the machine, so this one is made in test_evidence.
ALIVE = ("silent-but-moving",)


def story(slug: str, prefix: str = "") -> Callable[[Run], None]:
    """The example of the cause, or its near miss, from its own test file."""
    module = importlib.import_module(f"tests.explain.causes.test_{slug.replace('-', '_')}")
    return module.near_miss if prefix else module.example  # type: ignore[no-any-return]


def told(slug: str, tmp_path: Path, prefix: str = "") -> Verdict:
    here = slug == "host-rebooted" and not prefix
    run = Run(tmp_path / "run", host=os.uname().nodename if here else "elsewhere")
    story(slug, prefix)(run)
    return run.verdict()


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if slug not in ALIVE])
def test_the_cause_comes_first(slug: str, tmp_path: Path) -> None:
    verdict = told(slug, tmp_path)
    assert verdict.findings[0].cause == slug
    assert not [fact for fact in verdict.known if fact.kind == "cause.not-judged"]


@pytest.mark.parametrize("slug", SLUGS)
def test_the_near_miss_is_not_blamed(slug: str, tmp_path: Path) -> None:
    verdict = told(slug, tmp_path, "near_")
    blamed = [one.cause for one in verdict.findings if one.strength >= Strength.SUPPORTED]
    assert slug not in blamed
    assert not [fact for fact in verdict.known if fact.kind == "cause.not-judged"]


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if slug not in ALIVE and slug not in STORED])
def test_the_text_is_the_stored_one(slug: str, tmp_path: Path, stored: Callable[[str, str], None]) -> None:
    """Of causes that no stored run has; test_stored_runs.py has the others."""
    stored(f"explain/{slug}", render(told(slug, tmp_path)).rstrip("\n"))


@pytest.mark.parametrize("slug", [slug for slug in SLUGS if slug not in ALIVE])
def test_every_sentence_has_its_words_and_its_values(slug: str, tmp_path: Path) -> None:
    text = json.dumps(as_json(told(slug, tmp_path)), allow_nan=False)
    assert wording.UNWORDED not in text


@pytest.mark.parametrize("slug", SLUGS)
def test_every_finding_names_its_sources_and_a_remedy(slug: str, tmp_path: Path) -> None:
    if slug in ALIVE:
        pytest.skip("made in test_evidence")
    first = told(slug, tmp_path).findings[0]
    assert first.because and all(fact.source for fact in first.because)
    assert 1 <= len(first.remedies) <= 2
    assert "failed to" not in title_of(first) and not title_of(first).endswith("?")


@pytest.mark.parametrize("cause", CAUSES, ids=SLUGS)
def test_every_page_is_whole(cause: Cause) -> None:
    page = cause.page
    for heading in (
        "What it is",
        "How Holdfast knows",
        "How to make it happen",
        "How to cure it",
        "When Holdfast would be wrong",
    ):
        assert f"## {heading}\n" in page
    assert max(len(line) for line in page.splitlines()) <= 110


@pytest.mark.parametrize("cause", CAUSES, ids=SLUGS)
def test_every_relation_names_a_cause(cause: Cause) -> None:
    assert set(cause.specialises) <= set(SLUGS) - {cause.slug}
    module = cause.judge.__module__.rpartition(".")
    assert (
        module[2] == cause.slug.replace("-", "_") and module[0].rpartition(".")[2] == cause.group.name.lower()
    )


def test_slugs_and_pages_are_one_to_one() -> None:
    assert len(set(SLUGS)) == len(SLUGS)
    pages = Path(causes.__file__).parent.parent / "pages"
    assert sorted(page.stem for page in pages.iterdir()) == sorted(SLUGS)


@pytest.mark.parametrize(
    "path",
    [
        *sorted(Path(causes.__file__).parent.rglob("*.py")),
        *sorted(Path(readings.__file__).parent.glob("*.py")),
    ],
    ids=lambda path: path.stem,
)
def test_rules_are_short_and_their_thresholds_have_names(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert [one.name for one in functions if (one.end_lineno or 0) - one.lineno >= 40] == []
    compared = [
        number.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for number in ast.walk(node)
        if isinstance(number, ast.Constant) and isinstance(number.value, int | float)
    ]
    assert [number for number in compared if number not in (0, 1, 2)] == [], "a threshold has a name"


def test_no_remedy_is_joined_by_a_doubled_or(tmp_path: Path) -> None:
    for cause in CAUSES:
        if cause.slug in ALIVE:
            continue
        text = render(told(cause.slug, tmp_path / cause.slug))
        assert "  or      or " not in text, text
