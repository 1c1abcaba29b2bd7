"""Beats of one attempt."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal.beats import BeatWriter, Phase
from holdfast.supervise.recording.beat_follower import HeartbeatFollower


def test_the_follower_reads_only_its_own_attempt(tmp_path: Path) -> None:
    first = BeatWriter(tmp_path / "beats", attempt=1)
    first.write(Phase.STEP, step=50, mono=1.0)
    follower = HeartbeatFollower(tmp_path / "beats", attempt=2)
    assert follower.poll() is None
    second = BeatWriter(tmp_path / "beats", attempt=2)
    for step in range(1, 4):
        second.write(Phase.STEP, step=step, step_ns=step * 100_000_000, mono=1.0 + step)
    newest = follower.poll()
    assert newest is not None and (newest.step, newest.attempt) == (3, 2)
    assert [beat.step for beat in follower.new_beats] == [1, 2, 3]
    assert follower.step_s == 0.2
    follower.poll()
    assert follower.new_beats == []
