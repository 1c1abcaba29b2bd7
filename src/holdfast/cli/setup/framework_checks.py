"""Whether TensorFlow, Keras, JAX and torch work: each is imported in a process of its own, as a training would.

A package that is installed and cannot be imported is the usual reason why "nothing works", so versions alone do not
answer. GPUs are asked for without using any of their memory.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from holdfast.cli.setup.machine_checks import MachineCheck

TIMEOUT_S = 120.0

_HEAD = "import importlib.util, json, os, sys\nif importlib.util.find_spec({name!r}) is None: sys.exit(3)\n"
_TAIL = "\nprint('\\n' + json.dumps({'version': version, 'gpus': gpus, 'note': note, 'cuda': cuda}))\n"
#: What the process runs; `gpus` is how many it can use, None where that is not known without using one.
_SCRIPTS: Mapping[str, str] = {
    "tensorflow": (
        "import tensorflow as tf\nversion = tf.__version__\ncuda = tf.test.is_built_with_cuda()\n"
        "gpus = len(tf.config.list_physical_devices('GPU'))\nnote = ''"
    ),
    # Without TensorFlow Keras works once KERAS_BACKEND names another backend, as `holdfast train` sets it.
    "keras": (
        "installed = [one for one in ('tensorflow', 'jax', 'torch') if importlib.util.find_spec(one)]\n"
        "named = os.environ.get('KERAS_BACKEND') or 'tensorflow' in installed or not installed\n"
        "os.environ.update({} if named else {'KERAS_BACKEND': installed[0]})\n"
        "import keras\nversion = keras.__version__\ngpus = None\ncuda = None\n"
        "note = 'backend ' + (keras.backend.backend() if callable(getattr(keras.backend, 'backend', None)) else '?')\n"
        "note += '' if named else '; scripts of your own need KERAS_BACKEND=' + installed[0]"
    ),
    "jax": (
        "import jax, jaxlib\nversion = jax.__version__\ngpus = None\n"
        "cuda = any(importlib.util.find_spec(one) for one in ('jax_cuda13_plugin', 'jax_cuda12_plugin'))\n"
        "note = 'jaxlib ' + jaxlib.__version__"
    ),
    "torch": (
        "os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'\nimport torch\nversion = torch.__version__\n"
        "cuda = torch.version.cuda is not None\ngpus = torch.cuda.device_count() if cuda else 0\nnote = ''"
    ),
}
_INSTALL: Mapping[str, tuple[str, str]] = {
    "tensorflow": ('pip install "holdfast[cpu]"', 'pip install "holdfast[gpu]"'),
    "keras": ('pip install "holdfast[cpu]"', 'pip install "holdfast[gpu]"'),
    "jax": ('pip install "holdfast[jax]"', 'pip install "jax[cuda13]"'),
    "torch": (
        "pip install torch, if your scripts use it",
        "pip install torch, from the index for your CUDA version",
    ),
}
_SHOWN = {"tensorflow": "TensorFlow", "keras": "Keras", "jax": "JAX", "torch": "torch"}


def framework_checks(python: str, *, with_gpu: bool) -> list[MachineCheck]:
    """One line a framework, as the interpreter `python` has it."""
    with ThreadPoolExecutor(len(_SCRIPTS)) as pool:
        return list(pool.map(lambda name: framework_check(name, python, with_gpu=with_gpu), _SCRIPTS))


def framework_check(name: str, python: str, *, with_gpu: bool, timeout_s: float = TIMEOUT_S) -> MachineCheck:
    script = _HEAD.format(name=name) + _SCRIPTS[name] + _TAIL
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": os.environ.get("KERAS_BACKEND", "")}
    environment = {**os.environ, **{key: value for key, value in quiet.items() if value}}
    shown, (install, install_gpu) = _SHOWN[name], _INSTALL[name]
    try:
        done = subprocess.run(
            [python, "-c", script],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        said = f"importing it took longer than {timeout_s:g} s"
        return MachineCheck(
            shown, "missing", said, f"{python} -X importtime -c 'import {name}' shows what takes so long"
        )
    except OSError as error:
        return MachineCheck(
            shown,
            "missing",
            f"{python} could not be started: {error.strerror}",
            "--python with an interpreter",
        )
    if done.returncode == 3:
        return MachineCheck(shown, "optional", "not installed", install)
    if done.returncode:
        said = f"installed, and cannot be imported: {_last_line(done.stderr)}"
        change = f"{python} -c 'import {name}' shows all of it; {install} installs versions that fit"
        return MachineCheck(shown, "missing", said, change)
    found = json.loads(done.stdout.splitlines()[-1])
    return _working(shown, found, install_gpu, with_gpu=with_gpu)


def _working(shown: str, found: Mapping[str, object], install_gpu: str, *, with_gpu: bool) -> MachineCheck:
    detail = " ".join(filter(None, (str(found["version"]), f"({found['note']})" if found["note"] else "")))
    if not with_gpu or found["cuda"] is None:
        return MachineCheck(shown, "ok", detail)
    if not found["cuda"]:
        return MachineCheck(shown, "limited", f"{detail}: built for the CPU, and there is a GPU", install_gpu)
    if found["gpus"] == 0:
        said = f"{detail}: built for GPUs, and finds none"
        return MachineCheck(
            shown, "missing", said, f"its libraries and the driver may not fit: {install_gpu}"
        )
    return MachineCheck(
        shown, "ok", detail + (f", {found['gpus']} GPU" if found["gpus"] else ", built for GPUs")
    )


def _last_line(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"
