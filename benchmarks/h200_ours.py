"""The product's own training step on JAX, at the sizes that are compared: no TensorFlow is imported here.

Images travel as uint8 and are recoloured on the device; boxes are matched there; losses, gradient, clipping, SGD
with momentum and decay, the average of the weights and the finite-or-not decision are those of `holdfast train`.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Size:
    """One setting: what is trained, and on how much."""

    detector: str
    backbone: str
    side: int
    batch: int
    classes: int
    frozen_blocks: int = 0
    boxes: int = 20  # real ones an image
    places: int = 100  # boxes an image with padding, about COCO's most
    precision: str = "bfloat16"
    sent: tuple[int, int] | None = None  # width and height of images that the step resizes itself


SIZES = {
    "ssd": Size("ssd", "vgg16", 300, 128, 80),
    "retinanet": Size("retinanet", "resnet50", 640, 64, 80),
    "faster-rcnn": Size("faster-rcnn", "resnet50", 640, 64, 80),
    # As MLPerf's: OpenImages' 264 classes, the stem and the first stage frozen.
    "resnext": Size("retinanet", "resnext50", 800, 32, 264, frozen_blocks=4),
}


def step_of(size: Size) -> Any:
    from holdfast.detectors.build import build
    from holdfast.detectors.spec import DetectorSpec
    from holdfast.step.jax_step import JaxStep
    from holdfast.step.network import detector_network
    from holdfast.step.optimizer import OptimizerConfig

    names = tuple(f"class {index}" for index in range(size.classes))
    spec = DetectorSpec(size.detector, size.backbone, names, (size.side, size.side), precision=size.precision)
    model = build(spec)
    if size.frozen_blocks:
        model.backbone.freeze(size.frozen_blocks)
    config = OptimizerConfig("sgd", weight_decay=1e-4, clip_norm=10.0, ema=0.9998)
    network = detector_network(model, changes_colour=True, seed=0)
    return JaxStep(network, config, batch=size.batch, micro_batch=size.batch)


def batch_of(size: Size, seed: int) -> dict[str, np.ndarray]:
    """Images of noise with a brighter patch under each box, so that there is something to learn."""
    random = np.random.default_rng(seed)
    count, side, places = size.batch, size.side, size.places
    images = random.integers(0, 128, (count, side, side, 3), dtype=np.uint8)
    sides = np.exp(random.uniform(np.log(0.04), np.log(0.6), (count, places, 2))) * side
    centres = random.uniform(0.1, 0.9, (count, places, 2)) * side
    boxes = np.clip(np.concatenate([centres - sides / 2, centres + sides / 2], axis=-1), 0, side)
    labels = random.integers(0, size.classes, (count, places)).astype(np.int32)
    real = np.broadcast_to(np.arange(places) < size.boxes, (count, places)).copy()
    for image, (corners, kinds) in enumerate(zip(boxes.astype(int), labels, strict=True)):
        for (left, top, right, bottom), kind in zip(corners[: size.boxes], kinds, strict=False):
            images[image, top:bottom, left:right, kind % 3] |= 128
    ranges = ((-0.1, 0.1), (0.8, 1.2), (0.8, 1.2), (-0.02, 0.02))
    colour = np.stack([random.uniform(low, high, count) for low, high in ranges], axis=-1)
    shown = {"images": images} if size.sent is None else sent_of(size.sent, count, side, random)
    return shown | {
        "boxes": boxes.astype(np.float32) * real[..., None], "labels": labels, "real": real,
        "crowd": np.zeros_like(real), "colour": colour.astype(np.float32),
        "image": np.arange(count, dtype=np.int32) + 1000 * seed,
    }  # fmt: skip


def sent_of(image: tuple[int, int], count: int, side: int, random: Any) -> dict[str, np.ndarray]:
    """Images as the pipeline sends them where the step resizes: every second one mirrored, the aspect kept."""
    width, height = image
    drawn = round(side * height / width)
    beside = (side - drawn) // 2
    upright = [height, width, 0, width, 1, drawn, side, beside, 0]
    mirrored = [height, width, width - 1, width, -1, drawn, side, beside, 0]
    room = -(-width * height // 1024) * 1024
    pixels = random.integers(0, 256, (count, room, 3), dtype=np.uint8)
    return {"pixels": pixels, "view": np.array([upright, mirrored] * count, np.int32)[:count]}


def forward_flops(step: Any, batch: dict[str, Any]) -> float:
    """Multiplications and additions of all convolutions and matrix products of one forward pass, whole batch."""
    import jax

    from holdfast.step.network import loss_sums

    def forward(weights: Any, fixed: Any, batch: Any) -> Any:
        return loss_sums(step.network, step.layout.unflatten(weights), fixed, batch)[0]

    whole = batch | {"step": np.zeros((step.batch,), np.int32)}
    return _flops(jax.make_jaxpr(forward)(step.state[0].weights, step.state[1], whole).jaxpr)


def _flops(jaxpr: Any) -> float:
    total = 0.0
    for equation in jaxpr.eqns:
        out = float(np.prod(equation.outvars[0].aval.shape)) if equation.outvars else 0.0
        if equation.primitive.name == "conv_general_dilated":
            kernel = equation.invars[1].aval.shape
            spec = equation.params["dimension_numbers"].rhs_spec
            total += 2.0 * out * float(np.prod(kernel)) / kernel[spec[0]]
        elif equation.primitive.name == "dot_general":
            (inner, _), _ = equation.params["dimension_numbers"]
            total += 2.0 * out * float(np.prod([equation.invars[0].aval.shape[axis] for axis in inner]))
        else:
            for value in equation.params.values():
                for inside in value if isinstance(value, (tuple, list)) else (value,):
                    inner_jaxpr = getattr(inside, "jaxpr", inside)
                    if hasattr(inner_jaxpr, "eqns"):
                        total += _flops(inner_jaxpr)
    return total


def run(
    name: str, changes: dict[str, Any], folder: Path, *, label: str, steps: int, profile: bool
) -> dict[str, Any]:
    """Builds, compiles, waits for a word on standard input, measures."""
    import jax

    size = dataclasses.replace(SIZES[name], **changes)
    began = time.perf_counter()
    with jax.default_device(jax.devices("cpu")[0]):
        step = step_of(size)
    device = jax.devices()[0]
    step._optimizer_state, step._fixed, step._masks = jax.device_put(
        (step._optimizer_state, step._fixed, step._masks), device
    )
    on_host = [batch_of(size, seed) for seed in range(3)]
    batches = [jax.device_put(batch, device) for batch in on_host]
    built = time.perf_counter()
    compiled = step._compiled.lower(*step.arguments(batches[0])).compile()
    compile_s = time.perf_counter() - built
    flops = forward_flops(step, batches[0])
    print(json.dumps({"ready": name, "build_s": built - began, "compile_s": compile_s}), flush=True)
    sys.stdin.readline()
    losses = _losses(step, batches, 8)
    if profile:
        _profile(step, batches, folder, label, compiled)
    rounds = [_timed(step, batches, steps) for _ in range(3)]
    from_host = [_timed(step, on_host, steps) for _ in range(3)]
    losses += _losses(step, batches, 3)
    analysis = compiled.memory_analysis()
    planned = (
        analysis.argument_size_in_bytes + analysis.temp_size_in_bytes
        + analysis.output_size_in_bytes - analysis.alias_size_in_bytes
    )  # fmt: skip
    stats = device.memory_stats() or {}
    best = sorted(rounds)[1]
    return {
        "name": name, "side": size.side, "batch": size.batch, "images_per_s": size.batch / best,
        "step_ms": [1e3 * one for one in rounds], "from_host_ms": [1e3 * one for one in from_host],
        "forward_gflop_per_image": flops / size.batch / 1e9,
        "loss": [losses[0], losses[-1]], "planned_gib": planned / 2**30,
        "peak_gib": stats.get("peak_bytes_in_use", 0) / 2**30, "compile_s": compile_s,
    }  # fmt: skip


def _losses(step: Any, batches: list[Any], count: int) -> list[float]:
    found = []
    for index in range(count):
        result = step(batches[index % len(batches)], step=index, learning_rate=2e-4, frozen=False)
        found.append(step.fetch(result)["loss"])
    return found


def _timed(step: Any, batches: list[Any], steps: int) -> float:
    """Seconds a step, as the product's loop runs them: the numbers of a step are read when the next is sent off."""
    before = step(batches[0], step=0, learning_rate=2e-4, frozen=False)
    step.fetch(before)
    began = time.perf_counter()
    for index in range(steps):
        result = step(batches[index % len(batches)], step=index, learning_rate=2e-4, frozen=False)
        if index:
            step.fetch(before)
        before = result
    step.fetch(before)
    return (time.perf_counter() - began) / steps


