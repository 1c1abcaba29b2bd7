"""What the first batches of a loop show of objects: boxes and their classes, or cells with an object and those without.

Of a batch whose targets are not passed on as arrays, the loss shows them: a term that counts cells with an object only
is multiplied by where they are, or is indexed by it, and torch keeps that for the backward pass.
"""

from __future__ import annotations

from typing import Any, Callable

from ...journal.events import ObjectMapsSeen
from ..runtime.context import ProbeContext
from ..runtime.nested_values import leaves
from . import detection_maps, detection_samples

PART = "loop_places"
_BATCHES = 50  # that are looked at, at most
_ENOUGH = 256  # objects


class LoopPlaces:
    def __init__(self, context: ProbeContext, array: Callable[[Any], Any]) -> None:
        self._context, self._array = context, array
        self._places: Any = None  # what the first batch shows
        self._sought = 0  # batches
        self._maps: dict[str, int] | None = None
        self._with_maps = 0  # batches
        self._cells: list[tuple[Any, Any]] = []  # ids of cells, and whether they have an object

    def batch(self, parts: Any) -> None:
        """Inputs and targets. In the first batch, and in the next ones while there is no object in any."""
        if len(parts) < 2 or min(self._sought, self._with_maps) >= _BATCHES:
            return
        inputs = [array for array in [self._array(parts[0])] if array is not None]
        names = [str(name) for part in parts[1:] for name in (part if isinstance(part, dict) else [""])]
        targets = [self._array(leaf) for leaf in leaves(list(parts[1:]))]
        if not inputs or not targets or any(one is None for one in targets):
            self._sought += 1
            return
        self._add_maps(targets)
        if self._sought >= _BATCHES:
            return
        self._sought += 1
        seen = self._context.learning.places_in(inputs, targets, names)
        empty = seen is not None and not seen.box_rows and len(seen.ids) == 1 and seen.several
        self._places = seen.changed(batches=self._sought) if seen is not None else None
        self._sought = self._sought if empty else _BATCHES

    def compared(self, all_compared: list[Any]) -> None:
        """The terms of one loss."""
        objects = sum(int(filled.sum()) for _, filled in self._cells)
        if self._places is not None or objects >= _ENOUGH or len(self._cells) >= _BATCHES:
            return
        masks = [self._array(one.mask) for one in all_compared if one.mask is not None]
        for one in all_compared:
            ids = self._array(one.target) if one.mask is None else None
            if ids is None or ids.dtype.kind not in "iu" or "crossentropy" not in one.loss:
                continue
            filled = next((cells for cells in map(_like(ids), masks) if cells is not None), None)
            if filled is not None:
                self._cells.append((ids.reshape(-1).copy(), filled.reshape(-1).copy()))

    def add_target(self, target: Any) -> None:
        """Of a term of the loss."""
        self._add_maps([self._array(target)])

    def _add_maps(self, targets: list[Any]) -> None:
        if self._with_maps >= _BATCHES:
            return
        self._with_maps += 1
        for one in targets:
            found = detection_maps.objects_on(one) if one is not None else None
            if found is not None:
                self._maps = detection_maps.added(self._maps, found)
                return

    def write(self) -> None:
        """When the process ends, where it was trained on."""
        if not self._context.heartbeat.step:
            return
        places = self._places if self._places is not None else detection_samples.cells_seen(self._cells)
        if places is not None:
            self._context.record(places)
        if self._maps is not None:
            self._context.record(ObjectMapsSeen(fit=None, step=1, name="", **self._maps))
        self._places, self._cells, self._maps = None, [], None


def _like(ids: Any) -> Callable[[Any], Any]:
    """A mask in the shape of the ids, where it has one value for each of them: zeros and ones."""

    def shaped(mask: Any) -> Any:
        if mask is None or mask.size != ids.size or mask.shape[0] != ids.shape[0]:
            return None
        sides = [side for side in mask.shape if side != 1]
        if sides != [side for side in ids.shape if side != 1]:
            return None
        return (mask != 0).reshape(ids.shape) if bool(((mask == 0) | (mask == 1)).all()) else None

    return shaped
