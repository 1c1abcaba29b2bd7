"""Tracebacks in printed text."""

from __future__ import annotations

from holdfast.printed.tracebacks import last_traceback, tracebacks

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


def test_lines_with_a_loggers_prefix() -> None:
    (found,) = tracebacks(
        [
            "2022-12-28 16:13:02 [ERROR]  Traceback (most recent call last):",
            '2022-12-28 16:13:02 [ERROR]    File "/srv/basics.py", line 65, in <module>',
            "2022-12-28 16:13:03 [ERROR]      callback(i)",
            "2022-12-28 16:13:03 [ERROR]  RuntimeError: CUDA error: device-side assert triggered",
            "2022-12-28 16:13:03 [INFO]  bye",
        ]
    )
    assert (found.type, found.message) == ("RuntimeError", "CUDA error: device-side assert triggered")
    assert found.frames == (("/srv/basics.py", 65, "<module>"),)
    assert found.code == ("callback(i)",)


def test_behind_a_bar_without_a_line_end() -> None:
    lines = [
        "31/101 [===>...] - loss: 0.69Traceback (most recent call last):",
        '  File "cats.py", line 40, in <module>',
    ]
    (found,) = tracebacks([*lines, "    model.fit(ds)", "ValueError: no"])
    assert (found.type, found.frames) == ("ValueError", (("cats.py", 40, "<module>"),))


def test_of_a_notebook() -> None:
    (found,) = tracebacks(
        [
            "KeyError                                  Traceback (most recent call last)",
            "Cell In[9], line 1",
            "----> 1 model.fit(x, epochs=100)",
            "File /usr/lib/python3.10/dist-packages/keras/a.py:65, in handler(*args)",
            "     64 try:",
            "---> 65     return fn(*args)",
            "KeyError: 'x'",
        ]
    )
    assert (found.type, found.message, found.from_the_start) == ("KeyError", "'x'", True)
    assert [frame[1] for frame in found.frames] == [1, 65]
    assert found.code == ("model.fit(x, epochs=100)", "return fn(*args)")


def test_of_rich() -> None:
    (found,) = tracebacks(
        [
            "╭──────── Traceback (most recent call last) ────────╮",
            "│ /home/sg/cli.py:77 in train                       │",
            "│ ❱ 77 │   trainer.fit(model)                       │",
            "╰───────────────────────────────────────────────────╯",
            "OutOfMemoryError: CUDA out of memory.",
        ]
    )
    assert (found.type, found.frames) == ("OutOfMemoryError", (("/home/sg/cli.py", 77, "train"),))
    assert found.code == ("trainer.fit(model)",)


def test_where_it_begins_says_whether_it_was_caught() -> None:
    logged = ["Traceback (most recent call last):", '  File "lib.py", line 3, in load', "OSError: no"]
    whole = [
        "Traceback (most recent call last):",
        '  File "train.py", line 3, in <module>',
        "UnknownError: OSError: no",
    ]
    thread = ["Exception in thread Thread-3 (report):", *logged]
    assert [one.from_the_start for one in tracebacks(logged)] == [False]
    assert [one.from_the_start for one in tracebacks([*whole, *logged])] == [True, True]  # in its message
    assert [one.from_the_start for one in tracebacks([*whole, "INFO caught", *logged])] == [True, False]
    assert [one.in_thread for one in tracebacks(thread)] == [True]
