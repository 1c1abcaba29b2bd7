"""The observed list of callbacks takes the same calls as Keras's own, and is copied and pickled like a list."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

from holdfast.journal import reader
from holdfast.journal.events import EpochDone, EpochStarted, FitStarted
from holdfast.probe.fit import callback_list
from holdfast.probe.fit.active_callback import ObservedCallbacks

from ..probed import new_context


class Callback:
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        pass


def test_a_copy_of_the_watched_callbacks_is_a_plain_list(tmp_path: Path) -> None:
    watch = callback_list.CallbackListObserver(new_context(tmp_path))
    watched = ObservedCallbacks([1, "two"], watch)
    for made in (copy.copy(watched), copy.deepcopy(watched), pickle.loads(pickle.dumps(watched))):
        assert made == [1, "two"]
        assert type(made) is list


def test_a_list_of_callbacks_is_called_by_name_or_by_place(tmp_path: Path) -> None:
    """As loops of the user's own do."""

    class CallbackList:
        params: dict[str, int] = {"steps": 5}  # noqa: RUF012

        def __init__(self) -> None:
            self.callbacks = [Callback()]

        def on_train_begin(self, logs: Any = None) -> None:
            pass

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            pass

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            for callback in self.callbacks:
                callback.on_epoch_end(epoch, logs)

    context = new_context(tmp_path)
    callback_list.hook_list(context, CallbackList)
    made = CallbackList()
    made.on_train_begin({})
    made.on_epoch_begin(2, {})
    made.on_epoch_end(2, {"loss": 0.5})
    made.on_epoch_begin(epoch=3, logs={})
    made.on_epoch_end(epoch=3, logs={"loss": 0.25})
    assert context.failed_parts == set()
    events = [entry.event for entry in reader.read(tmp_path / "journal.jsonl")]
    assert [event.planned_steps_per_epoch for event in events if isinstance(event, FitStarted)] == [5]
    assert [event.epoch for event in events if isinstance(event, EpochStarted)] == [2, 3]
    done = [(event.epoch, event.logs) for event in events if isinstance(event, EpochDone)]
    assert done == [(2, {"loss": 0.5}), (3, {"loss": 0.25})]
