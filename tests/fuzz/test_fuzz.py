"""A small number of mutated files and messages in each `make test`; `python -m tests.fuzz` has many."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def fuzzed(count: int, seed: int) -> None:
    command = [sys.executable, "-m", "tests.fuzz", str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stdout)  # `pytest -rP` shows what came of each case, the memory and the seconds
    result = json.loads(done.stdout)
    assert result["bad"] == [] and not result["datasets"].get("bad")
    assert sum(sum(found.values()) for found in result["outcomes"].values()) == result["cases"]
    assert result["outcomes"]["message"]["none"] > result["outcomes"]["message"]["taken"] > 0
    assert result["outcomes"]["run-folder"]["read"] > 0
    assert result["peak_mib"] < 1500


def test_some_hundred_cases() -> None:
    fuzzed(300, seed=0)


@pytest.mark.proof
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_hundred_thousand_cases(seed: int) -> None:
    fuzzed(10_000, seed)
