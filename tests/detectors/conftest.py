import os

import pytest

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Fresh weights, but a class head that shouts, so that there is something to print."""
    from tests.detectors import shouting

    return shouting.saved("ssd", tmp_path_factory.mktemp("run"))
