"""There is a GPU, and the framework does not use it."""

from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_NO_DRIVER = (
    r"Could not find cuda drivers|Cannot dlopen some GPU libraries|libcu\w.*(cannot open|not found)|"
    r"failed call to cuInit"
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
    settings = [one.event.environment for one in frameworks]
    hidden = next((one[_HIDES] for one in settings if _HIDES in one), None)
    line = evidence.output.first(_NO_DRIVER, advice=True)
    facts = [
        machine.fact("machine.gpus", gpus=gpus),
        opened[-1].fact("framework.devices", devices=devices),
        *_details(frameworks, hidden),
    ]
    on_purpose = _chosen(settings, hidden)
    return Finding(
        Strength.POSSIBLE if on_purpose else Strength.established_if(kinds_known),
        Title("gpu-not-used", {"gpus": gpus}),
        because=[*facts, line.fact] if line is not None else facts,
        against=on_purpose,
        remedies=_remedies(frameworks, opened[-1].event.name),
        ends=False,
    )


def _on_accelerator(event: ev.FrameworkSeen) -> bool:
    """By the kinds of devices. Older journals have names only: what is not called a CPU may be a GPU."""
    seen = [*event.device_kinds, *event.parameters_on] or event.devices
    return any("cpu" not in kind.lower() for kind in seen)


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
    backend = {"backend": next((one.event.backend for one in frameworks if one.event.backend), opened)}
    torch_has_cuda = any(one.event.built_with_cuda for one in frameworks if one.event.name == "torch")
    if backend["backend"] == "torch" and torch_has_cuda:
        return [Remedy("model.move-to-gpu"), Remedy("framework.install-for-driver", backend)]
    return [Remedy("framework.install-with-cuda", backend)]
