"""The GPU's memory was taken before this run began."""

from __future__ import annotations

import re
from typing import Any

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, gpu_refused, matched
from holdfast.explain.words import listed, size
from holdfast.journal import events as ev


@cause("device-memory-held-by-others", Group.DEVICE, specialises=("script-error",))
def device_memory_held_by_others(evidence: Evidence) -> Finding | None:
    machine = evidence.last(ev.MachineRead)
    refused = gpu_refused(evidence) or matched(
        evidence,
        r"Could not create cudnn handle|CUDNN_STATUS_(INTERNAL|NOT_INITIALIZED|ALLOC)|"
        r"Failed to get convolution algorithm|cublas.*(create|ALLOC)",
        flags=re.I,
    )
    if refused is None or machine is None:
        return None
    held = [
        (card, number_of(card.get("used_bytes")) or 0.0, number_of(card.get("total_bytes")) or 0.0)
        for card in _used_by_it(evidence, machine.event.gpus)
    ]
    full = [(card, used, total) for card, used, total in held if total and used > 0.2 * total]
    if not full:
        return None
    card, used, total = max(full, key=lambda one: one[1])
    holders_named = [
        f"{one.get('name') or 'process'} (pid {one.get('pid')}, {size(number_of(one.get('bytes')))})"
        for one in card.get("processes", [])
    ]
    facts = [
        refused[1],
        Fact(f"before this run began, {size(used)} of {size(total)} were taken", machine.source),
    ]
    if holders_named:
        facts.append(Fact(f"held by {listed(holders_named, 4)}", machine.source))
    free = [one for one, used_bytes, _ in held if used_bytes < 0.1 * total]
    sure = Strength.ESTABLISHED if used > 0.5 * total else Strength.SUPPORTED
    return Finding(
        "device-memory-held-by-others",
        Strength.POSSIBLE if free else sure,  # nobody said which of the cards ran out
        f"{size(used)} of the GPU's {size(total)} were held by others before the run began",
        tuple(facts),
        (),
        (
            Remedy("end the processes that hold it, if they are left-overs", "your-choice"),
            Remedy(
                "use another card" if free else "take memory as needed instead of all at once",
                "your-choice",
                "CUDA_VISIBLE_DEVICES=1" if free else "tf.config.experimental.set_memory_growth(gpu, True)",
            ),
        ),
        led_to="device-memory-exhausted" if gpu_refused(evidence) else None,
    )


def _used_by_it(evidence: Evidence, cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cards that CUDA_VISIBLE_DEVICES leaves to the run, where it says so by their numbers."""
    told = [said.event.environment.get("CUDA_VISIBLE_DEVICES") for said in evidence.all(ev.FrameworkSeen)]
    wanted = next((value for value in reversed(told) if value), "")
    numbers = [int(one) for one in wanted.split(",") if one.strip().isdigit()]
    return [cards[one] for one in numbers if one < len(cards)] or cards
