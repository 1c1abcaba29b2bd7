"""Loop state stored in every checkpoint, so that resume is exact."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from holdfast.train.early_stop_policy import EarlyStoppingState


@dataclass
class LoopState:
    step: int = 0  # steps done, which is also the position in the data
    epoch: int = 0  # index of the current pass over the data
    #: Of the loss and its parts, since the last validation.
    sums: dict[str, float] = field(default_factory=dict)
    summed: int = 0
    patience: EarlyStoppingState = field(default_factory=EarlyStoppingState)
    validated_at: int = 0
    last_validation: dict[str, float] = field(default_factory=dict)
    rate_scale: float = 1.0
    rollbacks: int = 0
    skipped: int = 0

    def add(self, numbers: dict[str, Any]) -> None:
        """One step's losses. Python floats added in a fixed order, so a resumed run has the same bits."""
        for name, value in {"loss": numbers["loss"], **numbers["parts"]}.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        self.summed += 1

    def means(self) -> dict[str, float]:
        return {name: total / max(1, self.summed) for name, total in self.sums.items()}

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(values: dict[str, Any]) -> LoopState:
    known = {name: value for name, value in values.items() if name in LoopState.__dataclass_fields__}
    return LoopState(**{**known, "patience": EarlyStoppingState(**known.get("patience", {}))})
