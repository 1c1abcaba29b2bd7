"""What all tests share: stored texts, and nothing heavy."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import chromium, tab  # noqa: F401  # fixtures of the tests of pages

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# The same examples in every run, and no limit on how long one takes.
settings.register_profile(
    "the same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("the same")

# What the user's own commands have cached (plans, compiled steps, images) answers no test. Workers share one folder.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="holdfast-tests-cache-")


def pytest_unconfigure() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)


# A shell that starts the tests in the background, or under nohup, has these ignored, and a program inherits that:
# Ctrl-C and hang-up would then do nothing in the programs under test.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _inherited in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(_inherited, signal.SIG_DFL)

RENDERED = Path(__file__).parent / "rendered"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Chance is the same in every run: the weights that Keras draws, and what a test draws without a seed."""
    random.seed(0)
    for module, name in (
        ("numpy.random", "seed"),
        ("torch.random", "manual_seed"),
        ("keras.utils", "set_random_seed"),
    ):
        if seed := getattr(sys.modules.get(module), name, None):
            seed(0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store", action="store_true", help="store rendered texts anew instead of comparing")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first, the longest before all: several workers then end at about the same time."""
    takes = {item.path: mark.args[0] for item in items if (mark := item.get_closest_marker("long"))}
    items.sort(key=lambda item: -takes.get(item.path, 0))


@pytest.fixture
def stored(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a rendered text with tests/rendered/NAME.txt; `pytest --store` writes it anew."""

    def compare(name: str, text: str) -> None:
        path = RENDERED / f"{name}.txt"
        if request.config.getoption("--store"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
            return
        assert path.exists(), f"no stored text {path}; look at the new one, then run pytest --store"
        assert text + "\n" == path.read_text()

    return compare
