"""Lines of the output, as they are quoted."""

from __future__ import annotations

from holdfast.explain.readings.output import clipped


def test_colours_of_a_message_are_not_part_of_it() -> None:
    assert clipped("\x1b[1mInput 0\x1b[0m is wrong") == "Input 0 is wrong"
