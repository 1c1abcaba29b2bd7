from pathlib import Path

import pytest

from holdfast.step.compile_cache import VARIABLE, folder_for

HOME = Path("/home/somebody")


@pytest.mark.parametrize(
    ("backend", "environment", "has_gpu", "expected"),
    [
        ("jax", {}, True, "/home/somebody/.cache/holdfast/compiled-jax"),
        ("jax", {"XDG_CACHE_HOME": "/scratch"}, True, "/scratch/holdfast/compiled-jax"),
        ("jax", {VARIABLE: "/mine"}, True, None),
        ("jax", {VARIABLE: ""}, True, None),
        ("jax", {}, False, None),
        ("tensorflow", {}, True, None),
    ],
)
def test_where_compiled_steps_are_kept(backend, environment, has_gpu, expected):
    found = folder_for(backend, environment, has_gpu=has_gpu, home=HOME)
    assert found == (Path(expected) if expected else None)
