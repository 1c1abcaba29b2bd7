"""The generator, without running a program: programs compile, the seed decides, nothing gives the answer away."""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
import sys
from functools import cache

import pytest

from . import bases, draw, score
from .draw import Program
from .faults import FAULTS

SEEDS = range(1000, 1060)
# Causes of the group "model, loss and labels" that the generator knows, also where this Holdfast does not yet.
LEARNING = {
    "output-loss-mismatch", "output-range-mismatch", "output-units-mismatch", "loss-task-mismatch", "shapes-broadcast",
    "metric-mismatch", "targets-not-scaled", "input-constant", "labels-constant", "labels-unrelated", "class-imbalance",
    "dead-units", "saturated-units", "vanishing-gradients", "exploding-gradients", "no-hidden-activation",
    "constant-initialisation", "learning-rate-too-low", "batch-norm-misused", "too-few-updates", "dropout-too-strong",
    "regularisation-too-strong", "framework-warning", "boxes-wrong-format", "background-id-clash", "box-loss-dominates",
    "all-background",
}  # fmt: skip


@cache
def programs() -> list[Program]:
    return [program for seed in SEEDS for program in draw.draw(seed, 3, "both")]


@cache
def known() -> set[str]:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "causes", "--json"], capture_output=True, text=True, check=True
    )
    return set(
        re.findall(
            r'"([a-z]+(?:-[a-z0-9]+)+|swapping|retracing|deadlock|preempted|recompiling)"', done.stdout
        )
    )


def test_every_program_compiles() -> None:
    for program in programs():
        ast.parse(program.text, program.file)
        assert not re.search(r"<<|\bSAY\(|\bK_[A-Z]|\b[vfc]_[a-z]\w*\(", program.text), program.name


def test_the_seed_decides() -> None:
    again = [program for seed in (1000, 1033) for program in draw.draw(seed, 3, "both")]
    first = [program for program in programs() if program.name.split("-")[0] in ("1000", "1033")]
    assert [(one.file, one.text) for one in again] == [(one.file, one.text) for one in first]
    texts = [program.text for program in programs()]
    assert len(set(texts)) == len(texts)


def test_nothing_gives_the_answer_away() -> None:
    words = known() | LEARNING | {name for fault in FAULTS.values() for name in (fault.name,)}
    words = {word for word in words if "-" in word or "_" in word} | {
        "holdfast",
        "retracing",
        "recompiling",
        "deadlock",
    }
    allowed = {"learning-rate"}  # an option of many programs
    for program in programs():
        text = f"{program.file}\n{program.text}".lower()
        assert [word for word in words - allowed if word in text] == [], program.name


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fits_a_base_and_changes_it(name: str) -> None:
    fault = FAULTS[name]
    fitting = draw.fitting(fault)
    assert fitting
    for base in fitting[:2]:
        broken = draw.faulty(fault, random.Random(base), base)
        healthy = draw.healthy(base, random.Random(base))
        outside = (broken.draft.prepare, broken.draft.world, broken.draft.send, broken.draft.around)
        before = (healthy.draft.prepare, healthy.draft.world, healthy.draft.send, healthy.draft.around)
        assert broken.text != healthy.text or outside != before, base
    assert fault.change.__doc__ and "Seen" in fault.change.__doc__, "what was seen without a supervisor"


def test_causes_are_known() -> None:
    used = {slug for fault in FAULTS.values() for slug in (*fault.expected, *fault.acceptable)}
    assert used - known() - LEARNING == set()
    expected = {slug for fault in FAULTS.values() for slug in fault.expected}
    assert expected >= LEARNING
    assert len(expected) >= 45
    assert len(bases.BASES) >= 30


def verdict(*findings: str) -> dict[str, list[dict[str, str]]]:
    return {"findings": [dict(zip(("cause", "strength"), one.split(), strict=True)) for one in findings]}


@pytest.mark.parametrize(
    ("said", "mark"),
    [
        (("learning-rate-too-low supported", "script-error established"), "right"),
        (("learning-rate-too-low possible",), "weaker"),
        (("loss-not-falling supported",), "weaker"),
        ((), "missed"),
        (("unknown possible",), "missed"),
        (("dead-units possible",), "missed"),
        (("dead-units supported",), "wrong"),
    ],
)
def test_marks_of_a_faulty_program(said: tuple[str, ...], mark: str) -> None:
    program = draw.faulty(FAULTS["tiny_rate"], random.Random(1))
    assert score.mark(program, verdict(*said))[0] == mark


def test_marks_of_a_healthy_program() -> None:
    program = draw.healthy("near-early-end", random.Random(1))
    assert score.mark(program, verdict("early-stopping established"))[0] == "quiet"
    assert score.mark(program, verdict("loss-not-falling possible"))[0] == "quiet"
    assert score.mark(program, verdict("loss-not-falling supported"))[:2] == (
        "false alarm",
        "loss-not-falling",
    )


def test_json_of_causes_is_read() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "causes", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)
    assert {"killed-for-memory", "retracing"} <= known()
