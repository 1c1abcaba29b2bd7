"""Runs where torch and torchvision are: the state dict, raw outputs, detections and losses of one architecture.
Raw outputs and losses are of the first FEW images, the regions of Faster R-CNN of all.

    python torch_side.py ARCHITECTURE INPUTS.npz OUT_FOLDER FEW

It imports nothing of Holdfast. Images come at the input's size, so that torchvision does not resize them.
"""

import sys

import numpy as np
import torch
import torchvision.models.detection as detection

if __name__ == "__main__":
    import made_weights
else:
    from tests.torchvision_parity import made_weights


def build(name, side):
    """With weights that are made by the names of its tensors."""
    sizes = {} if name.startswith("ssd") else {"min_size": side, "max_size": side}
    model = getattr(detection, name)(weights=None, weights_backbone=None, **sizes)
    counters = "num_batches_tracked"
    shapes = {key: tuple(one.shape) for key, one in model.state_dict().items() if not key.endswith(counters)}
    made = {key: torch.from_numpy(value) for key, value in made_weights.make(shapes).items()}
    missing, unexpected = model.load_state_dict(made, strict=False)
    assert not unexpected and all(key.endswith(counters) for key in missing), (missing, unexpected)
    return model.eval()


def raw_outputs(model, images):
    """Of the one-stage detectors their head's outputs, of Faster R-CNN both stages'."""
    kept = {}

    def keep(name):
        def hook(module, given, result):
            kept.setdefault(name, []).append((given, result))

        return hook

    found, answers = [], []
    two_stages = hasattr(model, "roi_heads")
    if two_stages:
        hooks = [
            model.rpn.head.register_forward_hook(keep("rpn")),
            model.rpn.register_forward_hook(keep("regions")),
            model.roi_heads.box_predictor.register_forward_hook(keep("second")),
        ]
    else:
        hooks = [model.head.register_forward_hook(keep("head"))]
    for image in images:
        kept.clear()
        answers.append(model([image])[0])
        found.append(second_stage(kept) if two_stages else one_stage(kept["head"][0][1]))
    for hook in hooks:
        hook.remove()
    return found, answers


def one_stage(result):
    return {"logits": result["cls_logits"][0], "offsets": result["bbox_regression"][0]}


def second_stage(kept):
    objectness, offsets = kept["rpn"][0][1]
    flat = [level[0].permute(1, 2, 0).reshape(-1) for level in objectness]
    boxes = [level[0].view(-1, 4, *level.shape[2:]).permute(2, 3, 0, 1).reshape(-1, 4) for level in offsets]
    logits, region_offsets = kept["second"][0][1]
    return {
        "objectness": torch.cat(flat),
        "rpn_offsets": torch.cat(boxes),
        "regions": kept["regions"][0][1][0][0],
        "logits": logits,
        "offsets": region_offsets,
    }


def losses(model, images, boxes, labels):
    """One image at a time, with stored statistics, and with every anchor and region in the sample."""
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.eval()
    if hasattr(model, "roi_heads"):
        model.rpn.fg_bg_sampler.batch_size_per_image = 10**7
        model.roi_heads.fg_bg_sampler.batch_size_per_image = 10**7
        model.roi_heads.fg_bg_sampler.positive_fraction = 0.5
    found = []
    for image, own_boxes, own_labels in zip(images, boxes, labels, strict=False):
        target = {"boxes": torch.from_numpy(own_boxes).float(), "labels": torch.from_numpy(own_labels).long()}
        found.append({key: float(value) for key, value in model([image], [target]).items()})
    model.eval()
    return found


def main():
    name, inputs_path, out, few = *sys.argv[1:4], int(sys.argv[4])
    torch.manual_seed(0)
    torch.set_num_threads(1)  # threads that wait for each other crawl on a busy machine
    inputs = np.load(inputs_path)
    pixels = inputs["images"]
    model = build(name, pixels.shape[1])
    torch.save(model.state_dict(), f"{out}/{name}.pth")
    images = [torch.from_numpy(one).permute(2, 0, 1).float() / 255 for one in pixels]
    answers = {}
    with torch.no_grad():
        raw, detections = raw_outputs(model, images)
        count = [int(n) for n in inputs["counts"]]
        boxes = [one[:n] for one, n in zip(inputs["boxes"], count, strict=True)]
        labels = [one[:n] for one, n in zip(inputs["labels"], count, strict=True)]
        trained = losses(model, images[:few], boxes, labels)
    for index, (one, found) in enumerate(zip(raw, detections, strict=True)):
        if index < few:
            answers.update({f"raw/{index}/{key}": value.numpy() for key, value in one.items()})
            answers.update(
                {f"loss/{index}/{key}": np.float64(value) for key, value in trained[index].items()}
            )
        elif "regions" in one:
            answers[f"raw/{index}/regions"] = one["regions"].numpy()
        answers.update({f"found/{index}/{key}": value.numpy() for key, value in found.items()})
    np.savez(f"{out}/{name}.npz", **answers)


if __name__ == "__main__":
    main()
