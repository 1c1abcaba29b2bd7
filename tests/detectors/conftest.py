import functools
import os

import pytest

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Fresh weights, but a class head that shouts, so that there is something to print."""
    from tests.detectors import shouting

    return shouting.saved("ssd", tmp_path_factory.mktemp("run"))


@functools.cache
def _built(spec):
    from holdfast.detectors.build import build

    return build(spec)


@pytest.fixture
def built_once(monkeypatch):
    """A detector of the same description is built once, in seconds; each load fills it with the weights of its file."""
    from holdfast.detectors import model_file

    monkeypatch.setattr(model_file, "build", _built)
