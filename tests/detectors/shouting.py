"""A detector with fresh weights, but class heads that shout, so that there is something to print."""

from holdfast.detectors.build import build
from holdfast.detectors.model_file import save
from holdfast.detectors.spec import DetectorSpec


def saved(kind, folder):
    spec = DetectorSpec(kind, "mobilenet_v2", ("cat", "dog"), (96, 96), normalization="group")
    detector = build(spec, seed=1)
    for variable in detector.trainable_variables:
        if "class_out" in variable.path and variable.path.endswith("kernel"):
            variable.assign(variable.value * 30.0)
    path = folder / "model.npz"
    save(detector, path)
    return path
