"""Tracebacks in printed text."""

from __future__ import annotations

from holdfast.printed.tracebacks import last_traceback

CHAINED = """Epoch 1/2
Traceback (most recent call last):
  File "a.py", line 3, in load
    open(path)
FileNotFoundError: [Errno 2] No such file or directory: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "train.py", line 9, in <module>
    main()
    ^^^^^^
  File "train.py", line 5, in main
    raise RuntimeError("no data")
RuntimeError: no data
""".splitlines()


def test_a_chained_traceback() -> None:
    found = last_traceback(CHAINED)
    assert found is not None
    assert (found.type, found.message.strip()) == ("RuntimeError", "no data")
    assert found.frames == (("train.py", 9, "<module>"), ("train.py", 5, "main"))
    assert found.code == ("main()", 'raise RuntimeError("no data")')
    assert found.chain == ("FileNotFoundError: [Errno 2] No such file or directory: 'x'",)
    assert CHAINED[found.at].startswith("RuntimeError")


def test_an_indented_one_of_a_library_in_c() -> None:
    lines = [
        "  (0) INVALID_ARGUMENT: ValueError: bad",
        "Traceback (most recent call last):",
        '  File "gen.py", line 2, in gen',
        "tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:",
        "",
        "Detected at node 'x'",
    ]
    found = last_traceback(lines)
    assert found is not None
    assert found.type == "InvalidArgumentError"
    assert "Detected at node" in found.message


def test_no_traceback() -> None:
    assert last_traceback(["Traceback of the route", "loss 3"]) is None
    assert last_traceback([]) is None
