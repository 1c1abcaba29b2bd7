"""Loader threads in waits for storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.explain import Strength
from tests.explain.made import MIB, Run, facts, remedies


def _trained(run: Run, **more: Any) -> None:
    run.fit(data_wait="sampled")
    fields = {
        "rss_bytes": 600 * MIB, "phase": "step", "fit": 1, "step": lambda n: n + 1, "cpu_s": lambda n: 0.2 * n,
        "data_wait_s": lambda n: 0.9 * n, "compute_s": lambda n: 0.1 * n, **more,
    }  # fmt: skip
    run.samples(30, **fields)
    run.epochs([100, 100, 100])
    run.ended(0)


def example(run: Run) -> None:
    _trained(
        run,
        thread_states={"S": 30, "D": 2},
        waits={"folio_wait_bit_common": 2},
        pressure={"io.some": 60.0},
        disk_read_bytes=lambda n: 6 * MIB * n,
    )


def near_miss(run: Run) -> None:
    """Starved too, but the loader computes."""
    _trained(run, cpu_s=lambda n: 1.9 * n, thread_states={"S": 30, "R": 2}, waits={"futex_do_wait": 30})


def test_the_waits_and_what_was_read(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.ends) == (Strength.SUPPORTED, False)
    assert facts(first)["threads.in-storage"] == {"waiting": 30, "samples": 30}
    assert facts(first)["machine.waits-for-io"] == {"share": 0.6}
    assert facts(first)["storage.read"] == {"bytes_per_s": 6 * MIB}
    assert remedies(first) == ["data.copy-to-local-disk", "data.fewer-larger-files"]


def test_a_few_waits_count_where_the_machine_waits_for_io(tmp_path: Path) -> None:
    def states(number: int) -> dict[str, int]:
        return {"S": 30, "D": number % 4 == 0}

    quiet, pressed = Run(tmp_path / "quiet"), Run(tmp_path / "pressed")
    _trained(quiet, thread_states=states)
    _trained(pressed, thread_states=states, pressure={"io.some": 60.0})
    assert "storage-slow" not in quiet.slugs()
    assert pressed.slugs()[0] == "storage-slow"


def test_a_model_that_is_fed_is_not_slowed_by_storage(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trained(run, thread_states={"D": 2}, data_wait_s=lambda n: 0.1 * n, compute_s=lambda n: 0.9 * n)
    assert "storage-slow" not in run.slugs()
