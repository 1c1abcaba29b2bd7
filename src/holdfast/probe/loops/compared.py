"""What a loop passes to its loss: predictions against targets, as the framework's own record of operations shows it."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

Shape = Optional[Tuple[Optional[int], ...]]


class Compared(NamedTuple):
    loss: str  # under the name that Keras gives it
    from_logits: bool | None = None
    activation: str = ""  # what the predictions went through last; "": not known
    layer: str = ""  # the operation that made them
    prediction_shape: Shape = None
    target_shape: Shape = None
    part: bool = False  # it is scaled, or one of several terms, so that its value is not what is minimised
    reads_behind: bool = False
    prediction: Any = None  # arrays in host memory, where they can be read
    target: Any = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Two calls with the same are one; the number of rows may differ."""
        units = self.prediction_shape[-1] if self.prediction_shape else None
        ranks = len(self.prediction_shape or ()), len(self.target_shape or ())
        return self.loss, self.from_logits, self.activation, units, ranks
