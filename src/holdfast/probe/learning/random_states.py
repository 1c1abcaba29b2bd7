"""Random states of the process, put back after something that may draw from them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def unchanged_random_states() -> Iterator[None]:
    """Of Python, numpy, torch and TensorFlow's counter of operation seeds. What Keras draws is in variables."""
    put_back = [one for one in (_python(), _numpy(), _torch(), _tensorflow()) if one is not None]
    try:
        yield
    finally:
        for restore in put_back:
            restore()


def _python() -> Callable[[], Any] | None:
    random: Any = sys.modules.get("random")
    if random is None:
        return None
    state = random.getstate()
    return lambda: random.setstate(state)


def _numpy() -> Callable[[], Any] | None:
    np: Any = sys.modules.get("numpy")
    if np is None or "numpy.random" not in sys.modules:
        return None
    state = np.random.get_state()
    return lambda: np.random.set_state(state)


def _torch() -> Callable[[], Any] | None:
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "get_rng_state"):
        return None
    state = torch.get_rng_state()
    on_devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None

    def restore() -> None:
        torch.set_rng_state(state)
        if on_devices is not None:
            torch.cuda.set_rng_state_all(on_devices)

    return restore


def _tensorflow() -> Callable[[], Any] | None:
    """Operations without a seed of their own are given one by a generator of the context."""
    module: Any = sys.modules.get("tensorflow.python.eager.context")
    context = getattr(module, "_context", None)
    generator = getattr(context, "_rng", None)
    if generator is None:
        return None
    state = generator.getstate()
    return lambda: generator.setstate(state)
