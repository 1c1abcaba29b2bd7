"""What training asks of the plan: a micro-batch that fits this machine's card, and the prediction to be held to."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.memory import cards, corrections
from holdfast.memory.account import Account
from holdfast.memory.ask import Memory
from holdfast.memory.facts import DataFacts, setup_of
from holdfast.memory.measure import Room
from holdfast.memory.price import Pricer
from holdfast.memory.search import largest
from holdfast.memory.setup import Setup
from holdfast.memory.sizes import shown
from holdfast.settings.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Planned:
    """`micro_batch` is None where nothing was planned: without a card, or where no prediction could be made."""

    setup: Setup
    micro_batch: int | None = None
    predicted_bytes: int | None = None  # the allocator's peak
    method: str = ""
    card: str = ""
    said: str = ""


def for_training(
    recipe: Recipe, *, classes: int, boxes: int, room: Room | None, sent_pixels: int = 0, price: Any = None
) -> Planned:
    """The largest micro-batch for `train.micro_batch = "auto"`; the prediction alone where it is a number."""
    data = DataFacts(classes, boxes, 0, 0, 0, 0, "none", "", sent_pixels)
    setup = setup_of(recipe, data)
    if room is None:
        return Planned(setup)
    card = (cards.of_name(room.name) or cards.of_size(room.limit_bytes)).with_memory(room.limit_bytes)
    price = price or Pricer(card, Memory(), correction_bytes=corrections.for_card(card.name))
    try:
        if recipe.train.micro_batch == "auto":
            return _searched(setup, room, card.name, price)
        made = price(setup, [setup.micro_batch])[0]
        return Planned(
            setup, None, made.step_peak_bytes, made.method.name, card.name, _said(setup, made, room)
        )
    except (HoldfastError, OSError, subprocess.TimeoutExpired) as error:
        return Planned(setup, said=f"the memory of a step was not predicted: {error}")


def _searched(setup: Setup, room: Room, card: str, price: Any) -> Planned:
    """The room is the allocator's own, so what lies outside its pool is not counted again."""
    found = largest(
        setup.batch, room.limit_bytes, lambda sizes: [_inside(one) for one in price(setup, sizes)]
    )
    micro = (
        found.micro_batch or 1
    )  # too close to call at one picture: it is tried, and relief says what happened
    chosen = replace(setup, micro_batch=micro)
    account = found.account
    return Planned(
        chosen, micro, account.step_peak_bytes, account.method.name, card, _said(chosen, account, room)
    )


def _inside(account: Account) -> Account:
    return replace(account, outside_bytes=0)


def _said(setup: Setup, account: Account, room: Room) -> str:
    return (
        f"micro-batches of {setup.micro_batch} will take {shown(account.step_peak_bytes)} of {shown(room.limit_bytes)} "
        f"on the {room.name}, by {account.method.name}"
    )
