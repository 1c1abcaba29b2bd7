"""The peak memory of a training step, predicted on a machine without a GPU, against the same measured on an H200.

    python benchmarks/memory_h200.py predict [FILE [N [WORD]]]  # no GPU; writes memory_h200.json, sealed by its hash
    python benchmarks/memory_h200.py measure OUT [N [WORD]]     # on the GPU: each setup in fresh processes, N at once;
                                                          # and three planned to fill 90 % of a limit, and one more
    python benchmarks/memory_h200.py times OUT            # on the GPU, alone: steps with and without rematerialisation
    python benchmarks/memory_h200.py table [FILE…]        # prediction against truth

WORD chooses the setups whose JSON has it; HOLDFAST_PREDICTIONS names another file of predictions.

A measurement is taken from the second process of two: the first fills the compile cache, since the autotuner of
a cold compilation takes far more memory than the step. The program that is measured must have the fingerprint
of the one that was predicted.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PREDICTIONS = Path(os.environ.get("HOLDFAST_PREDICTIONS", HERE / "memory_h200.json"))
MEASURED = HERE / "memory_h200.measured.jsonl"
STEPS = 8
GIB = 2**30


def _setup(detector: str, backbone: str, size: int, batch: int, precision: str = "float32", *, micro: int = 0,
           sgd: bool = False, remat: bool = False, sent: int = 0) -> dict[str, Any]:  # fmt: skip
    return {
        "detector": detector, "backbone": backbone, "input": size, "classes": 80, "boxes": 100, "batch": batch,
        "micro_batch": micro or batch, "precision": precision, "optimizer": "sgd" if sgd else "adamw",
        "rematerialise": remat, **({"sent_pixels": sent} if sent else {}),
    }  # fmt: skip


SETUPS = [  # small compilations first, detectors by turns
    _setup("ssd", "vgg16", 300, 1),
    _setup("retinanet", "resnet50", 512, 1),
    _setup("ssd", "vgg16", 300, 8, sgd=True),
    _setup("retinanet", "resnet50", 640, 16, "bfloat16"),
    _setup("faster-rcnn", "resnet50", 640, 16, "bfloat16"),
    _setup("ssd", "vgg16", 300, 32),
    _setup("ssd", "vgg16", 300, 128, "bfloat16"),
    _setup("faster-rcnn", "resnet50", 640, 4, "float16", sgd=True),
    _setup("ssd", "vgg16", 300, 32, "float16"),
    _setup("retinanet", "resnet50", 640, 16, "bfloat16", remat=True),
    _setup("ssd", "vgg16", 300, 32, remat=True),
    _setup("retinanet", "resnet50", 512, 8, "float16"),
    _setup("faster-rcnn", "resnet50", 1024, 2),
    _setup("ssd", "vgg16", 300, 128, "bfloat16", micro=32),
    _setup("retinanet", "resnet50", 1024, 8, "bfloat16"),
    _setup("faster-rcnn", "resnet50", 800, 4, "bfloat16", remat=True),
    _setup("ssd", "mobilenet_v2", 320, 64),
    _setup("retinanet", "resnet50", 1024, 4, remat=True),
    _setup("retinanet", "resnet50", 640, 32, "bfloat16", micro=8),
    _setup("retinanet", "mobilenet_v2", 512, 32, "bfloat16"),
    _setup("retinanet", "resnext50", 640, 8, "bfloat16"),
    _setup("faster-rcnn", "mobilenet_v2", 512, 16),
    # the step resizes what the host sends: images of 0.3, 1 and 2 megapixels
    _setup("ssd", "vgg16", 300, 32, sent=640 * 480),
    _setup("retinanet", "resnet50", 640, 16, "bfloat16", sent=1280 * 800),
    _setup("faster-rcnn", "resnet50", 640, 8, "bfloat16", sent=1920 * 1080),
    _setup("retinanet", "resnet50", 640, 32, "bfloat16", micro=8, sent=1280 * 800),
]

#: A batch that is to fill nine tenths of a limit, and the next one up in the same limit. Both are predicted. One
#: image more is over a ninth of these, else the next batch would still fit.
LIMITS = [
    tuple(_setup("ssd", "vgg16", 640, batch, sgd=True) for batch in (2, 3)),
    tuple(_setup("retinanet", "resnet50", 1024, batch) for batch in (3, 4)),
    tuple(_setup("faster-rcnn", "resnet50", 1024, batch) for batch in (3, 4)),
]
FILLED = 0.9
GPU_BYTES = 150109880320  # what the pool's fraction is a fraction of
TIMED = [
    _setup("ssd", "vgg16", 300, 32),
    _setup("ssd", "vgg16", 300, 32, remat=True),
    _setup("retinanet", "resnet50", 640, 16, "bfloat16"),
    _setup("retinanet", "resnet50", 640, 16, "bfloat16", remat=True),
]


# -- without a GPU -----------------------------------------------------------------------------------


def predict(to: Path, at_once: int, only: str = "") -> None:
    """Predicts what is not there yet; the file can be added to until it is measured against, and never after."""
    from holdfast.memory.step_config import from_json

    done = json.loads(to.read_text())["predictions"] if to.exists() else []
    have = {json.dumps(one["setup"], sort_keys=True) for one in done}
    wanted = [one for one in SETUPS + [one for batches in LIMITS for one in batches]
              if only in json.dumps(one) and json.dumps(one, sort_keys=True) not in have]  # fmt: skip
    with ThreadPoolExecutor(at_once) as pool:
        for found in pool.map(_predicted, wanted):
            done.append(found)
            seal = hashlib.sha256(json.dumps(done, sort_keys=True).encode()).hexdigest()
            to.write_text(json.dumps({"sha256": seal, "card": "h200", "predictions": done}, indent=1) + "\n")
            print(f"{from_json(found['setup']).label():58} {found.get('step_peak_bytes', 0) / GIB:7.3f} GiB  "
                  f"{found['seconds']} s {found.get('error', '')}", flush=True)  # fmt: skip
    print("sha256", json.loads(to.read_text())["sha256"])


def _predicted(one: dict[str, Any]) -> dict[str, Any]:
    from holdfast.memory import breakdown
    from holdfast.memory.estimate import prediction_cache
    from holdfast.memory.gpu_catalogue import gpu_named
    from holdfast.memory.step_config import from_json

    setup, gpu, began = from_json(one), gpu_named("h200"), time.monotonic()
    try:
        raw = prediction_cache.run_worker(setup, [(setup.batch, setup.micro_batch)], gpu)
        answer = raw["answers"][0]
    except Exception as error:
        return {"setup": one, "short": setup.label(), "error": f"{error}"[:400], "seconds": 0}
    found = breakdown.device_breakdown(answer, gpu, method="compiled")
    return {
        "setup": one, "short": setup.label(), "step_peak_bytes": found.step_peak_bytes,
        "upper_bytes": found.upper_step_bytes, "program": answer["compiled"]["program"],
        "answer": answer, "versions": raw["versions"], "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


# -- on the GPU --------------------------------------------------------------------------------------


def one(setup_json: str) -> None:
    """In a process of its own: a few steps as the training loop makes them, then what the allocator says."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import jax

    if cache := os.environ.get("HOLDFAST_COMPILE_CACHE"):
        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    missed: list[str] = []
    jax.monitoring.register_event_listener(
        lambda name, **_: missed.append(name) if "cache_misses" in name else None
    )
    from holdfast.memory.estimate import abstract_step, aot_compile
    from holdfast.memory.estimate.step_inputs import batch_of
    from holdfast.memory.gpu_catalogue import gpu_named
    from holdfast.memory.step_config import from_json

    setup = from_json(json.loads(setup_json))
    device = jax.devices()[0]
    found: dict[str, Any] = {
        "short": setup.label(),
        "setup": json.loads(setup_json),
        "device": device.device_kind,
    }
    step = abstract_step.build_abstract_step(setup).build_step(setup.batch, setup.micro_batch)
    batch = batch_of(setup, setup.batch)
    before = (device.memory_stats() or {}).get("peak_bytes_in_use", 0)
    placed = aot_compile.compile_target(
        gpu_named("h200")
    )  # lowered as for the prediction: the same text, or it is another program
    found["program"] = aot_compile.program_of(
        step.traced(batch, lambda tree: abstract_step.abstract(tree, placed)).lower()
    )
    missed.clear()
    try:
        found["step_s"] = _steps(step, batch)
        found["ran"] = True
    except Exception as error:
        found |= {"ran": False, "error": f"{type(error).__name__}: {error}"[:300]}
    stats = device.memory_stats() or {}
    found |= {
        "peak_bytes": stats.get("peak_bytes_in_use"), "peak_before": before, "limit_bytes": stats.get("bytes_limit"),
        "pool_bytes": stats.get("pool_bytes"), "cold": bool(missed),
    }  # fmt: skip
    if os.environ.get("HOLDFAST_ANALYSE") and found["ran"]:
        planned = step._compiled.lower(*step.arguments(batch)).compile().memory_analysis()
        found["temp_bytes"] = int(planned.temp_size_in_bytes)
    print("\n" + json.dumps(found), flush=True)


