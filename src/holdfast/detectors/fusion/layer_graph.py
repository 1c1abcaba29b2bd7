"""A block of a network as a list of steps: what runs on what. The passes that reorder them are in `rearranged`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import keras

Tensor = Any

Name = Hashable  # of a tensor: the `id` of one of the functional graph, or what was made of one


class GraphOp(NamedTuple):
    run: Callable[..., Tensor]
    sources: tuple[Name, ...]
    result: Name
    kind: str = ""
    of: Any = None  # what a bias is, a ReLU's too, or the layer


def only_users(steps: Sequence[GraphOp]) -> dict[Name, GraphOp]:
    """Of each tensor that one step alone reads, and once."""
    uses = Counter(source for step in steps for source in step.sources)
    return {source: step for step in steps for source in step.sources if uses[source] == 1}


def on_jax() -> bool:
    return bool(keras.backend.backend() == "jax")
