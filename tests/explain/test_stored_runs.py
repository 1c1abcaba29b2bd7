"""Real runs of the test programs, stored: the verdict names the cause, and its text is the stored one.

`python -m tests.zoo.store KEPT` stores the runs; `pytest tests/explain --store` stores the texts.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.explain import explain
from holdfast.explain.causes import CAUSES
from holdfast.report.verdict import render

STORED = {
    path.name.removesuffix(".tar.xz"): path for path in (Path(__file__).parent / "runs").glob("*.tar.xz")
}

#: Causes that no program here can have: they need a GPU that is nearly full, a reboot, a group of hosts.
NOT_MADE = {"device-memory-fragmented", "host-rebooted", "uneven-batches"}
#: `python -m tests.gpu` has programs for these; no run on a GPU is stored yet.
NOT_STORED = {"gpu-never-finishes"}
#: The zoo asks for their verdict while the program runs; afterwards it would be another one.
ASKED_WHILE_RUNNING = {"epoch-never-ends", "process-suspended", "silent-but-moving", "validation-never-ends"}


@pytest.fixture
def run_folder(slug: str, tmp_path: Path) -> Path:
    folder = tmp_path / slug
    with tarfile.open(STORED[slug]) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("slug", sorted(STORED))
def test_the_verdict_on_a_real_run(slug: str, run_folder: Path, stored: Callable[[str, str], None]) -> None:
    verdict = explain(run_folder)
    assert verdict.findings[0].cause == slug
    assert not [fact for fact in verdict.known if fact.kind == "cause.not-judged"]
    text = render(verdict).rstrip("\n")
    assert "  or      or" not in text
    stored(f"explain/{slug}", text)


def test_every_cause_that_can_be_run_is_stored() -> None:
    assert {cause.slug for cause in CAUSES} - set(STORED) == NOT_MADE | NOT_STORED | ASKED_WHILE_RUNNING
