"""The backend of a recipe that names none, and the message where the one that it names is not there."""

from __future__ import annotations

import sys

import pytest

from holdfast import settings
from holdfast.errors import DependencyMissing
from holdfast.settings.installed_backend import default_backend, require_backend


@pytest.mark.parametrize(
    ("there", "expected"),
    [(("tensorflow", "jax"), "tensorflow"), (("tensorflow",), "tensorflow"), (("jax",), "jax"), ((), "tensorflow")],
)  # fmt: skip
def test_jax_is_the_default_where_it_is_the_only_one(there: tuple[str, ...], expected: str) -> None:
    assert default_backend(there.__contains__) == expected


def test_what_the_recipe_names_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["holdfast.settings.read"], "default_backend", lambda: "jax")
    tables = {"data": {"train": "x"}}
    assert settings.resolve(tables).train.backend == "jax"
    assert settings.resolve(tables, ["train.backend=tensorflow"]).train.backend == "tensorflow"
    assert settings.resolve(tables | {"train": {"backend": "tensorflow"}}).train.backend == "tensorflow"


def test_a_backend_that_is_missing_is_named_with_the_one_that_is_there() -> None:
    require_backend("jax", ("jax",).__contains__)
    with pytest.raises(DependencyMissing) as caught:
        require_backend("tensorflow", ("jax",).__contains__)
    assert list(caught.value.found) == ["jax is installed"]
    assert list(caught.value.change) == ['pip install "holdfast[cpu]"', 'train.backend = "jax" in the recipe']
    with pytest.raises(DependencyMissing) as caught:
        require_backend("jax", ().__contains__)
    assert list(caught.value.change) == ['pip install "holdfast[jax]"']


def test_a_module_that_was_put_aside_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(DependencyMissing):
        require_backend("jax")
