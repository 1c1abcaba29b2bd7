"""The text form of protocol buffers, written by hand or by a library."""

from __future__ import annotations

import pytest

from holdfast.weights_import.object_detection_api.text_format import (
    Message,
    NotAPipelineConfig,
    Scalar,
    parse,
)


def plain(message: Message) -> list[tuple[str, object, int]]:
    return [
        (one.name, one.value.text if isinstance(one.value, Scalar) else plain(one.value), one.line)
        for one in message.fields
    ]


def test_every_way_to_write_a_field() -> None:
    text = """# a comment
a: 1, b: -0.5; c: .08
d { e: "x" 'y' }  # neighbours are one string
f: < g: [1, 2.5e-3] >
h: [ { i: true }, { i: false } ]
[some.extension] { j: RELU_6 } k: "a\\"b\\n\\x41\\101"
"""
    assert plain(parse(text, "f")) == [
        ("a", "1", 2), ("b", "-0.5", 2), ("c", ".08", 2), ("d", [("e", "xy", 3)], 3),
        ("f", [("g", "1", 4), ("g", "2.5e-3", 4)], 4), ("h", [("i", "true", 5)], 5), ("h", [("i", "false", 5)], 5),
        ("[some.extension]", [("j", "RELU_6", 6)], 6), ("k", 'a"b\nAA', 6),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("a: 1\nb {\n c: 2\n", 4, "the end of the file"),
        ("a: 1\n}\n", 2, "'}'"),
        ("a 1", 1, "'1'"),
        ("a: [1 2]", 1, "'2'"),
        ("x\n: \n\n ?", 4, "'?'"),
        ('a: "open\n', 1, "'\"open'"),
        ("a: {" * 100, 1, "deep"),
    ],
)
def test_the_line_of_a_mistake_is_named(text: str, line: int, found: str) -> None:
    with pytest.raises(NotAPipelineConfig) as caught:
        parse(text, "f")
    assert caught.value.where == f"f:{line}"
    assert found in " ".join([caught.value.what, *caught.value.found])
