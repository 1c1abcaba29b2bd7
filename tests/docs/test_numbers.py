"""The README states no number that the page of measurements does not have, and is short."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT

README = (ROOT / "README.md").read_text()


def test_the_numbers_of_the_readme_are_on_the_page_of_benchmarks() -> None:
    section = re.search(r"^## Numbers\n(.*?)^## ", README, flags=re.S | re.M)
    assert section is not None
    stated = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)", section[1])
    measured = (ROOT / "docs" / "benchmarks.md").read_text()
    assert len(stated) > 8
    assert [
        one for one in stated if not re.search(rf"(?<![\w.]){re.escape(one)}(?![\w]|\.\d)", measured)
    ] == []


def test_the_readme_is_a_screen_and_a_half() -> None:
    assert len(README.splitlines()) < 110
