"""What torch says when the card is full, in the words it used on a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.made import Run, code_of

SAID = (
    "CUDA out of memory. Tried to allocate 32.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 9.17 GiB is "
    "free. Including non-PyTorch memory, this process has 130.62 GiB memory in use. Of the allocated memory {used} is "
    "allocated by PyTorch, and {idle} is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
    "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)


@pytest.mark.parametrize(
    ("used", "idle", "cause", "code"),
    [
        ("128.19 GiB", "1.81 GiB", "device-memory-exhausted", "(loss / 4).backward()"),
        ("60.00 GiB", "70.00 GiB", "device-memory-fragmented", "expandable_segments:True"),
    ],
)
def test_a_full_card_in_torchs_words(tmp_path: Path, used: str, idle: str, cause: str, code: str) -> None:
    run = Run(tmp_path / "run")
    run.raised("OutOfMemoryError", SAID.format(used=used, idle=idle))
    first = run.verdict().findings[0]
    assert first.cause == cause
    assert first.strength >= Strength.SUPPORTED
    assert code in (code_of(first.remedies[0]) or "")
