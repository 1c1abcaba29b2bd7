"""A GPU that works on one step without an end, and what looks like it, over simulated seconds."""

from __future__ import annotations

import pytest
from tests.supervise.story import Story

from holdfast.journal.beats import Phase
from holdfast.journal.events import SamePointSeen
from holdfast.supervise.stall.judgement import StallKind
from holdfast.supervise.stall.stall_text import limit_from

SITE = "/venv/lib/python3.11/site-packages/"
LOOP = "/home/me/train.py:31 <module>"
SYNCHRONIZE = [f"{SITE}torch/cuda/__init__.py:1040 synchronize", LOOP]
FLOAT = [f"{SITE}jax/_src/array.py:300 __float__", LOOP]
COMPILE = [
    f"{SITE}jax/_src/compiler.py:294 backend_compile",
    f"{SITE}jax/_src/compiler.py:500 compile_or_get_cached",
    f"{SITE}jax/_src/interpreters/pxla.py:2400 from_hlo",
    LOOP,
]


def looped(*frames: str, result: str = "", seconds: float = 0.3, count: int = 80) -> Story:
    """Steps of the script's own loop on a GPU, known between the steps only; then the frames that it stays at."""
    story = Story(fit=0, gpu_busy=True)
    story.beat(Phase.IMPORT).wait(5, cores=1)
    story.beat(Phase.BUILD).wait(8, cores=1)
    for step in range(1, count + 1):
        story.beat(Phase.BETWEEN, step=step).wait(seconds, cores=1)
    assert story.stall is None
    story.beat(Phase.BETWEEN, step=count + 1)
    story.same_point = SamePointSeen(frames=list(frames), result=result)
    return story


@pytest.mark.parametrize(
    "frames,result", [(SYNCHRONIZE, ""), ([LOOP], ""), (FLOAT, "pending"), ([LOOP], "pending")]
)
@pytest.mark.parametrize("cores", [0.0, 1.0])
def test_a_step_that_does_not_end_is_noticed_within_half_a_minute(
    frames: list[str], result: str, cores: float
) -> None:
    """The host sleeps in the driver, or keeps a core busy."""
    story = looped(*frames, result=result)
    began = story.now
    story.wait(60, cores=cores)
    assert story.stall is not None
    assert story.stall.kind is StallKind.ON_GPU
    assert 15 < story.stalled_at - began < 30
    assert limit_from(story.stall) == "the GPU works, and the step does not end: far longer than any before"


def test_on_jax_a_pending_result_shows_it_where_others_use_the_gpu_too() -> None:
    """The share of this run reads as nothing beside a training that fills the GPU."""
    story = looped(*FLOAT, result="pending")
    story.gpu_busy = False
    began = story.now
    story.wait(60, cores=1.0)
    assert story.stall is not None
    assert story.stall.kind is StallKind.ON_GPU
    assert 15 < story.stalled_at - began < 30


@pytest.mark.parametrize("phase", [Phase.STEP, Phase.DATA_WAIT])
def test_in_a_fit_and_in_a_loop_over_a_loader(phase: Phase) -> None:
    story = looped(*SYNCHRONIZE)
    story.beat(phase, fit=int(phase is Phase.STEP), train_batches=9)
    story.wait(60, cores=1.0)
    assert story.stall is not None


@pytest.mark.parametrize(
    "why,frames,result",
    [
        ("compiles", COMPILE, "pending"),
        ("evaluates in one call of JAX: the step is done", FLOAT, "ready"),
        ("it is not known whether the step is done", FLOAT, "unknown"),
        ("waits for a child that evaluates", ["/usr/lib/python3.11/subprocess.py:1264 wait", LOOP], ""),
        ("waits for a thread", ["/usr/lib/python3.11/threading.py:1116 join", LOOP], ""),
        ("waits for data", [f"{SITE}torch/utils/data/dataloader.py:1132 _try_get_data", LOOP], ""),
        ("waits for its group", [f"{SITE}torch/distributed/distributed_c10d.py:4000 barrier", LOOP], ""),
        ("clusters features", [f"{SITE}faiss/class_wrappers.py:90 train", LOOP], ""),
    ],
)
def test_what_works_on_a_gpu_for_a_minute_and_is_no_stall(why: str, frames: list[str], result: str) -> None:
    assert looped(*frames, result=result).wait(90, cores=1.0).stall is None, why


def test_an_evaluation_whose_variables_change_is_no_stall() -> None:
    story = looped(LOOP)
    story.same_point = None
    assert story.wait(300, cores=1.0).stall is None


def test_a_gpu_that_was_idle_since_the_step_is_not_waited_for() -> None:
    story = looped(*SYNCHRONIZE)
    story.gpu_busy = False
    story.wait(10, cores=1.0)
    story.gpu_busy = True
    assert story.wait(90, cores=1.0).stall is None


def test_a_script_that_sleeps_until_its_child_has_evaluated_is_no_stall() -> None:
    story = looped(LOOP)
    for _ in range(20):
        story.sleeps = True
        story.wait(4, cores=1.0)
        story.sleeps = False
        story.wait(1, cores=1.0)
    assert story.stall is None


def test_the_limit_follows_the_pace_and_the_longest_silence() -> None:
    """The host may have started forty steps ahead, and waits for all of them."""
    assert looped(*SYNCHRONIZE, seconds=2.0).wait(79, cores=1.0).stall is None
    slow = looped(*SYNCHRONIZE, seconds=2.0).wait(90, cores=1.0)
    assert slow.stall is not None and slow.stall.limit_s == pytest.approx(80.0)
    story = looped(*SYNCHRONIZE, seconds=0.2, count=200)
    story.same_point = None
    story.wait(12, cores=1.0).beat(Phase.BETWEEN, step=story.step + 1)
    story.same_point = SamePointSeen(frames=SYNCHRONIZE)
    assert story.wait(34, cores=1.0).stall is None
    assert story.wait(10, cores=1.0).stall is not None


def test_a_host_that_ran_ahead_in_its_first_seconds_waits_for_all_that_it_started() -> None:
    story = looped(*SYNCHRONIZE, seconds=0.01, count=100)
    assert story.wait(85, cores=1.0).stall is None
    assert story.wait(20, cores=1.0).stall is not None


def test_after_many_fast_steps_half_a_minute_is_enough() -> None:
    """300 steps in a few seconds: more than any host starts ahead."""
    story = looped(*FLOAT, result="pending", seconds=0.02, count=300)
    began = story.now
    story.wait(60, cores=1.0)
    assert story.stall is not None and story.stall.kind is StallKind.ON_GPU
    assert 29 < story.stalled_at - began < 40


def test_the_first_steps_are_not_judged() -> None:
    assert looped(*SYNCHRONIZE, count=2).wait(90, cores=1.0).stall is None


def test_a_long_step_that_ended_raises_the_limit() -> None:
    story = looped(*SYNCHRONIZE)
    story.wait(25, cores=1.0)
    assert story.stall is not None
    story.beat(Phase.BETWEEN, step=story.step + 1).wait(1, cores=1.0)
    story.stall = None
    story.beat(Phase.BETWEEN, step=story.step + 1).wait(70, cores=1.0)
    assert story.stall is None
    assert story.wait(10, cores=1.0).stall is not None
