"""A run's last state where its own folder takes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from holdfast.report.text import render_error
from holdfast.train.checkpoint import checkpoint_files, emergency_save
from holdfast.train.checkpoint.checkpoint_files import Snapshot

STATE = Snapshot(7, {"weights": {"a": np.ones(3, np.float32)}}, {"progress": {}})


def test_the_first_place_that_takes_it_gets_it_whole(tmp_path: Path) -> None:
    (tmp_path / "no").write_text("a file, not a folder")
    kept = emergency_save.save_emergency_copy(STATE, Path("runs/shapes"), [tmp_path / "no", tmp_path / "yes"])
    assert kept is not None
    assert kept.parent.name.startswith("holdfast-shapes-")
    assert (kept.parent.parent, kept.name) == (tmp_path / "yes", "step-7")
    assert checkpoint_files.read(kept).step == 7
    assert emergency_save.save_emergency_copy(STATE, Path("runs/shapes"), [tmp_path / "no"]) is None


def test_two_runs_that_are_called_alike_do_not_share_a_place(tmp_path: Path) -> None:
    places = {
        emergency_save.save_emergency_copy(STATE, Path(project) / "runs/coco-1", [tmp_path])
        for project in ("/a", "/b")
    }
    assert len(places) == 2


def test_the_answer_says_where_it_is(stored: Callable[[str, str], None]) -> None:
    folder = Path("runs/shapes-1/checkpoints")
    kept = Path("/var/tmp/holdfast-shapes-1/step-16")
    full, refused = OSError(28, "No space left on device"), PermissionError(13, "Permission denied")
    hows = (([kept], full), ([kept, kept.with_name("step-10")], refused), ([], None))
    answers = [emergency_save.unsaved_error(folder, 16, *how) for how in hows]
    stored("train/unsaved", "\n".join(render_error(error) for error in answers))