def _profile(step: Any, batches: list[Any], folder: Path, name: str, compiled: Any) -> None:
    """The time of each kind of kernel over three steps, as a text table."""
    import gzip
    import tempfile

    import jax

    with tempfile.TemporaryDirectory() as place:
        with jax.profiler.trace(place):
            _losses(step, batches, 3)
        (trace,) = Path(place).rglob("*.xplane.pb")
        (folder / f"{name}.profile.txt").write_text(table_of(trace, steps=3))
    with gzip.open(folder / f"{name}.hlo.gz", "wt") as file:
        file.write(compiled.as_text())


def table_of(trace: Path, steps: int) -> str:
    import jax

    by_op: dict[str, list[float]] = {}
    for plane in jax.profiler.ProfileData.from_file(str(trace)).planes:
        if "GPU" not in plane.name:
            continue
        for line in plane.lines:
            if not line.name.startswith("Stream"):
                continue
            for event in line.events:
                facts = dict(event.stats)
                op = str(facts.get("hlo_op", ""))
                entry = by_op.setdefault(f"{op} | {event.name[:90]}", [0.0, 0.0])
                entry[0] += event.duration_ns / 1e6 / steps
                entry[1] += 1 / steps
    rows = sorted(by_op.items(), key=lambda item: -item[1][0])
    total = sum(ms for _, (ms, _) in rows)
    lines = [f"{total:9.3f} ms a step in kernels"]
    lines += [f"{ms:9.3f} ms {count:7.1f} x  {key}" for key, (ms, count) in rows[:400]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    found = run(
        asked["name"], asked.get("changes", {}), Path(asked["folder"]), label=asked.get("label", asked["name"]),
        steps=asked.get("steps", 20), profile=asked.get("profile", False),
    )  # fmt: skip
    print(json.dumps({"result": found}), flush=True)
