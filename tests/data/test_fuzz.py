"""Mutated annotations and images: never a crash, a hang or unbounded memory; always a finding or an error."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

MAIN_MIB, WORKER_MIB = 500, 1500  # the stated bounds: the main process, and one worker with its image


def fuzzed(count: int, seed: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.data.fuzz", str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def judged(result: dict[str, Any], count: int) -> None:
    assert result["bad"] == []
    assert sum(result["outcomes"].values()) == count
    assert set(result["outcomes"]) <= {"report", "finding", "error"}
    assert result["outcomes"]["finding"] > count / 2
    assert result["peak_mib"][0] < MAIN_MIB
    assert result["peak_mib"][1] < WORKER_MIB


def test_a_hundred_and_twenty_mutations() -> None:
    judged(fuzzed(120, seed=0), 120)


@pytest.mark.proof
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("seed", [11, 12, 13, 14])
def test_a_thousand_mutations(seed: int) -> None:
    judged(fuzzed(1000, seed), 1000)
