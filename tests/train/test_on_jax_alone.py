"""JAX without TensorFlow: training, resume, evaluation, prediction, planning and reports, as a user starts them.

Where TensorFlow is installed, every import of it fails in these programs; `make test-jax` has none at all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.data.files.tfrecord_framing import frames, read_frame
from tests.train import shapes

pytestmark = [pytest.mark.hot, pytest.mark.proof]

WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tensorflow", "tf_keras"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""
RECIPE = (
    shapes.RECIPE
    + """
steps = {steps}
batch = 4
checkpoint_every = 2
validate_every = 2
"""
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    (folder / "without").mkdir()
    (folder / "without" / "sitecustomize.py").write_text(WITHOUT)
    shapes.write(folder / "shapes", 12)
    recipe = RECIPE.format(data=json.dumps(str(folder / "shapes")), detector="ssd", steps=2)
    (folder / "recipe.toml").write_text(recipe)
    return folder


def records_of(path: Path) -> list[bytes]:
    """With their checksums checked."""
    with path.open("rb") as file:
        found = [read_frame(file, frame) for frame in list(frames(file, path.stat().st_size))]
    assert None not in found
    return [record for record in found if record]


def holdfast(place: Path, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    environment |= {"PYTHONPATH": str(place / "without"), "JAX_PLATFORMS": "cpu",
                    "XLA_FLAGS": "--xla_backend_optimization_level=0"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *words], cwd=place, env=environment, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.timeout(3000)
def test_everything_but_export_works_without_tensorflow(place: Path) -> None:
    told = holdfast(place, "train", "recipe.toml", "--run-dir", "run")
    assert "2 of 2" in told and 'backend = "jax"' in (place / "run" / "recipe.toml").read_text()
    assert "tensorflow" not in (place / "run" / "output.log").read_text().lower()
    events = list((place / "run" / "tensorboard").rglob("events.out.*"))
    written = b"".join(record for path in events for record in records_of(path))
    assert b"Loss/total_loss" in written and b"DetectionBoxes_Precision/mAP" in written
    images = sorted((place / "shapes" / "images").iterdir())[:3]
    lines = holdfast(place, "predict", "run", *map(str, images), "--json").splitlines()
    assert len([line for line in lines if line.startswith("{")]) == 3
    assert "AP" in holdfast(place, "eval", "run", "shapes")
    assert "micro-batch" in holdfast(place, "plan", "recipe.toml")
    holdfast(place, "report", "run")
    assert (place / "run" / "report.html").is_file()
