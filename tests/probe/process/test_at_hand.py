"""What is recorded of the frames that an exception left."""

from __future__ import annotations

from typing import Any

from holdfast.probe.process import at_hand


class Stopping:
    def __init__(self, monitor: Any, best: Any = None) -> None:
        self.monitor, self.best, self.best_epoch, self.wait = monitor, best, 0, None


class Experiment:
    def __init__(self, stop: Stopping) -> None:
        self.stop = stop

    def report(self) -> str:
        return f"{self.stop.best:.4f}"


def _report(value: Any) -> str:
    return f"{value:.4f}"


def _unset(function: Any, *given: Any) -> list[dict[str, Any]]:
    try:
        function(*given)
    except (TypeError, ValueError) as error:
        seen = at_hand.seen(error, [])
        return seen.unset if seen is not None else []
    raise AssertionError("it did not fail")


def _direct(stop: Stopping) -> str:
    return f"{stop.best:.4f}"


def _handed_on(stop: Stopping) -> str:
    best = stop.best
    return _report(best)


def _from_a_list(callbacks: list[Stopping]) -> float:
    return max(0.0, callbacks[0].best)


def _of_other_values(stop: Stopping) -> int:
    return int(f"{stop.best}")


def test_a_none_that_a_callback_holds_and_the_code_reads() -> None:
    expected = [{"monitor": "val_auc", "attribute": "best"}]  # nobody reads `wait`
    assert _unset(_direct, Stopping("val_auc")) == expected
    assert _unset(_handed_on, Stopping("val_auc")) == expected
    assert _unset(_from_a_list, [Stopping("val_auc")]) == expected
    assert _unset(Experiment(Stopping("val_auc")).report) == expected


def test_no_callback_and_no_none() -> None:
    assert _unset(_direct, Stopping(None)) == []
    assert _unset(_of_other_values, Stopping("val_auc", "high")) == []
    assert _unset(_report, None) == []
