"""A run that prints nothing and trains."""

from __future__ import annotations

from tests.explain.made import MIB, Run, main_in_fit


def example(run: Run) -> None:
    run.fit(epochs=500, steps=100)
    run.samples(
        40, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: 5 * n, loss=0.3, output_bytes=100
    )


def near_miss(run: Run) -> None:
    """Silent, and standing."""
    run.fit(epochs=500, steps=100)
    run.samples(40, rss_bytes=600 * MIB, phase="step", fit=1, step=77, output_bytes=100)
    run.stalled("step", main_in_fit())
