"""The group's secret: where it may come from, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import HoldfastError, PathMissing, UsageError
from holdfast.launch import group_token

GOOD = "0123456789abcdef"


def test_from_the_environment_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "group.token"
    file.write_text(f"{GOOD}-of-the-file\n")
    environment = {group_token.VARIABLE: GOOD}
    assert group_token.find(None, None, environment, needed=True) == GOOD
    assert group_token.find(None, str(file), environment, needed=True) == f"{GOOD}-of-the-file"
    assert group_token.find(None, None, {}, needed=False) == ""


@pytest.mark.parametrize(
    ("typed", "environment", "what"),
    [
        ("word", {}, "--token would show the group's secret to every user"),
        (None, {}, "several hosts need a secret that they share"),
        (None, {group_token.VARIABLE: "4711"}, "too short to be a secret: 4 characters of at least 16"),
    ],
)
def test_what_is_refused(typed: str | None, environment: dict[str, str], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        group_token.find(typed, None, environment, needed=True)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(PathMissing):
        group_token.find(None, str(tmp_path / "no.token"), {}, needed=True)
    long = tmp_path / "long"
    long.write_text("x" * 10_000)
    with pytest.raises(HoldfastError, match="larger than"):
        group_token.find(None, str(long), {}, needed=True)


def test_new_ones_differ() -> None:
    assert group_token.new() != group_token.new()
    assert len(group_token.new()) >= group_token.SHORTEST
