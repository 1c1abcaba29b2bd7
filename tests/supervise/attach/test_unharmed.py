"""A training that was attached to, left, followed and interrupted ends with the weights of one that was left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.explain import Outcome, explain

pytestmark = pytest.mark.proof

_PROGRAM = Path(__file__).parents[2] / "attach" / "healthy_training.py"
_STEPS = "1600"


def training(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, str(_PROGRAM), _STEPS], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "training\n"
    return process


def digest(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    text = process.stdout.read().strip()
    assert process.wait(600) == 0
    assert len(text) == 64
    return text


def test_the_weights_are_the_same_bit_for_bit(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    attach = [sys.executable, "-m", "holdfast", "attach"]
    alone, watched = training(tmp_path), training(tmp_path)
    try:
        once = subprocess.run(
            [*attach, str(watched.pid), "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        said = json.loads(once.stdout)
        with subprocess.Popen(
            [*attach, str(watched.pid), "--follow", "--run-dir", "left"], cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as left:  # fmt: skip
            assert left.stderr is not None and "watching process" in left.stderr.readline()
            left.send_signal(signal.SIGINT)
            assert left.wait(60) == 130
        followed = subprocess.Popen(
            [*attach, str(watched.pid), "--follow", "--run-dir", "r"], cwd=tmp_path,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert digest(watched) == digest(alone)
        followed.wait(60)
    finally:
        for process in (alone, watched):
            process.kill()
            process.communicate()
    assert once.returncode == 0 and said["outcome"] == "running" and said["findings"] == []
    verdict = explain(tmp_path / "r")
    assert verdict.outcome in (Outcome.FINISHED, Outcome.ENDED)
    assert not [one for one in verdict.findings if one.cause != "unknown"]
