"""Every program in every environment: `make proof-compatibility`, or `pytest -m proof tests/compatibility`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.compatibility.environments import ENVIRONMENTS, Environment, python_of
from tests.compatibility.page import page
from tests.compatibility.scores import digest, score
from tests.zoo.trials import Trial

_FAULTY = Trial(Path("a.py"), "a", "faulty", ("memory-leak",), leads_to="killed-for-memory")
_HEALTHY = Trial(Path("b.py"), "b", "healthy", ())


def _finding(cause: str, strength: str = "established") -> dict[str, str]:
    return {"cause": cause, "strength": strength}


@pytest.mark.parametrize(
    ("trial", "findings", "expected"),
    [
        (_FAULTY, [_finding("memory-leak")], "right"),
        (_FAULTY, [_finding("memory-leak", "possible")], "weaker"),
        (_FAULTY, [_finding("killed-for-memory"), _finding("memory-leak")], "weaker"),
        (_FAULTY, [_finding("killed-for-memory")], "weaker"),
        (_FAULTY, [_finding("unknown")], "weaker"),
        (_FAULTY, [_finding("disk-full")], "wrong"),
        (_FAULTY, [], "wrong"),
        (_HEALTHY, [], "quiet"),
        (_HEALTHY, [_finding("input-starved", "possible")], "quiet"),
        (_HEALTHY, [_finding("input-starved", "supported")], "blamed"),
    ],
)
def test_a_verdict_is_scored(trial: Trial, findings: list[dict[str, str]], expected: str) -> None:
    assert score(trial, {"findings": findings})[0] == expected


def test_the_last_digest_of_the_output_counts() -> None:
    assert digest("epoch 1\nweights " + "a" * 64 + "\nweights " + "b" * 64 + "\r\n") == "b" * 64
    assert digest("weights unknown") == ""


def test_the_page_counts_what_was_run() -> None:
    programs = {
        "a": {"kind": "faulty", "expected": ["deadlock"], "mark": "right", "said": "deadlock (established)",
              "weights_equal": None, "not_made": False},
        "b": {"kind": "faulty", "expected": ["disk-full"], "mark": "wrong", "said": "nothing",
              "weights_equal": None, "not_made": False},
        "c": {"kind": "faulty", "expected": ["exit-hang"], "mark": "wrong", "said": "nothing",
              "weights_equal": None, "not_made": True},
        "d": {"kind": "healthy", "expected": [], "mark": "quiet", "said": "nothing",
              "weights_equal": True, "not_made": False},
    }  # fmt: skip
    text = page({}, {"tf2": {"versions": {"python": "3.8.1", "tensorflow": "2.4.1"}, "programs": programs}})
    assert "| tf2 | Python 3.8.1, TensorFlow 2.4.1 | 1 / 0 / 1 | 1 of 1 | 1 of 1 |" in text
    assert "| tf2 | b | disk-full | nothing |" in text
    assert "exit-hang" not in text


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=[one.name for one in ENVIRONMENTS])
def test_every_program_of_an_environment(environment: Environment) -> None:
    if not python_of(environment).exists():
        pytest.skip("not built: make proof-compatibility builds it")
    command = [sys.executable, "-m", "tests.compatibility", "--environment", environment.name]
    done = subprocess.run(command, check=False)
    assert done.returncode == 0
