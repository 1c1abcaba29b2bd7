"""Causes in callbacks, stopping, resuming and what is trained."""

from __future__ import annotations

from holdfast.explain.causes.control import (
    already_at_target,
    callback_blocked,
    callback_raised,
    early_stopping,
    learning_rate_collapsed,
    monitor_missing,
    nothing_trainable,
    resume_lost_state,
    silent_but_moving,
    stopped_by_callback,
    stopped_on_nan,
    waiting_for_a_person,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    early_stopping.early_stopping,
    stopped_by_callback.stopped_by_callback,
    stopped_on_nan.stopped_on_nan,
    callback_raised.callback_raised,
    callback_blocked.callback_blocked,
    waiting_for_a_person.waiting_for_a_person,
    already_at_target.already_at_target,
    monitor_missing.monitor_missing,
    learning_rate_collapsed.learning_rate_collapsed,
    nothing_trainable.nothing_trainable,
    resume_lost_state.resume_lost_state,
    silent_but_moving.silent_but_moving,
)
