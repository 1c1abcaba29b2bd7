"""The part of the zoo that matters most, under the real supervisor."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.waiting import PATIENCE_S
from tests.zoo.judge import GOOD, Mark, mark
from tests.zoo.names import own_names, rename
from tests.zoo.runs import run
from tests.zoo.trials import Trial, all_trials

pytestmark = [pytest.mark.hot, pytest.mark.long(150)]

QUICK = [trial for trial in all_trials() if trial.quick]


@pytest.mark.parametrize("trial", QUICK, ids=[trial.name for trial in QUICK])
def test_the_verdict_is_right(trial: Trial) -> None:
    outcome = run(replace(trial, limit_s=4 * PATIENCE_S))
    if outcome.not_made:
        pytest.skip(f"this machine cannot make it: {outcome.not_made}")
    assert not outcome.too_slow, f"{outcome.notes}\n{outcome.output[-1500:]}"
    said = mark(trial, outcome.verdict)
    assert said.word in GOOD, f"{said}\n{outcome.notes}\n{outcome.verdict}\n{outcome.output[-1500:]}"


def _finding(cause: str, strength: str = "established") -> dict[str, str]:
    return {"cause": cause, "strength": strength}


FAULTY = Trial(Path("a.py"), "a", "faulty", ("cache-too-large",), leads_to="killed-for-memory")
CACHE = "cache-too-large (established)"
NEAR = Trial(Path("a.py"), "a", "near", (), not_blamed="cache-too-large")


@pytest.mark.parametrize(
    ("trial", "findings", "expected"),
    [
        (FAULTY, [_finding("cache-too-large"), _finding("killed-for-memory")], Mark("right", CACHE)),
        (FAULTY, [_finding("killed-for-memory")], Mark("wrong", "killed-for-memory (established)")),
        (FAULTY, [_finding("disk-full")], Mark("wrong", "disk-full (established)", fatal=True)),
        (FAULTY, [_finding("memory-leak", "supported")], Mark("wrong", "memory-leak (supported)")),
        (FAULTY, [], Mark("unknown", "-")),
        (NEAR, [], Mark("quiet", "-")),
        (NEAR, [_finding("cache-too-large", "possible")], Mark("quiet", "cache-too-large (possible)")),
        (NEAR, [_finding("disk-full", "supported")], Mark("false alarm", "disk-full (supported)")),
        (NEAR, [_finding("cache-too-large")], Mark("false alarm", CACHE, fatal=True)),
    ],
)  # fmt: skip
def test_a_verdict_is_marked_for_what_it_is_worth(
    trial: Trial, findings: list[dict[str, str]], expected: Mark
) -> None:
    assert mark(trial, {"findings": findings}) == expected


def test_a_root_without_its_mechanism_is_not_right() -> None:
    assert mark(FAULTY, {"findings": [_finding("cache-too-large")]}).word == "wrong"
    led = {**_finding("cache-too-large"), "led_to": "killed-for-memory"}
    assert mark(FAULTY, {"findings": [led]}).word == "right"


def test_a_program_under_other_names_is_the_same_program() -> None:
    source = (
        "import os\nkept = []\ndef load(kept_too):\n    kept.append(kept_too)\nprint(os.kept, kept=load(1))\n"
    )
    renamed = rename(source, seed=3)
    assert own_names(source) == {"kept", "load"}
    assert "load" not in renamed and "os.kept" in renamed and "kept=" in renamed and "kept_too" in renamed
    compile(renamed, "renamed", "exec")
    told = rename('kept = 1\nprint(f"kept: {kept.kept + 1}")\n', seed=3)
    assert told.splitlines()[1].startswith('print(f"kept: {') and ".kept + 1}" in told and "{kept" not in told


def test_every_faulty_program_has_a_near_miss() -> None:
    trials = all_trials()
    causes = {trial.causes[0] for trial in trials if trial.kind == "faulty"}
    near = {trial.not_blamed for trial in trials if trial.kind == "near"}
    # A swapping machine has no near miss that could be made here; moving silently is no illness.
    assert causes - near <= {"swapping", "silent-but-moving"}
    assert len({trial.program for trial in trials if trial.kind == "healthy"}) >= 25
