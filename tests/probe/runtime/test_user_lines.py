"""Telling the user's code from everybody else's."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from holdfast.probe.runtime import user_lines


@pytest.mark.parametrize(
    ("path", "is_users"),
    [
        (__file__, True),
        ("/home/me/train.py", True),
        ("<stdin>", True),
        ("/tmp/ipykernel_77/123.py", True),
        (json.__file__, False),
        (pytest.__file__, False),
        (user_lines.__file__, False),
        ("<frozen runpy>", False),
        ("/tmp/__autograph_generated_filex.py", False),
        ("h5py/_proxy.pyx", False),
        ("h5py/h5d.pyx", False),
    ],
)
def test_whose_file(path: str, is_users: bool) -> None:
    assert user_lines.is_user_file(path) is is_users


def test_a_framework_outside_site_packages_is_not_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = types.ModuleType("keras")
    package.__path__ = [str(tmp_path / "checkout" / "keras")]
    monkeypatch.setitem(sys.modules, "keras", package)
    inside = str(tmp_path / "checkout" / "keras" / "src" / "trainer.py")
    assert not user_lines.is_user_file(inside)
    assert user_lines.short(inside) == "keras/src/trainer.py"
    assert user_lines.is_user_file(str(tmp_path / "checkout" / "train.py"))


def test_places_are_short() -> None:
    assert user_lines.short("/venv/lib/python3.11/site-packages/keras/src/a.py") == "keras/src/a.py"
    assert user_lines.short(json.__file__) == "json/__init__.py"
    assert user_lines.short("/elsewhere/train.py") == "/elsewhere/train.py"
