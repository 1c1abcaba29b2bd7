"""Scripts of kinds that nobody here had written, told by hand as the probe and the supervisor saw them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.explain import Strength, Verdict
from holdfast.explain.readings.error import read_fatal
from holdfast.explain.words import clipped
from holdfast.journal import events as ev
from holdfast.report.verdict import render
from tests.explain.made import GIB, MIB, Run, sentence, title_of


def _first(verdict: Verdict) -> tuple[str, Strength]:
    return verdict.findings[0].cause, verdict.findings[0].strength


def _facts(verdict: Verdict) -> list[str]:
    return [sentence(fact) for fact in verdict.findings[0].because]


def _slugs(verdict: Verdict) -> list[str]:
    return [one.cause for one in verdict.findings]


def test_a_loop_that_got_no_data_trained_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DatasetSeen(type="tf.data", where="train.py:15"))
    run.probe(ev.EmptyPassSeen(passes=4, where="train.py:15"))
    run.ended(0)
    verdict = run.verdict()
    assert (verdict.outcome, _first(verdict)) == ("stopped-early", ("dataset-empty", Strength.SUPPORTED))
    assert _facts(verdict) == ["the loop at train.py:15 asked for data and got none, 4 times or more"]


NATIVE = """Fatal Python error: Segmentation fault

Thread 0x00007f2a00efa6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Thread 0x00007f2a4e1c1b80 (most recent call first):
  File "/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 53 in quick_execute
  File "/home/me/train.py", line 4 in <module>

