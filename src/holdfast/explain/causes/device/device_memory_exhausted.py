"""The GPU has no memory left for a tensor."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, gpu_refused, users_line
from holdfast.explain.words import size


@cause(
    "device-memory-exhausted",
    Group.DEVICE,
    specialises=(
        "script-error",
        "native-crash",
        "callback-raised",
    ),
    mechanism=True,
)
def device_memory_exhausted(evidence: Evidence) -> Finding | None:
    said = gpu_refused(evidence)
    if said is None:
        return None
    text = evidence.error_text + "\n" + said[1].fact
    shape = re.search(r"shape ?\[([\d,]+)\](?: and type (\w+))?", text)
    asked = re.search(r"(?:trying to )?allocate ([\d.]+ ?[KMGT]?i?B|\d+ bytes)", text)
    facts = [said[1], *users_line(evidence)]
    op = re.search(r"\[?\{\{node ([\w/.:-]+)\}\}", text)
    if op:
        facts.append(Fact(f"the operation is {op[1]}", said[1].source))
    cards = evidence.samples[-1][1].gpus if evidence.samples else []
    for card in cards[:4]:
        ours = number_of(card.get("ours_bytes"))
        facts.append(
            Fact(
                f"the card used {size(number_of(card.get('used_bytes')))} of {size(number_of(card.get('total_bytes')))}"
                + (f", {size(ours)} by this run" if ours else ""),
                f"vitals.jsonl:{evidence.samples[-1][0]}",
            )
        )
    what = f" for a tensor of [{shape[1]}]" if shape else f": {asked[1]} asked for" if asked else ""
    return Finding(
        "device-memory-exhausted",
        Strength.ESTABLISHED,
        f"the GPU has no memory left{what}",
        tuple(facts),
        (),
        _TORCH if "PyTorch" in text else _KERAS,
    )


_SMALLER = "a smaller batch, and gradient accumulation to keep its effect"
_HALF = "half precision of activations"
_KERAS = (
    Remedy(
        _SMALLER, "your-choice", "optimizer = keras.optimizers.AdamW(1e-3, gradient_accumulation_steps=4)"
    ),
    Remedy(_HALF, "your-choice", 'keras.mixed_precision.set_global_policy("mixed_bfloat16")'),
)
_TORCH = (
    Remedy(_SMALLER, "your-choice", "(loss / 4).backward()   # and optimizer.step() at every fourth batch"),
    Remedy(_HALF, "your-choice", 'with torch.autocast("cuda", torch.bfloat16):'),
)
