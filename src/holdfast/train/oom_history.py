"""What earlier attempts of a run say about memory: whether it ran out, and which micro-batch to continue with."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.journal import reader
from holdfast.journal.folder import RunFolder
from holdfast.journal.reader import Entry
from holdfast.settings.recipe import Recipe
from holdfast.step import out_of_memory
from holdfast.train.checkpoint.checkpoint_files import Snapshot


class OomHistory:
    """Read from the journal once, before this attempt writes to it."""

    def __init__(self, entries: Sequence[Entry], attempt: int, recipe: Recipe) -> None:
        self._entries = entries if attempt > 1 else []
        self._attempt, self._train = attempt, recipe.train

    @property
    def ran_out(self) -> bool:
        """Whether an attempt of this run ended for memory. From then on no images are cached."""
        return out_of_memory.ran_out_of_memory(self._entries)

    @property
    def after_kill(self) -> tuple[int, int] | None:
        """The micro-batch before and now, when the attempt before this one ended for memory."""
        return out_of_memory.micro_batch_after_kill(self._entries, self._attempt, self._train.batch)

    def micro_batch(self, checkpoint: Snapshot | None) -> int | None:
        """To continue with; None when the plan, or the recipe, decides."""
        killed = self.after_kill
        if killed is not None and not self.is_newly_configured(checkpoint):
            return killed[1]
        return self._previous(checkpoint)

    def is_newly_configured(self, checkpoint: Snapshot | None) -> bool:
        """Whether the recipe sets a size since the checkpoint, and not the one with which memory ran out."""
        configured = self._train.micro_batch
        if checkpoint is None or not isinstance(configured, int):
            return False
        before = [entry for entry in self._entries if entry.attempt == self._attempt - 1]
        used = out_of_memory.last_micro_batch(before)
        return configured not in (used, checkpoint.meta["recipe"].get("train.micro_batch"))

    def _previous(self, checkpoint: Snapshot | None) -> int | None:
        """Of the checkpoint, or of an earlier attempt: the free memory may differ now, but the bits depend on the size.

        None where there was none, where the recipe now sets another, or where the batch has changed.
        """
        configured = self._train.micro_batch
        if checkpoint is None:
            before = out_of_memory.last_micro_batch(self._entries)
        else:
            before = checkpoint.meta["micro_batch"]
            if isinstance(configured, int) and configured != checkpoint.meta["recipe"].get(
                "train.micro_batch"
            ):
                return None
        return before if before and self._train.batch % before == 0 else None


def read_oom_history(folder: RunFolder, attempt: int, recipe: Recipe) -> OomHistory:
    return OomHistory(list(reader.read(folder.journal)) if attempt > 1 else [], attempt, recipe)
