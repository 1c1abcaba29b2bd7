"""Records of a run may be a stranger's, or half lost: what no reader of a single file noticed ends here, in words."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from holdfast.errors import HoldfastError

_OF_VALUES = (
    TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError,
)  # fmt: skip


class DamagedRun(HoldfastError):
    """The records of a run contradict what they say they are."""

    slug = "damaged-run"


@contextlib.contextmanager
def reading_run(path: Path) -> Iterator[None]:
    """Around what reads and renders the records in `path`: a value that cannot be used is an error that names them."""
    try:
        yield
    except (HoldfastError, OSError):
        raise
    except _OF_VALUES as error:
        if os.environ.get("HOLDFAST_DEBUG"):
            raise
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        at = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}" if frame else ""
        raise DamagedRun(
            "the records of this run cannot be used: a value is not what its name says",
            where=path,
            found=f"{type(error).__name__}: {str(error)[:300]} (at {at})",
            change="copy the run folder again from where it came; where it is your own and whole, set "
            "HOLDFAST_DEBUG=1 for the full traceback, and please report it",
        ) from error
