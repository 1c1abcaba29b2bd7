"""torchvision's detectors on the same images and boxes: a plain training step, nothing but what it needs.

Generous to torchvision: batches lie on the device as floats of the right size, nothing is augmented, clipped or
averaged, and normalisation is frozen as ours is (its default from fresh weights is batch statistics, which cost more).
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import torch
import torchvision
from h200_ours import SIZES, batch_of
from torchvision.ops import FrozenBatchNorm2d

DETECTORS = {
    "ssd": torchvision.models.detection.ssd300_vgg16,
    "retinanet": torchvision.models.detection.retinanet_resnet50_fpn,
    "faster-rcnn": torchvision.models.detection.fasterrcnn_resnet50_fpn,
}


def frozen(module: torch.nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, torch.nn.BatchNorm2d):
            setattr(module, name, FrozenBatchNorm2d(child.num_features))
        else:
            frozen(child)


def build(name: str, size: Any, how: dict[str, bool]) -> Any:
    sizes = {} if name == "ssd" else {"min_size": size.side, "max_size": size.side}
    model = DETECTORS[name](weights=None, weights_backbone=None, num_classes=size.classes + 1, **sizes)
    frozen(model)
    model = model.cuda().train()
    if how["channels_last"]:
        model = model.to(memory_format=torch.channels_last)
    if how["compile"]:
        model.backbone = torch.compile(model.backbone)
        if hasattr(model, "head"):
            model.head = torch.compile(model.head)
    return model


def batches(size: Any) -> list[Any]:
    made = []
    for seed in range(2):
        batch = batch_of(size, seed)
        images = torch.from_numpy(batch["images"]).cuda().permute(0, 3, 1, 2).float().div(255)
        targets = [
            {
                "boxes": torch.from_numpy(batch["boxes"][i][: size.boxes]).cuda(),
                "labels": torch.from_numpy(batch["labels"][i][: size.boxes].astype("int64") + 1).cuda(),
            }
            for i in range(size.batch)
        ]
        made.append((list(images), targets))
    return made


def run(name: str, batch: int, how: dict[str, bool], steps: int) -> dict[str, Any]:
    import dataclasses

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    size = dataclasses.replace(SIZES[name], batch=batch)
    model, data = build(name, size, how), batches(size)
    optimizer = torch.optim.SGD(model.parameters(), 2e-4, momentum=0.9, weight_decay=1e-4, fused=True)

    def step(index: int) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16, enabled=how["bf16"]):
            loss = sum(model(*data[index % 2]).values())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    began = time.perf_counter()
    first = step(0).item()
    for index in range(3):
        step(index)
    torch.cuda.synchronize()
    prepared_s = time.perf_counter() - began
    print(json.dumps({"ready": name, "compile_s": prepared_s}), flush=True)
    sys.stdin.readline()
    step(0)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    rounds = []
    for _ in range(3):
        began = time.perf_counter()
        for index in range(steps):
            last = step(index)
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - began) / steps)
    return {
        "name": name, "how": "+".join(key for key, on in how.items() if on) or "tf32", "batch": batch,
        "images_per_s": batch / sorted(rounds)[1], "step_ms": [1e3 * one for one in rounds],
        "loss": [first, last.item()], "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }  # fmt: skip


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    found = run(asked["name"], asked["batch"], asked["how"], asked.get("steps", 6))
    print(json.dumps({"result": found}), flush=True)
