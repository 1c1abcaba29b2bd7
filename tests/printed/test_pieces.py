"""Bytes to pieces: overwritten lines, colours, chunks, encodings."""

from __future__ import annotations

from holdfast.printed.pieces import OutputSplitter, pieces


def test_each_state_of_a_bar_is_a_piece() -> None:
    assert pieces(b"\r 1/3 [=>..] - loss: 2.0\r 2/3 [==>.] - loss: 1.0\ndone\n") == [
        " 1/3 [=>..] - loss: 2.0", " 2/3 [==>.] - loss: 1.0", "done",
    ]  # fmt: skip
    assert pieces(b"1/3 [...]" + b"\b" * 9 + b"2/3 [=..]\n") == ["1/3 [...]", "2/3 [=..]"]


def test_bars_one_below_the_other_and_colours() -> None:
    data = " 10%|█ | 1/10 [00:01<00:09]\n\r  5%|▌ | 1/20 [00:00<00:01]\x1b[A\r 20%|██| 2/10 [00:02<00:08]".encode()
    assert [piece.strip()[:3] for piece in pieces(data)] == ["10%", "5%|", "20%"]
    assert pieces(b"\x1b[1m10/32\x1b[0m \x1b]0;title\x07loss\x1b[K") == ["10/32 loss"]


def test_bars_whose_control_codes_were_lost() -> None:
    line = b" 1/32 [....] - ETA: 5s - loss: 0.7 2/32 [>...] - ETA: 5s - loss: 0.6"
    assert pieces(line) == [" 1/32 [....] - ETA: 5s - loss: 0.7", "2/32 [>...] - ETA: 5s - loss: 0.6"]


def test_chunks_are_put_together_and_the_newest_state_is_pending() -> None:
    splitter = OutputSplitter()
    assert splitter.feed(b"step 1 lo") == []
    assert splitter.pending == ["step 1 lo"]
    assert splitter.feed(b"ss 0.5\nstep 2") == ["step 1 loss 0.5"]
    assert splitter.feed("é".encode()[:1]) == []
    assert splitter.feed("é".encode()[1:] + b"\n") == ["step 2é"]


def test_encodings() -> None:
    assert pieces("Epoch 1/2\r\nstep 3\r\n".encode("utf-16")) == ["Epoch 1/2", "step 3"]
    assert pieces("Epoch 1/2\r\n".encode("utf-16-le")) == ["Epoch 1/2"]
    assert pieces("Verlust über 3\n".encode("latin-1")) == ["Verlust �ber 3"]


def test_a_line_without_an_end_is_cut() -> None:
    splitter = OutputSplitter()
    for _ in range(40):
        splitter.feed(b"x" * 10_000)
    assert len(splitter.pending[0]) <= 65_536
