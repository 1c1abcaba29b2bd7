"""Loops on torch: steps of its optimizers, batches of its DataLoader, and what `backward` is called on."""

from __future__ import annotations

from typing import Any

from ..process.framework_versions import PARAMETERS_ON
from ..runtime.context import ProbeContext
from ..runtime.wrapping import observe
from . import custom_loop

PART = "torchloops"
_LOOKED_AT = 100  # parameters of a group


def hook_optimizer(session: ProbeContext, module: Any) -> None:
    """torch calls every optimizer's step through a list of its own, to which one may add."""
    register = getattr(module, "register_optimizer_step_post_hook", None)
    loop = custom_loop.of(session)

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        if session.on(PART):
            if PARAMETERS_ON not in session.seen:
                session.seen[PARAMETERS_ON] = []
                session.guard(PART, _see_parameters, session, optimizer)
            session.guard(PART, loop.optimizer_stepped, optimizer)

    if register is not None:
        register(stepped)


def _see_parameters(session: ProbeContext, optimizer: Any) -> None:
    """Where the first optimizer's parameters are: "cuda" is proof that a GPU is used, whatever it is called."""
    held = {str(one.device.type) for group in optimizer.param_groups for one in group["params"][:_LOOKED_AT]}
    session.seen[PARAMETERS_ON] = sorted(held)


def hook_tensor(session: ProbeContext, module: Any) -> None:
    """The graph below a loss is not kept alive: what is kept is a view without it."""
    loop = custom_loop.of(session)
    observe(
        session, module.Tensor, "backward", PART,
        before=lambda args, kwargs: loop.gradient_asked(args[0].detach()),
    )  # fmt: skip


def hook_loader(session: ProbeContext, module: Any) -> None:
    custom_loop.watch_iterators(session, module._BaseDataLoaderIter)
