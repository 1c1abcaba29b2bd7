"""What the machine has and allows."""

from __future__ import annotations

from pathlib import Path

from holdfast.host import machine_limits


def test_pressure_is_read_by_kind(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text(
        "some avg10=1.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.25 avg60=0 avg300=0 total=1\n"
    )
    assert machine_limits.pressure(tmp_path) == {"memory.some": 1.5, "memory.full": 0.25}
