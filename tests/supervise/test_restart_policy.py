"""When a failed command is restarted."""

from __future__ import annotations

from dataclasses import replace

from holdfast.supervise.restart_policy import AttemptFailure, GiveUp, RestartAfter, decide

CRASH = AttemptFailure(exit_code=1, signal=None, exception="ValueError at train.py:41", reached=100)


def test_a_crash_is_tried_again_after_a_pause_that_grows() -> None:
    further = [replace(CRASH, reached=100 * n) for n in range(1, 6)]
    pauses = [decide(further[:n], allowed=9) for n in range(1, 6)]
    assert [answer.pause_s for answer in pauses if isinstance(answer, RestartAfter)] == [1, 4, 16, 60, 60]
    assert pauses[0] == RestartAfter(
        1.0, "it ended with exit code 1 (ValueError at train.py:41) after 100 steps"
    )


def test_the_same_failure_without_a_gain_is_not_tried_again() -> None:
    assert decide([CRASH, CRASH], allowed=9) == GiveUp(
        "it ended with exit code 1 (ValueError at train.py:41) again after 100 steps, no further than before "
        "(100 steps): the script starts from the beginning each time"
    )


def test_the_same_failure_further_on_is_tried_again() -> None:
    assert isinstance(decide([CRASH, replace(CRASH, reached=101)], allowed=9), RestartAfter)


def test_another_failure_at_the_same_step_is_tried_again() -> None:
    assert isinstance(
        decide([CRASH, replace(CRASH, exception="OSError at train.py:9")], allowed=9), RestartAfter
    )


def test_the_same_failure_is_remembered_over_another_one_in_between() -> None:
    other = replace(CRASH, exception="", signal="SIGKILL", exit_code=None)
    assert isinstance(decide([CRASH, other, CRASH], allowed=9), GiveUp)


def test_without_any_training_the_same_failure_is_not_tried_a_third_time() -> None:
    plain = AttemptFailure(exit_code=5, signal=None)
    assert isinstance(decide([plain], allowed=3), RestartAfter)
    assert decide([plain, plain], allowed=3) == GiveUp(
        "it ended with exit code 5 again, and no training was seen in between"
    )


def test_a_requested_end_is_not_restarted() -> None:
    assert decide([AttemptFailure(exit_code=0, signal=None)], allowed=3) == GiveUp("")
    for asked in ("interrupt", "terminate", "hangup"):
        assert decide([replace(CRASH, stopped_by_us=asked)], allowed=3) == GiveUp("")
    assert decide([CRASH], allowed=0) == GiveUp("")


def test_a_stall_is_known_by_its_phase() -> None:
    stalled = AttemptFailure(
        exit_code=None, signal="SIGTERM", stopped_by_us="stall", stalled_in="step", reached=7
    )
    assert decide([stalled], allowed=1) == RestartAfter(1.0, "it stalled in phase step after 7 steps")
    assert isinstance(decide([stalled, replace(stalled, stalled_in="save")], allowed=3), RestartAfter)
    assert decide([stalled, replace(stalled, reached=9)], allowed=1) == GiveUp(
        "it stalled in phase step; all 1 restarts are used"
    )


def test_a_kill_while_less_was_done_at_once_is_another_failure() -> None:
    def killed(configuration: str) -> AttemptFailure:
        return AttemptFailure(exit_code=None, signal="SIGKILL", reached=0, configuration=configuration)

    assert isinstance(
        decide([killed("micro-batches of 16"), killed("micro-batches of 8")], allowed=3), RestartAfter
    )
    assert isinstance(decide([killed("micro-batches of 1"), killed("micro-batches of 1")], allowed=3), GiveUp)
