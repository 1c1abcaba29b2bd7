"""Loops on torch: steps of its optimizers, batches of its DataLoader, and what `backward` is called on."""

from __future__ import annotations

import weakref
from typing import Any

from ...journal.events import StateDictLoaded
from ..loop_data import half_range, loss_scaler
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import observe
from . import torch_gradients
from .tensorflow_hooks import watch_iterator

PART = "torch_hooks"
_MAX_PARAMETERS = 100  # of a group, that are read


def hook_optimizer(context: ProbeContext, module: Any) -> None:
    """torch calls every optimizer's step through a list of its own, to which one may add."""
    register = getattr(module, "register_optimizer_step_post_hook", None)
    loop, gradients = context.loop, context.torch_gradients
    kind = getattr(module, "Optimizer", None)
    placed: weakref.WeakSet[Any] = weakref.WeakSet()  # optimizers that have stepped
    if kind is not None:
        observe(
            context, kind, "__init__", torch_gradients.PART,
            before=lambda args, kwargs: args[0],
            after=lambda optimizer, _: gradients.optimizer_made(optimizer),
        )  # fmt: skip

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        if context.is_on(PART):
            if optimizer not in placed:
                placed.add(optimizer)
                context.guard(PART, read_devices, context, optimizer)
            context.guard(PART, loop.optimizer_stepped, optimizer)
            context.guard(torch_gradients.PART, gradients.stepped, optimizer)
            context.loss_scaler.optimizer_stepped()

    if register is not None:
        register(stepped)


def read_devices(context: ProbeContext, optimizer: Any) -> None:
    """Where an optimizer's parameters are: "cuda" is proof that a GPU is used, whatever it is called."""
    parameters = [one for group in optimizer.param_groups for one in group["params"][:_MAX_PARAMETERS]]
    context.frameworks.parameters_seen({str(parameter.device.type) for parameter in parameters})


def hook_tensor(context: ProbeContext, module: Any) -> None:
    """The graph below a loss is not kept alive: what is kept is a view without it."""
    loop, gradients = context.loop, context.torch_gradients

    def begins(args: Any, kwargs: Any) -> None:
        unscaled = context.loss_scaler.original(args[0])
        loop.gradient_taken(unscaled)
        context.guard(half_range.PART, context.half_range.backward_begins, args[0], unscaled)
        context.guard(loss_scaler.PART, context.loss_scaler.backward_begins, args[0])
        context.guard(torch_gradients.PART, gradients.backward_begins, args[0])

    observe(
        context, module.Tensor, "backward", PART,
        before=begins,
        after=lambda token, _: gradients.backward_ends(),
    )  # fmt: skip


def hook_loader(context: ProbeContext, module: Any) -> None:
    watch_iterator(context, module._BaseDataLoaderIter, PART)
    observe(
        context, module._BaseDataLoaderIter, "_reset", PART,
        before=lambda args, kwargs: context.loop.iterator_restarts(args[0]),
    )  # fmt: skip
    observe(
        context, module.DataLoader, "__len__", PART,
        before=lambda args, kwargs: args[0],
        after=lambda loader, batches: None if batches else context.inputs.datasets.loader_is_empty(loader),
    )  # fmt: skip


def hook_module(context: ProbeContext, module: Any) -> None:
    took_nothing: list[bool] = []  # of the last state, where one was

    def loaded(args: Any, result: Any) -> None:
        given = list(args[1]) if len(args) > 1 else []
        unexpected = list(getattr(result, "unexpected_keys", ()))
        taken = len(given) - len(unexpected)
        if not given or (taken and not took_nothing):
            return
        took_nothing[:] = [] if taken else [True]
        missing = list(getattr(result, "missing_keys", ()))
        context.record(
            StateDictLoaded(
                taken=taken,
                given=len(given),
                wanted_name=str(missing[0]) if missing else "",
                given_name=str(unexpected[0]) if unexpected else "",
                where=user_lines.caller_line(),
            )
        )

    observe(
        context, module.Module, "load_state_dict", PART,
        before=lambda args, kwargs: (*args, kwargs["state_dict"]) if "state_dict" in kwargs else args,
        after=loaded,
    )  # fmt: skip

    observe(
        context, module.Module, "eval", PART,
        before=lambda args, kwargs: context.torch_layers.modes.switched_to_inference(),
    )  # fmt: skip


TORCH_HOOKS = (
    Hook(PART, "torch.optim.optimizer", hook_optimizer),
    Hook(PART, "torch._tensor", hook_tensor),
    Hook(PART, "torch.utils.data.dataloader", hook_loader),
    Hook(PART, "torch.nn.modules.module", hook_module),
)
