"""`holdfast plan RECIPE`: what a training step will take, line by line, and what to change so that it fits."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from holdfast.cli.patience import patience
from holdfast.cli.recipe import add_overrides
from holdfast.errors import ExitCode

if TYPE_CHECKING:
    from holdfast.memory.cards import Card
    from holdfast.settings.recipe import Recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="RECIPE_OR_DATA", help="a recipe (.toml), or data to train on")
    parser.add_argument("--device-memory", metavar="SIZE", help="of the card, as in 16GiB")
    parser.add_argument(
        "--card", metavar="NAME", help="compile for this card: h200, a100-40, t4, rtx-4090, …"
    )
    parser.add_argument(
        "--quick", action="store_true", help="trace the step, do not compile it: seconds, and less exact"
    )
    parser.add_argument("--cpu", action="store_true", help="for this machine's processor and memory instead")
    add_overrides(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from holdfast.cli.train import _recipe, refuse_missing
    from holdfast.memory import facts, host, shown
    from holdfast.memory.plan import plan

    recipe = _recipe(args.source, args.overrides)
    if not args.source.endswith(
        ".toml"
    ):  # a recipe may be of another machine; data that was named is to be here
        refuse_missing(recipe, args.source, args.overrides)
    card, memory_bytes, target, notes = _target(args, recipe)
    with patience(f"reading {recipe.data.train}"):
        data = facts.of_data(recipe, on_gpu=card is not None)
    wanted = facts.setup_of(recipe, data)
    notes = [data.said, *notes]
    price = _pricer(card, memory_bytes, args)
    with patience(f"pricing a step of {wanted.short()}") if args.json else nullcontext():  # else it says each
        made = plan(wanted, memory_bytes, price, half=_half(card))
    option = made.chosen or made.tried[-1]
    notes += _notes(price, recipe, card)
    state = _state_bytes(option.account)
    beside = host.lines(facts.host_of(recipe, data, state_bytes=state, on_card=card is not None))
    told: dict[str, Any] = {"memory_bytes": memory_bytes, "target": target, "host": beside, "notes": notes}
    print(json.dumps(shown.as_json(made, **told)) if args.json else shown.as_text(made, **told))
    return ExitCode.FINE if made.chosen is not None else ExitCode.FINDINGS


def _target(args: argparse.Namespace, recipe: Recipe) -> tuple[Card | None, int, str, list[str]]:
    """The card to compile for, the memory there is, how to name both, and what was assumed."""
    from holdfast.memory import cards
    from holdfast.memory.machine import here
    from holdfast.memory.sizes import parse
    from holdfast.pipeline.machine import free_memory_bytes

    size = parse(args.device_memory, where="--device-memory") if args.device_memory else None
    if args.card:
        card = cards.named(args.card)
        memory = size or card.memory_bytes
        return card.with_memory(memory), memory, card.name, []
    if size is not None and not args.cpu:
        card = cards.of_size(size)
        note = f"no card was named: planned for the {card.name}, the description nearest in size; --card names another"
        return card.with_memory(size), size, f"a card of that size ({card.name})", [note]
    found = None if args.cpu else here()
    if found is not None:
        known = cards.of_name(found.name) or cards.of_size(found.total_bytes)
        held = [f"{found.name}: {found.words()}"]
        return known.with_memory(found.total_bytes), found.free_bytes, found.name, held
    memory = size or free_memory_bytes()
    return (
        None,
        memory,
        "this machine's processor",
        []
        if args.cpu
        else [
            "no card was found and none was named: planned for the processor; --device-memory 16GiB plans for a card"
        ],
    )


def _pricer(card: Card | None, memory_bytes: int, args: argparse.Namespace) -> Any:
    from holdfast.memory import ask, corrections, price

    def say(text: str) -> None:
        if not args.json:
            print(f"… {text}", file=sys.stderr, flush=True)

    if card is None:
        return price.Trials(memory_bytes, say=say)
    return price.Pricer(card, ask.Memory(), correction_bytes=corrections.for_card(card.name),
                        compiles=not args.quick, say=say)  # fmt: skip


def _half(card: Card | None) -> str:
    """Cards before Ampere have no bfloat16."""
    return "float16" if card is not None and card.capability < (8, 0) else "bfloat16"


def _notes(price: Any, recipe: Recipe, card: Card | None) -> list[str]:
    notes = []
    missing = getattr(price, "missing", None)
    if missing is not None:
        notes += [
            f"not compiled for the card, since {missing.what}: {' '.join(missing.found)}",
            *missing.change,
        ]
    if card is not None and card.guessed:
        notes.append(f"the description of the {card.name} is from its datasheet, not read from a card")
    if recipe.hardware.processes > 1 or getattr(recipe.hardware, "devices", 1) > 1:
        notes.append("planned for one device; several share the batch, so each takes at most this")
    return notes


def _state_bytes(account: Any) -> int:
    """Weights, moments and average, once: what a checkpoint copies to the host."""
    wanted = ("weights", "optimizer moments", "average of the weights", "statistics")
    sizes = [line.bytes // (3 if "three times" in line.what else 1)
             for line in account.lines if line.what.split(",")[0] in wanted]  # fmt: skip
    return int(sum(sizes))
