"""Mistakes that only a framework shows: weights, models, exports, plans, training data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.errors.mistakes import Mistake, Mistakes, Printed, error_of, python, write

pytestmark = pytest.mark.hot
MISTAKES = Mistakes()

#: Prints an error as the command line would, from code in a process of its own.
PRINTED = """
import sys
from holdfast.errors import HoldfastError
from holdfast.report.text import render_error
try:
    {code}
except HoldfastError as error:
    sys.exit(render_error(error))
"""


def first_on_the_path(folder: str) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))}


@MISTAKES.add("not-a-model-file")
def model_file_of_something_else() -> str:
    from PIL import Image

    Image.new("RGB", (8, 8)).save("a.png")
    write({"model.npz": b"PK nothing"})
    return "predict model.npz a.png"


@MISTAKES.add("weights-do-not-fit", hide={r"(?s)  found   .*?\n  change": "  found   …\n  change"})
def weights_of_something_else() -> str:
    from holdfast.detectors.backbones.backbone import build_backbone

    write({"mobilenet_v2.weights.h5": b"not HDF5"})
    build_backbone("mobilenet_v2", (64, 64), for_ssd=True, weights="mobilenet_v2.weights.h5")
    raise AssertionError


@MISTAKES.add("weights-unreadable")
def import_of_a_pickle_that_runs_code() -> str:
    write({"model.pth": b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R."})
    return "import model.pth"


@MISTAKES.add("not-a-pipeline-config")
def import_of_an_unfinished_config() -> str:
    write({"pipeline.config": "model {\n  ssd {\n    num_classes: 3\n  }\n"})
    return "import pipeline.config"


@MISTAKES.add("bad-checkpoint")
def import_of_a_damaged_checkpoint() -> str:
    from holdfast.weights_import.object_detection_api.tensor_bundle import open_bundle

    write({"ckpt-0.index": b"no table" * 20, "ckpt-0.data-00000-of-00001": b""})
    open_bundle(Path("ckpt-0"))
    raise AssertionError


@MISTAKES.add("cluster-not-ready")
def a_node_of_the_ray_cluster_with_an_older_version() -> str:
    from holdfast.data.workers.ray_cluster import _refuse_other_version

    _refuse_other_version({"NodeManagerHostname": "node-2"}, {"holdfast": "0.1.0", "files": {}})
    raise AssertionError


@MISTAKES.add("download-blocked")
def no_imagenet_weights_for_this_backbone() -> str:
    from holdfast.detectors.backbones.backbone import build_backbone

    build_backbone("resnext50", (64, 64), for_ssd=False, weights="imagenet")
    raise AssertionError


@MISTAKES.add("not-on-this-backend", hide={})
def export_on_jax() -> Printed:
    code = "from holdfast.detectors.export.serving_graph import any_size_function as f; f(None)"
    return python(
        "-c", PRINTED.format(code=code), environment={"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    )


@MISTAKES.add("export-differs")
def export_with_boxes_moved() -> str:
    """As by a converter that rounds coordinates."""
    import numpy as np

    from holdfast.detectors.export.verify_export import FLOAT_TOLERANCE, DetectionArrays, compare

    boxes = np.array([[10.2, 10.2, 50.0, 40.0], [60.0, 8.0, 90.7, 30.0]])

    def model(_: object) -> DetectionArrays:
        return DetectionArrays(boxes, np.array([0.9, 0.6]), np.array([0, 1]))

    def written(_: object) -> DetectionArrays:
        return DetectionArrays(np.round(boxes), np.array([0.9, 0.6]), np.array([0, 1]))

    compare(model, written, [np.zeros((100, 100, 3), np.uint8)], FLOAT_TOLERANCE)
    raise AssertionError


@MISTAKES.add(
    "plan-extra-missing",
    hide={r"\d+\.\d+\.\d+": "0.0.0", r"(?s)  found   .*?\n  change": "  found   …\n  change"},
)
def no_compiler_for_gpus() -> Printed:
    """Where jax-cuda13-plugin is not installed."""
    write({"without/jax_plugins/__init__.py": "", "without/jax_cuda13_plugin.py": "raise ImportError"})
    code = (
        "from holdfast.memory.gpu_catalogue import gpu_named\n"
        "    from holdfast.memory.estimate.aot_compile import compile_target\n"
        "    compile_target(gpu_named('h200'))"
    )
    hidden = "import importlib.metadata as m; m.entry_points = lambda **_: ()\n"
    return python("-c", hidden + PRINTED.format(code=code), environment=first_on_the_path("without"))


@MISTAKES.add("plan-no-answer")
def plan_with_a_broken_installation() -> Printed:
    from holdfast.data.synthetic import make_dataset

    make_dataset(Path("images"), count=2, side=64)
    write(
        {"broken/keras/__init__.py": "raise ImportError('libcudart.so.13: cannot open shared object file')"}
    )
    nothing_planned_before = {"XDG_CACHE_HOME": "cache"}
    environment = first_on_the_path("broken") | nothing_planned_before
    return python("-m", "holdfast", "plan", "images", "--gpu", "t4", environment=environment)


@MISTAKES.add("undecodable-image", hide={r"(?m)^[^e].*\n(?=error)": ""})
def training_image_cut_short() -> Printed:
    from holdfast import settings
    from holdfast.data.synthetic import make_dataset

    make_dataset(Path("images"), count=2, side=64)
    image = sorted(Path("images").rglob("*.jpg"))[0]
    image.write_bytes(image.read_bytes()[:400])
    recipe = {"data": {"train": "images", "validation_fraction": 0.5}, "model": {"input": 64},
              "train": {"steps": 1, "batch": 1, "micro_batch": 1}}  # fmt: skip
    write({"runs/a/recipe.toml": settings.to_toml(settings.resolve(recipe))})
    return python("-m", "holdfast.train", "runs/a")


@MISTAKES.add("cloud-refused")
def no_credentials_for_the_cloud() -> Printed:
    pytest.importorskip("google.cloud.aiplatform_v1")
    write({"recipe.toml": '[data]\ntrain = "gs://bucket/train"\n'})
    words = "launch vertex recipe.toml --image i --bucket gs://bucket/runs --project p --region europe-west4"
    none = {"GOOGLE_APPLICATION_CREDENTIALS": "none.json"}
    return python("-m", "holdfast", *words.split(), environment=none)


@MISTAKES.parametrize()
def test_the_error(
    mistake: Mistake, capfd: pytest.CaptureFixture[str], stored: Callable[[str, str], None]
) -> None:
    stored(f"errors/{mistake.name}", error_of(mistake, capfd))
