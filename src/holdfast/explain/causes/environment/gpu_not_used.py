"""There is a GPU, and the framework does not use it."""

import re

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_NO_DRIVER = (
    r"Could not find cuda drivers|Cannot dlopen some GPU libraries|libcu\w.*(cannot open|not found)|"
    r"failed call to cuInit"
)
_HIDES = "CUDA_VISIBLE_DEVICES"
_PLATFORM = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
#: Looks at the GPU below which a process may not have come to use it yet. Chosen.
_LOOKS = 3
#: A process that has opened a GPU takes more (some 500 MiB on an H200): where no process is listed, as inside a
#: container, and less is in use, nobody has opened it.
_CONTEXT_BYTES = 300 << 20
#: What scripts call the choice of a device.
_DEVICE_OPTION = re.compile(
    r"--?(device|devices|accelerator|gpu|gpus|cuda|use[-_]?gpu|use[-_]?cuda|backend)s?$"
)
_CPU_OPTION = re.compile(r"--?(cpu|no[-_]?(cuda|gpu)|use[-_]?cpu|disable[-_]?(cuda|gpu))$")
_GPU_VALUE = re.compile(r"(\d+(,\d+)*|cuda(:\d+)?|gpu(:\d+)?|true|yes)$", re.IGNORECASE)


#: What torch, TensorFlow and JAX say when the script asked for a GPU that they cannot use.
_UNUSABLE = ErrorText(
    r"not compiled with CUDA enabled|Found no NVIDIA driver|NVIDIA driver on your system is too old|"
    r"no kernel image is available for execution|CUDA driver version is insufficient|"
    r"Unable to initialize backend '(?:cuda|gpu)'|Attempting to deserialize object on a CUDA device but"
)


@cause("gpu-not-used", specialises=("script-error",))
def gpu_not_used(evidence: Evidence) -> Finding | None:
    return _unusable(evidence) or _unused(evidence)


def _unusable(evidence: Evidence) -> Finding | None:
    """The script asked for the GPU, and the framework refused."""
    quote = _UNUSABLE.match(evidence) if evidence.error is not None else None
    if quote is None:
        return None
    opened = [one.event.name for one in evidence.all(ev.FrameworkSeen)]
    remedies = _remedies(evidence.all(ev.FrameworkSeen), opened[-1] if opened else "torch")
    return Finding(Strength.ESTABLISHED, Title("gpu-not-used.unusable"), quote.facts, remedies)


def _unused(evidence: Evidence) -> Finding | None:
    machine, frameworks = evidence.last(ev.MachineRead), evidence.all(ev.FrameworkSeen)
    opened = [one for one in frameworks if one.event.devices]
    if machine is None or not machine.event.gpus or not opened:
        return None
    seen = any(_on_accelerator(one.event, unopened=False) for one in opened)
    never = _never_opened(evidence) if seen else None
    if seen and any(_on_accelerator(one.event, unopened=never is not None) for one in opened):
        return None
    gpus = [str(gpu.get("name", "GPU")) for gpu in machine.event.gpus]
    devices = [device for one in opened for device in one.event.devices]
    kinds_known = all(one.event.device_kinds for one in opened)  # a name alone is no proof
    settings = [one.event.environment for one in frameworks]
    hidden = next((one[_HIDES] for one in settings if _HIDES in one), None)
    line = evidence.output.first(_NO_DRIVER, advice=True)
    facts = [
        machine.fact("machine.gpus", gpus=gpus),
        opened[-1].fact("framework.devices", devices=devices) if never is None else never,
        *_details(frameworks, hidden),
        *_asked(evidence, gpu=True),
        *_set_inside(frameworks),
    ]
    on_purpose = [] if _set_inside(frameworks) else [*_chosen(settings, hidden), *_asked(evidence, gpu=False)]
    return Finding(
        _strength(
            on_purpose=bool(on_purpose), sure=kinds_known and never is None and not _set_inside(frameworks)
        ),
        Title("gpu-not-used", {"gpus": gpus}),
        because=[*facts, line.fact] if line is not None else facts,
        against=on_purpose,
        remedies=_remedies(frameworks, opened[-1].event.name),
        ends=False,
    )


def _strength(*, on_purpose: bool, sure: bool) -> Strength:
    return Strength.POSSIBLE if on_purpose else Strength.established_if(sure)