def _steps(step: Any, batch: dict[str, Any]) -> float:
    """Sends off a step before it looks at the one before, as `train.loop` does; the median time of the later ones."""
    flight, times = None, []
    for number in range(STEPS):
        began = time.monotonic()
        result = step(batch, step=number, learning_rate=1e-4, frozen=False)
        if flight is not None:
            step.fetch(flight)
        flight = result
        times.append(time.monotonic() - began)
    step.fetch(flight)
    return statistics.median(times[3:])


def measure(out: Path, at_once: int = 4, only: str = "") -> None:
    """Each setup in two fresh processes, and those of the limits in a third, several at once on shares of the GPU.

    The pool is taken whole at the start, as JAX does by itself: one that grows rounds every large array up.
    """
    cache = {
        "HOLDFAST_COMPILE_CACHE": os.environ.get("HOLDFAST_COMPILE_CACHE", "/tmp/holdfast-compile-cache")
    }
    share = cache | {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{0.92 / at_once:.3f}"}
    known = {p["short"]: p for p in json.loads(PREDICTIONS.read_text())["predictions"]}

    def twice(setup: dict[str, Any]) -> None:
        cold = _process(setup, share)
        found = _process(setup, share | {"HOLDFAST_ANALYSE": "1"})
        _kept(out, found | {"cold_peak_bytes": cold.get("peak_bytes")})

    def at_limit(setup: dict[str, Any], room: float) -> None:
        _process(setup, share)  # fills the compile cache
        found = _process(setup, cache | {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{room / GPU_BYTES:.6f}"})
        _kept(out, found | {"limit": True, "room_bytes": int(room)})

    done = [json.loads(line) for line in MEASURED.read_text().splitlines()] if MEASURED.exists() else []
    have = [one["setup"] for one in done]  # of an earlier call
    with ThreadPoolExecutor(at_once) as pool:
        jobs = []
        for batches in LIMITS:
            wanted = [one for one in batches if only in json.dumps(one) and one not in have]
            room = known[_short(batches[0])]["step_peak_bytes"] / FILLED if wanted else 0.0
            jobs += [pool.submit(at_limit, setup, room) for setup in wanted]
        jobs += [
            pool.submit(twice, setup) for setup in SETUPS if only in json.dumps(setup) and setup not in have
        ]
        for job in jobs:
            job.result()


def _short(setup: dict[str, Any]) -> str:
    from holdfast.memory.step_config import from_json

    return from_json(setup).label()


def times(out: Path) -> None:
    """Seconds a step with and without rematerialisation, alone on the GPU, from the warm cache."""
    cache = {
        "HOLDFAST_COMPILE_CACHE": os.environ.get("HOLDFAST_COMPILE_CACHE", "/tmp/holdfast-compile-cache")
    }
    for setup in TIMED:
        found = _process(setup, cache)
        with open(out / "times.jsonl", "a") as file:
            file.write(json.dumps(found) + "\n")
        print(found.get("short"), f"{1000 * found.get('step_s', 0):.1f} ms a step", flush=True)


def _process(setup: dict[str, Any], environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "one", json.dumps(setup)],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"setup": setup, "ran": False, "error": done.stderr[-600:]}


def _kept(out: Path, found: dict[str, Any]) -> None:
    with open(out / "measured.jsonl", "a") as file:
        file.write(json.dumps(found) + "\n")
    said = (
        f"{(found.get('peak_bytes') or 0) / GIB:.3f} GiB"
        if found.get("ran")
        else str(found.get("error"))[-200:]
    )
    print(found.get("short"), said, "cold" if found.get("cold") else "", flush=True)


# -- afterwards ---------------------------------------------------------------------------------------


def table(files: list[Path]) -> None:
    stored = json.loads(PREDICTIONS.read_text())
    seal = hashlib.sha256(json.dumps(stored["predictions"], sort_keys=True).encode()).hexdigest()
    print("predictions", "sealed" if seal == stored["sha256"] else "CHANGED", stored["sha256"][:16])
    known = {p["short"]: p for p in stored["predictions"]}
    errors, under = [], 0
    for line in [line for file in files for line in file.read_text().splitlines()]:
        got = json.loads(line)
        said = known.get(got.get("short", ""))
        if not got.get("limit") and (said is None or not got.get("ran")):
            print("not measured:", got.get("short"), got.get("error"))
            continue
        if got.get("limit"):
            how = f"ran, {got['peak_bytes'] / GIB:.3f}" if got["ran"] else "refused"
            print(f"{got['short']:58} in a limit of {got['room_bytes'] / GIB:.2f} GiB: {how}")
            if said is None or not got["ran"]:
                continue
        off = said["step_peak_bytes"] / got["peak_bytes"] - 1
        errors.append(off)
        under += said["upper_bytes"] < got["peak_bytes"]
        same = "" if said["program"] == got["program"] else "  OTHER PROGRAM"
        both = f"{got['peak_bytes'] / GIB:7.3f}  {said['step_peak_bytes'] / GIB:7.3f}"
        print(f"{got['short']:58} {both}  {off:+7.2%}{same}")
    sizes = sorted(abs(off) for off in errors)
    if sizes:
        print(f"{len(sizes)} setups: median {statistics.median(sizes):.2%}, worst {sizes[-1]:.2%}, "
              f"above the stated margin {under}")  # fmt: skip


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["predict"]
    if command == "predict":
        predict(Path(rest[0]) if rest else PREDICTIONS, int(rest[1]) if len(rest) > 1 else 1, *rest[2:])
    elif command == "one":
        one(rest[0])
    elif command == "measure":
        measure(Path(rest[0]), int(rest[1]) if len(rest) > 1 else 4, rest[2] if len(rest) > 2 else "")
    elif command == "times":
        times(Path(rest[0]))
    else:
        table([Path(one) for one in rest] or [MEASURED])
