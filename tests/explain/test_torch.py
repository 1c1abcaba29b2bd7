"""What torch says when it ends, in its own words."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Verdict
from holdfast.journal import events as ev
from tests.explain.made import Run, title_of


def _raised(path: Path, type: str, message: str, frames: tuple[str, ...], **data: object) -> Verdict:
    run = Run(path)
    run.fit(data=ev.DatasetSeen(type="torch", python_fed=True, **data))  # type: ignore[arg-type]
    run.probe(
        ev.ExceptionRaised(
            type=type, message=message, left="script", user_line="train.py:4", frames=list(frames)
        )
    )
    run.ended(1)
    return run.verdict()


def test_a_target_out_of_bounds(tmp_path: Path) -> None:
    verdict = _raised(tmp_path / "run", "IndexError", "Target 3 is out of bounds.", ("train.py:4 <module>",))
    assert (verdict.findings[0].cause, title_of(verdict.findings[0])) == (
        "class-id-out-of-range",
        "class id 3 is not among those that the model predicts",
    )
