"""What the callbacks share: `holdfast.watch` from the moment the callback is made until the fit has ended."""

from __future__ import annotations

import atexit
import sys
from pathlib import Path
from typing import Any


class WatchedFit:
    """Begins when it is made, since what is called before `fit` matters too. One that is never ended, because the fit
    raised an exception that nobody caught, ends with the process."""

    def __init__(self, run_dir: str | Path | None, *, quiet: bool) -> None:
        self._run_dir, self._quiet = run_dir, quiet
        self.folder: Path | None = None  # stays None where `holdfast run` watches the process already
        self._block: Any = self._begin()
        atexit.register(self._end_with_process)

    def begin_again(self) -> None:
        """Before a fit: a second one, after the first has ended, is a run of its own."""
        if self._block is None:
            self._run_dir = None  # a run never overwrites another
            self._block = self._begin()

    def end(self, error: BaseException | None = None) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        block.__exit__(type(error) if error is not None else None, error, None)
        if self.folder is not None:
            self._tag(self.folder)

    def _tag(self, folder: Path) -> None:
        from holdfast.callbacks.tracker_tags import tag_active_runs, tags_of

        if not {"mlflow", "wandb"} & sys.modules.keys():
            return
        from holdfast.explain import explain
        from holdfast.report.verdict_json import as_json

        tag_active_runs(tags_of(as_json(explain(folder, compare=False)), folder))

    def _begin(self) -> Any:
        import holdfast

        block = holdfast.watch(self._run_dir, quiet=self._quiet).__enter__()
        self.folder = block.folder
        return block

    def _end_with_process(self) -> None:
        self.end(getattr(sys, "last_value", None))
