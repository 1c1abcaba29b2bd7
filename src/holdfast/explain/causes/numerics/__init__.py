"""Causes in the numbers: losses, gradients, precision."""

from __future__ import annotations

from holdfast.explain.causes.numerics import (
    half_precision_overflow,
    learning_rate_too_high,
    loss_not_falling,
    loss_not_finite,
    loss_singular,
)

#: The specific before the general: among equals the earlier one is named first.
CAUSES = (
    learning_rate_too_high.learning_rate_too_high,
    loss_singular.loss_singular,
    half_precision_overflow.half_precision_overflow,
    loss_not_finite.loss_not_finite,
    loss_not_falling.loss_not_falling,
)
