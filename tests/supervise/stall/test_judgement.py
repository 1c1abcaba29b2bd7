"""What must be called a stall and what must not, over simulated seconds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.supervise.story import Story, trained

from holdfast.journal.beats import Phase
from holdfast.journal.events import Stalled
from holdfast.supervise.stall import judgement as stall_judgement
from holdfast.supervise.stall.detector import cpu_contention
from holdfast.supervise.stall.judgement import CloserLook
from holdfast.supervise.stall.phase_limits import PhaseGroup, StackActivity
from holdfast.supervise.stall.stall_text import describe_stall, limit_from
from holdfast.supervise.stall.wait_kinds import TreeWait, Wait

MB = 1 << 20


# -- never a stall --------------------------------------------------------------------------------


def test_a_long_compilation_is_no_stall() -> None:
    story = Story().beat(Phase.COMPILE).wait(600, cores=1.0, grows_per_s=MB)
    assert story.stall is None


def test_a_silent_minute_of_tracing_is_no_stall_where_the_stack_shows_it() -> None:
    story = Story(closer_look=CloserLook(activity=StackActivity.COMPILING)).beat(Phase.COMPILE).wait(90)
    assert story.stall is None


def test_filling_a_shuffle_buffer_is_no_stall() -> None:
    story = (
        Story(closer_look=CloserLook(activity=StackActivity.EXECUTING))
        .beat(Phase.FILL)
        .wait(900, cores=0.02, grows_per_s=MB // 4)
    )
    assert story.stall is None


def test_refilling_inside_the_first_step_of_an_epoch_is_no_stall() -> None:
    story = trained()
    story.beat(Phase.STEP, epoch=1, train_batches=0).wait(120, cores=1.5, reads_per_s=MB, grows_per_s=MB)
    assert story.stall is None


def test_a_step_whose_threads_get_no_cpu_is_no_stall() -> None:
    """Other programs take the CPU. The main thread waits for threads that could run, and do not get to."""
    starved = trained()
    starved.cpu_contention, starved.threads_run = 8.0, True
    assert starved.beat(Phase.BETWEEN).wait(40).stall is None
    waiting = trained()
    waiting.cpu_contention = 8.0
    assert waiting.beat(Phase.BETWEEN).wait(40).stall is not None


@pytest.mark.parametrize("batches,seconds", [(30, 1.0), (4, 8.0), (1, 30.0)])
def test_a_validation_of_thirty_seconds_is_no_stall(batches: int, seconds: float) -> None:
    story = trained().beat(Phase.VALIDATION, test_batches=0)
    for done in range(batches):
        story.wait(seconds).beat(Phase.VALIDATION, test_batches=done + 1)
    assert story.stall is None


def test_a_save_of_twenty_seconds_is_no_stall() -> None:
    assert trained().beat(Phase.SAVE).wait(20).stall is None


@pytest.mark.parametrize("phase", [Phase.BUILD, Phase.BETWEEN, Phase.AFTER])
def test_an_evaluation_that_sleeps_until_the_next_checkpoint_is_no_stall(phase: Phase) -> None:
    story = Story(fit=0)
    story.closer_look = CloserLook(sleeps_until=story.now + 300)
    assert story.beat(phase).wait(300).stall is None
    assert story.wait(20).stall is not None, "the sleep is over, and nothing moves"


@pytest.mark.parametrize("phase", [Phase.DATA_WAIT, Phase.FILL, Phase.STEP])
def test_a_step_that_sleeps_is_a_stall_all_the_same(phase: Phase) -> None:
    story = Story(fit=0)
    story.closer_look = CloserLook(sleeps_until=story.now + 3000)
    assert story.beat(phase).wait(120).stall is not None


def test_a_sleep_of_hours_is_a_stall_and_so_is_one_beyond_the_limit_that_was_set() -> None:
    hours = Story(fit=0)
    hours.closer_look = CloserLook(sleeps_until=hours.now + 30_000)
    assert hours.beat(Phase.BETWEEN).wait(90).stall is not None
    configured = Story(fit=0, configured_s=30.0)
    configured.closer_look = CloserLook(sleeps_until=configured.now + 300)
    assert configured.beat(Phase.BETWEEN).wait(60).stall is not None


def test_a_callback_that_sleeps_twenty_seconds_is_no_stall() -> None:
    assert trained().beat(Phase.CALLBACK).wait(20).stall is None


@pytest.mark.parametrize("short_s", [0.05, 0.5, 2.0])
def test_steps_that_vary_tenfold_are_no_stall(short_s: float) -> None:
    story = trained(count=5, seconds=short_s)
    for _ in range(6):
        story.steps(8, short_s).steps(1, 10 * short_s, cores=0.0)
    assert story.stall is None


def test_a_silent_script_that_trains_is_no_stall() -> None:
    assert trained(count=400, seconds=0.5).stall is None


def test_a_script_without_a_framework_that_computes_is_no_stall() -> None:
    assert Story().wait(7200, cores=1.0).stall is None


def test_a_script_without_a_framework_that_prints_now_and_then_is_no_stall() -> None:
    story = Story()
    for _ in range(20):
        story.wait(1, prints=True).wait(50)
    assert story.stall is None


def test_a_recompilation_for_a_smaller_last_batch_is_no_stall() -> None:
    story = (
        Story()
        .beat(Phase.COMPILE)
        .wait(40, cores=1, grows_per_s=MB)
        .beat(Phase.BETWEEN, step=1, train_batches=1)
    )
    story.steps(40, 0.2).beat(Phase.STEP).wait(45, cores=1, grows_per_s=MB)
    assert story.stall is None


def test_the_end_of_the_interpreter_may_take_fourteen_seconds() -> None:
    assert trained().beat(Phase.EXIT).wait(14).stall is None


def test_nobody_is_blamed_for_the_time_in_which_nobody_looked() -> None:
    story = trained().beat(Phase.STEP)
    story.now += 3600
    story.wait(5)
    assert story.stall is None


def test_a_long_first_step_on_the_gpu_is_no_stall() -> None:
    story = (
        Story(closer_look=CloserLook(activity=StackActivity.EXECUTING), gpu_busy=True)
        .beat(Phase.COMPILE)
        .wait(40)
    )
    story.beat(Phase.BETWEEN, step=1, train_batches=1).steps(10, 40, cores=0.0)
    assert story.stall is None


def test_long_steps_that_leave_the_processor_idle_are_no_stall() -> None:
    story = (
        Story()
        .beat(Phase.COMPILE)
        .wait(50)
        .beat(Phase.BETWEEN, step=1, train_batches=1)
        .steps(10, 50, cores=0.0)
    )
    assert story.stall is None


def test_a_loop_of_the_scripts_own_may_evaluate_for_minutes_between_steps() -> None:
    story = trained()
    story.fit = 0
    story.steps(20, 0.2).beat(Phase.BETWEEN).wait(1800, cores=1.0)
    story.steps(20, 0.2).beat(Phase.STEP).wait(240, cores=1.0)
    assert story.stall is None


# -- always a stall -------------------------------------------------------------------------------


def test_a_blocked_generator_is_announced_within_ten_seconds() -> None:
    story = trained().beat(Phase.STEP)
    began = story.now
    story.wait(60)
    assert story.stall is not None and story.stall.phase_group is PhaseGroup.STEP
    assert story.stalled_at - began <= 10
    assert limit_from(story.stall) == "three times the longest normal step of 0.2 s, at least 8.5 s"
    said = describe_stall(
        Stalled(phase="step", silent_for_s=9.04, limit_s=8.5, limit_from=limit_from(story.stall))
    )
    assert said == (
        "phase step: nothing moved for 9 s (limit 8.5 s: three times the longest normal step of 0.2 s, at least 8.5 s)"
    )


def test_long_steps_are_given_three_times_the_longest() -> None:
    story = trained(count=40, seconds=6).beat(Phase.STEP)
    began = story.now
    story.wait(60)
    assert story.stall is not None
    assert 16 < story.stalled_at - began <= 18


@pytest.mark.parametrize("phase", [Phase.STEP, Phase.DATA_WAIT, Phase.BETWEEN])
def test_a_loop_of_the_scripts_own_that_blocks_is_announced_within_ten_seconds(phase: Phase) -> None:
    story = trained()
    story.fit = 0
    story.steps(20, 0.2).beat(phase)
    began = story.now
    story.wait(60)
    assert story.stall is not None and story.stalled_at - began <= 10


def test_hot_threads_without_a_batch_are_a_stall_in_the_middle_of_an_epoch() -> None:
    story = trained().beat(Phase.STEP)
    began = story.now
    story.wait(120, cores=2.0)
    assert story.stall is not None and story.stalled_at - began <= 25
    assert limit_from(story.stall).startswith("busy all the time without a beat")


def test_hot_threads_before_the_first_batch_are_a_stall_when_the_memory_stands_still() -> None:
    story = (
        Story(closer_look=CloserLook(activity=StackActivity.EXECUTING))
        .beat(Phase.COMPILE)
        .wait(300, cores=2.0)
    )
    assert story.stall is not None and story.stall.silent_for_s < 70
    assert limit_from(story.stall) == "busy, but no batch comes and memory does not grow"


def test_on_a_crowded_machine_work_gets_the_time_it_needs_and_idleness_does_not() -> None:
    compiling = (
        Story(closer_look=CloserLook(activity=StackActivity.EXECUTING), cpu_contention=8.0)
        .beat(Phase.COMPILE)
        .wait(300, cores=0.2)
    )
    assert compiling.stall is None
    compiling.wait(600, cores=0.2)
    assert compiling.stall is not None
    blocked = (
        Story(closer_look=CloserLook(activity=StackActivity.EXECUTING), cpu_contention=8.0)
        .beat(Phase.COMPILE)
        .wait(60)
    )
    assert blocked.stall is not None and blocked.stall.silent_for_s < 30


@pytest.mark.parametrize(("load", "cores", "each"), [(0.5, 2, 1.0), (8.0, 2, 4.0), (500.0, 2, 10.0)])
def test_how_crowded_a_machine_is(load: float, cores: int, each: float) -> None:
    assert cpu_contention(load, cores) == each


def test_a_first_batch_that_nothing_stirs_for_gets_twenty_seconds() -> None:
    story = Story(closer_look=CloserLook(activity=StackActivity.EXECUTING)).beat(Phase.FILL).wait(120)
    assert story.stall is not None and 20 <= story.stall.silent_for_s <= 22


def test_a_fifo_that_nobody_writes_to_is_noticed_before_the_first_batch_within_ten_seconds() -> None:
    story = (
        Story(closer_look=CloserLook(activity=StackActivity.EXECUTING, blocked_on_fifo=True))
        .beat(Phase.FILL)
        .wait(120)
    )
    assert story.stall is not None and story.stall.silent_for_s <= 10
    assert limit_from(story.stall) == "it waits to open a FIFO that nobody opens at the other end"


def test_a_filter_that_lets_nothing_through_is_noticed_within_ten_seconds() -> None:
    story = Story(
        filtered_per_s=60_000, closer_look=CloserLook(activity=StackActivity.EXECUTING), cpu_contention=8.0
    )
    story.beat(Phase.FILL).wait(6, cores=2.0).beat(Phase.COMPILE).wait(6, cores=2.0).beat(Phase.FILL)
    story.filtered_elements = 0
    story.wait(30, cores=2.0)
    assert story.stall is not None and story.stall.silent_for_s <= 10
    assert (
        limit_from(story.stall)
        == "busy: the dataset's filter was given 540,000 elements and let none through"
    )


def test_a_filter_that_drops_a_hundred_thousand_in_a_row_may_still_pass() -> None:
    story = Story(filtered_per_s=4_000, closer_look=CloserLook(activity=StackActivity.EXECUTING)).beat(
        Phase.FILL
    )
    assert story.wait(30, cores=2.0).stall is None


@pytest.mark.parametrize(("filtered_round", "stalled"), [(500, True), (5_000, False)])
def test_a_filter_behind_data_that_is_repeated(filtered_round: int, stalled: bool) -> None:
    """On a busy machine few elements pass; of little data all have been dropped again and again by then."""
    story = Story(filtered_per_s=1_500, filtered_round=filtered_round, cpu_contention=16.0)
    story.closer_look = CloserLook(activity=StackActivity.EXECUTING)
    story.beat(Phase.VALIDATION).wait(25, cores=0.2)
    assert (story.stall is not None) is stalled


def test_a_filter_that_passes_rarely_is_given_three_times_what_a_batch_took_before() -> None:
    story = Story(closer_look=CloserLook(activity=StackActivity.EXECUTING)).beat(Phase.FILL)
    story.wait(8, cores=2.0).beat(Phase.STEP, train_batches=1, step=1).steps(5, 7.0, cores=2.0)
    story.filtered_per_s = 60_000
    story.beat(Phase.STEP).wait(20, cores=2.0)
    assert story.stall is None
    story.wait(10, cores=2.0)
    assert story.stall is not None


def test_without_a_stack_the_first_batch_gets_a_minute() -> None:
    story = Story().beat(Phase.COMPILE).wait(120)
    assert story.stall is not None and 60 <= story.stall.silent_for_s <= 62


def test_a_suspended_process_is_announced_at_once() -> None:
    story = trained().beat(Phase.STEP)
    story.state = "T"
    story.wait(3)
    assert story.stall is not None and limit_from(story.stall) == "the process is suspended"


def test_waiting_for_somebody_to_type_is_noticed_in_a_callback() -> None:
    story = trained()
    story.closer_look = CloserLook(activity=StackActivity.EXECUTING, reads_terminal=True)
    story.beat(Phase.CALLBACK).wait(30)
    assert story.stall is not None and story.stall.silent_for_s <= 10
    assert limit_from(story.stall) == "it waits for somebody to type"


def test_a_deadlock_before_training_is_noticed_by_its_locks() -> None:
    story = Story(closer_look=CloserLook(all_locked=True)).wait(60)
    assert story.stall is not None and story.stall.silent_for_s <= 10


def test_a_process_of_which_nothing_is_known_gets_a_minute() -> None:
    story = Story().wait(120)
    assert story.stall is not None and 60 <= story.stall.silent_for_s <= 62


def outside(wait: Wait, time_limit_s: float | None = None, ran_at: float | None = None) -> CloserLook:
    return CloserLook(tree=TreeWait(wait, time_limit_s), ran_at=ran_at)


def test_from_outside_a_wait_without_a_time_limit_is_noticed_within_half_a_minute() -> None:
    story = Story(closer_look=outside(Wait.OPEN_ENDED)).wait(60)
    assert story.stall is not None and story.stall.silent_for_s <= 26
    assert limit_from(story.stall) == "every thread waits without a time limit"


def test_from_outside_the_last_output_is_the_last_sign() -> None:
    story = Story(closer_look=outside(Wait.OPEN_ENDED)).wait(20)
    story.output_bytes += 20
    story.wait(20)
    assert story.stall is None
    assert story.wait(10).stall is not None


def test_a_sleep_or_a_server_is_no_stall() -> None:
    for wait in (Wait.SLEEP, Wait.CLIENT):
        assert Story(closer_look=outside(wait)).wait(600).stall is None
    assert Story(closer_look=outside(Wait.TIMED, time_limit_s=300)).wait(300).stall is None
    assert Story(closer_look=outside(Wait.TIMED, time_limit_s=5)).wait(300).stall is not None


def test_a_sleep_counts_where_a_limit_was_given() -> None:
    assert Story(closer_look=outside(Wait.SLEEP), configured_s=20).wait(60).stall is not None


def test_a_server_that_had_made_progress_waits_for_a_peer() -> None:
    story = Story(closer_look=outside(Wait.CLIENT), made_progress=True).wait(120)
    assert story.stall is not None


def test_bytes_that_trickle_in_are_a_sign() -> None:
    story = Story(closer_look=outside(Wait.REMOTE))
    for _ in range(20):
        story.closer_look = outside(Wait.REMOTE, ran_at=story.now)
        story.wait(15)
    assert story.stall is None
    assert story.wait(70).stall is not None


def test_a_gpu_that_works_is_a_sign() -> None:
    assert Story(closer_look=outside(Wait.OPEN_ENDED), gpu_busy=True).wait(120).stall is None


def test_an_exit_that_hangs_is_noticed() -> None:
    story = trained().beat(Phase.EXIT).wait(60)
    assert (
        story.stall is not None
        and story.stall.phase_group is PhaseGroup.EXIT
        and story.stall.silent_for_s <= 17
    )


def test_a_validation_that_stops_is_noticed() -> None:
    story = (
        trained()
        .beat(Phase.VALIDATION, test_batches=0)
        .wait(1)
        .beat(Phase.VALIDATION, test_batches=1)
        .wait(60)
    )
    assert story.stall is not None and story.stall.phase_group is PhaseGroup.VALIDATION


def test_the_limit_set_by_hand_holds() -> None:
    story = trained()
    story.configured_s = 4.0
    story.beat(Phase.STEP).wait(30, cores=2.0)
    assert story.stall is not None and story.stall.silent_for_s <= 5.5
    assert limit_from(story.stall) == "busy all the time without a beat; --stall-after"


def test_the_limit_set_by_hand_does_not_make_a_busy_compilation_a_stall() -> None:
    assert Story(configured_s=4.0).beat(Phase.COMPILE).wait(120, cores=1, grows_per_s=MB).stall is None


def test_the_ages_tell_what_moved_last() -> None:
    story = trained().beat(Phase.STEP).wait(30)
    assert story.stall is not None
    assert story.stall.ages_s["beat_s"] == pytest.approx(9, abs=1)
    assert story.stall.ages_s["output_s"] > 15


# -- pauses that come back ------------------------------------------------------------------------


def test_a_pause_that_comes_back_is_an_alarm_once() -> None:
    """A rate limit, a token that is refreshed, a disk that has spun down: every 300th step waits 15 s."""
    story = trained()
    for _ in range(20):
        story.steps(30, 0.1).beat(Phase.STEP).wait(15)
        story.beat(Phase.BETWEEN, step=story.step + 1, train_batches=story.train_batches + 1).wait(1, cores=1)
    assert story.limits_s == [8.5]


def test_after_such_a_pause_the_limit_is_three_times_as_long_and_says_why() -> None:
    story = trained()
    story.beat(Phase.STEP).wait(15)
    story.beat(Phase.BETWEEN, step=story.step + 1, train_batches=story.train_batches + 1).wait(1, cores=1)
    story.steps(30, 0.1)
    story.stall = None
    story.beat(Phase.STEP).wait(120)
    assert story.stall is not None
    assert 45 <= story.stall.limit_s <= 51  # the pause is known to a second
    assert limit_from(story.stall).startswith("three times the longest pause that ended by itself, 1")


def test_a_command_without_a_framework_that_pauses_again_and_again_is_told_once() -> None:
    story = Story()
    for _ in range(6):
        story.wait(20, cores=1).wait(100)
    assert story.limits_s == [60.0]


def test_a_busy_pause_does_not_slow_the_notice_of_a_standstill() -> None:
    """A step of another shape was compiled anew for a minute; that says nothing of steps in which nothing stirs."""
    story = trained()
    story.beat(Phase.STEP).wait(60, cores=1)
    story.beat(Phase.BETWEEN, step=story.step + 1, train_batches=story.train_batches + 1).wait(1, cores=1)
    story.steps(40, 0.2)
    assert len(story.limits_s) == 1
    story.beat(Phase.STEP).wait(60, cores=1)
    assert len(story.limits_s) == 1
    story.beat(Phase.BETWEEN, step=story.step + 1, train_batches=story.train_batches + 1).wait(1, cores=1)
    story.steps(40, 0.2).beat(Phase.STEP).wait(20)
    assert story.limits_s[1:] == [8.5]


def test_a_suspension_is_no_pause_of_the_training() -> None:
    story = trained()
    story.beat(Phase.STEP)
    story.state = "T"
    story.wait(100)
    story.state = "S"
    story.wait(2, cores=1)
    story.beat(Phase.BETWEEN, step=story.step + 1, train_batches=story.train_batches + 1).wait(1, cores=1)
    story.steps(40, 0.2).beat(Phase.STEP).wait(20)
    assert story.limits_s[1:] == [8.5]


def test_the_time_of_a_suspension_is_not_taken_for_a_long_step() -> None:
    story = trained(seconds=4.0)
    story.beat(Phase.STEP).wait(2, cores=1)
    story.state = "T"
    story.wait(70)
    story.state = "S"
    story.wait(2, cores=1)
    story.beat(Phase.BETWEEN, step=story.step + 1, train_batches=story.train_batches + 1)
    story.steps(3, 4.0).beat(Phase.STEP).wait(60)
    assert story.limits_s == [0.0, 11.0]


def test_what_moves_while_stacks_are_read_does_not_end_a_stall() -> None:
    story = Story(closer_look=outside(Wait.OPEN_ENDED)).wait(40)
    assert story.stall is not None
    stalled_at = story.announced_inputs()
    moved = replace(
        stalled_at,
        now=stalled_at.now + 3,
        last_activity=replace(stalled_at.last_activity, written=stalled_at.now + 2),
    )
    assert stall_judgement.has_recovered(stalled_at, moved)
    assert not stall_judgement.has_recovered(stalled_at, moved, disturbed_until=stalled_at.now + 2.5)


def test_python_threads_that_wait_for_each_other_are_noticed_in_a_quarter_of_a_minute() -> None:
    """In a phase that may else be silent for a minute."""
    for phase in (Phase.CALLBACK, Phase.BUILD, Phase.AFTER):
        story = trained().beat(phase)
        story.closer_look = CloserLook(activity=StackActivity.EXECUTING, python_locked=True)
        story.wait(60)
        assert story.stall is not None and story.stall.silent_for_s <= 13
        assert limit_from(story.stall) == "every Python thread waits for another, without a timeout"


def test_what_was_read_before_a_silence_does_not_shorten_it() -> None:
    """The probe reads a little every second; what training read before stays in the window for five seconds."""
    story = trained().beat(Phase.CALLBACK).wait(1, reads_per_s=MB)
    since = story.now
    story.wait(4, reads_per_s=500)
    assert story.activity.last_activity.read <= since


def test_a_poll_in_the_same_place_is_no_work() -> None:
    """As a rendezvous that asks its store a hundred times a second: one percent of a core."""
    story = trained().beat(Phase.BUILD)
    story.closer_look = CloserLook(activity=StackActivity.EXECUTING, stack=("a:1 f",), same_stack=True)
    story.wait(90, cores=0.01, reads_per_s=3000)
    assert story.stall is not None and 60 <= story.stall.silent_for_s <= 75
    moving = trained().beat(Phase.BUILD)
    moving.closer_look = CloserLook(activity=StackActivity.EXECUTING, stack=("a:1 f",), same_stack=False)
    assert moving.wait(90, cores=0.01, reads_per_s=3000).stall is None
    working = trained().beat(Phase.BUILD)
    working.closer_look = CloserLook(activity=StackActivity.EXECUTING, stack=("a:1 f",), same_stack=True)
    assert working.wait(90, cores=0.2).stall is None


@pytest.mark.parametrize(("cores", "threads_run", "stalled"), [(0.015, False, True), (0.3, True, False)])
def test_contention_is_an_excuse_for_those_alone_that_want_a_cpu(
    cores: float, threads_run: bool, stalled: bool
) -> None:
    """A thread that writes a dashboard file moves now and then, while the workers of the loader are deadlocked."""
    story = Story(
        closer_look=CloserLook(activity=StackActivity.EXECUTING),
        cpu_contention=8.0,
        threads_run=threads_run,
        fit=0,
    )
    story.steps(30, 0.1).beat(Phase.FILL, train_batches=0).wait(80, cores=cores)
    assert (story.stall is not None) is stalled
