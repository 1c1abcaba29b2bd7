"""The environments: which Python with which TensorFlow, Keras, JAX or torch, and how each is built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[2]
_VERSIONS = """
import importlib.metadata as metadata, json, platform
found = {"python": platform.python_version()}
for name in ("tensorflow-cpu", "tensorflow", "tf_keras", "keras", "jax", "torch", "numpy"):
    try:
        found[name.replace("-cpu", "")] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Environment:
    name: str
    python: str  # the minor version: "3.8"
    packages: tuple[str, ...]
    programs: str = (
        "tensorflow"  # those of programs/faulty and healthy; "keras": of keras_faulty and keras_healthy
    )
    estimator: bool = False
    variables: dict[str, str] = field(default_factory=dict)  # of the process environment
    same_as: str = ""  # another one's packages under other variables


# Old wheels do not say that a newer NumPy or protobuf breaks them: those pins are part of the table.
ENVIRONMENTS = (
    Environment("tf2.4-py38", "3.8", ("tensorflow-cpu==2.4.1",), estimator=True),
    Environment(
        "tf2.7-py39", "3.9", ("tensorflow-cpu==2.7.4", "numpy<1.24", "protobuf<3.21"), estimator=True
    ),
    Environment("tf2.10-py310", "3.10", ("tensorflow-cpu==2.10.1", "numpy<1.24"), estimator=True),
    Environment("tf2.13-py310", "3.10", ("tensorflow-cpu==2.13.1",), estimator=True),
    Environment("tf2.15-py310", "3.10", ("tensorflow-cpu==2.15.1",), estimator=True),
    Environment("tf2.15-py311", "3.11", ("tensorflow-cpu==2.15.1",), estimator=True),
    Environment("tf2.16-py311", "3.11", ("tensorflow-cpu==2.16.2", "tf_keras==2.16.0")),
    Environment(
        "tf2.16-tf_keras", "3.11", (), variables={"TF_USE_LEGACY_KERAS": "1"}, same_as="tf2.16-py311"
    ),
    Environment("tf2.17-py312", "3.12", ("tensorflow-cpu==2.17.1",)),
    Environment("tf2.18-py312", "3.12", ("tensorflow-cpu==2.18.1",)),
    Environment("tf2.19-py312", "3.12", ("tensorflow-cpu==2.19.1",)),
    Environment("tf2.20-py313", "3.13", ("tensorflow-cpu==2.20.0",)),
    Environment("tf2.21-py313", "3.13", ("tensorflow-cpu==2.21.0", "tensorboard")),
    Environment("jax-py312", "3.12", ("jax", "keras"), "keras", variables={"KERAS_BACKEND": "jax"}),
    Environment(
        "torch-py311", "3.11", ("torch>=2.13,<2.14", "keras"), "keras", variables={"KERAS_BACKEND": "torch"}
    ),
)


def folder() -> Path:
    """Where environments are built: HOLDFAST_COMPATIBILITY_DIR, or build/compatibility."""
    return Path(os.environ.get("HOLDFAST_COMPATIBILITY_DIR", _REPOSITORY / "build" / "compatibility"))


def python_of(environment: Environment) -> Path:
    return folder() / (environment.same_as or environment.name) / "bin" / "python"


def build(environment: Environment) -> str:
    """Build it unless it is there; returns why it cannot be built, or nothing."""
    if environment.same_as:
        environment = next(one for one in ENVIRONMENTS if one.name == environment.same_as)
    target = folder() / environment.name
    if (target / "ready").exists():
        return ""
    interpreter = _interpreter(environment.python)
    if interpreter is None:
        return f"there is no Python {environment.python}"
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run([interpreter, "-m", "venv", target], check=True)
    install = [target / "bin" / "python", "-m", "pip", "install", "--quiet", *environment.packages]
    done = subprocess.run(install, check=False, capture_output=True, text=True)
    if done.returncode:
        return f"pip install {' '.join(environment.packages)}: {done.stderr.strip()[-300:]}"
    (target / "ready").touch()
    return ""


def versions(environment: Environment) -> dict[str, str]:
    done = subprocess.run(
        [python_of(environment), "-c", _VERSIONS], check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout))


def _interpreter(version: str) -> str | None:
    """The Python of this minor version: from pyenv, or from the path."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for found in sorted(root.glob(f"versions/{version}.*/bin/python")):
        return str(found)
    return shutil.which(f"python{version}")
