"""What to change so that a step fits, in the order of least harm. Pure: what prices a setup is handed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from holdfast.memory.account import Account, Answer
from holdfast.memory.search import Found, largest
from holdfast.memory.setup import Setup

Price = Callable[[Setup, list[int]], list[Account]]
SMALLER_INPUTS = (0.8, 0.64, 0.5)
SMALLEST_INPUT = {"ssd": 300, "retinanet": 256, "faster-rcnn": 256}
LIGHTER = "mobilenet_v2"


@dataclass(frozen=True, slots=True)
class Option:
    """A setup, what was changed to get there, what that costs, and what it takes."""

    setup: Setup
    changes: tuple[str, ...]
    costs: tuple[str, ...]
    account: Account
    answer: Answer


@dataclass(frozen=True, slots=True)
class Plan:
    """`chosen` is None when nothing fits; `tried` holds every option that was priced, in order."""

    chosen: Option | None
    tried: tuple[Option, ...]
    asked: Option  # the recipe as it stands


@dataclass(frozen=True, slots=True)
class Step:
    """One way to need less."""

    setup: Setup
    change: str
    cost: str


def plan(wanted: Setup, memory_bytes: int, price: Price, *, half: str = "bfloat16") -> Plan:
    """The recipe as it stands, else the largest micro-batch, else the least harmful change that makes one fit."""
    tried: list[Option] = []
    for setup, changes, costs in ladder(wanted, half=half):
        found = largest(setup.batch, memory_bytes, partial(price, setup))
        option = _option(setup, changes, costs, found, memory_bytes)
        tried.append(option)
        if found.micro_batch is not None:
            return Plan(option, tuple(tried), tried[0])
        if found.account.method.never_yes and option.answer != "does-not-fit":
            break  # a lower bound cannot say yes, and changing the recipe on its word would be a guess
    return Plan(None, tuple(tried), tried[0])


def _option(
    setup: Setup, changes: tuple[str, ...], costs: tuple[str, ...], found: Found, memory_bytes: int
) -> Option:
    micro = found.micro_batch or 1
    if micro != setup.batch:
        changes = (*changes, f"train.micro_batch = {micro}")
        costs = (
            *costs,
            "the same result, to float rounding; some speed, as smaller kernels fill a card less",
        )
    answer = "fits" if found.micro_batch is not None else found.account.judge(memory_bytes)
    return Option(replace(setup, micro_batch=micro), changes, costs, found.account, answer)


def ladder(wanted: Setup, *, half: str) -> list[tuple[Setup, tuple[str, ...], tuple[str, ...]]]:
    """Setups to try one after the other, each with all changes and costs up to it."""
    rungs: list[tuple[Setup, tuple[str, ...], tuple[str, ...]]] = [(wanted, (), ())]

    def add(step: Step) -> None:
        _, changes, costs = rungs[-1]
        rungs.append((step.setup, (*changes, step.change), (*costs, step.cost)))

    if wanted.precision == "float32":
        cost = "results differ in the third figure or so; faster on cards with tensor cores"
        add(Step(replace(wanted, precision=half), f'train.precision = "{half}"', cost))
    if not wanted.rematerialise:
        cost = "the same gradient; a step takes about a third longer, as the forward pass is computed twice"
        add(Step(replace(rungs[-1][0], rematerialise=True), "train.rematerialise = true", cost))
    for smaller in _smaller_inputs(wanted):
        setup, changes, costs = rungs[-1]
        base = [change for change in changes if not change.startswith("model.input")]
        kept = [cost for cost in costs if "small objects" not in cost]
        cost = "small objects are harder to find; faster"
        rungs.append((replace(setup, input=smaller), (*base, f"model.input = {smaller}"), (*kept, cost)))
    if wanted.backbone != LIGHTER:
        cost = "less accurate; much faster"
        add(Step(replace(rungs[-1][0], backbone=LIGHTER), f'model.backbone = "{LIGHTER}"', cost))
    return rungs


def _smaller_inputs(wanted: Setup) -> list[int]:
    least = SMALLEST_INPUT[wanted.detector]
    sizes = [int(wanted.input * factor) // 32 * 32 for factor in SMALLER_INPUTS]
    return [size for size in dict.fromkeys(sizes) if size >= least]
