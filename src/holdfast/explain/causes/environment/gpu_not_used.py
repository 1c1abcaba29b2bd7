"""There is a GPU, and the framework does not use it."""

from __future__ import annotations

from holdfast.explain.readings.output import clipped
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_NO_DRIVER = (
    r"Could not find cuda drivers|Cannot dlopen some GPU libraries|libcu\w+.*(cannot open|not found)|failed "
    r"call to cuInit"
)
_HIDES = "CUDA_VISIBLE_DEVICES"
_PLATFORM = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")


@cause("gpu-not-used")
def gpu_not_used(evidence: Evidence) -> Finding | None:
    machine, frameworks = evidence.last(ev.MachineRead), evidence.all(ev.FrameworkSeen)
    opened = [one for one in frameworks if one.event.devices]
    if machine is None or not machine.event.gpus or not opened:
        return None
    if any(_on_accelerator(one.event) for one in opened):
        return None
    gpus = [str(gpu.get("name", "GPU")) for gpu in machine.event.gpus]
    devices = [device for one in opened for device in one.event.devices]
    kinds_known = all(one.event.device_kinds for one in opened)  # a name alone is no proof
    on_purpose = _chosen(frameworks)
    strength = Strength.ESTABLISHED if kinds_known else Strength.SUPPORTED
    return Finding(
        Strength.POSSIBLE if on_purpose else strength,
        Title("gpu-not-used", {"gpus": gpus}),
        because=[
            Fact("machine.gpus", {"gpus": gpus}, machine.source),
            Fact("framework.devices", {"devices": devices}, opened[-1].source),
            *_details(frameworks, opened),
            *_printed(evidence),
        ],
        against=on_purpose,
        remedies=_remedies(frameworks, opened[-1].event.name),
        ends=False,
    )


def _on_accelerator(event: ev.FrameworkSeen) -> bool:
    """By the kinds of devices. Older journals have names only: what is not called a CPU may be a GPU."""
    seen = [*event.device_kinds, *event.parameters_on] or event.devices
    return any("cpu" not in kind.lower() for kind in seen)


def _hidden(frameworks: list[Recorded[ev.FrameworkSeen]]) -> str | None:
    settings = [one.event.environment for one in frameworks if _HIDES in one.event.environment]
    return settings[0][_HIDES] if settings else None


def _chosen(frameworks: list[Recorded[ev.FrameworkSeen]]) -> tuple[Fact, ...]:
    """That the CPU was chosen by the environment."""
    settings = [one.event.environment for one in frameworks]
    platforms = [one[name] for one in settings for name in _PLATFORM if one.get(name)]
    if platforms and platforms[0].lower() == "cpu":
        return (Fact("environment.cpu-chosen", {"variable": "JAX_PLATFORMS"}),)
    hidden = _hidden(frameworks)
    return (Fact("environment.cpu-chosen", {"variable": _HIDES}),) if hidden in ("", "-1") else ()


def _details(
    frameworks: list[Recorded[ev.FrameworkSeen]], opened: list[Recorded[ev.FrameworkSeen]]
) -> list[Fact]:
    placed = [one for one in opened if one.event.parameters_on]
    without_cuda = [one for one in frameworks if one.event.built_with_cuda is False]
    hidden = _hidden(frameworks)
    facts = [
        Fact("framework.parameters", {"devices": one.event.parameters_on}, one.source) for one in placed[-1:]
    ]
    if hidden is not None:
        values = {"variable": _HIDES, "value": hidden}
        facts.append(Fact("environment.variable", values, frameworks[-1].source))
    return facts + [
        Fact("framework.without-cuda", {"framework": one.event.name}, one.source) for one in without_cuda[:1]
    ]


def _printed(evidence: Evidence) -> list[Fact]:
    line = evidence.output.first(_NO_DRIVER, advice=True)
    return [Fact("error.quoted", {"text": clipped(line.text)}, line.source)] if line is not None else []


def _remedies(frameworks: list[Recorded[ev.FrameworkSeen]], opened: str) -> tuple[Remedy, ...]:
    backend = next((one.event.backend for one in frameworks if one.event.backend), opened)
    torch_has_cuda = any(one.event.built_with_cuda for one in frameworks if one.event.name == "torch")
    if backend == "torch" and torch_has_cuda:
        return Remedy("model.move-to-gpu"), Remedy("framework.install-for-driver", {"backend": backend})
    return (Remedy("framework.install-with-cuda", {"backend": backend}),)
