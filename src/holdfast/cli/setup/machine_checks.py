"""What `holdfast doctor` looks at: each check is a function that returns what it found and what to do about it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.host import cgroup, kernel_log, machine_limits, ptrace_access
from holdfast.host.ptrace_access import Refusal
from holdfast.units import size

State = Literal["ok", "limited", "optional", "missing"]
LEAST_FREE_BYTES = 1 << 30

_PTRACE_REMEDIES = {
    Refusal.YAMA: "sudo sysctl kernel.yama.ptrace_scope=0; `holdfast run` works without, `holdfast attach` does not",
    Refusal.YAMA_NOBODY: "kernel.yama.ptrace_scope is 3: set it to 1 and start the machine again",
    Refusal.OTHER_USER: "run Holdfast as the user of the training",
    Refusal.NOT_DUMPABLE: "run Holdfast as the user of the training",
    Refusal.CONTAINER: "docker run --cap-add=SYS_PTRACE …; Kubernetes: securityContext.capabilities.add: [SYS_PTRACE]",
}


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """One line of the answer. `missing` is what makes the exit code 1."""

    name: str
    state: State
    detail: str
    change: str = ""

    def as_json(self) -> dict[str, str]:
        return {"check": self.name, "state": self.state, "detail": self.detail, "change": self.change}


def machine_checks(environment: Mapping[str, str], runs: Path) -> Iterator[MachineCheck]:
    """All but the frameworks, which take seconds."""
    yield python_check()
    yield system_check()
    yield stacks_check()
    yield cgroup_check()
    yield kernel_log_check()
    yield disk_check(runs)
    yield memory_check()
    yield shm_check()
    yield gpu_check(environment)
    yield from extras_checks()
    yield from credential_checks(environment)


def python_check() -> MachineCheck:
    version = platform.python_version()
    return MachineCheck("Python", "ok", f"{version}, {sys.executable}")


def system_check() -> MachineCheck:
    name = f"{platform.system()} {platform.release()} {platform.machine()}"
    if sys.platform == "linux":
        return MachineCheck("system", "ok", f"{name}, {machine_limits.usable_cpus()} CPUs for this process")
    change = "watch on Linux; data, check and explain work here"
    return MachineCheck("system", "missing", f"{name}: watching processes needs Linux", change)


def stacks_check() -> MachineCheck:
    """Whether the stacks of a child can be read: tried on one."""
    name = "stacks"
    if importlib.util.find_spec("py_spy") is None and _pyspy() is None:
        return MachineCheck(name, "missing", "py-spy is not installed", "pip install py-spy")
    try:
        child = subprocess.Popen(["sleep", "30"], stdin=subprocess.DEVNULL)
    except OSError as error:
        return MachineCheck(name, "limited", f"could not be tried: {error}")
    try:
        refused = ptrace_access.refusal(child.pid)
    finally:
        child.kill()
        child.wait()
    if refused is None:
        scope = ptrace_access.yama_scope()
        others = (
            ""
            if not scope or ptrace_access.may_trace_any()
            else "; `holdfast attach` may need root (ptrace_scope)"
        )
        return MachineCheck(name, "limited" if others else "ok", "stacks of a stalled run can be read" + others,
                            _PTRACE_REMEDIES[Refusal.YAMA] if others else "")  # fmt: skip
    said = f"the kernel does not let us read stacks ({refused.value}); stalls are found, their cause often is not"
    return MachineCheck(name, "limited", said, _PTRACE_REMEDIES[refused])


def _pyspy() -> str | None:
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.is_file() else shutil.which("py-spy")


def cgroup_check() -> MachineCheck:
    group = cgroup.find()
    state = cgroup.read(group)
    if group.version is None:
        return MachineCheck("control group", "limited", "no memory controller: a kill for memory is known from the "
                            "kernel's log only")  # fmt: skip
    limit = (
        "no memory limit"
        if state.memory_limit_bytes is None
        else f"memory limit {size(state.memory_limit_bytes)}"
    )
    counted = "" if state.oom_kills is not None else "; its kills are not counted"
    return MachineCheck(
        "control group", "ok" if not counted else "limited", f"version {group.version}, {limit}{counted}"
    )


def kernel_log_check() -> MachineCheck:
    if kernel_log.readable():
        return MachineCheck("kernel log", "ok", "can be read: it names what the kernel killed")
    change = (
        "sudo sysctl kernel.dmesg_restrict=0, if a kill for memory is to be proven without a control group"
    )
    return MachineCheck("kernel log", "optional", "may not be read by this user", change)


def disk_check(runs: Path) -> MachineCheck:
    place = next(folder for folder in (runs.resolve(), *runs.resolve().parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    if not os.access(place, os.W_OK):
        return MachineCheck(
            "disk", "missing", f"run folders cannot be written in {place}", "--run-dir with a writable folder"
        )
    if free < LEAST_FREE_BYTES:
        return MachineCheck(
            "disk",
            "missing",
            f"only {size(free)} are free in {place}",
            "free some space, or --run-dir elsewhere",
        )
    return MachineCheck("disk", "ok", f"{size(free)} free where run folders are written ({place})")


def memory_check() -> MachineCheck:
    return MachineCheck("memory", "ok", f"{size(machine_limits.memory_bytes())} in this machine")


def shm_check() -> MachineCheck:
    try:
        usage = shutil.disk_usage("/dev/shm")
    except OSError:
        return MachineCheck(
            "/dev/shm", "limited", "is not there: data loader processes may fail", "mount a tmpfs there"
        )
    if usage.total < 1 << 28:
        change = "docker run --shm-size=2g …, or --ipc=host"
        return MachineCheck(
            "/dev/shm", "limited", f"only {size(usage.total)}: torch's data loaders need more", change
        )
    return MachineCheck("/dev/shm", "ok", f"{size(usage.free)} free")


def gpu_check(environment: Mapping[str, str]) -> MachineCheck:
    present = any(Path("/dev").glob("nvidia[0-9]*"))
    if not present:
        return MachineCheck("GPU", "optional", "no NVIDIA GPU is visible: training runs on the CPU")
    if environment.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return MachineCheck("GPU", "limited", "hidden by CUDA_VISIBLE_DEVICES", "unset CUDA_VISIBLE_DEVICES")
    from holdfast.host.nvml import local_gpu

    found = local_gpu()
    if found is None:
        said = "the device files are there, and the driver does not answer"
        return MachineCheck(
            "GPU", "missing", said, "nvidia-smi shows the driver's error; in Docker: --gpus all"
        )
    return MachineCheck("GPU", "ok", f"{found.name}, {found.describe()}")


# -- extras and credentials -----------------------------------------------------------------------

#: Extra -> what it is for, and the packages that must be there.
EXTRAS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "data": (
        "check, convert and repair datasets",
        ("numpy", "PIL", "defusedxml", "yaml", "fsspec", "google_crc32c"),
    ),
    "evaluate": ("COCO metrics", ("faster_coco_eval",)),
    "train": ("training detectors, with TensorFlow or JAX", ("keras", "simplejpeg", "cv2")),
    "parquet": ("datasets of the Hugging Face Hub", ("pyarrow",)),
    "notify": ("--notify to chat services and e-mail", ("apprise",)),
    "export": ("ONNX and TFLite", ("onnx", "tf2onnx", "onnxruntime", "ai_edge_litert")),
    "cloud": ("gs:// and s3://, Vertex AI", ("gcsfs", "s3fs", "google.cloud.aiplatform")),
    "ray": ("data jobs and training on a Ray cluster", ("ray",)),
}


def extras_checks() -> Iterator[MachineCheck]:
    has_backend = _installed("tensorflow") or _installed("jax")
    for extra, (purpose, packages) in EXTRAS.items():
        lacking = [package for package in packages if not _installed(package)]
        if lacking:
            change = f'pip install "holdfast[{extra}]"'
            if extra == "train" and not has_backend:  # the extra alone brings none
                change = 'pip install "holdfast[cpu]", or [gpu], or [jax] without TensorFlow'
            yield MachineCheck(extra, "optional", f"{purpose}: {', '.join(lacking)} not installed", change)
        else:
            yield MachineCheck(extra, "ok", purpose)


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # a parent package that is missing or broken
        return False


def credential_checks(environment: Mapping[str, str]) -> Iterator[MachineCheck]:
    """Whether there are credentials, never what they are; nothing is sent."""
    home = Path(environment.get("HOME") or "~").expanduser()
    yield _credential(
        "Google Cloud", environment.get("GOOGLE_APPLICATION_CREDENTIALS", ""), "GOOGLE_APPLICATION_CREDENTIALS",
        [home / ".config/gcloud/application_default_credentials.json"], "gcloud auth application-default login",
    )  # fmt: skip
    if environment.get("AWS_ACCESS_KEY_ID") and environment.get("AWS_SECRET_ACCESS_KEY"):
        yield MachineCheck("AWS", "ok", "credentials in the environment")
        return
    named = environment.get("AWS_SHARED_CREDENTIALS_FILE", "")
    yield _credential(
        "AWS", named, "AWS_SHARED_CREDENTIALS_FILE", [home / ".aws/credentials"], "aws configure"
    )


def _credential(name: str, named: str, variable: str, usual: list[Path], change: str) -> MachineCheck:
    if named:
        if os.access(named, os.R_OK):
            return MachineCheck(name, "ok", f"credentials in the file of {variable}")
        return MachineCheck(
            name, "missing", f"{variable} names a file that cannot be read", f"unset {variable}, or {change}"
        )
    found = next((path for path in usual if os.access(path, os.R_OK)), None)
    if found is not None:
        return MachineCheck(name, "ok", "credentials in the home folder")
    return MachineCheck(
        name, "optional", "no credentials here (a machine of the cloud may need none)", change
    )
