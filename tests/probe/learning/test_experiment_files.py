"""What is kept for an experiment, and a real experiment from the run to the verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli import experiments
from holdfast.cli.main import main
from holdfast.journal.events import ExperimentKept, ProbeFailed
from tests.probe.probed import SCRIPTS, run
from tests.waiting import PATIENCE_S


@pytest.mark.hot
@pytest.mark.long(120)
def test_a_softmax_over_one_unit_learns_when_it_is_corrected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    monkeypatch.setattr(experiments, "SECONDS", PATIENCE_S)  # so that its steps end it, however slow they are
    monkeypatch.setattr(experiments, "_TIME_LIMIT_S", 3 * PATIENCE_S)

    watched = run(SCRIPTS / "softmax_of_one.py", folder=tmp_path / "run")
    assert (watched.code, watched.all(ProbeFailed)) == (0, []), watched.output
    kept = watched.one(ExperimentKept)
    assert (kept.fit, kept.rows, kept.left_out) == (1, 256, "")
    with np.load(tmp_path / "run" / "experiment" / "batch.npz", allow_pickle=False) as packed:
        assert {name: packed[name].shape for name in packed.files} == {"input_0": (256, 8), "target": (256,)}

    main(["explain", str(tmp_path / "run"), "--json", "--experiment"])
    finding = json.loads(capsys.readouterr().out)["findings"][0]
    assert (finding["cause"], finding["strength"]) == ("output-loss-mismatch", "established")
    fact = next(one for one in finding["because"] if one["kind"] == "experiment.learns")
    assert fact["values"]["changed"] == {"units": 1, "activation": "sigmoid", "loss": "binary_crossentropy"}
    assert (
        fact["values"]["was"]["accuracy"]
        <= fact["values"]["majority"]
        < fact["values"]["then"]["accuracy"] - 0.2
    )

    main(["explain", str(tmp_path / "run"), "--json"])  # stored: nothing is trained again
    assert fact in json.loads(capsys.readouterr().out)["findings"][0]["because"]


@pytest.mark.hot
@pytest.mark.long(60)
def test_it_is_switched_off_with_the_look(tmp_path: Path) -> None:
    watched = run(SCRIPTS / "softmax_of_one.py", folder=tmp_path / "run", HOLDFAST_DEEP_LOOK="0")
    assert (watched.code, watched.all(ExperimentKept)) == (0, [])
    assert not (tmp_path / "run" / "experiment").exists()
