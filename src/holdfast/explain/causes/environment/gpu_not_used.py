"""There is a GPU, and the framework does not use it."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, listed
from holdfast.journal import events as ev


@cause("gpu-not-used", Group.ENVIRONMENT)
def gpu_not_used(evidence: Evidence) -> Finding | None:
    machine, frameworks = evidence.last(ev.MachineRead), evidence.all(ev.FrameworkSeen)
    opened = [said for said in frameworks if said.event.devices]
    if machine is None or not machine.event.gpus or not opened:
        return None
    if any(_on_accelerator(said.event) for said in opened):
        return None
    seen = [device for said in opened for device in said.event.devices]
    known = all(said.event.device_kinds for said in opened)  # a name alone is no proof
    parameters = [said for said in opened if said.event.parameters_on]
    backend = next((said.event.backend for said in frameworks if said.event.backend), opened[-1].event.name)
    hidden = next(
        (
            said.event.environment.get("CUDA_VISIBLE_DEVICES")
            for said in frameworks
            if "CUDA_VISIBLE_DEVICES" in said.event.environment
        ),
        None,
    )
    names = listed([str(card.get("name", "GPU")) for card in machine.event.gpus], 3)
    facts = [
        Fact(f"the machine has {names}", machine.source),
        Fact(f"the framework sees {listed(seen, 4)} only", opened[-1].source),
    ]
    if parameters:
        held = listed(parameters[-1].event.parameters_on, 3)
        facts.append(Fact(f"the parameters that the optimizer changes are on {held}", parameters[-1].source))
    if hidden is not None:
        facts.append(Fact(f"CUDA_VISIBLE_DEVICES is {hidden!r}", frameworks[-1].source))
    built = [said for said in frameworks if said.event.built_with_cuda is False]
    if built:
        facts.append(Fact(f"this build of {built[0].event.name} has no CUDA", built[0].source))
    printed = evidence.output.first(
        r"Could not find cuda drivers|Cannot dlopen some GPU libraries|libcu\w+.*(cannot open|not found)|failed "
        r"call to cuInit",
        advice=True,
    )
    if printed is not None:
        facts.append(Fact(clipped(printed.text, 140), printed.source))
    told = [said.event.environment for said in frameworks]
    asked = next(
        (one[key] for one in told for key in ("JAX_PLATFORMS", "JAX_PLATFORM_NAME") if one.get(key)), ""
    )
    meant = hidden in ("", "-1") or asked.lower() == "cpu"
    return Finding(
        "gpu-not-used",
        Strength.POSSIBLE if meant else Strength.ESTABLISHED if known else Strength.SUPPORTED,
        f"{names} is there, and training runs on the CPU",
        tuple(facts),
        (Fact("JAX_PLATFORMS is cpu" if asked else "CUDA_VISIBLE_DEVICES hides it on purpose"),)
        if meant
        else (),
        _remedies(
            backend, any(said.event.built_with_cuda for said in frameworks if said.event.name == "torch")
        ),
        ends=False,
    )


def _on_accelerator(event: ev.FrameworkSeen) -> bool:
    """By the kinds of devices. Journals of before kinds have names only: what is not called a CPU may be a GPU."""
    seen = [*event.device_kinds, *event.parameters_on] or event.devices
    return any("cpu" not in kind.lower() for kind in seen)


def _remedies(backend: str, torch_has_cuda: bool) -> tuple[Remedy, ...]:
    build = _BUILDS.get(backend, _BUILDS["tensorflow"])
    if backend == "torch" and torch_has_cuda:
        return (
            Remedy("move the model and every batch to the GPU", "your-choice", _MOVED),
            Remedy("or, where torch.cuda.is_available() is False: install the build that fits the driver",
                   "your-choice", build),
        )  # fmt: skip
    return (Remedy("install the build that has CUDA, and only that one", "your-choice", build),)


_MOVED = 'model.to("cuda")\nimages, targets = images.to("cuda"), targets.to("cuda")'


_BUILDS = {
    "tensorflow": 'pip uninstall tensorflow tensorflow-cpu\npip install "tensorflow[and-cuda]"',
    "jax": 'pip install "jax[cuda13]"',
    "torch": "pip uninstall torch\npip install torch --index-url https://download.pytorch.org/whl/cu128",
}