Extension modules: numpy (total: 1)
"""


def test_a_crash_in_a_thread_without_python_shows_where_the_main_thread_was() -> None:
    found = read_fatal(NATIVE, source="stacks/faulthandler-1.txt")
    assert found is not None
    assert not found.in_python
    assert found.where == "/home/me/train.py:4 in <module>"
    assert found.inside.endswith("execute.py:53 in quick_execute")


def _crashed(path: Path, **limits: int) -> Verdict:
    run = Run(path, rlimits=limits)
    run.probe(ev.ProcessJoined(role="main"))
    run.fit()
    (path / "stacks").mkdir()
    pid = os.getpid()  # as the journal has it
    (path / "stacks" / f"faulthandler-{pid}.txt").write_text(NATIVE)
    run.samples(5, rss_bytes=2 * GIB, virtual_bytes=4 * GIB, phase="fill")
    run.ended(signal="SIGSEGV")
    return run.verdict()


def test_a_wordless_crash_without_a_limit(tmp_path: Path) -> None:
    free = _crashed(tmp_path / "free")
    assert _first(free) == ("native-crash", Strength.ESTABLISHED)
    assert title_of(free.findings[0]) == (
        "it crashed in native code (SIGSEGV) while /home/me/train.py:4 in <module> ran"
    )


@pytest.mark.parametrize(
    ("loss", "spec", "found"),
    [
        ("sparse_categorical_crossentropy", [[[None, 20], "float32"], [[None], "int64"]], True),
        (
            "sparse_categorical_crossentropy (ignore_class=10)",
            [[[None, 20], "float32"], [[None], "int64"]],
            False,
        ),
        (
            "sparse_categorical_crossentropy",
            [[[None, 20], "f"], [[None], "i"], [[None], "f"]],
            False,
        ),  # weights
    ],
)
def test_class_ids_that_jax_passes_over_in_silence(
    tmp_path: Path, loss: str, spec: list[object], found: bool
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.FrameworkSeen(name="keras", backend="jax"))
    run.probe(ev.ModelSeen(output_shape=[None, 10], loss=loss, trainable_parameters=5, trainable_variables=2))
    statistics = {"y": {"min": 1.0, "max": 10.0, "finite": True, "whole": True}}
    run.fit(data=ev.DatasetSeen(type="array", element_spec=spec, statistics=statistics, cardinality=100))
    run.epochs([100, 100, 100])
    run.ended(0)
    assert _slugs(run.verdict()) == (["class-id-out-of-range"] if found else [])


def test_a_long_wait_for_the_first_batch_does_not_hide_that_every_step_waits(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(steps=60, epochs=2)
    run.samples(
        60, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: n + 1,
        data_wait_s=lambda n: 0.4 * n, compute_s=lambda n: 0.1 * n,
    )  # fmt: skip
    run.samples(
        20, rss_bytes=600 * MIB, phase="fill", fit=1, step=60, data_wait_s=24.0, compute_s=6.0,
        beat_age_s=lambda n: float(n),
    )  # fmt: skip
    run.samples(
        60, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: n + 61,
        data_wait_s=lambda n: 24 + 0.4 * n, compute_s=lambda n: 6 + 0.1 * n,
    )  # fmt: skip
    run.epochs([60, 60])
    run.ended(0)
    assert _first(run.verdict()) == ("input-starved", Strength.SUPPORTED)


def test_keras_2_is_not_told_to_use_what_it_does_not_have(tmp_path: Path) -> None:
    for name, has_it in (("keras", True), ("tf_keras", False)):
        run = Run(tmp_path / name)
        run.probe(ev.FrameworkSeen(name=name, backend="tensorflow"))
        run.fit()
        run.probe(ev.NonFiniteSeen(what="loss", name="loss", step=1, value="nan"))
        run.probe(ev.StopRequested(by="TerminateOnNaN", step=1))
        run.epochs([1], [float("nan")], stopped=True)
        run.ended(0)
        verdict = run.verdict()
        assert verdict.findings[0].cause == "stopped-on-nan"
        assert ("raise_error" in render(verdict)) is has_it
        assert "unknown before" not in render(verdict)


def test_colours_of_a_message_are_not_part_of_it() -> None:
    assert clipped("\x1b[1mInput 0\x1b[0m is wrong") == "Input 0 is wrong"


def _did_not_stack(path: Path, usual: list[int], odd: list[int]) -> Verdict:
    run = Run(path)
    run.fit()
    run.probe(ev.ArrayShapesDiffered(usual=usual, odd=odd, index=5, total=8))
    run.raised("ValueError", "all input arrays must have the same shape", user_code="return np.stack(xs), ys")
    return run.verdict()


def test_arrays_that_do_not_stack_are_told_by_what_differs(tmp_path: Path) -> None:
    alpha = _did_not_stack(tmp_path / "alpha", [48, 48, 3], [48, 48, 4])
    assert _first(alpha) == ("wrong-channels", Strength.ESTABLISHED)
    assert title_of(alpha.findings[0]) == "one image has 4 channels, the others 3"
    assert "number 5 of 8 has shape [48, 48, 4], most have [48, 48, 3]" in _facts(alpha)
    grey = _did_not_stack(tmp_path / "grey", [48, 48, 3], [48, 48])
    assert _first(grey) == ("wrong-channels", Strength.ESTABLISHED)
    assert title_of(grey.findings[0]) == "one image has no axis of channels, the others have 3"
    sizes = _did_not_stack(tmp_path / "sizes", [48, 48, 3], [40, 52, 3])
    assert _first(sizes) == ("mixed-image-sizes", Strength.ESTABLISHED)
    assert "wrong-channels" not in _slugs(sizes)


def test_pixels_that_break_in_float16_are_not_blamed_on_their_scale(tmp_path: Path) -> None:
    firsts = []
    for precision in ("float32", "float16", "bfloat16"):
        run = Run(tmp_path / precision)
        run.probe(
            ev.ModelSeen(
                layer_kinds={"Conv2D": 2, "Dense": 1}, trainable_parameters=5, trainable_variables=2,
                precision=precision,
            )
        )  # fmt: skip
        spec = [[[None, 64, 64, 3], "float32"], [[None], "int64"]]
        statistics = {"x": {"min": 0.0, "max": 255.0, "finite": True}}
        run.fit(data=ev.DatasetSeen(type="array", element_spec=spec, statistics=statistics, cardinality=100))
        run.probe(
            ev.NonFiniteSeen(what="weights", name="conv2d/kernel", step=1, value="nan", precision=precision)
        )
        run.epochs([100, 100, 100], [float("nan")] * 3)
        run.ended(0)
        verdict = run.verdict()
        firsts.append(_first(verdict))
        assert "unknown before" not in render(verdict)
    assert firsts == [
        ("input-scale-mismatch", Strength.SUPPORTED),
        ("half-precision-overflow", Strength.SUPPORTED),
        ("input-scale-mismatch", Strength.SUPPORTED),
    ]
