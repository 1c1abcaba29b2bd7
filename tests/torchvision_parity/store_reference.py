"""`INTERPRETER -m tests.torchvision_parity.store_reference`: writes reference.json; INTERPRETER has torchvision."""

from __future__ import annotations

import json

import numpy as np
import torch

from tests.torchvision_parity.reference import REFERENCE, SIDES, image_of, picked
from tests.torchvision_parity.torch_side import build, raw_outputs


def of(name: str) -> dict[str, object]:
    image = torch.from_numpy(image_of(SIDES[name])).permute(2, 0, 1).float() / 255
    with torch.no_grad():
        (raw,), (found,) = raw_outputs(build(name, SIDES[name]), [image])
    best = [
        [[round(float(side), 3) for side in box], round(float(score), 6), int(label)]
        for box, score, label in list(zip(found["boxes"], found["scores"], found["labels"]))[:8]  # noqa: B905
    ]
    answers: dict[str, object] = {"detections": len(found["scores"]), "best": best}
    if "objectness" not in raw:
        answers |= {
            key: [float(f"{value:.6g}") for value in picked(np.asarray(raw[key]))]
            for key in ("logits", "offsets")
        }
    return answers


if __name__ == "__main__":
    torch.set_num_threads(1)
    stored = {}
    for name in SIDES:
        stored[name] = of(name)
        REFERENCE.write_text(json.dumps(stored, indent=0) + "\n")
        print(name, stored[name]["detections"], flush=True)
