import os

import pytest

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Fresh weights, but a class head that shouts, so that there is something to print."""
    from holdfast.detectors.build import build
    from holdfast.detectors.model_file import save
    from holdfast.detectors.spec import DetectorSpec

    detector = build(
        DetectorSpec("ssd", "mobilenet_v2", ("cat", "dog"), (96, 96), normalization="group"), seed=1
    )
    for variable in detector.trainable_variables:
        if "class_out" in variable.path and variable.path.endswith("kernel"):
            variable.assign(variable.value * 30.0)
    path = tmp_path_factory.mktemp("run") / "model.npz"
    save(detector, path)
    return path
