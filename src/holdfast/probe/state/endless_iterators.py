"""Whether a generator of the user's can ever end by itself, read from its code; nothing is drawn from it."""

from __future__ import annotations

import dis
import inspect
from types import CodeType
from typing import Any

#: Nodes of a dataset behind which an endless source is as endless as before.
_KEEP_THE_LENGTH = frozenset(
    {"map", "batch", "padded_batch", "ragged_batch", "prefetch", "shuffle", "repeat", "options", "cache", "model",
     "parallel_map", "max_intra_op_parallelism", "private_thread_pool"}
)  # fmt: skip


def never_returns(function: Any) -> bool:
    """``while True`` with no way out but an exception: the compiler leaves no return in such a function."""
    for _ in range(8):
        function = getattr(function, "func", None) or getattr(function, "__func__", None) or function
    code = function if isinstance(function, CodeType) else getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or not code.co_flags & inspect.CO_GENERATOR:
        return False
    return not any(one.opname in ("RETURN_VALUE", "RETURN_CONST") for one in dis.get_instructions(code))


def of_nodes(nodes: list[dict[str, Any]]) -> bool:
    """Whether the dataset whose nodes these are, from the source to the end, never ends."""
    marked = [at for at, node in enumerate(nodes) if node.get("endless")]
    return bool(marked) and all(node.get("op") in _KEEP_THE_LENGTH for node in nodes[marked[-1] + 1 :])
