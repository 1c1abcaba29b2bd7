"""Loops on torch, where there is a torch: in this environment, or in that of HOLDFAST_TORCH_PYTHON."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast.journal.beats import Phase
from holdfast.journal.events import (
    DatasetSeen,
    ExhaustedIteratorUsed,
    ExitStarted,
    FrameworkSeen,
    LoopSeen,
    LossSeen,
    NonFiniteSeen,
    PassDone,
    ProbeFailed,
    StateDictLoaded,
)
from tests.probe.probed import SCRIPTS, line, run

PYTHON = os.environ.get("HOLDFAST_TORCH_PYTHON") or (
    sys.executable if importlib.util.find_spec("torch") else ""
)
pytestmark = [
    pytest.mark.hot,
    pytest.mark.skipif(
        not PYTHON, reason="there is no torch; HOLDFAST_TORCH_PYTHON names a Python that has it"
    ),
]


def test_a_loop_on_torch_is_counted_and_its_weights_are_the_same_bits(tmp_path: Path) -> None:
    script, bare = SCRIPTS / "loop_torch.py", tmp_path / "bare.npy"
    told = run(script, tmp_path / "told.npy", folder=tmp_path / "run", cwd=SCRIPTS, python=PYTHON)
    assert told.code == 0, told.output
    assert run(script, bare, folder=tmp_path / "none", cwd=SCRIPTS, python=PYTHON, probe=False).code == 0
    assert np.load(tmp_path / "told.npy").tobytes() == np.load(bare).tobytes()
    assert not told.all(ProbeFailed)
    seen = told.one(LoopSeen)
    assert (seen.by, seen.where) == ("torch_optimizer", line("loop_torch.py", "optimizer.step()"))
    devices = [event for event in told.all(FrameworkSeen) if event.devices]
    assert [(one.name, one.devices, one.device_kinds, one.parameters_on) for one in devices] == [
        ("torch", ["cpu"], ["cpu"], ["cpu"])
    ]
    assert told.one(ExitStarted).steps == 3 * 8
    assert [event.steps for event in told.all(PassDone)] == [8, 8, 8]
    data = told.all(DatasetSeen)[0]
    assert (data.type, data.role, data.cardinality, data.workers) == ("torch", "train", 8, 0)
    first = told.all(LossSeen)[0]
    assert first.learning_rate == pytest.approx(1e-2)
    assert 0 < first.logs["loss"] < 1
    assert {Phase.DATA_WAIT, Phase.FILL, Phase.STEP} <= {beat.phase for beat in told.beats}
    assert told.beats[-1].data_wait_ns > 0


def test_an_iterator_with_persistent_workers_begins_every_pass_itself(tmp_path: Path) -> None:
    told = run(SCRIPTS / "torch_workers.py", folder=tmp_path / "run", cwd=SCRIPTS, python=PYTHON)
    assert told.code == 0, told.output
    assert not told.all(ProbeFailed)
    assert [event.steps for event in told.all(PassDone)] == [4, 4, 4, 4]
    assert not told.all(ExhaustedIteratorUsed)
    assert max(beat.epoch for beat in told.beats) == 3


def test_a_state_of_which_nothing_is_taken_is_recorded_and_the_next_one(tmp_path: Path) -> None:
    told = run(SCRIPTS / "torch_state.py", folder=tmp_path / "run", cwd=SCRIPTS, python=PYTHON)
    assert told.code == 0, told.output
    assert not told.all(ProbeFailed)
    nothing, all_of_it = told.all(StateDictLoaded)
    assert nothing == StateDictLoaded(
        taken=0,
        given=2,
        wanted_name="weight",
        given_name="module.weight",
        where=line("torch_state.py", "model.load_state_dict(wrapped"),
    )
    assert (all_of_it.taken, all_of_it.given) == (2, 2)


def test_a_loss_that_breaks_in_a_loop_on_torch_is_told_at_its_step(tmp_path: Path) -> None:
    told = run(
        SCRIPTS / "loop_torch.py",
        tmp_path / "w.npy",
        "break",
        folder=tmp_path / "run",
        cwd=SCRIPTS,
        python=PYTHON,
    )
    assert told.code == 0, told.output
    broken = told.all(NonFiniteSeen)[0]
    assert (broken.what, broken.step, broken.value) == ("loss", 17, "nan")
    assert broken.weights_finite is False
