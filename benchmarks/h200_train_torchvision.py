"""torchvision's side of benchmarks/h200_train.py: fine-tunes the same state dict on the same files, and detects.

As a user of torchvision would: CocoDetection-like dataset, workers that decode, flips, the model's own resizing and
normalisation on the GPU, autocast in bfloat16, channels-last, a fused AdamW with warm-up and cosine, `torch.compile` of
backbone and head where asked.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
import torchvision
from h200_torchvision import DETECTORS, frozen
from torchvision.io import ImageReadMode, decode_image
from torchvision.ops import FrozenBatchNorm2d


class Coco(torch.utils.data.Dataset):
    def __init__(self, folder: Path, *, flips: bool) -> None:
        found = json.loads((folder / "annotations.json").read_text())
        boxes = defaultdict(list)
        for one in found["annotations"]:
            boxes[one["image_id"]].append(one)
        self.folder, self.flips, self.images, self.boxes = folder, flips, found["images"], boxes

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        info = self.images[index]
        image = decode_image(str(self.folder / info["file_name"]), ImageReadMode.RGB)
        found = self.boxes[info["id"]]
        boxes = torch.tensor([one["bbox"] for one in found], dtype=torch.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        if self.flips and torch.rand(()) < 0.5:
            image = image.flip(-1)
            boxes[:, [0, 2]] = info["width"] - boxes[:, [2, 0]]
        labels = torch.tensor([one["category_id"] for one in found], dtype=torch.int64)
        return image, {"boxes": boxes, "labels": labels}, info["id"]


def collate(batch: list[Any]) -> Any:
    return tuple(zip(*batch, strict=True))


def loader(data: Coco, batch: int, workers: int, *, train: bool) -> Any:
    return torch.utils.data.DataLoader(
        data, batch, shuffle=train, drop_last=train, num_workers=workers, collate_fn=collate, pin_memory=True,
        persistent_workers=train, prefetch_factor=4,
    )  # fmt: skip


def fresh(name: str, classes: int, side: int, *, epsilon: float = 1e-5) -> torch.nn.Module:
    """Random weights, frozen normalisation."""
    sizes = {} if name == "ssd" else {"min_size": side, "max_size": side}
    model = DETECTORS[name](weights=None, weights_backbone=None, num_classes=classes + 1, **sizes)
    frozen(model)
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = epsilon
    return model


def write_weights(name: str, classes: int, side: int, folder: Path, file: Path) -> None:
    """Random weights whose frozen statistics are those of the photographs, so that every layer is in range."""
    torch.manual_seed(0)
    sizes = {} if name == "ssd" else {"min_size": side, "max_size": side}
    made = DETECTORS[name](weights=None, weights_backbone=None, num_classes=classes + 1, **sizes)
    norms = [module for module in made.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None  # the mean of all batches
    data = Coco(folder, flips=False)
    made.cuda().train()
    with torch.no_grad():
        for first in range(0, 64 if norms else 0, 16):
            some = [data[index][0].cuda().float().div(255) for index in range(first, first + 16)]
            made.backbone(made.transform(some)[0].tensors)
    state = {
        key: value.cpu()
        for key, value in made.state_dict().items()
        if not key.endswith("num_batches_tracked")
    }
    torch.save(state, file)


def rate_at(step: int, steps: int, peak: float) -> float:
    warm = min(500, max(1, steps // 10))
    if step < warm:
        return peak * (step + 1) / warm
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def train(asked: dict[str, Any]) -> dict[str, Any]:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    began = time.perf_counter()
    model = fresh(asked["name"], asked["classes"], asked["side"])
    model.load_state_dict(torch.load(asked["weights"], weights_only=True))
    model = model.cuda().train().to(memory_format=torch.channels_last)
    if asked["compile"]:
        model.backbone.compile()
        model.head.compile() if hasattr(model, "head") else None
    data = Coco(Path(asked["train"]), flips=True)
    feed = loader(data, asked["batch"], asked["workers"], train=True)
    steps = asked["epochs"] * len(feed)
    optimizer = torch.optim.AdamW(model.parameters(), 1.0, weight_decay=1e-4, fused=True)
    done, ends, losses = 0, [], []
    for _ in range(asked["epochs"]):
        for images, targets, _ in feed:
            for group in optimizer.param_groups:
                group["lr"] = rate_at(done, steps, asked["learning_rate"])
            images = [image.cuda(non_blocking=True).float().div(255) for image in images]
            targets = [{key: value.cuda(non_blocking=True) for key, value in one.items()} for one in targets]
            with torch.autocast("cuda", torch.bfloat16):
                loss = sum(model(images, targets).values())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
            done += 1
            if done == 1:
                loss.item()
                first_step_s = time.perf_counter() - began
        losses.append(loss.item())  # waits for the epoch's last step
        ends.append(time.perf_counter() - began)
    later = asked["batch"] * (done - len(feed)) / (ends[-1] - ends[0])
    return {
        "name": asked["name"], "batch": asked["batch"], "first_step_s": first_step_s, "finished_s": ends[-1],
        "epoch_1_images_per_s": asked["batch"] * (len(feed) - 1) / (ends[0] - first_step_s),
        "images_per_s": later, "losses": losses, "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
        "AP": evaluate(model, asked),
    }  # fmt: skip


@torch.no_grad()
def evaluate(model: Any, asked: dict[str, Any]) -> dict[str, float]:
    from faster_coco_eval import COCO, COCOeval_faster

    folder = Path(asked["test"])
    model.eval()
    for module in model.modules():
        module._compiled_call_impl = None  # another shape for each batch would be compiled again
    found = []
    for images, _, ids in loader(Coco(folder, flips=False), 8, 4, train=False):
        outputs = model([image.cuda().float().div(255) for image in images])
        for image_id, output in zip(ids, outputs, strict=True):
            boxes = output["boxes"].cpu()
            boxes[:, 2:] -= boxes[:, :2]
            for box, label, score in zip(boxes, output["labels"].cpu(), output["scores"].cpu(), strict=True):
                found.append({
                    "image_id": int(image_id), "category_id": int(label), "score": float(score), "bbox": box.tolist()
                })  # fmt: skip
    if not found:
        return {"AP": 0.0, "AP50": 0.0}
    truth = COCO(str(folder / "annotations.json"))
    metric = COCOeval_faster(truth, truth.loadRes(found), iouType="bbox")
    metric.evaluate()
    metric.accumulate()
    metric.summarize()
    return {"AP": float(metric.stats[0]), "AP50": float(metric.stats[1])}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    if asked["do"] == "weights":
        write_weights(
            asked["name"], asked["classes"], asked["side"], Path(asked["train"]), Path(asked["weights"])
        )
    else:
        print(json.dumps({"torchvision": torchvision.__version__, "result": train(asked)}), flush=True)
