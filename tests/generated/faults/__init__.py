"""All faults. Importing this package registers them."""

from __future__ import annotations

from . import boxes, control, data, learning, learning_steps, machine, outputs
from .registry import FAULTS, Fault

__all__ = ["FAULTS", "Fault", "boxes", "control", "data", "learning", "learning_steps", "machine", "outputs"]