def _on_accelerator(event: ev.FrameworkSeen, *, unopened: bool) -> bool:
    """By the kinds of devices. Older journals have names only: what is not called a CPU may be a GPU.

    torch says that a GPU is open as soon as somebody has asked what it is called: where the process had no memory on
    it, the weights decide.
    """
    if unopened and event.parameters_on == ["cpu"]:
        return False
    seen = [*event.device_kinds, *event.parameters_on] or event.devices
    return any("cpu" not in kind.lower() for kind in seen)


def _never_opened(evidence: Evidence) -> Fact | None:
    """That no process of the run had memory on a GPU at any look, where processes can be told apart."""
    looks = [(line, one.gpus) for line, one in evidence.samples if one.gpus]
    if len(looks) < _LOOKS or any(gpu.get("ours_bytes", 1) for _, gpus in looks for gpu in gpus):
        return None
    listed = any(gpu.get("others") for _, gpus in looks for gpu in gpus)
    used = max(int(gpu.get("used_bytes") or 0) for _, gpus in looks for gpu in gpus)
    if not listed and used >= _CONTEXT_BYTES:
        return None
    return Fact("gpu.never-opened", {"looks": len(looks)}, f"vitals.jsonl:{looks[-1][0]}")


def _asked(evidence: Evidence, *, gpu: bool) -> list[Fact]:
    """What the arguments of the script say about the device."""
    joined = evidence.first(ev.ProcessJoined)
    if joined is None:
        return []
    words = [word for one in joined.event.argv[1:] for word in one.split("=", 1)]
    for option, value in zip(words, [*words[1:], ""], strict=False):
        device = _DEVICE_OPTION.match(option) is not None
        if gpu and device and _GPU_VALUE.match(value):
            return [joined.fact("arguments.gpu-asked", argument=f"{option} {value}")]
        by_value = device and value.lower() in ("cpu", "none", "-1")
        if not gpu and (by_value or _CPU_OPTION.match(option)):
            return [joined.fact("arguments.cpu-asked", argument=f"{option} {value}" if by_value else option)]
    return []


def _set_inside(frameworks: list[Recorded[ev.FrameworkSeen]]) -> list[Fact]:
    """That a module which the script imports chose the CPU for the whole process."""
    return [
        one.fact("environment.cpu-set-inside", variable=name, where=where)
        for one in frameworks
        for name, where in one.event.environment_set.items()
        if where and _selects_cpu(name, one.event.environment.get(name))
    ][:1]


def _selects_cpu(name: str, value: str | None) -> bool:
    return (name in _PLATFORM and (value or "").lower() == "cpu") or (name == _HIDES and value in ("", "-1"))


def _chosen(settings: list[dict[str, str]], hidden: str | None) -> list[Fact]:
    """That the CPU was chosen by the environment."""
    platforms = [one[name] for one in settings for name in _PLATFORM if one.get(name)]
    by_jax = bool(platforms) and platforms[0].lower() == "cpu"
    values = {"variable": "JAX_PLATFORMS" if by_jax else _HIDES}
    return [Fact("environment.cpu-chosen", values)] if by_jax or hidden in ("", "-1") else []


def _details(frameworks: list[Recorded[ev.FrameworkSeen]], hidden: str | None) -> list[Fact]:
    placed = [one for one in frameworks if one.event.devices and one.event.parameters_on][-1:]
    facts = [one.fact("framework.parameters", devices=one.event.parameters_on) for one in placed]
    if hidden is not None:
        facts.append(frameworks[-1].fact("environment.variable", variable=_HIDES, value=hidden))
    without = [one for one in frameworks if one.event.built_with_cuda is False][:1]
    return facts + [one.fact("framework.without-cuda", framework=one.event.name) for one in without]


def _remedies(frameworks: list[Recorded[ev.FrameworkSeen]], opened: str) -> list[Remedy]:
    inside = _set_inside(frameworks)
    if inside:
        return [Remedy("environment.set-in-workers", {"variable": inside[0].values["variable"]})]
    backend = {"backend": next((one.event.backend for one in frameworks if one.event.backend), opened)}
    torch_has_cuda = any(one.event.built_with_cuda for one in frameworks if one.event.name == "torch")
    if backend["backend"] == "torch" and torch_has_cuda:
        return [Remedy("model.move-to-gpu"), Remedy("framework.install-for-driver", backend)]
    return [Remedy("framework.install-with-cuda", backend)]
