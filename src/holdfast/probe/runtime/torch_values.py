"""Values of torch's tensors in host memory.

A tensor of a GPU is copied, which waits for the computation before it: only where one looks rarely, and never while a
CUDA graph is recorded, which any wait would break.
"""

from __future__ import annotations

import sys
from typing import Any

_MOST_VALUES = 32_000_000  # that are copied at once


def on_host(tensor: Any) -> Any:
    """The tensor without its graph, in host memory; None where it is too large or may not be copied."""
    tensor = tensor.detach()
    if tensor.device.type == "cpu":
        return tensor
    if tensor.device.type != "cuda" or tensor.numel() > _MOST_VALUES or is_recorded():
        return None
    return tensor.cpu()


def is_recorded() -> bool:
    """Whether what this thread computes goes into a CUDA graph instead of to the GPU."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    asked = getattr(cuda, "is_current_stream_capturing", None)
    return bool(asked is not None and asked())
