"""`holdfast plan RECIPE`: predicts the memory of a training step, and what to change if it does not fit."""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from holdfast.cli.arguments import add_hidden_alias, add_overrides, parse_memory_size
from holdfast.cli.recipes import refuse_missing_data, resolve_recipe
from holdfast.cli.slow_notice import notice_if_slow
from holdfast.errors import ExitCode
from holdfast.stderr import print_line

if TYPE_CHECKING:
    from holdfast.memory.gpu_catalogue import GpuSpec
    from holdfast.settings.recipe import Recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="RECIPE_OR_DATA", help="a recipe (.toml), or data to train on")
    parser.add_argument("--device-memory", metavar="SIZE", help="GPU memory, e.g. 16GiB")
    parser.add_argument("--gpu", metavar="NAME", help="compile for this GPU: h200, a100-40, t4, rtx-4090, …")
    add_hidden_alias(parser, "--card", of="--gpu", metavar="NAME")
    parser.add_argument(
        "--quick", action="store_true", help="trace the step instead of compiling it: faster and less exact"
    )
    parser.add_argument(
        "--cpu", action="store_true", help="plan for the CPU and memory of this machine instead of a GPU"
    )
    add_overrides(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from holdfast.memory import data_facts, host_memory, plan_text
    from holdfast.memory.memory_plan import make_plan
    from holdfast.train.dataset_facts import read_data_facts

    recipe = resolve_recipe(args.source, args.overrides)
    if not args.source.endswith(".toml"):  # the data of a recipe may be on another machine
        refuse_missing_data(recipe, args.source, args.overrides)
    gpu, memory_bytes, target, notes = _target(args, recipe)
    with notice_if_slow(f"reading {recipe.data.train}"):
        data = read_data_facts(recipe, on_gpu=gpu is not None)
    config = data_facts.step_config_of(recipe, data)
    notes = [data.notes, *notes]
    estimate = _estimator(gpu, memory_bytes, args)
    with (
        notice_if_slow(f"predicting the memory of {config.label()}") if args.json else nullcontext()
    ):  # else it prints each
        made = make_plan(config, memory_bytes, estimate, half_precision=_half(gpu))
    option = made.chosen or made.options[-1]
    notes += _notes(estimate, recipe, gpu)
    state = option.breakdown.state_bytes
    beside = host_memory.host_items(
        data_facts.host_facts_of(recipe, data, state_bytes=state, on_gpu=gpu is not None)
    )
    context: dict[str, Any] = {"memory_bytes": memory_bytes, "target": target, "host": beside, "notes": notes}
    print(json.dumps(plan_text.as_json(made, **context)) if args.json else plan_text.as_text(made, **context))
    return ExitCode.FINE if made.chosen is not None else ExitCode.FINDINGS


def _target(args: argparse.Namespace, recipe: Recipe) -> tuple[GpuSpec | None, int, str, list[str]]:
    """The GPU to compile for, the memory there is, how to name both, and what was assumed."""
    from holdfast.host.nvml import local_gpu
    from holdfast.host.process_limits import free_memory_bytes
    from holdfast.memory import gpu_catalogue

    size = parse_memory_size(args.device_memory, where="--device-memory") if args.device_memory else None
    if args.gpu:
        gpu = gpu_catalogue.gpu_named(args.gpu)
        memory = size or gpu.memory_bytes
        return gpu.with_memory(memory), memory, gpu.name, []
    if size is not None and not args.cpu:
        gpu = gpu_catalogue.gpu_of_size(size)
        note = f"no GPU was named: planned for the {gpu.name}, the nearest in size; --gpu names another"
        return gpu.with_memory(size), size, f"a GPU of that size ({gpu.name})", [note]
    found = None if args.cpu else local_gpu()
    if found is not None:
        known = gpu_catalogue.gpu_of_driver_name(found.name) or gpu_catalogue.gpu_of_size(found.total_bytes)
        notes = [f"{found.name}: {found.describe()}"]
        return known.with_memory(found.total_bytes), found.free_bytes, found.name, notes
    memory = size or free_memory_bytes()
    return (
        None,
        memory,
        "the CPU of this machine",
        []
        if args.cpu
        else ["no GPU was found or named: planned for the CPU; --device-memory 16GiB plans for a GPU"],
    )


def _estimator(gpu: GpuSpec | None, memory_bytes: int, args: argparse.Namespace) -> Any:
    from holdfast.memory import corrections
    from holdfast.memory.estimate import estimators, prediction_cache

    def say(text: str) -> None:
        if not args.json:
            print_line(f"… {text}")

    if gpu is None:
        return estimators.CpuTrialEstimator(memory_bytes, print_line=say)
    return estimators.GpuEstimator(
        gpu,
        prediction_cache.PredictionCache(),
        correction_bytes=corrections.correction_for_gpu(gpu.name),
        compiles=not args.quick,
        print_line=say,
    )


def _half(gpu: GpuSpec | None) -> str:
    """GPUs before Ampere have no bfloat16."""
    return "float16" if gpu is not None and gpu.capability < (8, 0) else "bfloat16"


def _notes(estimate: Any, recipe: Recipe, gpu: GpuSpec | None) -> list[str]:
    notes = []
    missing = getattr(estimate, "compile_error", None)
    if missing is not None:
        notes += [
            f"not compiled for the GPU: {missing.what}: {' '.join(missing.found)}",
            *missing.change,
        ]
    if gpu is not None and gpu.is_from_datasheet:
        notes.append(f"the description of the {gpu.name} is from its datasheet, not read from a GPU")
    if recipe.hardware.processes > 1 or getattr(recipe.hardware, "devices", 1) > 1:
        notes.append("planned for one device; several share the batch, so each needs at most this")
    return notes
