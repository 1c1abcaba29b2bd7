"""GPU memory that was in use before the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.causes.test_device_memory_exhausted import TENSORFLOW
from tests.explain.made import GIB, Run, facts, remedies

_GPU = {"name": "NVIDIA H200", "total_bytes": 140 * GIB}
_OTHER = {"pid": 812, "name": "python", "bytes": 120 * GIB}


def _refused(run: Run, *used_gib: int, visible: str = "") -> None:
    gpus = [{**_GPU, "used_bytes": used * GIB, "processes": [_OTHER] if used else []} for used in used_gib]
    run.supervisor(ev.MachineRead(gpus=gpus))
    run.probe(ev.FrameworkSeen(name="tensorflow", environment={"CUDA_VISIBLE_DEVICES": visible}))
    run.raised("ResourceExhaustedError", TENSORFLOW)


def example(run: Run) -> None:
    run.supervisor(ev.MachineRead(gpus=[{**_GPU, "used_bytes": 121 * GIB, "processes": [_OTHER]}]))
    run.raised("ResourceExhaustedError", TENSORFLOW)


def near_miss(run: Run) -> None:
    run.supervisor(ev.MachineRead(gpus=[{**_GPU, "used_bytes": 0, "processes": []}]))
    run.raised("ResourceExhaustedError", TENSORFLOW)


def test_the_processes_that_use_it_are_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"used_bytes": 121 * GIB, "total_bytes": 140 * GIB}
    assert facts(first)["gpu.used-before"]["processes"] == [_OTHER]
    assert first.led_to == "device-memory-exhausted"


@pytest.mark.parametrize(
    ("used_gib", "visible", "strength", "remedy"),
    [
        ((121,), "", Strength.ESTABLISHED, "gpu.grow-memory"),
        ((40,), "", Strength.SUPPORTED, "gpu.grow-memory"),
        ((121, 0), "", Strength.POSSIBLE, "gpu.use-another"),
        ((121, 0), "0", Strength.ESTABLISHED, "gpu.grow-memory"),
    ],
)
def test_how_sure_it_is(
    tmp_path: Path, used_gib: tuple[int, ...], visible: str, strength: Strength, remedy: str
) -> None:
    run = Run(tmp_path / "run")
    _refused(run, *used_gib, visible=visible)
    found = next(one for one in run.verdict().findings if one.cause == "device-memory-held-by-others")
    assert (found.strength, remedies(found)[1]) == (strength, remedy)


def test_a_handle_that_could_not_be_created(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.supervisor(ev.MachineRead(gpus=[{**_GPU, "used_bytes": 121 * GIB, "processes": []}]))
    run.raised("InternalError", "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR")
    assert (run.first().cause, run.first().led_to) == ("device-memory-held-by-others", None)
