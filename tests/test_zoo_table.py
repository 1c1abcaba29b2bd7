"""The page of verdicts: counts by cause, from the results of a pass."""

from __future__ import annotations

from typing import Any

from tests.zoo.table import table


def result(kind: str, mark: str, cause: str = "", **more: Any) -> dict[str, Any]:
    expected = [cause] if kind == "faulty" else []
    return {"kind": kind, "mark": mark, "expected": expected, "not_blamed": cause if kind == "near" else "",
            "established_and_wrong": False, "not_made": "", "verdict": {"findings": []}, **more}  # fmt: skip


def test_right_and_wrong_are_counted_by_cause() -> None:
    alarm = {"findings": [{"cause": "disk-full", "strength": "supported"}]}
    page = table(
        [
            result("faulty", "right", "disk-full"),
            result("faulty", "wrong", "disk-full", established_and_wrong=True),
            result("faulty", "right", "retracing", not_made="no swap here"),
            result("near", "quiet", "disk-full"),
            result("healthy", "quiet"),
            result("healthy", "false alarm", verdict=alarm),
        ]
    )
    assert "| disk-full | 1 / 2 | 1 / 1 | 1 |" in page
    assert "retracing" not in page
    assert "| **all** | 1 / 2 | 1 / 1 | 1 of 2 |" in page
    assert "Established and wrong: 1 of 5." in page
